"""The verbs that list and create spaces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mesh.errors import LocalError
from mesh.features.spaces.model.definition import Definition, check_space
from mesh.features.spaces.node.claiming import Claimed, Claiming
from mesh.features.spaces.node.home_relay import HomeRelay
from mesh.features.spaces.node.spaces import Spaces
from mesh.kernel.context.component import Component
from mesh.kernel.context.incoming_call import IncomingCall, Right, Verb, answer
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.pages import page
from mesh.wire.calls import AskSpaceDeclare, AskSpaces
from mesh.wire.replies import SpaceDefined, SpaceList


class Declaring(Component):
    """Component with the verbs that list and create spaces."""

    def __init__(self, context: NodeContext, relay: HomeRelay, spaces: Spaces, claiming: Claiming) -> None:
        self._context = context
        self._relay = relay
        self._spaces = spaces
        self._claiming = claiming

    def client_verbs(self) -> Sequence[Verb]:
        return (answer(AskSpaces, self._on_list), answer(AskSpaceDeclare, self._on_declare, Right.WRITE))

    def peer_verbs(self) -> Sequence[Verb]:
        return (answer(AskSpaceDeclare, self._on_declare),)

    def _on_list(self, asked: IncomingCall[AskSpaces]) -> None:
        named = dict(self._spaces.all(asked.ask.prefix))
        found, after = page(named, lambda name: _defined(name, named[name]), asked.ask)
        asked.reply(SpaceList(spaces=found, next=after))

    def _on_declare(self, asked: IncomingCall[AskSpaceDeclare]) -> None:
        ask = asked.ask
        check_space(ask.space)
        home = ask.home or self._context.me.name
        if home != self._context.me.name and self._spaces.find(ask.space) is None:
            self._relay.send_to(home, asked, SpaceList)
            return

        def then(error: LocalError | None) -> None:
            if error is not None:
                asked.fail(error)
                return
            known = self._spaces.find(ask.space)
            assert known is not None
            given = (ask.max_keys, ask.max_bytes, ask.home or known.node)
            if (known.max_keys, known.max_bytes, known.node) != given:
                asked.fail(_other_terms(ask.space, known))
            else:
                asked.reply(SpaceList(spaces=[_defined(ask.space, known)]))

        self._create(ask, then)

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
        voters = self._claiming.voters(ask.space, me.uuid)
        wanted = Definition(me.uuid, me.name, 1, ask.max_keys, ask.max_bytes, voters)
        self._claiming.claim(ask.space, wanted, claimed)


def _defined(name: str, each: Definition) -> SpaceDefined:
    return SpaceDefined(
        name=name,
        home=each.node,
        generation=each.generation,
        max_keys=each.max_keys,
        max_bytes=each.max_bytes,
    )


def _other_terms(space: str, known: Definition) -> LocalError:
    what = f"{space} exists with max_keys={known.max_keys}, max_bytes={known.max_bytes}, home={known.node!r}."
    return LocalError(what, hint="Declare it with these, or use another name.", code="SPACE_EXISTS")
