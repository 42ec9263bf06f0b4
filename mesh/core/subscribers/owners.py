"""Whose is the inbox of a client? The key's that opened it first, as long as it holds or awaits anything.

Any key may use any name, for publishing and for sessions of its own: two machines whose user is called pi
are two keys. So a name that nobody chose has no inbox of the client as a whole, and one that is chosen
belongs to a key of CURVE; over the local file, and without keys, that is "".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mesh.core.desk.desk import Desk
from mesh.core.subscribers.session import Session
from mesh.errors import BadName, LocalError
from mesh.names import SessionName
from mesh.operations import Delete, Op, Put


class Owners:
    """By name of a client, or of a session whose client's name nobody chose; absolute as text.

    `later(table, key, op)` has a row written.
    """

    def __init__(self, desk: Desk, later: Callable[[str, bytes, Op], None]) -> None:
        self._desk = desk
        self._later = later
        self._users: dict[str, str] = {}
        self._used: dict[str, float] = {}  # when each was last seen to hold or await anything

    def restore(self, rows: dict[bytes, bytes]) -> None:
        """From the store, at start."""
        for key, user in rows.items():
            self._users[key.decode()] = user.decode()
            self._used[key.decode()] = self._desk.now

    def of(self, name: SessionName) -> str | None:
        """The key that has the inbox of this client or session; None: whoever comes first."""
        user = self._users.get(str(name))
        return user if user is not None else self._users.get(str(name.of_all_sessions()))

    def may_open(self, session: Session) -> bool:
        """Does none of what it would be given belong to another key?"""
        if not session.is_named and session.name.session_is_generated:
            return True  # nobody else had that name before
        user = user_of(session)
        names = (session.text, str(session.name.of_all_sessions()))
        return all(self._users.get(name, user) == user for name in names)

    def open(self, session: Session) -> None:
        """Open the inbox of a session. LocalError when it belongs to somebody else."""
        client = session.name.of_all_sessions()
        if not self.may_open(session):
            raise LocalError(
                f"the inbox of {client} belongs to another key, and still holds or awaits messages.",
                hint=f"Choose another name (client=…), or at that node: mesh inbox release {client.client}",
                code="INBOX_TAKEN",
            )
        if session.is_named:
            self._take(str(client), user_of(session))
        elif not session.name.session_is_generated:
            self._take(session.text, user_of(session))

    def _take(self, name: str, user: str) -> None:
        self._used[name] = self._desk.now
        if name not in self._users:
            self._users[name] = user
            self._later("inbox", name.encode(), Put("inbox", name.encode(), user.encode()))

    def release(self, text: str) -> list[str]:
        """Leave the inboxes of that client to whoever comes next; returns their names."""
        name = SessionName.parse(text if "/" in text else f"client/{text}").at(self._desk.me.name)
        client = str(name.of_all_sessions())
        found = [known for known in self._users if _client(known) == client]
        for known in found:
            self._free(known)
        return found

    def tick(self, used: Iterable[str]) -> None:
        """`used`: names of inboxes that hold or await anything."""
        now = self._desk.now
        for name in used:
            for each in (name, _client(name)):
                if each in self._users:
                    self._used[each] = now
        for name in [known for known, at in self._used.items() if now - at > self._desk.settings.linger]:
            self._free(name)

    def _free(self, name: str) -> None:
        del self._users[name], self._used[name]
        self._later("inbox", name.encode(), Delete("inbox", name.encode()))


def user_of(session: Session) -> str:
    """The key by which it came in."""
    return session.user or ""


def owner_of(owners: Owners, text: str, node: str) -> str:
    """The key that has the inbox that a message is for; "" without any."""
    try:
        return owners.of(SessionName.parse(text).at(node)) or ""
    except BadName:
        return ""


def _client(name: str) -> str:
    return name.partition("/session/")[0]
