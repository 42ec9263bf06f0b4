"""Pins of the log for subscriptions that moved: which stay, and which positions are left of one."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from mesh.kernel.subscribers.resume_pins import Pin, ResumePins, is_its_question, is_needed
from mesh.routing.pins import Pins
from mesh.wire.calls import ResumeRow
from mesh.wire.commands import Certificate, Query

KEY = b"k" * 32


@pytest.mark.parametrize(
    ("pinned_at", "number", "attach", "is_so"),
    [(1, 5, 2, True), (1, 6, 2, False), (2, 6, 2, False), (3, 6, 2, True)],
    ids=("open", "ended between two nodes", "ended here", "of a later visit"),
)
def test_a_pin_stays_for_an_open_subscription_or_a_later_visit(
    pinned_at: int, number: int, attach: int, is_so: bool
) -> None:
    assert is_needed(pinned_at, number, attach, {5}) is is_so


def pin(number: int, attach: int = 1, used: float = 0.0) -> Pin:
    return Pin(Certificate("joe", KEY, attach, b"n" * 16, b"s" * 64), number, 10, 20, used)


class Stage:
    """The pins 5 and 6 of one session; `stored` has the rows."""

    def __init__(self) -> None:
        self.stored: dict[bytes, bytes] = {}
        self.log = Pins()
        disk = Mock(shelf=Mock(pins=self.log), later=lambda table, key, op: self.stored.pop(key))
        self.pins = ResumePins(disk)
        for number in (5, 6):
            self.add(pin(number, used=float(number)))

    def add(self, found: Pin) -> None:
        put = self.pins.add_pin(found)
        self.stored[put.key] = put.value

    @property
    def left(self) -> set[int]:
        stream = pin(5).certificate.stream
        found = {number for number in range(10) if self.pins.find(stream, number) is not None}
        assert len(self.pins) == len(self.log) == len(self.stored) == len(found)
        return found


def test_law_1_a_pin_ends_by_its_last_acknowledgement_by_disuse_or_by_the_open_subscriptions() -> None:
    it = Stage()
    stream = pin(5).certificate.stream
    five = it.pins.find(stream, 5)
    assert five is not None
    it.pins.settle(five, 19)
    assert (it.left, it.log.holds(19), it.log.holds(20)) == ({5, 6}, True, True)
    it.pins.settle(five, 20)
    assert it.left == {6}
    it.pins.end_unused(6.0)
    assert it.left == {6}
    it.pins.end_unused(6.5)
    assert it.left == set()
    it = Stage()
    it.pins.end_others(stream, 2, (6,))
    assert it.left == {6}


def row(number: int = 3, end: int = 0, done: int = 0) -> ResumeRow:
    return ResumeRow(5, Query("exact", "k"), 10, end, done, number)


def test_law_2_a_late_first_question_does_not_make_its_pin_again() -> None:
    it, found = Stage(), replace(pin(5), number=3)
    it.add(found)
    assert not it.pins.has_ended(found.certificate, row())
    it.pins.end(found.certificate.stream, 5)
    assert it.pins.has_ended(found.certificate, row())
    assert not it.pins.has_ended(found.certificate, row(number=4))
    assert not it.pins.has_ended(found.certificate, row(number=0))
    assert not it.pins.has_ended(pin(5, attach=2).certificate, row()), "a later visit"


@pytest.mark.parametrize(
    ("asked", "is_so"),
    [
        (row(end=20), True),
        (row(end=19, done=18), False),
        (row(end=19, done=19), True),
        (row(number=4, end=19, done=19), False),
        (row(number=0, end=19, done=19), False),
    ],
    ids=("its end", "a page of another end", "the last question", "of another pin", "without a number"),
)
def test_law_2_the_last_question_ends_a_pin_whose_end_has_moved(asked: ResumeRow, is_so: bool) -> None:
    found = replace(pin(5), number=3)
    assert is_its_question(found, found.certificate, asked) is is_so
    assert not is_its_question(found, pin(5, attach=2).certificate, asked)


def test_a_newer_pin_of_a_subscription_replaces_the_earlier_one_and_all_are_restored() -> None:
    it = Stage()
    it.add(pin(5, attach=2))
    assert it.left == {5, 6}
    beginning: Any = SimpleNamespace(rows=lambda table: {**it.stored, b"c" + b"other": b""})
    restored = ResumePins(Mock(shelf=Mock(pins=Pins())))
    attaches = [certificate.attach for certificate in restored.start(beginning, 0.0)]
    assert (sorted(attaches), len(restored)) == ([1, 2], 2)
