"""The component interface: the methods that a node calls on each of its components."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, TypeVar

from mesh.discovery.state import Sample
from mesh.errors import NotAvailable
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.facts import Hearing
from mesh.kernel.context.incoming_call import Verb
from mesh.kernel.context.leaving import Left
from mesh.kernel.context.seams import (
    ConnectionRole,
    GuestRequests,
    JointSettling,
    MessageSinks,
    NamedHere,
    NextHop,
    PutEnvelope,
    RemoteAddresses,
)
from mesh.mapping.agreed import RuleSet
from mesh.operations import Image, StoreReach
from mesh.reasons.what import What
from mesh.routing.feed import Feed
from mesh.routing.sink import AddressResolver
from mesh.snapshots.outcomes import OutcomeCounts
from mesh.snapshots.waiting import Waiting
from mesh.wire.commands import Command, Consume, Query, Settle
from mesh.wire.envelope import Envelope
from mesh.wire.replies import Process, Reason

C = TypeVar("C", bound=Command)
CommandHandler = Callable[[Conn, Any, Any, list[Envelope]], None]
HandlerEntry = tuple[type[Command], CommandHandler]
HandleEnvelope = Callable[[Any, Envelope, int], None]  # session, envelope, time limit in ms; 0: none


class DeliverySource(Protocol):
    """A component that delivers messages of one kind of destination one by one, for consumers to settle."""

    def begin(self, conn: Conn, session: Any, command: Consume) -> None:
        """Register, change or end a consumer of a session. Raises: LocalError if the request is refused."""

    def has(self, session: Any, number: int) -> bool:
        """Return whether the session has a consumer with this subscription number here."""

    def has_consumer(self, session: Any) -> bool:
        """Return whether the session has any consumer here."""

    def has_work(self, session: Any) -> bool:
        """Return whether the session has deliveries that it has not settled."""

    def settle(self, conn: Conn, session: Any, command: Settle, envelopes: list[Envelope]) -> None:
        """Settle deliveries. Raises: RemoteError for an invalid settlement."""


Share = tuple[Any, object, int]  # session, object that counts in full only once, bytes
Restores = Callable[[int, Envelope], None]  # an envelope of the store, with its position

PUBLISHED, TAILED_BACK = "published", "tailed back"  # kinds of stored envelopes


def on_command(command: type[C], then: Callable[[Conn, Any, C, list[Envelope]], None]) -> HandlerEntry:
    """Return a handler entry; `then` is called with the connection, the sender, the command and envelopes."""
    return command, then


TOLD = 8  # changes listed in an event


@dataclass(frozen=True, slots=True)
class Reloaded:
    """A configuration that was read again.

    `ruleset` is `None` if the rules are unchanged. `settings` has new values by their names in Settings;
    `now` describes the changes in effect, and `later` names the settings that need a restart. The node calls
    `keep` when it applies the configuration, so that the next reload is compared with this one.
    """

    ruleset: RuleSet | None
    settings: Mapping[str, Any]
    now: tuple[str, ...]
    later: tuple[str, ...]
    keep: Callable[[], None] = lambda: None

    @property
    def text(self) -> str:
        """The applied and the postponed changes, for an event."""
        taken = f"applied: {'; '.join(_some(self.now))}" if self.now else ""
        rest = f"unchanged until a restart: {', '.join(_some(self.later))}" if self.later else ""
        return ". ".join(filter(None, (taken, rest))) or "no setting has changed"


def _some(lines: Sequence[str]) -> Sequence[str]:
    left = len(lines) - TOLD
    return [*lines[:TOLD], f"and {left:,} more"] if left > 0 else lines


def no_file() -> Reloaded:
    text = "A node that runs inside a program cannot reload its configuration."
    raise NotAvailable(text, hint="Restart it with the new settings, or run the node with `mesh up`.")


@dataclass(frozen=True, slots=True)
class Beginning:
    """The state that a node begins with: the contents of its store, and functions of the shell.

    `sample` measures the machine; if it is `None`, no state is gossiped. `reach` returns the progress of the
    store, `process` the data of the process, and `is_tight` whether disk space is too low for queues to grow.
    `others` has the contents of the queues' stores by name. `reload` reads the configuration without applying
    it, and raises LocalError if the configuration is unusable.
    """

    image: Image
    sample: Callable[[], Sample] | None
    reach: Callable[[], StoreReach]
    process: Callable[[], Process] = Process
    is_tight: Callable[[], bool] = lambda: False
    others: Mapping[str, Image] = field(default_factory=dict)
    reload: Callable[[], Reloaded] = no_file

    def rows(self, table: str, store: str = "") -> dict[bytes, bytes]:
        """Return the rows of one side table, from the node's own store or from another one."""
        image = self.others.get(store) if store else self.image
        return image.tables.get(table, {}) if image is not None else {}


class Component:
    """Base class of the components of a node, each with one duty.

    A method that is not overridden does nothing, or returns an empty result.
    """

    implemented: ClassVar[frozenset[str]] = frozenset()  # names of the methods that the class overrides

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.implemented = frozenset(
            name for name, inherited in vars(Component).items() if getattr(cls, name) is not inherited
        )

    # --- declarations -----------------------------------------------------------------------------------

    def from_clients(self) -> Sequence[HandlerEntry]:
        """Return handlers of client commands; the sender is a Session."""
        return ()

    def from_peers(self) -> Sequence[HandlerEntry]:
        """Return handlers of peer commands; the sender is a Peer."""
        return ()

    def from_gateways(self) -> Sequence[HandlerEntry]:
        """Return handlers of commands from gateways of other sites; the sender is a SiteConnection."""
        return ()

    def client_verbs(self) -> Sequence[Verb]:
        """Return the verbs that clients may call."""
        return ()

    def peer_verbs(self) -> Sequence[Verb]:
        """Return the verbs that peers may call."""
        return ()

    def address_resolvers(self) -> Mapping[str, AddressResolver]:
        """Return the resolvers of addresses for messages that this component accepts, by kind of address."""
        return {}

    def destination_handlers(self) -> Mapping[str, HandleEnvelope]:
        """Return the handlers of client messages that this component forwards, by kind of destination."""
        return {}

    def delivery_sources(self) -> Mapping[str, DeliverySource]:
        """Return the sources of messages that are delivered one by one, by kind of destination."""
        return {}

    def joint_settling(self) -> Mapping[str, JointSettling]:
        """Return the object that holds deliveries for transactions, by kind of destination."""
        return {}

    def message_sinks(self) -> Sequence[MessageSinks]:
        """Return the receivers of accepted messages other than subscribers, such as other sites."""
        return ()

    def next_hops(self) -> Mapping[str, NextHop]:
        """Return the routes to destinations other than nodes, by the prefix of their hop names."""
        return {}

    def remote_addresses(self) -> Mapping[str, RemoteAddresses]:
        """Return the addresses that other sites serve, by the prefix of their names."""
        return {}

    def named_here(self) -> Mapping[str, NamedHere]:
        """Return the names that this node has, by their kind, such as those of queues."""
        return {}

    def puts(self) -> Mapping[str, PutEnvelope]:
        """Return the functions that accept client messages at this node, by prefix of the destination."""
        return {}

    def connection_roles(self) -> Mapping[str, ConnectionRole]:
        """Return the handlers of connections to neither clients nor nodes, by the role of the connection."""
        return {}

    def guest_requests(self) -> Mapping[str, GuestRequests]:
        """Return the objects that forward requests from sessions of other sites, by the requests' domain."""
        return {}

    def envelope_restorers(self) -> Mapping[str, Restores]:
        """Return the functions that restore stored envelopes at the start, by kind of envelope.

        A kind is PUBLISHED, TAILED_BACK, or a kind of address. The functions must release bodies that they do
        not need, as all bodies together may exceed the memory.
        """
        return {}

    def fact_handlers(self) -> Sequence[Hearing]:
        """Return the handlers of the facts that this component receives."""
        return ()

    def features(self) -> Sequence[str]:
        """Return the features that this component supports, by their names in mesh/wire/limits.py."""
        return ()

    def before_read(self, query: Query) -> None:
        """Prepare data that is created only on demand, before a client's query is answered."""

    # --- lifecycle --------------------------------------------------------------------------------------

    def start(self, beginning: Beginning) -> None:
        """Restore the component's rows when the node starts."""

    def on_restored(self) -> None:
        """Continue after all components have restored their rows and stored envelopes."""

    def tick(self) -> None:
        """Do the timed work that is due; `clock.wake` schedules a call."""

    def on_second(self) -> None:
        """Do periodic work, about once a second, before deferred operations are committed."""

    def flush(self) -> None:
        """Send the messages that the component gathered during an event."""

    def before_goodbye(self) -> None:
        """Announce the intended stop of this node, before its connections end."""

    def after_goodbye(self) -> None:
        """Record the final state at an intended stop, before the last commit."""

    # --- reasons and figures ----------------------------------------------------------------------------

    def requires_login(self, peer: Any) -> bool:
        """Return whether this component needs a data connection to the peer."""
        return False

    def figures(self) -> Mapping[str, int | float]:
        """Return the component's metrics, by names that no other component uses."""
        return {}

    def waiting(self, names: Collection[str]) -> Iterable[Waiting]:
        """Return the queues and buffers in which messages wait, and those in `names` even if empty."""
        return ()

    def service_outcomes(self, most: int) -> Iterable[tuple[str, str, OutcomeCounts]]:
        """Return (address, node, outcomes) of the `most` busiest services, for the history."""
        return ()

    def remains(self) -> Iterable[Left]:
        """Return the things that must leave this node, or be sent, before the node may be stopped."""
        return ()

    def explain(self, what: What) -> Iterable[Reason]:
        """Return the reasons that this component can give for the state of `what`.

        The component changes nothing, and limits how much it examines.
        """
        return ()

    def feeds(self) -> Iterable[Feed]:
        """Return the feeds of the component's subscribers, for the message accounts."""
        return ()

    # --- memory: see mesh/kernel/subscribers/holdings.py --------------------------------------------------

    def holds(self) -> int:
        """Return the bytes in memory that this component holds for others, within its own limit."""
        return 0

    def holds_for_sessions(self) -> int:
        """Return the bytes in memory held for sessions; contents held for several count for each."""
        return 0

    def shares(self) -> Iterable[Share]:
        """Return the memory that this component holds for each session, as one entry per object."""
        return ()
