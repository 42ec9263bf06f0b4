"""Planted bugs in maps, counters, tallies and locks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from mesh.features.spaces.client import leases
from mesh.features.spaces.model.batch import Batch
from mesh.features.spaces.model.locks import Locks, Request
from mesh.features.spaces.model.space import Outcomes
from mesh.features.spaces.model.tally import Row
from mesh.features.spaces.node import leashes, tally_calls
from mesh.features.spaces.node.homes import Homes
from mesh.features.spaces.node.tallies import Tallies

Patch = tuple[Any, str, Any]


def outcomes_are_not_found() -> list[Patch]:
    return [(Outcomes, "find", lambda self, count: None)]


def owners_are_not_restored() -> list[Patch]:
    return [(Locks, "restore", lambda self, *row: None)]


def lease_is_longer_at_the_client() -> list[Patch]:
    return [(leases, "OF_LEASE", 1.2)]


def release_of_another_use() -> list[Patch]:
    release = Locks.release

    def releases(self: Any, name: str, request: Request, now: float) -> bool:
        lock = self.find(name)
        if lock is not None and lock.owner is not None:
            request = lock.owner.request
        return release(self, name, request, now)

    return [(Locks, "release", releases)]


def decides_on_the_committed_state() -> list[Patch]:
    return [(Batch, "_value", lambda self, key: self._state.values.get(key))]


def counts_are_not_stored() -> list[Patch]:
    begin = Homes._ops

    def without(self: Any, home: Any, batch: Any) -> Any:
        return list(begin(self, home, batch))[1:]

    return [(Homes, "_ops", without)]


def waiting_clients_are_not_counted_off() -> list[Patch]:
    return [(Locks, "_keep_waiting", lambda self, lock, left: setattr(lock, "waiting", left))]


def begins_a_row_at_each_start() -> list[Patch]:
    return [(Tallies, "start", lambda self, beginning: None)]


def adopts_rows_twice() -> list[Patch]:
    def twice(copies: Iterable[tuple[str, Row]]) -> Mapping[str, Row]:
        return {f"{name} {i}": row for i, (name, row) in enumerate(copies)}

    return [(tally_calls, "merged", twice)]


def paused_forever() -> list[Patch]:
    return [(Homes, "resume", lambda self, name: None)]


def acts_without_a_leash() -> list[Patch]:
    return [(leashes, "leash_left", lambda leash, age: leash)]


def new_home_grants_at_once() -> list[Patch]:
    begin = Locks.__init__
    return [(Locks, "__init__", lambda self, quiet_until=0.0: begin(self))]


# Seed, broken law and patches by the name of the bug.
SPACES: dict[str, tuple[int, str, Callable[[], list[Patch]]]] = {
    "a home acts without a leash": (1069, "K2", acts_without_a_leash),
    "a home refuses writes after a move that failed": (67, "BOUND", paused_forever),
    "a node begins a row of a tally at each start": (67, "TALLY", begins_a_row_at_each_start),
    "a release ends another use of the lock": (289, "K4", release_of_another_use),
    "a restarted home forgets who has a lock": (67, "K4", owners_are_not_restored),
    "a row of a tally counts twice": (67, "TALLY", adopts_rows_twice),
    "the counts of a space are not stored": (130, "K2", counts_are_not_stored),
    "the lease of a lock is longer at the client": (292, "K4", lease_is_longer_at_the_client),
    "the new home of a lock grants it at once": (418, "K4", new_home_grants_at_once),
    "the outcomes of writes are not looked up": (71, "K1", outcomes_are_not_found),
    "waiting clients of a lock are not counted off": (289, "BOUND", waiting_clients_are_not_counted_off),
    "writes are decided on the committed state": (44, "K1", decides_on_the_committed_state),
}
