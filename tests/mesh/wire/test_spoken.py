"""Which kinds of queries does the other end understand, and how often is it notified of what it does not?"""

from mesh.wire.limits import XPATH
from mesh.wire.spoken import A_SECOND, KINDS, Seldom, is_spoken


def test_kinds_of_every_version_need_no_word_and_later_ones_do() -> None:
    assert all(is_spoken(kind, frozenset()) for kind in KINDS)
    assert is_spoken(XPATH, frozenset((XPATH,))) and not is_spoken(XPATH, frozenset())


def test_so_many_are_allowed_in_a_second() -> None:
    seldom = Seldom()
    for now in (10.0, 11.0):
        assert [seldom.allows(now + n / 1000) for n in range(A_SECOND + 2)] == [True] * A_SECOND + [False] * 2
