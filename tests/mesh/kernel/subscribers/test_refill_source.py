"""The part of the master's log with which a refill begins."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import pytest

from mesh.errors import LocalError
from mesh.kernel.subscribers.refill_source import RefillPin, RefillSource, pin_key


def question(slave: bytes, **fields: int) -> Any:
    asked: Any = Mock()
    asked.who.exchange.feed.queries = ()
    asked.ask.domain, asked.ask.former, asked.ask.slave = "NEWS", b"x" * 16, slave * 16
    for name, value in ({"number": 1} | fields).items():
        setattr(asked.ask, name, value)
    return asked


def test_a_slave_without_a_position_is_refilled_from_the_first_pin_of_its_domain() -> None:
    """A slave behind which it was has what it missed from a refill of its own, and is owed nothing."""
    disk: Any = Mock()
    disk.shelf.next_position = 10
    source = RefillSource(Mock(), disk, Mock(), Mock(), Mock(), Mock(), {})
    for slave, domain, first in ((b"a", "NEWS", 5), (b"b", "NEWS", 7), (b"c", "SPORT", 2)):
        source._pins[pin_key(slave * 16, 1, domain)] = RefillPin(first, 9, 0.0)
    for at, expected in ((0, 5), (6, 6)):
        source._begin(question(b"s", at=at))
        assert disk.shelf.pins.pin.call_args.args[1:] == (expected, 9)
        del source._pins[pin_key(b"s" * 16, 1, "NEWS")]


@pytest.mark.parametrize("done", [3, 9])
def test_a_node_that_does_not_know_the_number_of_a_refill_neither_reads_nor_ends_its_pin(done: int) -> None:
    disk: Any = Mock()
    source = RefillSource(Mock(), disk, Mock(), Mock(), Mock(), Mock(), {})
    key = pin_key(b"s" * 16, 77, "NEWS")
    source._pins[key] = RefillPin(5, 9, 0.0)
    asked = question(b"s", number=78, at=5, end=9, done=done)
    if done < 9:
        with pytest.raises(LocalError, match="no longer known"):
            source._continue(asked)
    else:
        source._continue(asked)
    assert (key in source._pins, disk.fetch.called) == (True, False)
    source._continue(question(b"s", number=77, at=5, end=9, done=9))
    assert key not in source._pins
