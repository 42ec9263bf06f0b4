"""The part of the master's log with which a refill begins."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

from mesh.kernel.subscribers.refill_source import PREFIX, RefillPin, RefillSource


def test_a_slave_without_a_position_is_refilled_from_the_first_pin_of_its_domain() -> None:
    """A slave behind which it was has what it missed from a refill of its own, and is owed nothing."""
    disk: Any = Mock()
    disk.shelf.next_position = 10
    source = RefillSource(Mock(), disk, Mock(), Mock(), Mock(), Mock(), {})
    for slave, domain, first in ((b"a", b"NEWS", 5), (b"b", b"NEWS", 7), (b"c", b"SPORT", 2)):
        source._pins[PREFIX + slave * 16 + domain] = RefillPin(first, 9, 0.0)
    for at, expected in ((0, 5), (6, 6)):
        asked: Any = Mock()
        asked.ask.at, asked.ask.domain, asked.ask.former, asked.ask.slave = at, "NEWS", b"x" * 16, b"s" * 16
        asked.who.exchange.feed.queries = ()
        source._begin(asked)
        assert disk.shelf.pins.pin.call_args.args[1:] == (expected, 9)
        del source._pins[PREFIX + b"s" * 16 + b"NEWS"]
