"""The size and age of the outbound buffer, by next hop."""

from typing import Any
from unittest.mock import Mock

import pytest
from msgspec.structs import replace

from mesh.errors import TailBackFull
from mesh.kernel.forwarding.outbound_size import OutboundSize
from mesh.remote_names import way_to
from mesh.routing.forward_stages import Keeping
from mesh.routing.forward_table import ForwardTable
from mesh.routing.pending_forward import PendingForward
from mesh.values import Hop
from tests.mesh.envelopes import envelope
from tests.mesh.origins import CLIENT

NOW = 10**18
S = 10**9


class Stage:
    """A buffer for 10 messages."""

    def __init__(self, most: int = 10, most_bytes: int = 10**6) -> None:
        self.context: Any = Mock(clock=Mock(believed=NOW))
        self.context.settings.tailback_count, self.context.settings.tailback_bytes = most, most_bytes
        self.context.me.name = "heron"
        self.onward = ForwardTable(10**6, 10**6)
        self.size = OutboundSize(self.context, self.onward)
        self._first = 1

    def add(self, count: int, hop: str = "frodo", seconds: int = 0, is_warned: bool = True) -> PendingForward:
        """Add an entry of `count` messages that has waited for `seconds`."""
        e = replace(
            envelope(" ".join(["k"] * count), first=self._first), route=(Hop("heron", 0, NOW - seconds * S),)
        )
        self._first += count
        entry = self.onward.add(e, CLIENT, 0.0)
        self.onward.set_next_hops(entry, (hop,), "away")
        if is_warned:
            entry.change_keeping(Keeping.KEPT_WARNED)
        return entry


@pytest.mark.parametrize(
    ("here", "abroad", "is_full", "is_half_full"),
    [
        (5, 0, False, False), (6, 0, False, True), (10, 0, False, True), (11, 0, True, True),
        (1, 9, False, False), (1, 10, True, False), (6, 4, False, True),
    ],
)  # fmt: skip
def test_above_half_of_the_limit_only_publishers_here_may_add_and_other_sites_do_not_count(
    here: int, abroad: int, is_full: bool, is_half_full: bool
) -> None:
    stage = Stage()
    stage.add(here)
    if abroad:
        stage.add(abroad, way_to("LON"))
    assert (stage.size.is_full, stage.size.is_half_full()) == (is_full, is_half_full)


def test_bytes_are_limited_as_well() -> None:
    stage = Stage(most_bytes=200)
    stage.add(1)
    assert not stage.size.is_half_full()
    stage.add(1)
    assert stage.size.is_half_full() and not stage.size.is_full
    stage.add(2)
    assert stage.size.is_full


def test_figures_leave_out_what_may_be_answered_any_moment() -> None:
    stage = Stage()
    stage.add(2, seconds=30)
    stage.add(3, seconds=50, is_warned=False)
    stage.add(1, hop="bilbo", seconds=40)
    depth = stage.size.depth("frodo")
    assert (depth.messages, depth.age) == (2, 30.0)
    assert depth.bytes == stage.onward.entries()[0].size
    assert stage.size.age() == 40.0
    assert stage.size.depth("nobody").messages == 0 and stage.size.depth("nobody").age == 0.0


def test_without_waiting_messages_the_age_is_0() -> None:
    stage = Stage()
    stage.add(1, seconds=9, is_warned=False)
    assert stage.size.age() == 0.0


def test_the_refusal_names_what_would_wait_and_the_limits() -> None:
    stage = Stage()
    stage.add(4)
    stage.add(7)
    assert stage.size.full_error.what == (
        f"The outbound buffer of heron would hold 11 messages and {stage.onward.bytes:,} bytes; "
        "the limits are 10 messages and 1,000,000 bytes."
    )


def test_several_messages_have_room_together_or_are_refused() -> None:
    stage = Stage()
    stage.add(4)
    stage.size.check_room(6, 0)
    with pytest.raises(TailBackFull, match="would hold 11 messages"):
        stage.size.check_room(7, 0)


def test_law_3_reserved_room_counts_until_it_is_released() -> None:
    stage = Stage()
    stage.add(2)
    stage.size.reserve(4, 0)
    assert stage.size.is_half_full() and not stage.size.is_full
    with pytest.raises(TailBackFull, match="would hold 11 messages"):
        stage.size.check_room(5, 0)
    stage.size.reserve(-4, 0)
    stage.size.check_room(8, 0)
    assert not stage.size.is_half_full()
