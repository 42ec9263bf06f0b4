"""Finds the nodes that have a name, by questions to other nodes."""

# Law 1: a search ends after CONFIRM, and asks each node at most once.
# Law 2: equal questions share a search. At most OPEN searches run at once.
# Law 3: a question from a node is passed on only if this node may not be linked with all nodes, and only to
#   nodes that it has not visited.

from __future__ import annotations

from collections.abc import Callable, Sequence

from mesh.errors import LocalError, UnknownName
from mesh.features.where.model import Named, merged, next_to_ask, readings, share, similar
from mesh.features.where.node.local_names import LocalNames
from mesh.features.where.node.reporting import NameReports
from mesh.features.where.node.search import OF_PEER, Round, Search
from mesh.kernel.context.component import Component
from mesh.kernel.context.incoming_call import IncomingCall, Verb, answer
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.pages import NAMES, ROWS, fitting, listed
from mesh.kernel.context.settings import CONFIRM
from mesh.kernel.routes.nodes import Nodes
from mesh.kernel.routes.peer_calls import PeerCalls, Replies
from mesh.printable import typed
from mesh.wire.calls import AskLocate
from mesh.wire.replies import Located

OPEN = 64  # searches at once
LISTS = "See `mesh ls`, `mesh ls --addresses` and `mesh queue ls`."
WAITING = 1000  # questions that share one
VISITED = 1024  # visited nodes in a question


class Locating(Component):
    """Component with the verb `locate`."""

    def __init__(
        self,
        context: NodeContext,
        nodes: Nodes,
        questions: PeerCalls,
        names: LocalNames,
        reports: NameReports,
    ) -> None:
        self._context = context
        self._nodes = nodes
        self._questions = questions
        self._names = names
        self._reports = reports
        self.searches: dict[str, Search] = {}  # for clients, by text
        self._passed_on = 0  # questions of nodes that wait for further nodes

    def client_verbs(self) -> Sequence[Verb]:
        return (answer(AskLocate, self._on_client),)

    def peer_verbs(self) -> Sequence[Verb]:
        return (answer(AskLocate, self._on_peer),)

    # --- questions of nodes -------------------------------------------------------------------------------

    def _on_peer(self, asked: IncomingCall[AskLocate]) -> None:
        """Reply with the sightings of this node and, unless all nodes may be linked, of nodes behind it."""
        ask, wanted = asked.ask, readings(asked.ask.name)
        own = list(self._names.find(wanted))
        near = self._names.similar(wanted) if ask.near and not own else []
        unknown = self._names.unfollowed() if self._names.is_directory else []
        if self._nodes.is_open or self._passed_on >= OPEN:
            asked.reply(Located(sightings=fitting(own, OF_PEER), near=near, missing=unknown[:NAMES]))
            return
        search = self._search(ask, wanted)
        search.rows += own
        search.near[self._context.me.name] = near
        names = [peer.node.name for peer in self._nodes.askable(ask.visited)]
        self._passed_on += 1

        def then() -> None:
            self._passed_on -= 1
            rows = fitting(merged(search.rows, search.answered), OF_PEER)
            missing = sorted({*search.missing, *unknown} - search.answered)[:NAMES]
            asked.reply(Located(sightings=rows, near=similar(search.near), missing=missing))

        self._ask(search, Round(names, min(CONFIRM, ask.within), ask.near), then)

    # --- questions of clients -----------------------------------------------------------------------------

    def _on_client(self, asked: IncomingCall[AskLocate]) -> None:
        """Search for a name. Raises: LocalError for an invalid name, or too many searches."""
        text, wanted = asked.ask.name, readings(asked.ask.name)
        search = self.searches.get(text)
        if len(self.searches) >= OPEN if search is None else len(search.waiting) >= WAITING:
            what = f"{self._context.me.name} searches for too many names at once."
            raise LocalError(
                what, hint="Ask again in a second, or ask another node.", code="TOO_MANY_REQUESTS"
            )
        if search is not None:
            search.waiting.append(asked)
            return
        search = self.searches[text] = self._search(AskLocate(name=text), wanted)
        search.waiting.append(asked)
        self._questions.when_settled(lambda: self._begin(search))

    def _search(self, ask: AskLocate, wanted: list[Named]) -> Search:
        return Search(ask, wanted, answered={self._context.me.name})

    def _begin(self, search: Search) -> None:
        search.deadline = self._context.clock.now + CONFIRM
        search.rows += self._names.find(search.wanted)
        if self._names.is_directory:
            search.followed_by(self._names.unfollowed())
        self._continue(search)

    def _continue(self, search: Search) -> None:
        """Ask the next nodes, or finish."""
        left = search.deadline - self._context.clock.now
        askable = [peer.node.name for peer in self._nodes.askable()]
        known = search.progress(askable, self._reports.servers, self._context.me.name)
        names = next_to_ask(known) if left > 0 else []
        if names:
            is_last = search.asked.issuperset(set(askable).difference(names))
            self._ask(search, Round(names, share(left, is_last), is_last), lambda: self._continue(search))
        else:
            self._finish(search)

    def _finish(self, search: Search) -> None:
        del self.searches[search.ask.name]
        rows = merged(search.rows, search.answered)
        for asked in search.waiting:
            if rows:
                found = fitting(map(self._names.described, rows), ROWS)
                asked.reply(Located(sightings=found, missing=sorted(search.missing)[:NAMES]))
            else:
                asked.fail(self._unknown(search))

    def _unknown(self, search: Search) -> UnknownName:
        me = self._context.me.name
        names = similar({me: self._names.similar(search.wanted), **search.near})
        kinds = [named.kind for named in search.wanted]
        what = f"{me} finds no {kinds[0]}" if len(kinds) == 1 else f"{me} finds nothing"
        what += f" named {search.wanted[0].plain!r}."
        if search.missing:
            what += f" No answer from {listed(search.missing)}."
        hint = f"Similar: {', '.join(map(typed, names))}." if names else LISTS
        return UnknownName(what, hint=hint)

    # --- one round of questions ---------------------------------------------------------------------------

    def _ask(self, search: Search, ask: Round, then: Callable[[], None]) -> None:
        """Ask some nodes, keep their sightings, and call `then`."""
        peers = {peer.node.uuid: peer for peer in map(self._nodes.named, ask.names) if peer is not None}
        search.asked.update(ask.names)

        def came(replies: Replies[Located], missing: list[str]) -> None:
            search.missing.update(missing)
            for uuid, told in replies.items():
                name = peers[uuid].node.name
                if told.code:  # such as UNKNOWN_VERB of an earlier release
                    search.missing.add(name)
                else:
                    search.take(name, told.value, self._names.life, name in self._reports.servers)
            then()

        visited: list[str] = []
        if not self._nodes.is_open:  # other nodes pass nothing on
            others = (peer.node.name for peer in self._nodes.askable())
            visited = list(dict.fromkeys((*search.ask.visited, self._context.me.name, *others)))
        question = AskLocate(name=search.ask.name, near=ask.is_last, visited=visited[:VISITED])
        self._questions.ask_all(peers.values(), question, Located, came, ask.within)
