"""The session of one outbox stream, which one sender after the other resumes."""

# Law 1: the session is never ended, as a node that gets BYE forgets the numbers of its streams.
# Law 2: the first node of each sender is a visit with a number above all before, so the session leaves a
#   sender whose lease is over.

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from mesh.client.connected import Connected
from mesh.client.core.builder import Builder
from mesh.client.core.client_handshake import SiteSession
from mesh.client.node_list import NodeList
from mesh.client.shell import Shell
from mesh.errors import MeshError, RemoteError
from mesh.features.transactions.client.database.numbered_outbox import NumberedOutbox, Surroundings
from mesh.features.transactions.database.outbox_rows import PUBLISH, PUT, Terms, read_terms
from mesh.features.transactions.database.outbox_table import StoredMessage, StreamRow
from mesh.security.streamkey import StreamKey
from mesh.wire.codec import pack, reader
from mesh.wire.connection import MOVING
from mesh.wire.limits import CONTROL_FRAME

LOST = ("MOVED", "SESSION_IN_USE")  # refusals of a sender whose stream another one has
NAME = "outbox"  # of the client, if its user chose none


class StoredSession(Struct, frozen=True, array_like=True):
    """The column `token`: what the next sender presents, to resume the session."""

    client: str
    number: int
    node: str
    token: bytes


_read = reader(StoredSession, CONTROL_FRAME)


class StreamClient(Connected):
    """A client that publishes rows with their own numbers. `answered` is called at each answer."""

    def __init__(
        self, row: StreamRow, answered: Callable[[], None], nodes: Sequence[str], options: dict[str, Any]
    ) -> None:
        self.outbox = NumberedOutbox(answered)
        self._stored = _read(row.token) if row.token else None
        self._stream_key, self._attach = StreamKey(row.seed), row.attach
        client = self._stored.client if self._stored else options.get("client") or NAME
        super().__init__(*nodes, **{**options, "client": client, "timeout": options.get("timeout", 5.0)})
        self._client_name = client
        self.sent = 0  # highest number

    def _made(self, name: tuple[str, int, bool], key: StreamKey) -> Shell:
        way, saved = self._way, NodeList(self._way, is_read=bool(self._wanted.names))
        tell, limit, around = self._events.announce, 2 * self._timeout, Surroundings(self.outbox)
        shell = Shell(
            name,
            self._stream_key,
            limit,
            way.find_access,
            tell,
            around=around,
            wanted=self._wanted,
            saved=saved,
        )
        stored, handshake = self._stored, shell.core.line.handshake
        session = SiteSession(stored.number, stored.node, stored.token) if stored else SiteSession(name[1])
        session.attach = self._attach
        handshake.restore_session(session)
        shell.core.visits.begin_at(self._attach)
        return shell

    @property
    def is_up(self) -> bool:
        return self._core.line.is_up

    @property
    def refusal(self) -> str:
        """The code of the refusal by the last node; "" without one."""
        why = self._core.line.why
        return "" if why is None or self.is_up else why.code

    def changed_session(self) -> bytes:
        """Return the session for the next sender if it has changed, else empty bytes."""
        it = self._core.line.handshake.session
        found = StoredSession(self._client_name, it.number, it.home, it.token)
        if not it.token or found == self._stored:
            return b""
        self._stored = found
        return pack([found.client, found.number, found.node, found.token])

    async def leave(self) -> None:
        """Close the client, and keep its session."""
        if self._shell.is_open:
            self._core.line.close(MOVING)
            await self.close(drain=False)

    # --- sending ----------------------------------------------------------------------------------------

    def send_rows(self, rows: Sequence[StoredMessage], known: int) -> list[tuple[int, str]]:
        """Send rows in order, and return the numbers of damaged ones, each with the reason.

        Numbers up to `known` may have been sent by another sender, and are marked as resent.
        """
        self._now()
        damaged: list[tuple[int, str]] = []
        builder: Builder | None = None
        for row in rows:
            try:
                terms = read_terms(row.properties)
            except RemoteError as error:
                damaged.append((row.number, str(error)))
                continue
            if builder is None or not _fits(builder, row, terms):
                self._send(builder, known)
                builder = Builder(row.domain, terms.flags, _receiver(row), row.number)
                builder.put, builder.xml = terms.put, terms.xml
            key = row.target if row.kind == PUBLISH else terms.key
            builder.add(key, row.content, terms.properties, terms.expires)
            self.sent = row.number
        self._send(builder, known)
        self._shell.hurry()
        return damaged

    def _send(self, builder: Builder | None, known: int) -> None:
        if builder is None:
            return
        envelope = self.outbox.place(builder.seal(self._core.stream))
        if envelope.first <= known:
            self._core.sender.mark_sent(envelope.domain, known)
        self._core.sender.send_envelope(envelope, 0.0)

    def refusal_of(self, domain: str, number: int) -> MeshError | None:
        """Return the reason of a refused number; `None` if it was accepted."""
        return self._publisher.verdicts.first_refusal(domain, ((number, number),))

    def has_refused(self, domain: str, first: int, last: int) -> bool:
        return self._publisher.verdicts.has_refused(domain, ((first, last),))


def _receiver(row: StoredMessage) -> str:
    if row.kind == PUBLISH:
        return ""
    return row.domain if row.kind == PUT else row.target


def _fits(builder: Builder, row: StoredMessage, terms: Terms) -> bool:
    """Return whether a row is the next one of an open envelope."""
    kind = builder.domain, builder.flags, builder.to, builder.put, builder.xml
    is_alike = kind == (row.domain, terms.flags, _receiver(row), terms.put, terms.xml)
    return is_alike and not builder.full and row.number == builder.first + len(builder.slices)
