"""The names that a text can stand for, and the rules for what nodes report about them."""

# Law 1: the answer of a node that is asked directly counts; reports of others about it do not.
# Law 2: what a node reports about a third node is marked with the name of the reporting node.
# Law 3: nodes where a queue is empty count only while no node has messages or consumers of it, and nodes that
#   only know a site by their settings count only without a gateway.
# Law 4: a session is away only while it is connected nowhere: it may have moved from the node in its name.

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from msgspec import structs

from mesh.errors import BadName, MeshError
from mesh.names import OTHERS, SessionName, check_address, check_taken, is_node_name, node_name
from mesh.shortening import shown
from mesh.values import check_text
from mesh.wire.calls.topics import LONGEST_PLACE
from mesh.wire.replies import Sighting

NODE, CLIENT, SESSION, ADDRESS, QUEUE, SITE = "node", "client", "session", "address", "queue", "site"
KINDS = (NODE, CLIENT, SESSION, ADDRESS, QUEUE, SITE)  # in the order of answers
REPORTED = "reported"  # state of a name that its node has not confirmed
PASSIVE = ("empty", "known")  # states that matter only without another one
NODE_STATES = ("alive", "suspect", "dead", "left", "seen", "conflict")
CONNECTED, AWAY = "connected", "away"  # states of a client
QUEUE_STATES = ("consumed", "waiting", "empty")
SITE_STATES = ("up", "down", "unreachable", "known", "own")
STATES = {*NODE_STATES, *QUEUE_STATES, *SITE_STATES, CONNECTED, AWAY, "served", REPORTED}
SERVERS, CLAIMED = 4, 64  # nodes asked together, of those with `nameservice` and of reported ones
PREFIXES = {NODE: node_name, ADDRESS: check_address, QUEUE: check_taken, SITE: node_name}


@dataclass(frozen=True, slots=True)
class Named:
    """An object with a name, such as the queue `orders`, the client `client/joe` or a session of it."""

    kind: str
    name: str

    def __str__(self) -> str:
        return self.name if self.kind in (CLIENT, SESSION) else f"{self.kind}/{self.name}"

    @property
    def table(self) -> str:
        """The kind of the table in which a node has the name: sessions are in that of clients."""
        return CLIENT if self.kind == SESSION else self.kind

    @property
    def plain(self) -> str:
        """The name without its kind, as a user types it."""
        return self.name.removeprefix(f"{CLIENT}/") if self.kind == CLIENT else self.name

    @property
    def home(self) -> str:
        """The name of the node in the name of a client or session, or ""."""
        return SessionName.parse(self.name).node or "" if self.table == CLIENT else ""

    @property
    def followed(self) -> str:
        """The name as nodes with `nameservice` follow it: without the node, or a generated number."""
        if self.table != CLIENT:
            return self.name
        name = replace(SessionName.parse(self.name), node=None)
        return str(name.of_all_sessions() if name.session_is_generated else name)


def readings(text: str) -> list[Named]:
    """Return all objects that a text may name: one if it begins with a kind, such as `queue/orders`.

    Raises: BadName.
    """
    check_text(text, "name", LONGEST_PLACE, BadName)
    if text.startswith(OTHERS):  # a receiver in another site is where the gateways to that site are
        return [Named(SITE, node_name(text.removeprefix(OTHERS).partition("/")[0]))]
    if text.startswith(("/", f"{CLIENT}/")):
        session = SessionName.typed(text)
        return [Named(CLIENT if session.session is None else SESSION, str(session))]
    kind, slash, rest = text.partition("/")
    if slash and kind in PREFIXES:
        return [Named(kind, PREFIXES[kind](rest))]
    found = list(_possible(text))
    if not found:
        hint = "Write a name such as heron, client/joe, calc/add, queue/orders or site/FRA."
        raise BadName(f"{shown(text)} is not a valid name in a mesh.", hint=hint)
    return found


def _possible(text: str) -> Iterator[Named]:
    for kind in KINDS:
        check = {**PREFIXES, CLIENT: node_name}.get(kind)
        try:
            if check is not None:
                check(text)
                yield Named(kind, f"{CLIENT}/{text}" if kind == CLIENT else text)
        except MeshError:
            continue


def valid(sightings: Iterable[Sighting], wanted: Collection[Named], by: str, most: int) -> Iterator[Sighting]:
    """Yield what a node may report: wanted names at valid nodes, marked with its name (Law 2).

    At most `most` rows are read.
    """
    kinds = {str(named): named.kind for named in wanted}
    for each in islice(sightings, most):
        is_wanted = kinds.get(each.name) == each.kind
        if (
            is_wanted
            and is_node_name(each.node)
            and (each.kind != NODE or each.name == f"{NODE}/{each.node}")
        ):
            state = each.state if each.state in STATES else REPORTED
            yield structs.replace(each, by=by, state=state, count=max(0, each.count), life="", address="")


def merged(rows: Iterable[Sighting], answered: Collection[str]) -> list[Sighting]:
    """Return one row for each name and node, sorted. `answered` has the nodes that were asked directly.

    Rows of nodes about themselves replace those of others (Law 1).
    """
    best: dict[tuple[str, str], Sighting] = {}
    for row in rows:
        if row.node != row.by and row.node in answered:
            continue
        known = best.get((row.name, row.node))
        if known is None or _rank(row) < _rank(known):
            best[row.name, row.node] = row
    return sorted(_without_passive(_without_away(list(best.values()))), key=_place)


def _rank(row: Sighting) -> tuple[bool, bool, str]:
    return row.by != row.node, row.state == REPORTED, row.by


def _place(row: Sighting) -> tuple[int, str, bool, str]:
    return KINDS.index(row.kind), row.name, row.state in PASSIVE, row.node


def _without_away(rows: Sequence[Sighting]) -> list[Sighting]:
    """Leave out the nodes where a session is away if it is connected at another one (Law 4)."""
    connected = {row.name for row in rows if row.kind == SESSION and row.state == CONNECTED}
    return [row for row in rows if row.state != AWAY or row.name not in connected]


def _without_passive(rows: Sequence[Sighting]) -> list[Sighting]:
    """Leave out passive rows of names that have other rows (Law 3)."""
    active = {row.name for row in rows if row.state not in PASSIVE}
    return [row for row in rows if row.state not in PASSIVE or row.name not in active]


@dataclass(frozen=True, slots=True)
class Progress:
    """The state of a running search, by names of nodes.

    `servers` are the nodes with `nameservice`. `claimed` are nodes that others report to have the name.
    `asked` are nodes that were asked, with or without an answer. `is_found`: a node has confirmed a name.
    `is_complete`: the answer needs no other nodes. `is_followed`: nodes with `nameservice` have answered for
    all nodes, except for names of the last seconds.
    """

    askable: Sequence[str]
    servers: Collection[str]
    claimed: Collection[str]
    asked: Collection[str]
    home: str = ""
    is_found: bool = False
    is_complete: bool = False
    is_followed: bool = False


def next_to_ask(known: Progress) -> list[str]:
    """Return the nodes to ask next; an empty list ends the search.

    The home in a session's name is asked first, and alone if it has found the client. Nodes with
    `nameservice` follow, then the nodes that these report, then all others, unless the answer is complete.
    If nodes with `nameservice` have answered for all nodes, more than CLAIMED others are not asked.
    """
    left = [node for node in known.askable if node not in known.asked]
    if known.home in left:
        return [known.home]
    if known.home and known.home in known.asked and known.is_found:
        return []
    is_done = known.is_found and known.is_complete
    servers = [node for node in left if node in known.servers]
    if servers and not is_done and not any(node in known.asked for node in known.servers):
        return servers[:SERVERS]
    claimed = [node for node in left if node in known.claimed]
    is_over = is_done or (known.is_followed and len(left) > CLAIMED)
    return claimed[:CLAIMED] or ([] if is_over else left)


def share(left: float, is_last: bool) -> float:
    """Return how long to wait for one round of questions, if `left` seconds remain for all rounds."""
    return max(0.0, left if is_last else left * 0.4)


def similar(found: Mapping[str, Sequence[str]], most: int = 3) -> list[str]:
    """Return the first `most` valid names of `found`, which has the similar names of each node."""
    names: dict[str, None] = {}
    for said in found.values():
        for name in said[:most]:
            try:
                names.update(dict.fromkeys(str(each) for each in readings(name)[:1]))
            except MeshError:
                continue
    return list(names)[:most]
