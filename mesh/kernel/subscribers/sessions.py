"""The sessions of a node, and the answers that they are owed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from mesh.kernel.context.component import Beginning, Component
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.outlet import Outlet
from mesh.kernel.context.seams import NamedHere
from mesh.kernel.subscribers.expected import ExpectedSessions
from mesh.kernel.subscribers.owners import stored_streams
from mesh.kernel.subscribers.remote_readers import RemoteReaders
from mesh.kernel.subscribers.session import INBOX, REPLIES, Session, merged, subscription_of
from mesh.names import CLIENT, SessionName
from mesh.routing.feed import Feed
from mesh.wire.commands import Answer, Answers


class Sessions(Component):
    """The sessions of this node, connected or not, and the answers that wait to be sent to them.

    `by_stream` has the sessions by stream id. `others` maps the streams of components that publish to
    the functions that receive the answers. `remote` and `expected` are sessions of this node at others.
    """

    def __init__(self, context: NodeContext) -> None:
        self.by_stream: dict[bytes, Session] = {}
        self._names: dict[str, Session] = {}
        self._of_client: dict[str, dict[str, Session]] = {}  # by the client's name
        self._answering: dict[Session, None] = {}  # sessions with answers to send
        self.remote = RemoteReaders()
        self.expected = ExpectedSessions()
        self.others: dict[bytes, Callable[[Answer], None]] = {}  # by stream: components that publish
        self._context = context
        self._readers: dict[str, bytes] = {}  # by session: stream that opened its inbox before the start

    def start(self, beginning: Beginning) -> None:
        self._readers = stored_streams(beginning.rows("inbox"))

    def figures(self) -> dict[str, int | float]:
        return {
            "sessions": len(self.by_stream),
            "connected_sessions": sum(session.conn is not None for session in self.by_stream.values()),
            "subscriptions": sum(1 for _ in self.feeds()),
        }

    def named_here(self) -> Mapping[str, NamedHere]:
        return {CLIENT: NamedHere(self._client_names, self._client_names, self._client_state)}

    def _client_names(self) -> Iterator[str]:
        """Yield the names of clients, such as `client/joe`, and of their sessions with a chosen number."""
        for client, sessions in self._of_client.items():
            yield f"client/{client}"
            numbers = (session.name.session for session in sessions.values())
            yield from (f"client/{client}/session/{n}" for n in numbers if n is not None and n > 0)

    def _client_state(self, name: str) -> tuple[str, int] | None:
        """Return ("connected" or "away", the number of such sessions) of a client or session."""
        sessions = list(self.all_of(SessionName.parse(name)))
        connected = sum(session.conn is not None for session in sessions)
        if connected:
            return "connected", connected
        return ("away", len(sessions)) if sessions else None

    def feeds(self) -> Iterator[Feed]:
        for session in self.by_stream.values():
            yield from (feed for number, feed in session.feeds.items() if number not in (INBOX, REPLIES))

    def session_of(self, conn: Conn) -> Session | None:
        """Return the session whose current connection is `conn`, or `None`."""
        session = self.by_stream.get(conn.owner)
        return session if session is not None and session.conn is conn else None

    def named(self, name: SessionName) -> Session | None:
        """Return the session of that name, connected or not, or `None`."""
        return self._names.get(str(name))

    def visitor_of(self, name: SessionName) -> SessionName | None:
        """Return that session or client with the node of its name, if it visits this node, else `None`."""
        ours = [each for each in self._of_client.get(name.client, {}).values() if each.conn is not None]
        wanted = [each.name for each in ours if name.session in (None, each.name.session)]
        found = next((each for each in wanted if each.node != self._context.me.name), None)
        return found and name.at(found.node or "")

    def is_elsewhere(self, name: SessionName, stream: bytes) -> bool:
        """Return whether a session of this node is used at another node, by another client than `stream`."""
        reader = self.remote.find(name)
        is_connected = reader is not None and reader.is_connected
        at = reader or self._context.visits.of_session(str(name))
        if at is None or at.stream == stream or at.node == self._context.me.uuid:
            return False
        return is_connected or self.expected.includes(name, self._context.clock.now)

    def has_ended(self, stream: bytes) -> bool:
        """Return whether a session that was here is neither here nor known to be at another node."""
        has_left = self._context.visits.has_left(stream, self._context.me.uuid)
        return not has_left and stream not in self.by_stream

    def holder(self, feed: Feed) -> Session | None:
        return self.by_stream.get(feed.key[1:17])

    def speak(self, feed: Feed, word: str) -> bool:
        """Return whether the subscriber is connected and has the feature `word`."""
        session = self.holder(feed)
        return session is not None and session.conn is not None and word in session.conn.speaks

    def all_of(self, name: SessionName) -> Iterator[Session]:
        """Yield the session of that name, or all sessions of that client here, connected or not.

        Sessions that visit this node have the name of their home.
        """
        ours = (s for s in self._of_client.get(name.client, {}).values() if name.node in (None, s.name.node))
        return (s for s in ours if name.session in (None, s.name.session))

    def unnamed_of(self, name: SessionName) -> str:
        """Return a connected session of a client that has the name only by default, or ""."""
        ours = [] if name.session is not None else list(self.all_of(name))
        unnamed = (s.text for s in ours if s.conn is not None)
        return "" if any(s.is_named for s in ours) else next(unnamed, "")

    def of_same_client(self, session: Session) -> Iterator[Session]:
        """Yield the sessions with the key of `session`; if it has none, those of its client without a key."""
        user, client = session.user, session.name.client
        for each in self.by_stream.values():
            if each.user == user if user else not each.user and each.name.client == client:
                yield each

    def clients(self) -> Iterable[str]:
        return self._of_client

    def open_of(self, name: SessionName) -> list[Session]:
        """Return the connected session of that name, or all connected ones of a client with a chosen name."""
        if name.session is not None:
            session = self.named(name)
            return [session] if session is not None and session.conn is not None else []
        ours = self._of_client.get(name.client, {})
        connected = [
            ours[text] for text in sorted(ours) if ours[text].conn is not None and ours[text].is_named
        ]
        return [session for session in connected if name.node in (None, session.name.node)]

    def open_session(self, name: SessionName, stream: bytes) -> Session:
        """Add a new session, without a connection."""
        s = self._context.settings
        outlet = Outlet(s.window_bytes, s.link_messages, subscription_of, to_peer=False)
        session = Session(name, stream, outlet)
        self.by_stream[stream] = self._names[session.text] = session
        self._of_client.setdefault(name.client, {})[session.text] = session
        return session

    def restore_session(self, name: SessionName, stream: bytes) -> Session:
        """Add a session of an earlier process, whose client may come back."""
        session = self.by_stream.get(stream) or self.open_session(name, stream)
        session.has_spoken = True
        session.gone_since = self._context.clock.now
        return session

    def restore_reader(self, name: SessionName) -> Session | None:
        """Add the session that opened the inbox of this name in an earlier process, if there was one."""
        stream = self._readers.pop(str(name), None)
        return self.restore_session(name, stream) if stream is not None else None

    def remove_session(self, session: Session) -> None:
        del self.by_stream[session.stream]
        if self._names.get(session.text) is session:
            del self._names[session.text]
            ours = self._of_client[session.name.client]
            del ours[session.text]
            if not ours:
                del self._of_client[session.name.client]

    def answer_client(self, stream: bytes, answer: Answer) -> None:
        """Count an answer, and pass it to the client or the component that published the messages."""
        self._context.counters.accounts.count_answer(stream, answer)
        session = self.by_stream.get(stream)
        if session is not None:
            self.owe(session, answer)
        elif stream in self.others:
            self.others[stream](answer)

    def owe(self, session: Session, answer: Answer) -> None:
        """Queue an answer to a session for the next flush, which drops it if the session is disconnected."""
        session.answers.append(answer)
        self._answering[session] = None

    def flush(self) -> None:
        """Send the queued answers, and drop the answers for disconnected sessions."""
        if not self._answering:
            return
        for session in self._answering:
            if session.answers and session.conn is not None:
                self._context.out.send(session.conn, Answers(tuple(merged(session.answers))))
            session.answers = []  # a reconnecting client resends, and is answered again
        self._answering.clear()
