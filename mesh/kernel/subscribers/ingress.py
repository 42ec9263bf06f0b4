"""Checks the messages of clients: their order, their domains and keys, and the number of domains."""

from __future__ import annotations

from mesh.errors import BadName, LocalError, PublishRefused, RemoteError
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.subscribers.session import Session
from mesh.names import PUTS, SENDS, queue_of
from mesh.patterns import SYSTEM
from mesh.reserved import is_below_reserved, of_level, reserved
from mesh.wire.envelope import Envelope

DOMAINS = 10_000  # streams of one key, or of a session without one
KEPT = 24 * 3600.0  # s, as long as a master remembers a stream
CHECKED = 100_000  # keys remembered as not reserved


class Ingress:
    """The checks of published messages, made once for each domain of a connection and for each key.

    The caller consults `Session.sent` and `free` first, so that domains and keys that were checked before
    cost almost nothing.
    """

    def __init__(self, context: NodeContext) -> None:
        self._context = context
        self.free: set[str] = set()  # keys that are not reserved
        self._streams: dict[bytes, dict[str, float]] = {}  # stream -> domain -> since when
        self._holder: dict[bytes, str | bytes] = {}  # stream -> its key, or itself
        self._counts: dict[str | bytes, int] = {}  # holder -> number of streams

    def refuses(self, session: Session, e: Envelope) -> LocalError | None:
        """Return why an envelope is refused, or `None`. Raises: RemoteError if it breaks the protocol."""
        last = session.sent.get(e.domain, 0)
        if e.first <= last:
            text = f"{session.name} sent number {e.first} of domain {e.domain!r} after number {last}"
            raise RemoteError(text, code="OUT_OF_ORDER")
        return self._reserved(e) or self._too_many(session, e.domain)

    def _reserved(self, e: Envelope) -> LocalError | None:
        for name in (e.domain, *e.keys):
            if name.startswith(SYSTEM):
                return reserved(name)
        if e.domain.startswith(PUTS):
            try:
                queue_of(e.domain)
            except BadName as error:
                return error
        elif e.domain != SENDS and is_below_reserved(e.domain):
            return of_level(e.domain)
        if len(self.free) >= CHECKED:
            self.free.clear()
        self.free.update(e.keys)
        return None

    def _too_many(self, session: Session, domain: str) -> PublishRefused | None:
        domains = self._streams.setdefault(session.stream, {})
        if domain in domains:
            return None
        user = session.conn.user if session.conn is not None else ""
        holder = self._holder.setdefault(session.stream, user or session.stream)
        count = self._counts.get(holder, 0)
        if count >= DOMAINS:
            text = f"{session.name} has published in {count:,} domains, which is the limit."
            hint = "Use fewer domains, with more topics in each."
            if holder != session.stream:
                whose = f"The sessions with the key of {session.name} have {count:,} streams"
                text = f"{whose}, one for each session and domain, which is the limit."
                hint = f"Use fewer sessions. {hint}"
            return PublishRefused(text, hint=hint, code="TOO_MANY_DOMAINS")
        domains[domain] = self._context.clock.now
        self._counts[holder] = count + 1
        return None

    def forget_session(self, stream: bytes) -> None:
        self._uncount(stream, len(self._streams.pop(stream, {})))
        self._holder.pop(stream, None)

    def forget_old(self, sessions: dict[bytes, Session]) -> None:
        """Forget streams opened over 24 hours ago; a stream still in use is checked and counted again."""
        oldest = self._context.clock.now - KEPT
        for stream, domains in list(self._streams.items()):
            old = [domain for domain, since in domains.items() if since < oldest]
            for domain in old:
                del domains[domain]
                if stream in sessions:
                    sessions[stream].sent.pop(domain, None)
                    sessions[stream].sent_before.pop(domain, None)
            self._uncount(stream, len(old))
            if not domains:
                self.forget_session(stream)

    def _uncount(self, stream: bytes, n: int) -> None:
        holder = self._holder.get(stream, stream)
        left = self._counts.get(holder, 0) - n
        if left > 0:
            self._counts[holder] = left
        else:
            self._counts.pop(holder, None)
