"""Lists in parts of limited size."""

from hypothesis import given
from hypothesis import strategies as st

from mesh.flow.parts import SIZE, changes, cut, cut_by_size

items = st.lists(st.integers(0, SIZE))


@given(items, st.integers(1, 4))
def test_parts_have_all_items_in_order_and_none_is_too_long(items: list[int], most: int) -> None:
    for parts in (list(cut(items, most)), list(cut_by_size(items, int, most))):
        assert [item for part in parts for item in part] == items
        assert all(0 < len(part) <= most for part in parts)
    for part in cut_by_size(items, int, most):
        assert sum(part[:-1]) < SIZE, "it ends with the item that fills it"


@given(items, items, st.integers(1, 4))
def test_a_change_has_what_is_removed_first_and_only_its_last_message_ends_it(
    removed: list[int], added: list[int], most: int
) -> None:
    messages = list(changes(cut(removed, most), cut(added, most)))
    assert [item for _, part, _ in messages for item in part] == removed
    assert [item for part, _, _ in messages for item in part] == added
    assert [has_more for _, _, has_more in messages] == [True] * (len(messages) - 1) + [False]
    is_adding = [bool(add) for add, _, _ in messages]
    assert is_adding == sorted(is_adding) and not any(add and gone for add, gone, _ in messages)
