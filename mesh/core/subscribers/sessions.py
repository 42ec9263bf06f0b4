"""Which sessions are there, and what are they still to be answered?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from mesh.core.desk.conn import Conn
from mesh.core.desk.desk import Desk
from mesh.core.desk.part import Part
from mesh.core.subscribers.session import INBOX, REPLIES, Session, merged
from mesh.names import SessionName
from mesh.routing.feed import Feed
from mesh.wire.commands import Answer, Answers


class Sessions(Part):
    """All of them by stream id (`by_stream`), and by name."""

    def __init__(self, desk: Desk) -> None:
        self.by_stream: dict[bytes, Session] = {}
        self._names: dict[str, Session] = {}
        self._of_client: dict[str, dict[str, Session]] = {}  # the same by the client's name
        self._answering: dict[Session, None] = {}  # are owed an answer
        self.others: dict[bytes, Callable[[Answer], None]] = {}  # by stream: parts of this node that publish
        self._desk = desk

    def figures(self) -> dict[str, int | float]:
        return {
            "sessions": len(self.by_stream),
            "connected_sessions": sum(session.conn is not None for session in self.by_stream.values()),
            "subscriptions": sum(1 for _ in self.feeds()),
        }

    def feeds(self) -> Iterator[Feed]:
        for session in self.by_stream.values():
            yield from (feed for number, feed in session.feeds.items() if number not in (INBOX, REPLIES))

    def of(self, conn: Conn) -> Session | None:
        """Whose connection it is, if it is a client's and still in use."""
        session = self.by_stream.get(conn.owner)
        return session if session is not None and session.conn is conn else None

    def named(self, name: SessionName) -> Session | None:
        """The one of that name, connected or not."""
        return self._names.get(str(name))

    def holder(self, feed: Feed) -> Session | None:
        """The session whose subscription that is."""
        return self.by_stream.get(feed.key[1:17])

    def speak(self, feed: Feed, word: str) -> bool:
        """Does whoever has that subscription say the word now?"""
        session = self.holder(feed)
        return session is not None and session.conn is not None and word in session.conn.speaks

    def all_of(self, name: SessionName) -> Iterator[Session]:
        """The session of that name, or all of that client here, connected or not."""
        ours = self._of_client.get(name.client, {}) if name.node in (None, self._desk.me.name) else {}
        return (s for s in ours.values() if name.session in (None, s.name.session))

    def clients(self) -> Iterable[str]:
        """The names of the clients that have a session here."""
        return self._of_client

    def open_of(self, name: SessionName) -> list[Session]:
        """The session of that name, or all that chose to be that client, if they are connected."""
        if name.session is not None:
            session = self.named(name)
            return [session] if session is not None and session.conn is not None else []
        ours = self._of_client.get(name.client, {})
        return [ours[text] for text in sorted(ours) if ours[text].conn is not None and ours[text].is_named]

    def add(self, session: Session) -> None:
        """A new one."""
        self.by_stream[session.stream] = self._names[session.text] = session
        self._of_client.setdefault(session.name.client, {})[session.text] = session

    def remove(self, session: Session) -> None:
        """Remove a session that will not come back."""
        del self.by_stream[session.stream]
        if self._names.get(session.text) is session:
            del self._names[session.text]
            ours = self._of_client[session.name.client]
            del ours[session.text]
            if not ours:
                del self._of_client[session.name.client]

    def answer(self, stream: bytes, answer: Answer) -> None:
        """Answer a client what became of something that it has published."""
        self._desk.accounts.answered(stream, answer)
        session = self.by_stream.get(stream)
        if session is not None:
            self.owe(session, answer)
        elif stream in self.others:
            self.others[stream](answer)

    def owe(self, session: Session, answer: Answer) -> None:
        """Have a session told of an answer with the next flush."""
        session.answers.append(answer)
        self._answering[session] = None

    def flush(self) -> None:
        """Send the answers that have gathered."""
        for session in self._answering:
            if session.answers and session.conn is not None:
                self._desk.send(session.conn, Answers(tuple(merged(session.answers))))
            session.answers = []  # whoever reconnects sends again, and is answered again
        self._answering.clear()
