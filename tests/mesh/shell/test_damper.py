"""The damper of repeated reports: each new one passes, and a flood is counted."""

from mesh.kernel.context.repeats import SAY_AGAIN
from mesh.shell.damper import MOST, Damper


def test_the_same_is_told_once_a_minute() -> None:
    damper = Damper()
    assert [damper.is_news("refused", "eve", now) for now in (0.0, 59.0, 60.0, 61.0)] == [1, 0, 1, 0]
    assert damper.take_suppressed(1e6) == []  # already reported


def test_a_flood_is_counted_and_its_count_told_when_the_minute_is_over() -> None:
    damper = Damper()
    told = [damper.is_news("refused", str(number), number / 1000) for number in range(5000)]
    assert sum(told) == MOST and all(told[:MOST])
    assert damper.is_news("advert", "0", 5.0)  # another kind
    assert damper.take_suppressed(SAY_AGAIN) == []
    assert damper.take_suppressed(SAY_AGAIN + 5) == [("refused", "… and more: 4,984 in a minute")]
    assert damper.take_suppressed(SAY_AGAIN + 5) == []
    assert damper.is_news("refused", "again", SAY_AGAIN + 5)
