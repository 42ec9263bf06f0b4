"""The list of keys: each topic that stays is found, while other topics come and go."""

from hypothesis import given
from hypothesis import strategies as st
from pytest import MonkeyPatch

from mesh.routing import keylist
from mesh.routing.keylist import PIECE, KeyList
from mesh.routing.retained import Retained
from tests.mesh.envelopes import envelope


def retained(count: int) -> Retained:
    found = Retained(10**9)
    for n in range(count):
        found.retain_last(envelope(f"k{n}", [b"v"], first=n + 1))
    return found


def looked(keys: KeyList, most: int, between: list[int], topics: Retained) -> list[str]:
    """Return all keys found, while keys are removed (numbers below 100) and added (others) in between."""
    found: list[str] = []
    at, steps = 0, iter(between)
    while at < len(keys):
        some = keys[at : at + most]
        assert len(some) <= most
        at = at + len(some) if some else len(keys)
        found += some
        step = next(steps, None)
        if step is not None and step < 100:
            topics.remove_value(f"k{step}", "")
        elif step is not None:
            topics.retain_last(envelope(f"k{step}", [b"v"], first=1000 + step))
    return found


@given(st.integers(0, 40), st.integers(1, 9), st.lists(st.integers(0, 140), max_size=40), st.integers(1, 7))
def test_what_was_there_and_is_there_still_is_met(
    count: int, most: int, between: list[int], piece: int
) -> None:
    with MonkeyPatch.context() as patch:
        patch.setattr(keylist, "PIECE", piece)
        topics = retained(count)
        there = topics.keys()
        found = looked(KeyList(topics), most, between, topics)
        stay = [key for key in there if int(key[1:]) not in between]
        assert set(stay) <= set(found)
        if not between:
            assert found == there


class Counted(Retained):
    """Retained values that record how many keys are copied at a time."""

    def __init__(self, count: int) -> None:
        super().__init__(10**9)
        self._domains = {f"k{n}": {"": None} for n in range(count)}
        self.copied: list[int] = []

    def some_keys(self, begin: int, end: int) -> list[str]:
        self.copied.append(end - begin)
        return super().some_keys(begin, end)


def test_a_long_list_is_copied_in_pieces_and_no_piece_before_it_is_needed() -> None:
    topics = Counted(2 * PIECE + 1)
    keys = KeyList(topics)
    assert topics.copied == []
    assert keys[0:16] == [f"k{n}" for n in range(16)] and keys[16:32][0] == "k16"
    assert topics.copied == [PIECE]
    assert looked(keys, 1000, [], topics) == list(topics._domains)
    assert topics.copied == [PIECE, PIECE, 1]
