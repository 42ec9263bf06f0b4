"""Planted bugs in queues whose messages move to other nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

from mesh.features.queues.model.moves import dealing
from mesh.features.queues.model.part import giving, searching
from mesh.features.queues.node.keeping.rows import Rows
from mesh.features.queues.node.moves import balancing
from mesh.features.queues.node.transfers import moving
from mesh.features.queues.node.transfers.arriving import Arriving
from mesh.features.queues.node.transfers.leaving import TransferOutcome
from mesh.features.queues.node.transfers.moving import Moving

Patch = tuple[Any, str, Any]


def known_by_its_message() -> list[Patch]:
    judged = Arriving._judged

    def by_message(self: Any, source: Any, queue: Any, low: int, entry: Any, e: Any, outcomes: Any) -> Any:
        known = vars(self).setdefault("planted", set())
        name = e.stream, e.domain, e.first
        if name in known:
            outcomes.taken.append(entry[0])
            return None
        came = judged(self, source, queue, low, entry, e, outcomes)
        if came is not None:
            known.add(name)
        return came

    return [(Arriving, "_judged", by_message)]


def ended_by_a_timer() -> list[Patch]:
    tidy = Moving.on_second

    def ends(self: Any) -> None:
        for ways in list(self._ways.values()):
            for way in list(ways.values()):
                self._record_outcomes(way, dict.fromkeys(way.answerable(), TransferOutcome.REFUSED))
        tidy(self)

    return [(Moving, "on_second", ends)]


def numbers_begin_at_one() -> list[Patch]:
    return [(moving, "first_of_boot", lambda boot: 1)]


def moves_without_end() -> list[Patch]:
    return [(dealing, "may_move", lambda queued, is_stranded, now: True)]


def sent_before_it_is_stored() -> list[Patch]:
    begin = Moving.begin_transfers

    def at_once(self: Any, queue: Any, *args: Any) -> int:
        commit = queue.rows.commit_if_any

        def first(then: Any) -> None:
            then(None)
            commit(lambda error: None)

        with patch.object(queue.rows, "commit_if_any", first):
            return begin(self, queue, *args)

    return [(Moving, "begin_transfers", at_once)]


def taken_and_not_written_down() -> list[Patch]:
    def apart(self: Any, name: str, source: bytes, row: bytes, envelopes: Any, then: Any) -> None:
        """Store the messages of an arrival first, and the state of their source with the next commit."""

        def stored(error: Any) -> None:
            then(error)
            self.source(name, source, row)

        self._store(name, envelopes, [], stored)

    return [(Rows, "arrive", apart)]


def asked_once_for_an_envelope() -> list[Patch]:
    wanted = searching.wanted

    def by_the_first(selector: Any, queued: Any, runs: Any) -> Any:
        runs = list(runs)
        some = wanted(selector, queued, runs)
        return runs if some and some[0][0] == runs[0][0] else []

    return [(giving, "wanted", by_the_first), (searching, "wanted", by_the_first)]


def past_its_group() -> list[Patch]:
    return [(balancing, "in_line", lambda spread, groups, queued, shares, new: shares)]


# Seed, broken law and patches by the name of the bug.
PARTS: dict[str, tuple[int, str, Callable[[], list[Patch]]]] = {
    "what moves is known by its message": (2, "Q2", known_by_its_message),
    "what is on its way comes back by a timer": (194, "Q1", ended_by_a_timer),
    "the numbers of moves begin at 1 at each start": (1, "Q2", numbers_begin_at_one),
    "what waits moves to and fro": (4, "Q8", moves_without_end),
    "what moves is sent before it is stored that it does": (6, "Q4", sent_before_it_is_stored),
    "what came is not known by its number in one commit": (37, "Q4", taken_and_not_written_down),
    "a selector is asked once for an envelope": (6, "Q10", asked_once_for_an_envelope),
    "what is put of a group goes past what waits of it": (8, "Q11", past_its_group),
}
