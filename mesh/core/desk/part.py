"""The one face of all parts of a core: what a node may ask of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from discovery.state import Sample
from mesh.core.desk.asked import Verb
from mesh.core.desk.conn import Conn
from mesh.core.desk.facts import Hearing
from mesh.errors import NotAvailable
from mesh.mapping.agreed import RuleSet
from mesh.operations import Image, StoreReach
from mesh.reasons.what import What
from mesh.routing.feed import Feed
from mesh.routing.taker import Addressees
from mesh.wire.commands import Command, Consume, Query, Settle
from mesh.wire.envelope import Envelope
from mesh.wire.replies import Process, Reason

C = TypeVar("C", bound=Command)
CommandHandler = Callable[[Conn, Any, Any, list[Envelope]], None]
HandlerEntry = tuple[type[Command], CommandHandler]
HandleEnvelope = Callable[
    [Any, Envelope, int], None
]  # a session's envelope, and the ms that it has; 0: any time


class Giver(Protocol):
    """The part that gives out messages of one kind of destinations one by one, and hears of each what became
    of it.
    """

    def begin(self, conn: Conn, session: Any, command: Consume) -> None:
        """A session wants some, or no more. LocalError: it cannot have any."""

    def has(self, session: Any, number: int) -> bool:
        """Is that the number of somebody whom it gives something?"""

    def has_work(self, session: Any) -> bool:
        """Return whether that session was given something that it has not settled."""

    def settle(self, conn: Conn, session: Any, command: Settle, envelopes: list[Envelope]) -> None:
        """That became of some. RemoteError for what cannot be."""


Share = tuple[Any, object, int]  # a session, what is held for it and counts once, its bytes
Restores = Callable[[int, Envelope], None]  # an envelope of the store, with its position

PUBLISHED, TAILED_BACK = "published", "tailed back"  # kinds of stored envelopes, beside those of addresses


def take(command: type[C], then: Callable[[Conn, Any, C, list[Envelope]], None]) -> HandlerEntry:
    """A part's wish to be given commands of that kind, with who sent them and on which connection."""
    return command, then


@dataclass(frozen=True, slots=True)
class Reloaded:
    """A configuration that was read again: rules (None: as before), what else is taken on by its names in
    Settings, and in words what is otherwise than before: what counts `now`, and names of what counts `later`,
    after a restart. `keep` is called when the node goes by it: it is read against that the next time.
    """

    ruleset: RuleSet | None
    settings: Mapping[str, Any]
    now: tuple[str, ...]
    later: tuple[str, ...]
    keep: Callable[[], None] = lambda: None


def no_file() -> Reloaded:
    text = "this node was started without a configuration that could be read again."
    raise NotAvailable(text, hint="Start it with `mesh up --config FILE`.")


@dataclass(frozen=True, slots=True)
class Beginning:
    """The state that a node begins with: what its store holds, and four questions that the shell answers.

    `sample` measures the machine; without it no state is gossiped. `reach` tells how far the store has come,
    `process` what runs, `is_tight` whether its disk has so little room that queues may not grow. `others`:
    what the stores of queues hold, by their names. `reload` reads the configuration again, and changes
    nothing; LocalError if it cannot be used.
    """

    image: Image
    sample: Callable[[], Sample] | None
    reach: Callable[[], StoreReach]
    process: Callable[[], Process] = Process
    is_tight: Callable[[], bool] = lambda: False
    others: Mapping[str, Image] = field(default_factory=dict)
    reload: Callable[[], Reloaded] = no_file

    def rows(self, table: str, store: str = "") -> dict[bytes, bytes]:
        """The rows of one side table, in the node's own store or in another."""
        image = self.others.get(store) if store else self.image
        return image.tables.get(table, {}) if image is not None else {}


class Part:
    """Something in a node that has one duty. What it does not say of itself does nothing."""

    # --- what it is told --------------------------------------------------------------------------------

    def from_clients(self) -> Sequence[HandlerEntry]:
        """Commands of clients; whoever sent one is a Session."""
        return ()

    def from_peers(self) -> Sequence[HandlerEntry]:
        """Commands of other nodes; whoever sent one is a Peer."""
        return ()

    def from_gateways(self) -> Sequence[HandlerEntry]:
        """Commands of gateways of other sites; whoever sent one is a Gate."""
        return ()

    def client_verbs(self) -> Sequence[Verb]:
        """The verbs by which clients may ask it for something."""
        return ()

    def peer_verbs(self) -> Sequence[Verb]:
        """The verbs by which other nodes may ask it for something."""
        return ()

    def takes(self) -> Mapping[str, Addressees]:
        """The kinds of addresses whose letters are for it to give out."""
        return {}

    def sends(self) -> Mapping[str, HandleEnvelope]:
        """The kinds of destinations to which it brings what clients send."""
        return {}

    def gives(self) -> Mapping[str, Giver]:
        """The kinds of destinations of which clients are given messages one by one."""
        return {}

    def restores(self) -> Mapping[str, Restores]:
        """The kinds of stored envelopes that it takes up when the node begins, in the order of their
        positions: PUBLISHED, TAILED_BACK, or a kind of addresses. Bodies that it does not keep are given up:
        all of them may be larger than memory.
        """
        return {}

    def hears(self) -> Sequence[Hearing]:
        """The facts that it wants to be told of."""
        return ()

    def speaks(self) -> Sequence[str]:
        """Words for what it understands beyond the version of the wire: see mesh/wire/spoken.py."""
        return ()

    def reads(self, query: Query) -> None:
        """A client of this node is about to read something: have there what is made only when it is asked."""

    # --- when -------------------------------------------------------------------------------------------

    def start(self, beginning: Beginning) -> None:
        """The node begins: take up the rows that are its own."""

    def resumed(self) -> None:
        """All parts have their rows, and all that was stored has been given to those who take it up."""

    def tick(self) -> None:
        """Time has passed."""

    def tidy(self) -> None:
        """So has a second: what need not be done at each tick, before what has gathered is written."""

    def flush(self) -> None:
        """The event at hand is over: put on its way what has gathered."""

    # --- what it knows ----------------------------------------------------------------------------------

    def owes(self, peer: Any) -> bool:
        """Is there something for which that peer must be logged in?"""
        return False

    def figures(self) -> Mapping[str, int | float]:
        """Its metrics, by names that no other part has."""
        return {}

    def why(self, what: What) -> Iterable[Reason]:
        """The reasons that it knows why something goes where it goes, or nowhere. It looks, and changes
        nothing; what it looks at is bounded.
        """
        return ()

    def feeds(self) -> Iterable[Feed]:
        """The feeds of its subscribers, whose fates are counted."""
        return ()

    # --- what it holds: see mesh/core/subscribers/holdings.py -------------------------------------------

    def holds(self) -> int:
        """Bytes in memory that it holds for others, within a bound of its own."""
        return 0

    def holds_for_sessions(self) -> int:
        """Bytes in memory that it holds for sessions. May be too high: what several hold counts for each."""
        return 0

    def shares(self) -> Iterable[Share]:
        """The same one by one."""
        return ()
