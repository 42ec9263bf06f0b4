"""Messages that a feed gives up, each counted once and under its reason."""

from __future__ import annotations

from typing import Any

import pytest

from mesh.reasons.texts import LOSSES
from mesh.routing.feed import Feed
from mesh.routing.peerfeed import PeerFeed
from mesh.wire.envelope import Envelope
from tests.mesh.routing.feeds import Ends, stored


class Counted(Ends):
    """A feed that counts what it gives up. Its clock moves only when a test sets it."""

    def __init__(self, **options: Any) -> None:
        self.lost: list[tuple[str, int]] = []
        self.now = 0
        super().__init__(lost=self._count, wall=lambda: self.now, **options)

    def _count(self, envelope: Envelope, why: str, n: int) -> None:
        assert envelope.keys == ("a",) and why in LOSSES
        self.lost.append((why, n))


@pytest.mark.parametrize("kind", [Feed, PeerFeed])
def test_what_finds_no_room_is_overrun(kind: Any) -> None:
    ends = Counted(kind=kind)
    ends.offer(*[stored(size=136, count=1) for _ in range(5)])
    assert ends.lost == [("OVERRUN", 1)] * 3 and ends.feed.dropped == 3


def test_what_waits_when_it_is_cut_off() -> None:
    ends = Counted()
    ends.offer(stored(size=136), stored(1, size=136))
    ends.feed.shed()
    assert ends.lost == [("CUT_OFF", 1)], "what is persistent waits on"


def test_what_was_under_way_when_the_other_end_began_anew() -> None:
    ends = Counted()
    ends.feed.connect(0.0)
    ends.offer(stored(), stored(2))
    ends.feed.restart()
    assert ends.lost == [("LOST", 1)], "what is persistent comes again"


def test_what_is_void_when_its_turn_comes() -> None:
    ends = Counted()
    ends.offer(stored(expires=5), stored(expires=50))
    ends.now = 10
    ends.feed.connect(0.0)
    assert ends.lost == [("EXPIRED", 1)] and len(ends.sent) == 1 and ends.feed.expired == 1


def test_what_is_taken_is_no_loss() -> None:
    ends = Counted()
    ends.feed.connect(0.0)
    ends.offer(stored(), stored(1))
    ends.feed.on_processed(2, 0.0)
    ends.feed.close()
    assert ends.lost == []
