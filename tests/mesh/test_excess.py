"""The choice of the largest holders, which ends when the excess is gone."""

from mesh.excess import largest


def test_those_with_most_give_way_until_the_excess_is_gone() -> None:
    held = [("a", 10), ("b", 30), ("c", 20)]
    assert list(largest(held, 31)) == ["b", "c"]
    assert list(largest(held, 30)) == ["b"]
    assert list(largest(held, 0)) == []
    assert list(largest(held, 1000)) == ["b", "c", "a"]
