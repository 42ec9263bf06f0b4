"""Routes to a node that no peer of this one sees."""

import pytest

from mesh.kernel.routes.node_locator import nearest

ANSWERS = [
    ([], ("", -1)),
    ([("avalon", -1)], ("", -1)),
    ([("avalon", 3), ("frodo", 1), ("golan", 1)], ("frodo", 2)),
    ([("bilbo", 0), ("frodo", 1)], ("bilbo", 1)),
    ([("avalon", 0), ("frodo", 4)], ("frodo", 5)),  # only bilbo has 0 hops to bilbo
    ([("avalon", 0)], ("", -1)),
    ([("avalon", -5)], ("", -1)),
]


@pytest.mark.parametrize(("answers", "way"), ANSWERS)
def test_the_nearest_way_is_taken_and_nobody_is_another_node(
    answers: list[tuple[str, int]], way: tuple[str, int]
) -> None:
    assert nearest("bilbo", answers) == way
