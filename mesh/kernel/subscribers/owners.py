"""Owners of inboxes: an inbox belongs to the key that first opened it, until it was unused for `linger` s.

Any key may publish and open sessions under any name: two machines may both have a user `pi`, with different
keys. A generated name therefore has no client inbox, and the inbox of a chosen name belongs to a CURVE key.
The key "" stands for the local socket, and for a mesh without keys. A session that moves may show another key
at another node: an inbox belongs to the stream that opened it, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from mesh.errors import BadName, LocalError
from mesh.flow.bounded import Bounded
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.subscribers.remote_readers import Reader
from mesh.names import SessionName
from mesh.operations import Delete, Op, Put

STREAMS = 10_000  # remembered streams
STREAM = "\n"  # end of the key of a row with a stream


class Owners:
    """Owners by the absolute name of a client, or of a session whose client name is generated.

    `later(table, key, op)` writes or deletes a row with the next commit.
    """

    def __init__(self, context: NodeContext, later: Callable[[str, bytes, Op], None]) -> None:
        self._context = context
        self._later = later
        self._users: dict[str, str] = {}
        self._used: dict[str, float] = {}  # time of the last use
        self._streams = Bounded[str, bytes](STREAMS)  # by session: stream that opened its inbox

    def restore_owners(self, rows: dict[bytes, bytes]) -> None:
        for session, stream in stored_streams(rows).items():
            self._streams.keep(session, stream)
        for key, value in rows.items():
            if not (name := key.decode()).endswith(STREAM):
                self._users[name] = value.decode()
                self._used[name] = self._context.clock.now

    def sessions(self) -> Iterator[SessionName]:
        """Yield the sessions that opened an inbox, as far as they are remembered."""
        return map(SessionName.parse, self._streams)

    def owner_of(self, name: SessionName) -> str | None:
        """Return the key that owns the inbox of this client or session, or `None` if there is no owner."""
        user = self._users.get(str(name))
        return user if user is not None else self._users.get(str(name.of_all_sessions()))

    def may_read(self, session: Reader, name: SessionName) -> bool:
        """Return whether the session may read messages for this name, which is its own or its client's."""
        owner = self.owner_of(name)
        return owner is None or user_of(session) == owner or self._is_known(session)

    def _is_known(self, session: Reader) -> bool:
        return self._streams.get(session.text) == session.stream

    def may_open(self, session: Reader) -> bool:
        """Return whether the inboxes of the session and of its client belong to no other key."""
        return self._taken(session) is None

    def _taken(self, session: Reader) -> tuple[str, str] | None:
        """Return the name and the owner of the first inbox that has another owner, or `None`."""
        if self._is_known(session) or (not session.is_named and session.name.session_is_generated):
            return None  # a generated name is new
        user = user_of(session)
        names = (session.text, str(session.name.of_all_sessions()))
        owners = ((name, self._users.get(name, user)) for name in names)
        return next(((name, owner) for name, owner in owners if owner != user), None)

    def claim_inbox(self, session: Reader) -> None:
        """Claim the inbox of a session for its key.

        For a session with a chosen client name, the inbox of the client is claimed. Generated names need no
        claim. Raises: LocalError if the inbox of the session or of its client belongs to another key.
        """
        client = session.name.of_all_sessions()
        if (taken := self._taken(session)) is not None:
            name, owner = taken
            other = "another key" if user_of(session) else "a key, and this session has none"
            raise LocalError(
                f"The inbox of {name} belongs to {other if owner else 'clients without a key'}.",
                hint="Choose another name (client=…), or run at that node: `mesh inbox release "
                f"{client.client}`.",
                code="INBOX_TAKEN",
            )
        if session.is_named:
            self._claim_name(str(client), user_of(session))
        elif not session.name.session_is_generated:
            self._claim_name(session.text, user_of(session))
        else:
            return
        if not self._is_known(session):
            dropped = self._streams.keep(session.text, session.stream)
            key = (session.text + STREAM).encode()
            self._later("inbox", key, Put("inbox", key, session.stream))
            if dropped is not None:
                self._delete_row(dropped[0] + STREAM)

    def _claim_name(self, name: str, user: str) -> None:
        self._used[name] = self._context.clock.now
        if name not in self._users:
            self._users[name] = user
            self._later("inbox", name.encode(), Put("inbox", name.encode(), user.encode()))

    def remove_client(self, text: str) -> list[str]:
        """Remove the owners of the inboxes of a client and its sessions, and return the inboxes' names."""
        name = SessionName.parse(text if "/" in text else f"client/{text}").at(self._context.me.name)
        client = str(name.of_all_sessions())
        found = [known for known in self._users if _client(known) == client]
        for known in found:
            self._free(known)
        return found

    def tick(self, used: Iterable[str]) -> None:
        """Remove the owners of inboxes that were unused for `linger` seconds; `used` has the used inboxes."""
        now = self._context.clock.now
        for name in used:
            for each in (name, _client(name)):
                if each in self._users:
                    self._used[each] = now
        for name in [known for known, at in self._used.items() if now - at > self._context.settings.linger]:
            self._free(name)

    def _free(self, name: str) -> None:
        del self._users[name], self._used[name]
        streams = [each for each in self._streams if name in (each, _client(each))]
        for text in streams:
            del self._streams[text]
            self._delete_row(text + STREAM)
        self._delete_row(name)

    def _delete_row(self, name: str) -> None:
        self._later("inbox", name.encode(), Delete("inbox", name.encode()))


def stored_streams(rows: dict[bytes, bytes]) -> dict[str, bytes]:
    """Return the streams that opened the inboxes of sessions, by session."""
    names = ((key.decode(), stream) for key, stream in rows.items())
    return {name.removesuffix(STREAM): stream for name, stream in names if name.endswith(STREAM)}


def user_of(session: Reader) -> str:
    """Return the key of the session's connections, or "" if there is none."""
    return session.user or ""


def owner_of(owners: Owners, text: str, node: str) -> str:
    """Return the key that owns the inbox of an addressee, or "" if there is none."""
    try:
        return owners.owner_of(SessionName.parse(text).at(node)) or ""
    except BadName:
        return ""


def _client(name: str) -> str:
    return name.partition("/session/")[0]
