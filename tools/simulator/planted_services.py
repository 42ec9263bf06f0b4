"""Planted bugs in services."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from mesh.features.services.client.core.serving import ClientServing
from mesh.features.services.model.sent_requests import SentRequests
from mesh.features.services.model.work import GivenRun
from mesh.features.services.node.groups import Groups
from mesh.features.services.node.request_losses import RequestLosses
from mesh.features.services.node.request_outcomes import RequestOutcomes
from mesh.features.services.node.serving import ServedAddresses
from mesh.flow.followed import Followed
from mesh.flow.outstanding_deliveries import OutstandingDeliveries
from mesh.kernel.delivery import receivers
from mesh.kernel.presence.presence import Presence
from mesh.wire.commands import Answer

Patch = tuple[Any, str, Any]


def rows_of_the_dead() -> list[Patch]:
    def keeps(self: Any, peer: Any) -> None:
        self._peers.lost(peer)
        self._watching.lost(peer)
        self._registry._received.pop(peer.node.uuid, None)

    return [(Presence, "_forget_peer", keeps)]


def deltas() -> list[Patch]:
    told: Any = Followed.record

    def adds(self: Any, uuid: bytes, name: Any, consumers: int, note: bytes = b"") -> int | None:
        before = self.servers(name).get(uuid, 0)
        changed: int | None = told(self, uuid, name, before + consumers if consumers else 0, note)
        return changed

    return [(Followed, "record", adds)]


def retries_what_was_lost() -> list[Patch]:
    lost = RequestLosses.on_node_lost

    def again(self: Any, uuid: bytes) -> None:
        for way in list(self._open.at.get(uuid, ())):
            memory = self._open.streams.get(way.stream)
            if memory is not None and way.envelope is not None and not way.is_for_all:
                numbers = [n for n in way.open if n in memory.unanswered or n in memory.asked]
                self._outcomes.reschedule(memory, way, uuid, numbers)
        lost(self, uuid)

    return [(RequestLosses, "on_node_lost", again)]


def the_first_counts_nothing() -> list[Patch]:
    def fewer(self: Any, name: Any) -> Any:
        return {uuid: n for uuid, n in servers(self, name).items() if n > 1}

    servers = Presence.servers
    return [(Presence, "servers", fewer)]


def replies_of_a_former_life() -> list[Patch]:
    reply = ClientServing.settle_reply

    def takes(self: Any, taken: Any, *said: Any) -> bool:
        taken.epoch = self._epoch or taken.epoch
        return reply(self, taken, *said)

    return [(ClientServing, "settle_reply", takes)]


def chosen_anew() -> list[Patch]:
    def forgets(self: Any, e: Any, is_resent: bool) -> Iterator[tuple[int, int, Answer | None]]:
        yield e.first, e.last, None

    return [(SentRequests, "sort", forgets)]


def a_count_forgotten() -> list[Patch]:
    settle: Any = OutstandingDeliveries.settle

    def leaks(self: Any, first: int, last: int) -> Any:
        runs = settle(self, first, last)
        for run in runs:
            if isinstance(run, GivenRun) and run.tag % 4 == 0:
                self._runs = sorted([*self._runs, run], key=lambda run: run.tag)
                self.out += run.n
        return runs

    return [(OutstandingDeliveries, "settle", leaks)]


def nobody_although_it_was_given() -> list[Patch]:
    came = RequestOutcomes._on_answer

    def denies(self: Any, memory: Any, way: Any, uuid: bytes, numbers: Any, a: Any) -> None:
        if a.state == "OK" and numbers[0] % 16 == 0 and not way.is_for_all:
            self.answer_messages(memory, way, numbers, Answer("", 1, 1, "NO_HANDLERS"))
        else:
            came(self, memory, way, uuid, numbers, a)

    return [(RequestOutcomes, "_on_answer", denies)]


def local_for_all() -> list[Patch]:
    consumers = ServedAddresses._announce_address

    def says(self: Any, address: Any) -> None:
        for server in address.servers.values():
            server.local_only = False
        consumers(self, address)

    return [(ServedAddresses, "_announce_address", says)]


def each_master_gives_it() -> list[Patch]:
    return [(receivers, "SECOND", 0)]


def only_who_is_here() -> list[Patch]:
    nodes = Groups._nodes
    return [(Groups, "_nodes", lambda self, name, is_here, *but: nodes(self, name, True, *but))]


# Seed, broken law and patches by the name of the bug.
SERVICES: dict[str, tuple[int, str, Callable[[], list[Patch]]]] = {
    "rows of a node that is gone are kept": (8, "AD7", rows_of_the_dead),
    "what a node serves is added up": (0, "AD4", deltas),
    "what was lost is tried again": (5, "AD1", retries_what_was_lost),
    "the first who serves counts nothing": (0, "AD3", the_first_counts_nothing),
    "a reply of a former life is taken": (5, "AD9", replies_of_a_former_life),
    "what comes again is chosen anew": (0, "AD1", chosen_anew),
    "a settled count is forgotten": (0, "AD10", a_count_forgotten),
    "nobody has it, although it was given": (0, "AD8", nobody_although_it_was_given),
    "who serves only here serves all": (1, "AD6", local_for_all),
    "each of several masters gives it to a group": (2, "GR1", each_master_gives_it),
    "a master knows only the members at its node": (1, "GR2", only_who_is_here),
}
