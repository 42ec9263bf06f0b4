"""The verbs of maps and counters, which are passed on to the home of the space."""

# Law 1: only the home decides a write or answers a read. Other nodes pass the question on.
# Law 2: a write counts only with the signature of its client, so no node can invent one.
# Law 3: the first write or read creates a space, so a read on a node that is cut off fails: without the
#        definition, it could not tell an empty space from one that it does not know.

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec.structs import replace

from mesh.errors import BadArgument, LocalError, MeshError, RemoteError
from mesh.features.spaces.model.batch import Numbered
from mesh.features.spaces.model.definition import (
    COUNTER,
    OPERATIONS,
    Definition,
    check_space,
    check_space_key,
)
from mesh.features.spaces.model.space import NUMBER, Kind, Outcome, Value, Write
from mesh.features.spaces.node.claiming import Claiming
from mesh.features.spaces.node.homes import Homes
from mesh.features.spaces.node.spaces import Spaces
from mesh.features.spaces.proof import write_text
from mesh.kernel.context.component import Component
from mesh.kernel.context.incoming_call import IncomingCall, Right, Verb, answer
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.pages import page
from mesh.kernel.routes.nodes import Nodes
from mesh.kernel.routes.peer_calls import PeerCalls, Replies
from mesh.proof import stream_of
from mesh.wire.calls import AskSpaceDeclare, AskSpaceRead, AskSpaces, AskSpaceWrite
from mesh.wire.calls.ask import Carried
from mesh.wire.limits import HOPS
from mesh.wire.properties import decode_properties
from mesh.wire.replies import R, SpaceDefined, SpaceList, SpaceRow, SpaceRows, SpaceWritten

TTL_LEAST, TTL_MOST = 100, 10 * 365 * 24 * 3600 * 1000  # ms

A = TypeVar("A", bound=Carried)


class SpaceCalls(Component):
    """Component with the verbs for spaces."""

    def __init__(
        self,
        context: NodeContext,
        nodes: Nodes,
        questions: PeerCalls,
        spaces: Spaces,
        claiming: Claiming,
        homes: Homes,
    ) -> None:
        self._context = context
        self._nodes = nodes
        self._questions = questions
        self._spaces = spaces
        self._claiming = claiming
        self._homes = homes

    def client_verbs(self) -> Sequence[Verb]:
        return (
            answer(AskSpaceWrite, self._on_write, Right.WRITE),
            answer(AskSpaceRead, self._on_read),
            answer(AskSpaces, self._on_list),
            answer(AskSpaceDeclare, self._on_declare, Right.WRITE),
        )

    def peer_verbs(self) -> Sequence[Verb]:
        return (
            answer(AskSpaceWrite, self._on_write),
            answer(AskSpaceRead, self._on_read),
            answer(AskSpaceDeclare, self._on_declare),
        )

    # --- writes -----------------------------------------------------------------------------------------

    def _on_write(self, asked: IncomingCall[AskSpaceWrite]) -> None:
        write = self._checked(asked.ask)
        self._when_defined(asked, lambda: self._write(asked, write))

    def _checked(self, ask: AskSpaceWrite) -> Write:
        """Return the write. Raises: LocalError if it is invalid or forged."""
        kind = check_space(ask.space).partition("/")[0]
        check_space_key(ask.key)
        if ask.op not in [each.value for each in OPERATIONS[kind]]:
            raise BadArgument(f"A {kind} has no operation {ask.op!r}.")
        if kind == COUNTER and ask.op == Kind.PUT_IF.value and len(ask.content) != NUMBER:
            raise BadArgument(f"The value of a counter has {NUMBER} bytes.")
        if ask.ttl and not TTL_LEAST <= ask.ttl <= TTL_MOST:
            raise BadArgument("The ttl of a value is 0.1 s to 10 years.")
        try:
            decode_properties(ask.props)
        except RemoteError as error:
            raise BadArgument(f"The properties of the value cannot be read: {error.what}.") from None
        if not self._context.settings.verify(ask.writer, ask.signature, write_text(ask)):
            what = "The signature of a write is invalid, so its client did not send it."
            raise LocalError(what, code="FORGED_STREAM")
        return Write(Kind(ask.op), ask.key, ask.content, ask.version, 0, ask.amount, ask.props)

    def _write(self, asked: IncomingCall[AskSpaceWrite], write: Write) -> None:
        ask = asked.ask
        if not self._spaces.is_home(ask.space):
            self._pass_on(asked, ask.space, SpaceWritten)
            return
        if ask.ttl:
            write = dataclasses.replace(write, expires=self._context.clock.believed + ask.ttl * 10**6)
        numbered = Numbered(stream_of(ask.writer), ask.number, ask.low, write)
        self._homes.write(ask.space, numbered, lambda outcome: _answer(asked, outcome))

    # --- reads ------------------------------------------------------------------------------------------

    def _on_read(self, asked: IncomingCall[AskSpaceRead]) -> None:
        check_space(asked.ask.space)
        self._when_defined(asked, lambda: self._read(asked))

    def _read(self, asked: IncomingCall[AskSpaceRead]) -> None:
        ask = asked.ask
        if not self._spaces.is_home(ask.space):
            self._pass_on(asked, ask.space, SpaceRows)
        elif ask.key:
            row = self._row(ask.space, ask.key)
            asked.reply(self._rows(ask.space, [row] if row is not None else []))
        else:
            keys = self._homes.state(ask.space).values
            found, after = page(keys, lambda key: self._row(ask.space, key), ask)
            asked.reply(self._rows(ask.space, found, after))

    def _row(self, space: str, key: str) -> SpaceRow | None:
        value = self._homes.find(space, key)
        return _row(key, value) if value is not None else None

    def _rows(self, space: str, found: list[SpaceRow], after: str = "") -> SpaceRows:
        head = self._homes.state(space).head
        return SpaceRows(rows=found, next=after, version=head.version, keys=head.keys, bytes=head.size)

    # --- definitions ------------------------------------------------------------------------------------

    def _on_list(self, asked: IncomingCall[AskSpaces]) -> None:
        named = dict(self._spaces.all(asked.ask.prefix))
        found, after = page(named, lambda name: _defined(name, named[name]), asked.ask)
        asked.reply(SpaceList(spaces=found, next=after))

    def _on_declare(self, asked: IncomingCall[AskSpaceDeclare]) -> None:
        ask = asked.ask
        check_space(ask.space)
        home = ask.home or self._context.me.name
        if home != self._context.me.name and self._spaces.find(ask.space) is None:
            self._send_to(home, asked, SpaceList)
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

        self._create(ask.space, ask.max_keys, ask.max_bytes, then)

    def _when_defined(
        self, asked: IncomingCall[AskSpaceWrite] | IncomingCall[AskSpaceRead], then: Callable[[], None]
    ) -> None:
        """Call `then` when the space is defined, or answer with the error."""

        def created(error: LocalError | None) -> None:
            if error is not None:
                asked.fail(error)
            else:
                then()

        plain = AskSpaceDeclare(space=asked.ask.space)
        self._create(asked.ask.space, plain.max_keys, plain.max_bytes, created)

    def _create(
        self, space: str, max_keys: int, max_bytes: int, then: Callable[[LocalError | None], None]
    ) -> None:
        if self._spaces.find(space) is not None:
            then(None)
            return
        self._spaces.check_room()
        me = self._context.me
        self._claiming.claim(space, Definition(me.uuid, me.name, 1, max_keys, max_bytes), then)

    # --- other nodes ------------------------------------------------------------------------------------

    def _pass_on(self, asked: IncomingCall[A], space: str, says: type[R]) -> None:
        known = self._spaces.find(space)
        assert known is not None
        self._send_to(known.node, asked, says)

    def _send_to(self, node: str, asked: IncomingCall[A], says: type[R]) -> None:
        """Send a question on to a node, and its reply back."""
        me, ask = self._context.me.name, asked.ask
        peer = self._nodes.next_hop(node) if len(ask.visited) < HOPS else None
        if peer is None or peer.node.name in ask.visited:
            asked.fail(_away(node, me))
            return

        def came(replies: Replies[R], _: list[str]) -> None:
            for reply in replies.values():
                if reply.code:
                    asked.fail(LocalError(f"{node} refused the request.", code=reply.code))
                else:
                    asked.reply(reply.value)
                return
            asked.fail(_away(node, me))

        self._questions.ask_all([peer], replace(ask, visited=[*ask.visited, me]), says, came, is_patient=True)


def _answer(asked: IncomingCall[AskSpaceWrite], outcome: Outcome | MeshError) -> None:
    if isinstance(outcome, MeshError):
        asked.fail(LocalError(outcome.what, hint=outcome.hint, code=outcome.code))
        return
    asked.reply(
        SpaceWritten(code=outcome.code, version=outcome.version, content=outcome.content, props=outcome.props)
    )


def _row(key: str, value: Value) -> SpaceRow:
    return SpaceRow(
        key=key, content=value.content, props=value.props, version=value.version, expires=value.expires
    )


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


def _away(node: str, me: str) -> LocalError:
    what = f"The home {node} cannot be reached from {me}."
    return LocalError(what, hint=f"See `mesh why node {node}`.", code="NODE_AWAY")
