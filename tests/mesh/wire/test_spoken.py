"""The kinds of queries that the other end understands."""

from mesh.wire.limits import XPATH
from mesh.wire.spoken import KINDS, is_spoken


def test_kinds_of_every_version_need_no_word_and_later_ones_do() -> None:
    assert all(is_spoken(kind, frozenset()) for kind in KINDS)
    assert is_spoken(XPATH, frozenset((XPATH,))) and not is_spoken(XPATH, frozenset())
