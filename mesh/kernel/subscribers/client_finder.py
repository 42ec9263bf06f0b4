"""Finds the connected sessions that an XPath selects, at all nodes that can be asked."""

# Law 1: at most MOST sessions are returned; `too_many` says that more match.
# Law 2: a node answers for its own sessions, for those that visit it by their certificates, and for those at
#        nodes that the asking node cannot ask itself.
# Law 3: a node that cannot answer is named in `missing`.

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from functools import partial

from msgspec.structs import replace

from mesh.errors import BadName
from mesh.kernel.asking.scans import Scans
from mesh.kernel.context.component import Component
from mesh.kernel.context.incoming_call import IncomingCall, Right, Verb, answer
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.pages import NAMES
from mesh.kernel.context.settings import CONFIRM
from mesh.kernel.peers.peer import Peer
from mesh.kernel.routes.nodes import Nodes
from mesh.kernel.routes.peer_calls import PeerCalls, Replies
from mesh.kernel.subscribers.session import INBOX, Session
from mesh.kernel.subscribers.sessions import Sessions
from mesh.mapping.clientxml import ClientDocument
from mesh.mapping.cost import MOST as VISITS
from mesh.mapping.keyxml import asked as compiled
from mesh.names import SessionName
from mesh.wire.calls import AskClients
from mesh.wire.commands import Query
from mesh.wire.limits import DIRECT, KEY_XML, XPATH
from mesh.wire.replies import ClientRows

MOST = 1000  # sessions in an answer
LEAST = 500  # visits per session: its document is parsed
VISITED = 1024  # visited nodes in a question


class ClientScan:
    """A scan of `sessions` with an XPath, in slices. `found` has the names that match so far."""

    def __init__(self, xpath: str, sessions: Iterable[Session]) -> None:
        self.found: list[str] = []
        self._xpath = compiled(xpath)
        self._left = iter(sessions)

    def go_on(self, visits: int = VISITS) -> bool:
        """Scan another slice, and return False when no session is left or too many match."""
        for session in self._left:
            if session.conn is None:
                continue
            document = document_of(session)
            if self._xpath.matches(document):
                self.found.append(session.text)
                if len(self.found) > MOST:
                    return False
            visits -= max(LEAST, self._xpath.price * len(document.text) // KEY_XML)
            if visits <= 0:
                return True
        return False


def document_of(session: Session) -> ClientDocument:
    """Return the XML of a connected session."""
    assert session.conn is not None
    inbox = session.feeds.get(INBOX)
    reads, conn = inbox is not None and inbox.connected, session.conn
    return ClientDocument(session.name, session.user or "", conn.grant, session.is_named, reads, conn.speaks)


class ClientFinder(Component):
    """Component with the verb `clients`. Other nodes have 2 s to reply."""

    def __init__(self, context: NodeContext, nodes: Nodes, questions: PeerCalls, sessions: Sessions) -> None:
        self._context = context
        self._nodes = nodes
        self._questions = questions
        self._scans = Scans(
            lambda query: ClientScan(query.text, list(sessions.by_stream.values())),
            lambda: context.clock.wake(context.clock.now),
        )

    def features(self) -> Sequence[str]:
        return (DIRECT,)

    def client_verbs(self) -> Sequence[Verb]:
        return (answer(AskClients, self._on_client, Right.WRITE),)

    def peer_verbs(self) -> Sequence[Verb]:
        return (answer(AskClients, self._on_peer),)

    def tick(self) -> None:
        self._scans.tick()

    def _on_client(self, asked: IncomingCall[AskClients]) -> None:
        compiled(asked.ask.xpath)  # before other nodes are asked
        self.find_sessions(asked.ask.xpath, asked.reply)

    def find_sessions(self, xpath: str, then: Callable[[ClientRows], None]) -> None:
        """Pass the sessions of this mesh that match to `then`, now or about 2 s later. Raises: BadXPath."""
        self._questions.when_settled(lambda: self._find(AskClients(xpath=xpath), True, then))

    def _on_peer(self, asked: IncomingCall[AskClients]) -> None:
        compiled(asked.ask.xpath)
        # In an open mesh the asking node asks the others itself.
        self._find(asked.ask, not self._nodes.is_open, asked.reply)

    def _find(self, ask: AskClients, asks_others: bool, then: Callable[[ClientRows], None]) -> None:
        def scanned(own: Sequence[str]) -> None:
            if asks_others:
                self._ask_others(ask, own, then)
            else:
                then(rows_of(own, ()))

        self._scans.begin_scan(Query(XPATH, ask.xpath), scanned)

    def _ask_others(self, ask: AskClients, own: Sequence[str], then: Callable[[ClientRows], None]) -> None:
        me = self._context.me.name
        peers = self._nodes.askable(ask.visited)
        able = {peer.node.uuid: peer for peer in peers if _is_able(peer)}
        older = [peer.node.name for peer in peers if peer.node.uuid not in able]
        names = {me, *(peer.node.name for peer in peers)}
        further = replace(ask, visited=[*ask.visited, *sorted(names)][:VISITED])
        then_all = partial(self._came, own, older, names, able, then)
        self._questions.ask_all(able.values(), further, ClientRows, then_all, min(CONFIRM, ask.within))

    def _is_visit(self, uuid: bytes, asked: Container[bytes], session: str) -> bool:
        """Return whether a certificate proves that a session visits the node `uuid`, or one not `asked`."""
        certificate = self._context.visits.of_session(session)
        return certificate is not None and (certificate.node == uuid or certificate.node not in asked)

    def _came(
        self,
        own: Sequence[str],
        older: Sequence[str],
        names: Collection[str],
        peers: dict[bytes, Peer],
        then: Callable[[ClientRows], None],
        replies: Replies[ClientRows],
        missing: list[str],
    ) -> None:
        found, away, is_cut = dict.fromkeys(own), {*older, *missing}, False
        for uuid, told in replies.items():
            node = peers[uuid].node.name
            if told.code:
                away.add(node)
                continue
            is_visit = partial(self._is_visit, uuid, peers)
            found |= dict.fromkeys(believed(node, told.value.clients, names, is_visit))
            away |= {name[:64] for name in told.value.missing[:NAMES] if name not in names}
            is_cut |= told.value.too_many
        rows = rows_of(found, away)
        then(replace(rows, too_many=True) if is_cut else rows)


def _is_able(peer: Peer) -> bool:
    return peer.data is None or DIRECT in peer.data.speaks


def believed(
    node: str, clients: Sequence[str], asked: Collection[str], is_visit: Callable[[str], bool]
) -> Iterator[str]:
    """Yield the sessions for which a node may answer: its own, visiting, and other nodes' sessions.

    `is_visit(session)` returns whether the session visits that node, or a node that is not asked.
    """
    for text in clients[: MOST + 1]:
        try:
            name = SessionName.parse(text)
        except BadName:
            continue
        if name.session is None or name.node is None or name.site is not None:
            continue
        if name.node == node or name.node not in asked or is_visit(text):
            yield text


def rows_of(clients: Iterable[str], missing: Iterable[str]) -> ClientRows:
    found = sorted(clients)
    return ClientRows(clients=found[:MOST], too_many=len(found) > MOST, missing=sorted(set(missing))[:NAMES])
