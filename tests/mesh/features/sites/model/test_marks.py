"""Reports of the messages that a site lacks: at once, at the end, and rarely in between."""

from mesh.features.sites.model.marks import RARELY, SOON, Mark


def told(mark: Mark, now: float, more: int = 0) -> int | None:
    mark.dropped += more
    return mark.take_report(now)


def test_the_first_is_told_at_once_and_the_sum_again_ever_more_rarely() -> None:
    mark = Mark()
    assert told(mark, 7.0) is None and mark.due is None, "nothing is lacking"
    assert told(mark, 7.0, 1) == 1
    assert told(mark, 8.0, 1) is None and mark.due == 7.0 + SOON
    assert told(mark, 12.0, 1) == 3
    assert told(mark, 21.9, 1) is None and told(mark, 22.0) == 4, "twice as long"
    now, times = 22.0, 0
    while now < 22.0 + 86400:
        now += 1.0
        times += told(mark, now, 1) is not None
    assert times < 86400 / RARELY + 10


def test_what_is_the_sum_in_the_end_is_told() -> None:
    mark = Mark()
    assert (told(mark, 0.0, 1), told(mark, 0.1, 117)) == (1, None)
    assert mark.due == SOON and told(mark, SOON) == 118
    assert mark.due is None and told(mark, 1e9) is None, "once"


def test_it_is_the_same_from_the_disk_and_not_told_anew() -> None:
    mark = Mark(118, 5)
    again = Mark.unpack(mark.pack())
    assert again == mark and again.due is None
    assert told(again, 3.0, 1) == 119
