"""The verbs that list, create, change, move and remove spaces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from mesh.errors import LocalError
from mesh.features.spaces.model.definition import (
    MAP,
    Definition,
    check_space,
    is_as_wanted,
    move_command,
    why_command,
)
from mesh.features.spaces.model.space import Limits
from mesh.features.spaces.node.claiming import Claimed, Claiming
from mesh.features.spaces.node.forcing import Forcing
from mesh.features.spaces.node.home_relay import HomeRelay
from mesh.features.spaces.node.moving import Moving
from mesh.features.spaces.node.spaces import Spaces
from mesh.kernel.context.component import Component
from mesh.kernel.context.incoming_call import IncomingCall, Right, Verb, answer
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.pages import page
from mesh.kernel.peers.peer import Peer
from mesh.kernel.routes.nodes import Nodes
from mesh.wire.calls import AskSpaceDeclare, AskSpaceMove, AskSpaceRemove, AskSpaces
from mesh.wire.limits import SPACES
from mesh.wire.replies import ReplyValue, SpaceDefined, SpaceList, SpaceMoved

LONG = 60.0  # s that a move may take


class Declaring(Component):
    """Component with the verbs that list, create, change, move and remove spaces."""

    def __init__(
        self,
        context: NodeContext,
        nodes: Nodes,
        relay: HomeRelay,
        spaces: Spaces,
        claiming: Claiming,
        moving: Moving,
        forcing: Forcing,
    ) -> None:
        self._context = context
        self._nodes = nodes
        self._relay = relay
        self._spaces = spaces
        self._claiming = claiming
        self._moving = moving
        self._forcing = forcing

    def client_verbs(self) -> Sequence[Verb]:
        return (
            answer(AskSpaces, self._on_list),
            answer(AskSpaceDeclare, self._on_declare, Right.WRITE),
            answer(AskSpaceRemove, self._on_remove, Right.WRITE),
            answer(AskSpaceMove, self._on_move, Right.RUN),
        )

    def peer_verbs(self) -> Sequence[Verb]:
        return (
            answer(AskSpaceDeclare, self._on_declare),
            answer(AskSpaceRemove, self._on_remove),
            answer(AskSpaceMove, self._on_move),
        )

    def _on_list(self, asked: IncomingCall[AskSpaces]) -> None:
        named = dict(self._spaces.all(asked.ask.prefix))
        found, after = page(named, lambda name: self._defined(name, named[name]), asked.ask)
        asked.reply(SpaceList(spaces=found, next=after))

    def _on_declare(self, asked: IncomingCall[AskSpaceDeclare]) -> None:
        ask = asked.ask
        check_space(ask.space)
        home = ask.home or self._context.me.name
        if home != self._context.me.name and self._spaces.find(ask.space) is None:
            self._relay.send_to(home, asked, SpaceList)
            return

        def then(error: LocalError | None) -> None:
            if error is None:
                self._alter(asked)
            else:
                asked.fail(error)

        self._create(ask, then)

    def _alter(self, asked: IncomingCall[AskSpaceDeclare]) -> None:
        """Answer with the definition, after its limits and voters were changed where they differ."""
        ask, known = asked.ask, self._spaces.find(asked.ask.space)
        assert known is not None, "it was just created"
        if ask.home not in ("", known.node):
            what = f"{ask.space} exists with home={known.node!r}."
            hint = f"Move it:  {move_command(ask.space)} --to {ask.home}"
            asked.fail(LocalError(what, hint=hint, code="SPACE_EXISTS"))
            return
        try:
            wanted = replace(
                known,
                max_keys=ask.max_keys or known.max_keys,
                max_bytes=ask.max_bytes or known.max_bytes,
                voters=self._named_voters(ask, known.home) or known.voters,
            )
        except LocalError as error:
            asked.fail(error)
            return
        if wanted == known:
            asked.reply(SpaceList(spaces=[self._defined(ask.space, known)]))
        elif not self._spaces.is_home(ask.space):
            self._relay.pass_on(asked, ask.space, SpaceList)
        else:
            self._redefine(asked, ask.space, wanted)

    def _on_remove(self, asked: IncomingCall[AskSpaceRemove]) -> None:
        space = asked.ask.space
        known = self._existing(space)
        if not self._spaces.is_home(space):
            self._relay.pass_on(asked, space, SpaceList)
            return
        self._redefine(asked, space, replace(known, home=b"", node="", voters=()))

    def _on_move(self, asked: IncomingCall[AskSpaceMove]) -> None:
        space, to = asked.ask.space, asked.ask.to
        known, me = self._existing(space), self._context.me
        if asked.ask.force:
            self._force(asked, known)
            return
        if not self._spaces.is_home(space):
            self._relay.pass_on(asked, space, SpaceMoved, within=LONG)
            return
        uuid, peer = me.uuid, None
        if to != me.name:
            peer = self._nodes.named(to)
            if peer is None or not self._nodes.is_alive(to) or SPACES not in peer.speaks:
                what = f"{to} cannot become the home of {space}, as it is unreachable from {me.name}."
                raise LocalError(what, hint=f"See `mesh why node {to}`.", code="NODE_AWAY")
            uuid = peer.node.uuid
        voters = self._claiming.voters(space, uuid)
        wanted = replace(known, home=uuid, node=to, voters=voters)
        self._redefine(asked, space, wanted, peer, lambda found: SpaceMoved(spaces=found))

    def _force(self, asked: IncomingCall[AskSpaceMove], known: Definition) -> None:
        """Let the new home begin with copies, as the home is lost."""
        ask, me = asked.ask, self._context.me
        if ask.to != me.name:
            self._relay.send_to(ask.to, asked, SpaceMoved, within=LONG)
            return
        if known.home == me.uuid and not self._forcing.lacks_values(ask.space):
            what = f"{me.name} is the home of {ask.space} already."
            raise LocalError(what, hint=f"See `{why_command(ask.space)}`.", code="SPACE_EXISTS")

        def moved(report: SpaceMoved) -> None:
            now = self._spaces.find(ask.space)
            is_here = now is not None and now.home == me.uuid
            if ask.accept_loss and not is_here:
                what = f"Another change of {ask.space} came first."
                asked.fail(LocalError(what, hint="Try again.", code="NOT_HOME"))
                return
            found = [self._defined(ask.space, now)] if now is not None and is_here else []
            asked.reply(replace(report, spaces=found))

        self._forcing.force(ask, known, moved, asked.fail)

    def _existing(self, space: str) -> Definition:
        """Return the definition of a space. Raises: LocalError NO_SPACE."""
        known = self._spaces.find(check_space(space))
        if known is None:
            hint = "See `mesh map ls`." if space.startswith(f"{MAP}/") else "Its first use creates it."
            raise LocalError(f"{space} does not exist.", hint=hint, code="NO_SPACE")
        return known

    def _redefine(
        self,
        asked: IncomingCall[Any],
        space: str,
        wanted: Definition,
        to: Peer | None = None,
        reply: Callable[[list[SpaceDefined]], ReplyValue] = lambda found: SpaceList(spaces=found),
    ) -> None:
        """Bring a definition of a space of this node into effect, and answer with it."""

        def then(error: LocalError | None) -> None:
            now = self._spaces.find(space)
            if error is not None:
                asked.fail(error)
            elif not is_as_wanted(now, wanted):
                what = f"Another change of {space} came first."
                asked.fail(LocalError(what, hint="Try again.", code="NOT_HOME"))
            else:
                asked.reply(reply([self._defined(space, now)] if now is not None else []))

        try:
            self._moving.redefine(space, wanted, to, then)
        except LocalError as error:
            asked.fail(error)

    def when_defined(self, space: str, asked: IncomingCall[Any], then: Callable[[], None]) -> None:
        """Call `then` when the space is defined, or answer with the error."""

        def created(error: LocalError | None) -> None:
            if error is not None:
                asked.fail(error)
            else:
                then()

        self._create(AskSpaceDeclare(space=space), created)

    def _create(self, ask: AskSpaceDeclare, then: Claimed) -> None:
        """Create a space unless it exists, and call `then` when it does, or with the error."""

        def claimed(error: LocalError | None) -> None:
            if error is None and self._spaces.find(ask.space) is None:  # this node has learned of its removal
                self._create(ask, then)
            else:
                then(error)

        if self._spaces.find(ask.space) is not None:
            then(None)
            return
        self._spaces.check_room()
        me = self._context.me
        voters = self._named_voters(ask, me.uuid) or self._claiming.voters(ask.space, me.uuid)
        keys, size = ask.max_keys or Limits().keys, ask.max_bytes or Limits().size
        wanted = Definition(me.uuid, me.name, 1, keys, size, voters)
        self._claiming.claim(ask.space, wanted, claimed)

    def _named_voters(self, ask: AskSpaceDeclare, home: bytes) -> tuple[bytes, ...]:
        """Return the named voters and the home; none if none are named. Raises: LocalError UNKNOWN_NAME."""
        found = [home] if ask.voters else []
        for name in ask.voters:
            peer = self._nodes.named(name)
            if name != self._context.me.name and peer is None:
                what = f"No node with the name {name} is known, so it cannot vote on {ask.space}."
                raise LocalError(what, hint="See `mesh ls --all`.", code="UNKNOWN_NAME")
            if peer is not None and peer.speaks and SPACES not in peer.speaks:
                what = f"{name} has an earlier release, which has no maps and counters."
                raise LocalError(what, hint="Name another voter.", code="NOT_AVAILABLE")
            found.append(peer.node.uuid if peer is not None else self._context.me.uuid)
        return tuple(dict.fromkeys(found))

    def _defined(self, name: str, each: Definition) -> SpaceDefined:
        return SpaceDefined(
            name=name,
            home=each.node,
            generation=each.generation,
            max_keys=each.max_keys,
            max_bytes=each.max_bytes,
            voters=[self._claiming.name_of(uuid) for uuid in each.voters],
        )
