"""The dispatch tables of a core, built once from the declarations of all components."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeVar

from msgspec.structs import replace

from mesh.errors import FeatureFailed, RemoteError, StoreError
from mesh.kernel.context.component import (
    CommandHandler,
    Component,
    DeliverySource,
    HandleEnvelope,
    HandlerEntry,
    Restores,
    Share,
)
from mesh.kernel.context.facts import Fact, FactHandler, Trace
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
from mesh.reasons.what import What
from mesh.routing.feed import Feed
from mesh.routing.sink import AddressResolver
from mesh.snapshots.outcomes import OutcomeCounts
from mesh.snapshots.waiting import Waiting
from mesh.wire.commands import Command
from mesh.wire.limits import PIECES
from mesh.wire.replies import Reason

T = TypeVar("T")
REASONS = 64  # in the answer of one node
OF_ANOTHER = "STORE_VERSION"  # seen only when the node starts


class Table(dict[type[Command], CommandHandler]):
    """The commands that one kind of sender may send, with their handlers."""

    def __init__(self, sender: str) -> None:
        super().__init__()
        self._sender = sender
        self._owners: dict[type[Command], Component] = {}

    def __missing__(self, command: type[Command]) -> CommandHandler:
        raise RemoteError(f"{self._sender} sent {command.__name__}, which is not allowed", code="UNEXPECTED")

    def add_handlers(self, part: Component, takings: Sequence[HandlerEntry]) -> None:
        """Add the handlers of a component. Raises: FeatureFailed if a command already has a handler."""
        for command, then in takings:
            other = self._owners.setdefault(command, part)
            if command in self:
                raise _twice(other, part, f"the command {command.__name__} of {self._sender}")
            self[command] = then


class FactTable(dict[type[Fact], list[FactHandler]]):
    """The handlers of each fact."""

    def __missing__(self, fact: type[Fact]) -> list[FactHandler]:
        if issubclass(fact, Trace):  # all other facts need a handler
            return []
        raise KeyError(fact)


class RestoreTable(dict[str, Restores]):
    """The kinds of stored envelopes, with the function that restores each."""

    def __missing__(self, kind: str) -> Restores:
        raise StoreError(
            f"The store has an envelope of kind {kind}, which this node does not know.",
            hint="Start the release that wrote it, with the same plug-ins.",
            code=OF_ANOTHER,
        )


class DispatchTables:
    """The dispatch tables of all components.

    Each table keeps the order of the components.
    """

    def __init__(self) -> None:
        self.from_clients = Table("a client")
        self.from_peers = Table("a node")
        self.from_gateways = Table("a gateway of another site")
        self.client_verbs: dict[str, Verb] = {}
        self.peer_verbs: dict[str, Verb] = {}
        self.address_resolvers: dict[str, AddressResolver] = {}
        self.destination_handlers: dict[str, HandleEnvelope] = {}
        self.delivery_sources: dict[str, DeliverySource] = {}
        self.joint_settling: dict[str, JointSettling] = {}
        self.message_sinks: tuple[MessageSinks, ...] = ()
        self.next_hops: dict[str, NextHop] = {}
        self.remote_addresses: dict[str, RemoteAddresses] = {}
        self.named_here: dict[str, NamedHere] = {}
        self.puts: dict[str, PutEnvelope] = {}
        self.connection_roles: dict[str, ConnectionRole] = {}
        self.guest_requests: dict[str, GuestRequests] = {}
        self.envelope_restorers = RestoreTable()
        self.fact_handlers = FactTable()
        self.features: tuple[str, ...] = (PIECES,)
        self._parts: Sequence[Component] = ()
        self._owners: dict[tuple[str, str], Component] = {}  # by description and key of a claim

    def fill(self, parts: Sequence[Component]) -> None:
        """Build the tables. Raises: FeatureFailed if two components claim the same command, verb or kind."""
        self._parts = parts
        self._fill_handlers()
        self._fill_kinds()
        self._fill_calls()

    def _fill_handlers(self) -> None:
        for part in self._with("from_clients"):
            self.from_clients.add_handlers(part, part.from_clients())
        for part in self._with("from_peers"):
            self.from_peers.add_handlers(part, part.from_peers())
        for part in self._with("from_gateways"):
            self.from_gateways.add_handlers(part, part.from_gateways())
        for part in self._with("client_verbs"):
            self._claim(part, self.client_verbs, _named(part.client_verbs()), "the verb of clients")
        for part in self._with("peer_verbs"):
            self._claim(part, self.peer_verbs, _named(part.peer_verbs()), "the verb of nodes")
        for part in self._with("joint_settling"):
            self._claim(part, self.joint_settling, part.joint_settling(), "transactions of kind")
        for part in self._with("features"):
            self.features += tuple(part.features())
        for part in self._with("fact_handlers"):
            for fact, then in part.fact_handlers():
                self.fact_handlers.setdefault(fact, []).append(then)

    def _fill_kinds(self) -> None:
        for part in self._with("address_resolvers"):
            self._claim(part, self.address_resolvers, part.address_resolvers(), "addresses of kind")
        for part in self._with("destination_handlers"):
            self._claim(part, self.destination_handlers, part.destination_handlers(), "destinations of kind")
        for part in self._with("delivery_sources"):
            self._claim(part, self.delivery_sources, part.delivery_sources(), "deliveries of kind")
        for part in self._with("message_sinks"):
            self.message_sinks += tuple(part.message_sinks())
        for part in self._with("next_hops"):
            self._claim(part, self.next_hops, part.next_hops(), "hops that begin with")
        for part in self._with("remote_addresses"):
            self._claim(
                part, self.remote_addresses, part.remote_addresses(), "remote addresses that begin with"
            )
        for part in self._with("named_here"):
            self._claim(part, self.named_here, part.named_here(), "names of kind")
        for part in self._with("puts"):
            self._claim(part, self.puts, part.puts(), "messages to destinations that begin with")
        for part in self._with("connection_roles"):
            self._claim(part, self.connection_roles, part.connection_roles(), "connections of the role")
        for part in self._with("guest_requests"):
            self._claim(part, self.guest_requests, part.guest_requests(), "requests of guests in")
        for part in self._with("envelope_restorers"):
            self._claim(part, self.envelope_restorers, part.envelope_restorers(), "stored envelopes of kind")

    def _fill_calls(self) -> None:
        self.flushes = [part.flush for part in self._with("flush")]
        self.ticks = [part.tick for part in self._with("tick")]
        self.on_seconds = [part.on_second for part in self._with("on_second")]
        self.login_requirers = [part.requires_login for part in self._with("requires_login")]
        self.before_reads = [part.before_read for part in self._with("before_read")]
        self.before_goodbyes = [part.before_goodbye for part in self._with("before_goodbye")]
        self.after_goodbyes = [part.after_goodbye for part in self._with("after_goodbye")]
        self._service_outcomes = [part.service_outcomes for part in self._with("service_outcomes")]
        self._waiting = [part.waiting for part in self._with("waiting")]
        self._figures = [part.figures for part in self._with("figures")]
        self._feeds = [part.feeds for part in self._with("feeds")]
        self._holds = [part.holds for part in self._with("holds")]
        self._holds_for_sessions = [part.holds_for_sessions for part in self._with("holds_for_sessions")]
        self._shares = [part.shares for part in self._with("shares")]
        self._remains = [part.remains for part in self._with("remains")]
        self._whys = [(room_of(part), part.explain) for part in self._with("explain")]

    def _with(self, what: str) -> Iterator[Component]:
        return (part for part in self._parts if what in part.implemented)

    def _claim(self, part: Component, table: dict[str, T], claims: Mapping[str, T], what: str) -> None:
        for kind, one in claims.items():
            other = self._owners.setdefault((what, kind), part)
            if kind in table:
                raise _twice(other, part, f"{what} {kind!r}")
            table[kind] = one

    def __iter__(self) -> Iterator[Component]:
        return iter(self._parts)

    def figures(self) -> dict[str, int | float]:
        return {name: figure for each in self._figures for name, figure in each().items()}

    def explain(self, what: What) -> list[Reason]:
        """Return at most REASONS reasons from all components, each with the package of its component."""
        found = (replace(each, room=room) for room, why in self._whys for each in why(what))
        return list(islice(found, REASONS))

    def waiting(self, names: Collection[str]) -> Iterator[Waiting]:
        """Yield the queues and buffers in which messages wait, including those in `names` that are empty."""
        return (each for waiting in self._waiting for each in waiting(names))

    def service_outcomes(self, most: int) -> Iterator[tuple[str, str, OutcomeCounts]]:
        return (each for outcomes in self._service_outcomes for each in outcomes(most))

    def remains(self) -> Iterator[Left]:
        """Yield the things that are left at this node, by the components."""
        return (left for remains in self._remains for left in remains())

    def has_consumer(self, session: object) -> bool:
        return any(giver.has_consumer(session) for giver in self.delivery_sources.values())

    def has_work(self, session: object) -> bool:
        return any(giver.has_work(session) for giver in self.delivery_sources.values())

    def feeds(self) -> list[Feed]:
        return [feed for each in self._feeds for feed in each()]

    def holds(self) -> int:
        return sum(each() for each in self._holds)

    def holds_for_sessions(self) -> int:
        return sum(each() for each in self._holds_for_sessions)

    def shares(self) -> Iterator[Share]:
        return (share for each in self._shares for share in each())


def room_of(part: Component) -> str:
    """Return the package of the kernel, or the feature, that contains a component."""
    names = type(part).__module__.split(".")
    return names[2] if names[0] == "mesh" else names[0]


def _named(verbs: Sequence[Verb]) -> dict[str, Verb]:
    return {verb.name: verb for verb in verbs}


def _twice(one: Component, other: Component, what: str) -> FeatureFailed:
    names = [f"{type(each).__name__} of {room_of(each)}" for each in (one, other)]
    if one is other:
        text = f"The component {names[0]} handles {what} twice."
    else:
        text = f"Two components handle {what}: {' and '.join(names)}."
    return FeatureFailed(text, hint="Uninstall the plug-in that adds such a component, or ask its author.")
