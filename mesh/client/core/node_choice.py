"""Chooses the node that a client dials next, and when."""

# Law 1: a client dials other nodes than its own one only if `may_visit` permits it.
# Law 2: no place is dialed twice in a round, except the client's own one during OWN.
# Law 3: at most one redirect is followed in a round, and never to an address that this round has dialed. All
#        addresses of a node that is drained are dialed, without a wait.
# Law 4: only an error at the client's own node or at a node that the user named ends `connect`.

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from mesh.client.core.known_nodes import KnownNode, introduced
from mesh.client.core.places import OtherSites, Place, Source, Step
from mesh.dialable import is_dialable
from mesh.errors import MeshError, NodeNotFound, Refused
from mesh.flow.rendezvous import ranked
from mesh.wire.commands import Introduction, Refuse, Welcome

OWN = 1.0  # s after a loss in which only the client's own node is dialed
HERD = 0.5  # s, the longest random wait before the first visit
STEADY = 10.0  # s after which the next visit is not flapping
FLAPPING = 30.0  # s, the longest wait before a visit
LATEST = 60.0  # s, the longest wait that a node may ask for
BROWSE = 30.0  # s between two searches by multicast DNS
DOUBLINGS = 16  # of the patience of a round; a thousand would overflow
FORWARDS = 8  # forward addresses that are read
OF_CLIENT = frozenset(("BAD_NAME", "FORGED_STREAM", "SESSION_IN_USE"))  # refusals that each node would repeat


class NodeChoice:
    """The places of one client, tried in rounds until a node accepts the client.

    A round has the client's own node, the names that the user gave, in that order, the nodes of the last
    WELCOME, the saved list, and other sites. While the client is in another site, nodes of that site precede
    the names. `chance` returns a random number from [0, 1). `may_visit` decides whether the client may go to
    another place than its own.
    """

    def __init__(
        self,
        names: Sequence[str],
        stream: bytes,
        chance: Callable[[], float],
        may_visit: Callable[[Place], bool] = lambda place: True,
        follows: bool = True,
    ) -> None:
        self.known: list[KnownNode] = []
        self.saved: list[KnownNode] = []
        self.can_browse = False  # the shell can search for nodes by multicast DNS
        self._browsed: list[KnownNode] = []  # found by the last search
        self._is_browsing, self._browsed_at = False, float("-inf")
        self._names = tuple(names) or ("",)
        self._stream, self._chance, self._may_visit, self._follows = stream, chance, may_visit, follows
        self._own: Place | None = None
        self._sites = OtherSites()
        self.preferred: str = "" if ":" in self._names[0] else self._names[0]  # name of the first node
        self._uuid = b""  # of the own node
        self._lost = float("-inf")  # when the own node was lost
        self._visited, self._flaps = float("-inf"), 0  # the last visit, and those shortly after another
        self._reasons: dict[str, MeshError] = {}  # by place; the latest one is the last
        self._not_before: dict[str, float] = {}  # by place
        self._last = Place("", Source.NAMED)
        self._clear_round()

    def _clear_round(self) -> None:
        self._queue: list[Place] = []
        self._tried: set[str] = set()
        self._is_redirected = self._is_hopeful = self._has_left = self._is_sent = False
        self._rounds = 0

    @property
    def is_last(self) -> bool:
        """True if the round has no other place to dial, and no search for nodes is running."""
        return not self._queue and not self._is_browsing

    @property
    def is_visit(self) -> bool:
        """True if the last place is not the node of the client's session."""
        return self._own is not None and self._last.source is not Source.OWN

    @property
    def last(self) -> Place:
        """The place that was dialed last."""
        return self._last

    # --- the next place -----------------------------------------------------------------------------------

    def begin(self, now: float) -> Step:
        """Begin to search for a node, for a client without a connection."""
        self._lost = float("-inf")
        self._sites.begin_search(now)
        self._reasons.clear()
        self._not_before.clear()
        self._clear_round()
        return self.next_step(now, 0.0)

    def next_step(self, now: float, backoff: float) -> Step:
        """Return the next place. `backoff` is the wait in s before places are dialed once more."""
        own = self._own
        if own is not None and now - self._lost < OWN:
            return self._step(own, now, backoff)
        wait = 0.0
        self._queue = [place for place in self._queue if place.text not in self._tried]
        if not self._queue:
            self._fill_round(now, is_first=own is not None and not self._rounds)
            wait = backoff
        place = self._queue.pop(0)
        if own is not None and place is not own and not self._has_left:
            self._has_left = True
            wait = self._chance() * HERD + self._calm_wait(now)
        return self._step(place, now, wait)

    def _step(self, place: Place, now: float, wait: float) -> Step:
        self._last = place
        self._tried.add(place.text)
        return Step(place, max(wait, self._not_before.get(place.text, now) - now))

    def _fill_round(self, now: float, is_first: bool) -> None:
        """Begin a round. The first one after a loss begins with other nodes, as OWN has just passed."""
        self._rounds += 1
        self._tried.clear()
        self._is_redirected = self._is_hopeful = False
        own, others = self._own, [*self._others(), *self._sites.places(now, self._rounds)]
        if own is None:
            allowed = others
        else:
            allowed = [own, *(it for it in others if it.text != own.text and self._may_visit(it))]
        self._queue = allowed[1:] + allowed[:1] if is_first else allowed

    def _others(self) -> Iterable[Place]:
        site, names = self._sites.site, [Place(name, Source.NAMED) for name in self._names]
        yield from () if site else names
        for node in self.known:
            yield from (Place(address, Source.KNOWN, node.key, site) for address in node.addresses)
        yield from names if site else ()
        saved = {node.name.encode(): node for node in self.saved}
        for name in ranked(self._stream, dict.fromkeys(saved, 1)):
            node = saved[name]
            yield from (Place(address, Source.SAVED, node.key) for address in node.addresses)
        for node in self._browsed:
            yield from (Place(address, Source.BROWSED, node.key) for address in node.addresses)

    def _calm_wait(self, now: float) -> float:
        """Return the wait of a client whose visits follow one another quickly: 1, 2, 4 … s."""
        if now - self._visited >= STEADY:
            self._flaps = 0
        return float(min(FLAPPING, 2 ** (self._flaps - 1))) if self._flaps else 0.0

    def patience(self, longest: float) -> float:
        """Return the seconds that a handshake may take: less while other places wait, more in each round.

        A drained node names nodes that are alive, so these may take as long as the last place.
        """
        if self._is_sent or (
            self.is_last and (self._rounds or not any(map(self._may_visit, self._others())))
        ):
            return longest
        return min(longest, OWN * 2.0 ** min(max(0, self._rounds - 1), DOUBLINGS))

    # --- what happened ------------------------------------------------------------------------------------

    def dialed(self, address: str) -> None:
        """Record the address to which the place led."""
        self._tried.add(address)

    def on_failed(self, error: MeshError, is_final: bool = False) -> None:
        """Record why no node accepted the client at the last place. Errors that are not final may pass."""
        self._reasons.pop(self._last.text, None)
        self._reasons[self._last.text] = error
        self._is_hopeful = self._is_hopeful or not is_final

    def begin_browsing(self, now: float) -> bool:
        """Return whether to search by multicast DNS now, as all places of a round of several have failed."""
        is_due = self.can_browse and self.is_last and now - self._browsed_at >= BROWSE
        if not (is_due and self._rounds) or len(self._names) < 2 or self._sites.site:
            return False
        self._is_browsing, self._browsed_at = True, now
        return True

    def on_browsed(self, nodes: Sequence[KnownNode]) -> None:
        """Add the nodes that a search has found to the places of later rounds."""
        self._is_browsing, self._browsed = False, list(nodes)

    def on_refused(self, now: float, refusal: Refuse) -> None:
        """Follow the redirect of a refusal, and remember when the place may be dialed again."""
        if refusal.retry_ms:
            self._not_before[self._last.text] = now + min(refusal.retry_ms / 1000, LATEST)
        self._redirect(refusal.forward)

    def _redirect(self, forward: Sequence[str]) -> None:
        place = None if self._is_redirected else next(self._forwards(forward), None)
        if place is not None:
            self._queue = [place, *(other for other in self._queue if other.text != place.text)]
            self._is_redirected = True

    def _forwards(self, forward: Sequence[str]) -> Iterator[Place]:
        for address in forward[:FORWARDS] if self._follows else ():
            place = Place(address, Source.FORWARD, site=self._last.site)
            if is_dialable(address) and address not in self._tried and self._may_visit(place):
                yield place

    def on_welcome(self, now: float, w: Welcome) -> None:
        """Make the last place the client's own one."""
        if self._uuid and w.node.uuid != self._uuid:
            self._flaps = self._flaps + 1 if now - self._visited < STEADY else 0
            self._visited = now
        self._uuid = w.node.uuid
        if self._last.text == self._names[0]:
            self.preferred = w.node.name
        self._own = self._last._replace(source=Source.OWN)
        self.known = introduced(w.nodes)
        self._sites.on_welcome(self._last.site, w.sites)
        self._reasons.clear()
        self._not_before.clear()
        self._clear_round()

    def check_key(self, node: Introduction) -> Refuse | None:
        """Return a refusal if the node at the last place has another key than the known node."""
        if not self._last.key or node.key == self._last.key:
            return None
        text = f"{node.name} has a different key than the node known at this address"
        return Refuse("OTHER_KEY", text, final=True)

    def on_lost(self, now: float, is_leaving: bool = False, forward: Sequence[str] = ()) -> None:
        """Begin to search for a node after a loss. A node that is leaving is dialed after the others."""
        self._clear_round()
        self._sites.begin_search(now)
        self._lost = float("-inf") if is_leaving else now
        if is_leaving:
            self._has_left = self._is_sent = True  # the node spreads its clients, so no wait is needed
            self._fill_round(now, is_first=True)
            self._queue = [*self._forwards(forward), *self._queue]

    def prefer_first(self) -> None:
        """Begin a round with the first node that the user named, and the client's own one after it."""
        self._clear_round()
        self._lost = float("-inf")
        first = Place(self._names[0], Source.NAMED)
        self._queue = [first] if self._own is None else [first, self._own]

    # --- the outcome --------------------------------------------------------------------------------------

    def is_over(self, code: str) -> bool:
        """Return whether a final error with that code at the last place ends the connect."""
        if self._last.source not in (Source.NAMED, Source.OWN):
            return False
        return code in OF_CLIENT or (self.is_last and not self._is_hopeful)

    def summary(self) -> MeshError | None:
        """Return why no node accepted the client, or `None` if fewer than two places were dialed.

        The last refusal counts, first of a place that the user named; else each place has its reason.
        """
        if len(self._reasons) < 2:
            return None
        refused = [text for text, error in self._reasons.items() if isinstance(error, Refused)]
        named = [text for text in refused if text in self._names]
        if refused:
            text = (named or refused)[-1]
            error = self._reasons[text]
            hint = f"{error.hint} Also tried: {self._listed(it for it in self._reasons if it != text)}"
            return Refused(error.what, hint=hint.strip(), code=error.code)
        hint = "Start one of these nodes, or connect to another one: `mesh ls` lists them."
        what = f"None of {len(self._reasons)} nodes can be reached: {self._listed(self._reasons)}"
        return NodeNotFound(what, hint=hint)

    def _listed(self, texts: Iterable[str]) -> str:
        return (
            "; ".join(_placed(text or "the default node", self._reasons[text].what) for text in texts) + "."
        )


def _placed(place: str, what: str) -> str:
    """Return the reason for a place, which is not repeated if the reason begins with it."""
    reason = what.rstrip(".")
    return reason if reason.startswith(place) else f"{place}: {reason}"
