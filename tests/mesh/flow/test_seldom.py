"""A limited notice is given once an interval."""

from hypothesis import given
from hypothesis import strategies as st

from mesh.flow.seldom import Seldom


@given(st.lists(st.integers(0, 40)), st.integers(1, 3))
def test_at_most_so_many_in_a_period_and_no_fewer(steps: list[int], most: int) -> None:
    seldom, now, begun, given = Seldom(4.0, most), 0.0, -100.0, list[float]()
    for step in steps:
        now += step / 10
        begun = now if now - begun >= 4.0 else begun
        is_free = len([at for at in given if at >= begun]) < most
        assert seldom.allows(now) is is_free
        if is_free:
            given.append(now)


def test_ten_a_second() -> None:
    seldom = Seldom(1.0, 10)
    for now in (10.0, 11.0):
        assert [seldom.allows(now + n / 1000) for n in range(12)] == [True] * 10 + [False] * 2
