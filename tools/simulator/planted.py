"""Planted bugs, by name: mutations of the product that the checks must find."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from typing import Any
from unittest.mock import patch

from mesh.kernel.context.disk import Disk
from mesh.kernel.context.outlet import Outlet
from mesh.kernel.delivery.cache import Cache
from mesh.kernel.forwarding.route_decisions import RouteDecisions
from mesh.kernel.states.route_proofs import RouteProofs
from mesh.kernel.subscribers.datalink import DataLinks
from mesh.kernel.subscribers.gap_reports import GapReports
from mesh.kernel.subscribers.sessions import Sessions
from mesh.kernel.subscribers.subscribing import SubscriberFeeds
from mesh.operations import Delete, Put
from mesh.routing.backlog import Backlog
from mesh.routing.feed import Feed
from mesh.routing.forward_table import ForwardTable
from mesh.routing.log import Log
from mesh.routing.pacing import Pacing
from mesh.routing.peerfeed import PeerFeed
from mesh.routing.upstream import Upstream
from mesh.store.refusals import Refusals
from mesh.streams.origin import OriginStream
from mesh.streams.outbox import Stream
from mesh.wire.commands import Reply, Unsubscribe
from tools.simulator.planted_abroad import ABROAD
from tools.simulator.planted_clients import CLIENTS
from tools.simulator.planted_durables import DURABLES
from tools.simulator.planted_members import MEMBERS
from tools.simulator.planted_moves import DRAINS, REDIRECTS, ROAMERS
from tools.simulator.planted_parts import PARTS
from tools.simulator.planted_queues import QUEUES
from tools.simulator.planted_reparent import REPARENT
from tools.simulator.planted_rules import RULES
from tools.simulator.planted_services import SERVICES
from tools.simulator.planted_sites import SITES
from tools.simulator.planted_spaces import SPACES
from tools.simulator.planted_transactions import TRANSACTIONS
from tools.simulator.planted_transport import TRANSPORT
from tools.simulator.planted_visits import RELAYED, VISITS

Patch = tuple[Any, str, Any]


@dataclass(frozen=True, slots=True)
class Bug:
    """A bug to plant.

    The scenario `seed` of `profile`, or a later one, finds the bug by breaking `invariant`. Without the bug,
    `seed` keeps every promise. Steps after `seconds` are left out.
    """

    profile: str
    seed: int
    invariant: str
    patches: Callable[[], list[Patch]]
    seconds: float = inf


@contextmanager
def planted(bug: Bug) -> Iterator[None]:
    """Plant a bug while the context lasts."""
    patches = [patch.object(*each) for each in bug.patches()]
    for each in patches:
        each.start()
    try:
        yield
    finally:
        for each in patches:
            each.stop()


def answer_before_commit() -> list[Patch]:
    commit = Disk.commit

    def early(self: Any, ops: Any, then: Any) -> None:
        commit(self, ops, lambda error: None)
        then(None)

    return [(Disk, "commit", early)]


def _without(table: str, rides_later: bool) -> list[Patch]:
    """Keep the row of a table out of a message's transaction.

    The row is written with the next message, or never.
    """
    accept = Log.accept_envelope

    def apart(self: Any, *args: Any) -> Any:
        late = self.__dict__.setdefault("planted", [])
        while late:
            op = late.pop()
            self.shelf.later(table, op.key, op)
        accepted, ops = accept(self, *args)
        rows = [op for op in ops if isinstance(op, Put) and op.table == table]
        late += rows if rides_later else []
        return accepted, [op for op in ops if op not in rows]

    return [(Log, "accept_envelope", apart)]


def numbers_begin_again() -> list[Patch]:
    return [(OriginStream, "unpack", classmethod(lambda cls, data: OriginStream()))]


def resend_not_deduplicated() -> list[Patch]:
    accept = OriginStream.accept_numbers

    def always(self: Any, first: int, last: int, low: int) -> Any:
        accept(self, first, last, low)
        return [(first, last)]

    return [(OriginStream, "accept_numbers", always)]


def drops_in_silence() -> list[Patch]:
    drop = Feed._drop

    def untold(self: Any, slice_: Any, why: str) -> int:
        drop(self, slice_, why)
        return 0

    return [(Feed, "_drop", untold)]


def ack_ahead() -> list[Patch]:
    return [(Upstream, "settled", property(lambda self: self.received))]


def low_passes_unsettled() -> list[Patch]:
    def low(self: Any) -> int:
        end: int = self.heard.contiguous_end(self.waiting[0].envelope.first) if self.waiting else self.next
        return end + 1 if self.waiting and end >= self.waiting[0].envelope.first else end

    return [(Stream, "low", property(low))]


def forwarded_not_kept() -> list[Patch]:
    depart = ForwardTable.next_to_send

    def leaves(self: Any, *arguments: Any) -> Any:
        for entry in depart(self, *arguments):
            yield entry
            self.remove_entry(entry)

    return [(ForwardTable, "next_to_send", leaves)]


def wrong_order_after_restart() -> list[Patch]:
    again = Feed._requeue_all

    def behind(self: Any, *args: Any) -> None:
        before = list(self._backlog)
        again(self, *args)
        later = [slice_ for slice_ in self._backlog.take_all() if slice_ not in before]
        for slice_ in (*before, *later):
            self._backlog.append(slice_)

    return [(Feed, "_requeue_all", behind)]


def gap_ends_here() -> list[Patch]:
    return [(GapReports, "report_from_peer", lambda self, source, path, messages: None)]


def given_up_too_soon() -> list[Patch]:
    def unsubscribe(self: Any, session: Any, command: Unsubscribe) -> None:
        known = command.subscription in session.feeds
        if known:
            self.drop(session, command.subscription)
        self._context.out.send(session.conn, Reply(command.request, {"known": known}))

    return [(SubscriberFeeds, "unsubscribe", unsubscribe)]


def letters_to_all() -> list[Patch]:
    def open_of(self: Any, name: Any) -> Any:
        return sorted((s for s in self.by_stream.values() if s.conn is not None), key=lambda s: s.text)

    return [(Sessions, "open_of", open_of)]


def no_bound() -> list[Patch]:
    return [(Backlog, "has_room", lambda self, slice_, is_slow: True)]


def erases_in_memory() -> list[Patch]:
    commit = Disk.commit

    def forgets(self: Any, ops: Any, then: Any) -> None:
        commit(self, [op for op in ops if not (isinstance(op, Delete) and op.table == "retained")], then)

    return [(Disk, "commit", forgets)]


def drops_the_last_piece() -> list[Patch]:
    runs = RouteDecisions.split_by_route

    def but_one(self: Any, envelope: Any) -> Any:
        pieces = list(runs(self, envelope))
        return pieces[:-1] if len(pieces) > 1 else pieces

    return [(RouteDecisions, "split_by_route", but_one)]


def does_not_ask_who_began_anew() -> list[Patch]:
    meet = DataLinks.meet

    def trusts(self: Any, peer: Any, said: Any) -> int:
        """Treat a restarted peer as the same process: numbers continue, and nothing is resent."""
        with patch.object(Outlet, "restart"), patch.object(PeerFeed, "restart"):
            meet(self, peer, said)
        return int(said.have)

    return [(DataLinks, "meet", trusts)]


def keeps_its_cache() -> list[Patch]:
    return [(Cache, "empty", lambda self: None)]


def acknowledges_at_once() -> list[Patch]:
    items = DataLinks.items

    def at_once(self: Any, *came: Any) -> None:
        with patch.object(Pacing, "release_after", lambda self, source, waiting, release: release()):
            items(self, *came)

    return [(DataLinks, "items", at_once)]


def whoever_brings_it_is_believed() -> list[Patch]:
    return [(RouteProofs, "believes", lambda self, peer, route: True)]


def lets_the_next_count_it_in() -> list[Patch]:
    return [(Refusals, "amended", lambda self, ops: list(ops))]


BUGS: dict[str, Bug] = {
    "answer before the commit": Bug("short", 4, "G2", answer_before_commit),
    "numbers of a stream not with its message": Bug("short", 4, "G2", lambda: _without("stream", True)),
    "last value not with its message": Bug("short", 0, "V1", lambda: _without("retained", False)),
    "numbers begin again at a restart": Bug("short", 4, "C2.1", numbers_begin_again),
    "a resend is not recognised": Bug("short", 1, "C3.7", resend_not_deduplicated),
    "full, and dropped in silence": Bug("short", 1, "C1.3", drops_in_silence),
    "a gap ends at the node that hears of it": Bug("short", 31, "C1.3", gap_ends_here),
    "settled before anybody took it": Bug("disk", 19, "C1.4", ack_ahead, 82.0),
    "low passes what is not settled": Bug("short", 5, "C2.4", low_passes_unsettled),
    "what was handed on is not kept": Bug("short", 0, "C2.4", forwarded_not_kept),
    "wrong order after a restart": Bug("short", 29, "C1.3", wrong_order_after_restart),
    "given up, and not on disk": Bug("short", 120, "L1", given_up_too_soon),
    "letters for all who are here": Bug("short", 4, "C5.1", letters_to_all),
    "no bound for a slow subscriber": Bug("slow", 59, "R1", no_bound, 26.0),
    "an erase that does not reach the disk": Bug("disk", 0, "V3", erases_in_memory, 35.0),
    "the last piece of a cut envelope dropped": Bug("circles", 157, "C2.4", drops_the_last_piece, 21.0),
    "what was not stored is counted in by the next": Bug("room", 3, "C1.4", lets_the_next_count_it_in),
    "a cache that outlives a reconnect": Bug("rest", 0, "V2", keeps_its_cache),
    "who is behind acknowledges at once": Bug("paced", 19, "C1.5", acknowledges_at_once),
    "whoever brings a message is believed": Bug("liar", 60, "C2.1", whoever_brings_it_is_believed, 35.0),
    "who began anew is not asked whether it knows us": Bug("short", 20, "L1", does_not_ask_who_began_anew),
    **{name: Bug(*found) for name, found in (*CLIENTS.items(), *MEMBERS.items())},
    **{name: Bug("services", *found) for name, found in SERVICES.items()},
    **{name: Bug("queues", *found) for name, found in QUEUES.items()},
    **{name: Bug("parts", *found) for name, found in PARTS.items()},
    **{name: Bug("durables", *found) for name, found in DURABLES.items()},
    **{name: Bug("sites", *found) for name, found in SITES.items()},
    **{name: Bug("abroad", *found, seconds=20.0) for name, found in ABROAD.items()},
    **{name: Bug("rules", *found) for name, found in RULES.items()},
    **{name: Bug("reparent", *found) for name, found in REPARENT.items()},
    **{name: Bug("transport", *found) for name, found in TRANSPORT.items()},
    **{name: Bug("visit", *found) for name, found in VISITS.items()},
    **{name: Bug("relays", *found) for name, found in RELAYED.items()},
    **{name: Bug("visit", *found) for name, found in ROAMERS.items()},
    **{name: Bug("drain", *found) for name, found in DRAINS.items()},
    **{name: Bug("redirect", *found) for name, found in REDIRECTS.items()},
    **{name: Bug("transactions", *found) for name, found in TRANSACTIONS.items()},
    **{name: Bug("spaces", *found, seconds=40.0) for name, found in SPACES.items()},
}
