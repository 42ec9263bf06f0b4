"""The dispatch tables of a core, built once from the declarations of all components."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeVar

from msgspec.structs import replace

from mesh.core.context.component import (
    CommandHandler,
    Component,
    DeliverySource,
    HandleEnvelope,
    HandlerEntry,
    Restores,
    Share,
)
from mesh.core.context.facts import Fact, FactHandler, Trace
from mesh.core.context.incoming_call import Verb
from mesh.core.context.seams import MessageSinks, NextHop, PutEnvelope, RemoteAddresses
from mesh.errors import RemoteError, StoreError
from mesh.reasons.what import What
from mesh.routing.feed import Feed
from mesh.routing.sink import AddressResolver
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

    def __missing__(self, command: type[Command]) -> CommandHandler:
        raise RemoteError(f"{self._sender} sent {command.__name__}", code="UNEXPECTED")

    def enter(self, takings: Sequence[HandlerEntry]) -> None:
        """Add handlers. Raises: ValueError if a command has one already."""
        for command, then in takings:
            if command in self:
                raise ValueError(f"two components handle {command.__name__}: {self[command]} and {then}")
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
            f"The store has an envelope of kind {kind}, which this release does not know.",
            hint="Start the release that wrote it.",
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
        self.message_sinks: tuple[MessageSinks, ...] = ()
        self.next_hops: dict[str, NextHop] = {}
        self.remote_addresses: dict[str, RemoteAddresses] = {}
        self.puts: dict[str, PutEnvelope] = {}
        self.envelope_restorers = RestoreTable()
        self.fact_handlers = FactTable()
        self.features: tuple[str, ...] = (PIECES,)
        self._parts: Sequence[Component] = ()

    def fill(self, parts: Sequence[Component]) -> None:
        """Build the tables. Raises: ValueError if two components claim the same command, verb or kind."""
        self._parts = parts
        self._fill_handlers()
        self._fill_kinds()
        self._fill_calls()

    def _fill_handlers(self) -> None:
        for part in self._with("from_clients"):
            self.from_clients.enter(part.from_clients())
        for part in self._with("from_peers"):
            self.from_peers.enter(part.from_peers())
        for part in self._with("from_gateways"):
            self.from_gateways.enter(part.from_gateways())
        for part in self._with("client_verbs"):
            _enter(self.client_verbs, part.client_verbs())
        for part in self._with("peer_verbs"):
            _enter(self.peer_verbs, part.peer_verbs())
        for part in self._with("features"):
            self.features += tuple(part.features())
        for part in self._with("fact_handlers"):
            for fact, then in part.fact_handlers():
                self.fact_handlers.setdefault(fact, []).append(then)

    def _fill_kinds(self) -> None:
        for part in self._with("address_resolvers"):
            _claim(self.address_resolvers, part.address_resolvers(), "resolve addresses of kind")
        for part in self._with("destination_handlers"):
            _claim(self.destination_handlers, part.destination_handlers(), "deliver to destinations of kind")
        for part in self._with("delivery_sources"):
            _claim(self.delivery_sources, part.delivery_sources(), "provide deliveries of kind")
        for part in self._with("message_sinks"):
            self.message_sinks += tuple(part.message_sinks())
        for part in self._with("next_hops"):
            _claim(self.next_hops, part.next_hops(), "give the routes of hops that begin with")
        for part in self._with("remote_addresses"):
            _claim(self.remote_addresses, part.remote_addresses(), "serve addresses that begin with")
        for part in self._with("puts"):
            _claim(self.puts, part.puts(), "accept messages to destinations that begin with")
        for part in self._with("envelope_restorers"):
            _claim(self.envelope_restorers, part.envelope_restorers(), "restore envelopes of kind")

    def _fill_calls(self) -> None:
        self.flushes = [part.flush for part in self._with("flush")]
        self.ticks = [part.tick for part in self._with("tick")]
        self.on_seconds = [part.on_second for part in self._with("on_second")]
        self.login_requirers = [part.requires_login for part in self._with("requires_login")]
        self.before_reads = [part.before_read for part in self._with("before_read")]
        self._figures = [part.figures for part in self._with("figures")]
        self._feeds = [part.feeds for part in self._with("feeds")]
        self._holds = [part.holds for part in self._with("holds")]
        self._holds_for_sessions = [part.holds_for_sessions for part in self._with("holds_for_sessions")]
        self._shares = [part.shares for part in self._with("shares")]
        self._whys = [(room_of(part), part.explain) for part in self._with("explain")]

    def _with(self, what: str) -> Iterator[Component]:
        return (part for part in self._parts if getattr(type(part), what) is not getattr(Component, what))

    def __iter__(self) -> Iterator[Component]:
        return iter(self._parts)

    def figures(self) -> dict[str, int | float]:
        return {name: figure for each in self._figures for name, figure in each().items()}

    def explain(self, what: What) -> list[Reason]:
        """Return the reasons of all components, each with its package; at most REASONS of them."""
        found = (replace(each, room=room) for room, why in self._whys for each in why(what))
        return list(islice(found, REASONS))

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
    """Return the package of the core that contains a component."""
    return type(part).__module__.removeprefix("mesh.core.").split(".")[0]


def _enter(table: dict[str, Verb], verbs: Sequence[Verb]) -> None:
    for verb in verbs:
        if verb.name in table:
            raise ValueError(f"two components answer {verb.name!r}: {table[verb.name].then} and {verb.then}")
        table[verb.name] = verb


def _claim(table: dict[str, T], claims: Mapping[str, T], what: str) -> None:
    for kind, one in claims.items():
        if table.setdefault(kind, one) is not one:
            raise ValueError(f"two components {what} {kind}: {table[kind]} and {one}")
