"""The rows of tallies."""

from __future__ import annotations

import pytest

from mesh.errors import BadName
from mesh.features.spaces.model.tally import Row, merged, parts_of, row_name, sum_of


def test_of_two_copies_of_a_row_the_one_with_the_higher_version_counts_in_any_order() -> None:
    copies = [("a", Row(2, 7)), ("b", Row(1, -1)), ("a", Row(3, 2)), ("a", Row(1, 9))]
    assert merged(copies) == merged(reversed(copies)) == {"a": Row(3, 2), "b": Row(1, -1)}
    assert sum_of(merged(copies)) == 1
    assert merged([*copies, *copies]) == merged(copies)


def test_the_name_of_a_row_has_its_node_and_store() -> None:
    name = row_name("a/b", b"u" * 16, b"s" * 8)
    assert parts_of(name) == (b"u" * 16, f"{b'u'.hex() * 16}.{b's'.hex() * 8}", "a/b")


@pytest.mark.parametrize("name", ["", "a", "a.b/c", "zz" * 16 + "." + "00" * 8 + "/t", "00" * 16 + "/t"])
def test_another_name_is_refused(name: str) -> None:
    with pytest.raises(BadName):
        parts_of(name)
