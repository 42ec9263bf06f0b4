"""The verbs of maps and counters, which are passed on to the home of the space."""

# Law 1: only the home decides a write or answers a read. Other nodes pass the question on. A read that may be
#        stale is answered with copies while the home does not act.
# Law 2: a write counts only with the signature of its client, so no node can invent one.
# Law 3: the first write or read creates a space, so a read on a node that is cut off fails: without the
#        definition, it could not tell an empty space from one that it does not know.

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from mesh.errors import BadArgument, LocalError, MeshError, RemoteError
from mesh.features.spaces.model.batch import Numbered
from mesh.features.spaces.model.definition import COUNTER, OPERATIONS, check_space, check_space_key
from mesh.features.spaces.model.space import NUMBER, Kind, Outcome, Write
from mesh.features.spaces.node.copies import Copies, row_of
from mesh.features.spaces.node.declaring import Declaring
from mesh.features.spaces.node.home_relay import HomeRelay
from mesh.features.spaces.node.homes import Homes
from mesh.features.spaces.node.spaces import Spaces
from mesh.features.spaces.proof import write_text
from mesh.kernel.context.component import Component
from mesh.kernel.context.incoming_call import IncomingCall, Right, Verb, answer
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.pages import page
from mesh.proof import stream_of
from mesh.wire.calls import AskSpaceRead, AskSpaceWrite
from mesh.wire.properties import decode_properties
from mesh.wire.replies import SpaceRow, SpaceRows, SpaceWritten

AWAY = ("NODE_AWAY", "NO_LEASH", "NOT_HOME", "NO_VALUES")  # the home does not act
TTL_LEAST, TTL_MOST = 100, 10 * 365 * 24 * 3600 * 1000  # ms


class SpaceCalls(Component):
    """Component with the verbs for spaces."""

    def __init__(
        self,
        context: NodeContext,
        relay: HomeRelay,
        spaces: Spaces,
        declaring: Declaring,
        homes: Homes,
        copies: Copies,
    ) -> None:
        self._context = context
        self._relay = relay
        self._spaces = spaces
        self._when_defined = declaring.when_defined
        self._homes = homes
        self._copies = copies

    def client_verbs(self) -> Sequence[Verb]:
        return (answer(AskSpaceWrite, self._on_write, Right.WRITE), answer(AskSpaceRead, self._on_read))

    def peer_verbs(self) -> Sequence[Verb]:
        return (answer(AskSpaceWrite, self._on_write), answer(AskSpaceRead, self._on_read))

    # --- writes -----------------------------------------------------------------------------------------

    def _on_write(self, asked: IncomingCall[AskSpaceWrite]) -> None:
        write = self._checked(asked.ask)
        self._when_defined(asked.ask.space, asked, lambda: self._write(asked, write))

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
            self._relay.pass_on(asked, ask.space, SpaceWritten, lambda written: self._keep(ask, written))
            return
        if ask.ttl:
            write = dataclasses.replace(write, expires=self._context.clock.believed + ask.ttl * 10**6)
        numbered = Numbered(stream_of(ask.writer), ask.number, ask.low, write)
        self._homes.write(ask.space, numbered, lambda outcome: _answer(asked, outcome))

    def _keep(self, ask: AskSpaceWrite, written: SpaceWritten) -> None:
        """Keep a copy of what a client of this node has written."""
        if written.code:
            return
        if ask.op == Kind.REMOVE.value:
            self._copies.keep(ask.space, ask.key, None, written.version)
            return
        content = written.content if ask.op == Kind.ADD.value else ask.content
        expires = self._context.clock.believed + ask.ttl * 10**6 if ask.ttl else 0
        row = SpaceRow(
            key=ask.key, content=content, props=ask.props, version=written.version, expires=expires
        )
        self._copies.keep_rows(ask.space, [row])

    # --- reads ------------------------------------------------------------------------------------------

    def _on_read(self, asked: IncomingCall[AskSpaceRead]) -> None:
        check_space(asked.ask.space)
        self._when_defined(asked.ask.space, asked, lambda: self._read(asked))

    def _read(self, asked: IncomingCall[AskSpaceRead]) -> None:
        ask = asked.ask
        if self._spaces.is_home(ask.space):
            self._read_here(asked)
            return

        def failed(error: LocalError) -> None:
            if ask.fresh or ask.visited or error.code not in AWAY:
                asked.fail(error)
            else:
                self._reply_copies(asked)

        def came(rows: SpaceRows) -> None:
            if not rows.stale:
                self._copies.keep_rows(ask.space, rows.rows)

        self._relay.pass_on(asked, ask.space, SpaceRows, came, failed)

    def _read_here(self, asked: IncomingCall[AskSpaceRead]) -> None:
        ask, is_stale = asked.ask, False
        try:
            self._homes.check(ask.space)
        except LocalError as error:
            if ask.fresh or error.code not in AWAY:
                asked.fail(error)
                return
            is_stale = True
        keys = [ask.key] if ask.key else self._homes.state(ask.space).values
        found, after = page(keys, lambda key: self._row(ask.space, key), ask)
        head = self._homes.state(ask.space).head
        asked.reply(
            SpaceRows(
                rows=found,
                next="" if ask.key else after,
                version=head.version,
                keys=head.keys,
                bytes=head.size,
                stale=is_stale,
            )
        )

    def _reply_copies(self, asked: IncomingCall[AskSpaceRead]) -> None:
        """Answer with copies, as the home does not act."""
        copies = self._copies.find(asked.ask.space)
        keys = [key for key in copies if not asked.ask.key or key == asked.ask.key]
        found, after = page(keys, lambda key: copies[key].row, asked.ask)
        asked.reply(SpaceRows(rows=found, next=after, keys=len(copies), stale=True))

    def _row(self, space: str, key: str) -> SpaceRow | None:
        value = self._homes.find(space, key)
        return row_of(key, value) if value is not None else None


def _answer(asked: IncomingCall[AskSpaceWrite], outcome: Outcome | MeshError) -> None:
    if isinstance(outcome, MeshError):
        asked.fail(LocalError(outcome.what, hint=outcome.hint, code=outcome.code))
        return
    asked.reply(
        SpaceWritten(code=outcome.code, version=outcome.version, content=outcome.content, props=outcome.props)
    )
