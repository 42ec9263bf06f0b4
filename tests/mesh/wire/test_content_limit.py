"""Division of an envelope into runs of messages with short and with long contents."""

from hypothesis import given
from hypothesis import strategies as st

from mesh.wire.content_limit import runs_by_size
from mesh.wire.envelope import Envelope
from tests.mesh.envelopes import envelope


@given(st.lists(st.integers(0, 40), min_size=1, max_size=8), st.integers(0, 40))
def test_trial_B10_runs_hold_every_number_once_and_tell_them_apart(sizes: list[int], most: int) -> None:
    e: Envelope = envelope(" ".join("k" for _ in sizes), [b"x" * size for size in sizes], first=7)
    runs = runs_by_size(e, most)
    told = [(n, is_short) for first, last, is_short in runs for n in range(first, last + 1)]
    assert told == [(7 + i, size <= most) for i, size in enumerate(sizes)]
    short = [e.part(first, last) for first, last, is_short in runs if is_short]
    assert sum(part.count for part in short) == sum(size <= most for size in sizes)
    assert all(len(content) <= most for part in short for content in part.contents())


def test_trial_B10_properties_do_not_count_as_content() -> None:
    e = envelope("k k", [b"x" * 10, b"y" * 11], expires=1_700_000_000_000_000_000)
    assert len(e.body) > 21
    assert runs_by_size(e, 10) == [(1, 1, True), (2, 2, False)]
