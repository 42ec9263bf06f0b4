"""Callbacks that wait until all nodes know a version."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mesh.flow.known_by_all import KnownByAll

X = ("address", "x")
WITHIN = 2.0


def test_E21_one_lookup_for_an_address_and_answers_in_order() -> None:
    lookups, said = KnownByAll[tuple[str, str]](WITHIN), list[str]()

    def first() -> None:
        said.append("p1")
        lookups.when(X, 1, 0.0, lambda: said.append("within p1"), is_known=True)

    lookups.when(X, 1, 0.0, first)
    lookups.when(X, 1, 0.0, lambda: said.append("p2"), is_known=True)
    assert said == [] and len(lookups) == 1
    lookups.end_waits(0.1, lambda name: 1)
    assert said == ["p1", "p2", "within p1"] and len(lookups) == 0
    lookups.when(X, 1, 0.2, lambda: said.append("p3"), is_known=True)
    assert said[3:] == ["p3"] and lookups.deadline is None


steps = st.lists(
    st.one_of(
        st.tuples(st.just("wait"), st.sampled_from("ab"), st.integers(0, 2)),  # number of versions ahead
        st.tuples(st.just("nested"), st.sampled_from("ab"), st.integers(0, 2)),
        st.tuples(st.just("know"), st.sampled_from("ab"), st.integers(0, 8)),
        st.tuples(st.just("time"), st.sampled_from("ab"), st.integers(0, 3)),
    ),
    max_size=30,
)


@given(steps)
def test_laws_1_and_2_waits_end_in_order_and_in_time(steps: list[tuple[str, str, int]]) -> None:
    waits, now = KnownByAll[str](WITHIN), 0.0
    known, newest = {"a": 0, "b": 0}, {"a": 0, "b": 0}
    begun: dict[str, list[tuple[int, float]]] = {"a": [], "b": []}  # version and deadline of each wait
    ended = {"a": 0, "b": 0}

    def wait(key: str, is_nested: bool) -> None:
        number = len(begun[key])
        begun[key].append((newest[key], now + WITHIN))

        def then() -> None:
            version, deadline = begun[key][number]
            assert number == ended[key], "in order, each once"
            assert version <= known[key] or deadline <= now, "not too early"
            ended[key] += 1
            if is_nested:
                wait(key, False)
                waits.end_waits(now, lambda key: known[key])

        waits.when(key, newest[key], now, then, newest[key] <= known[key])

    for what, key, n in steps:
        if what in ("wait", "nested"):
            newest[key] += n
            wait(key, what == "nested")
        elif what == "know":
            known[key] = max(known[key], n)
            waits.end_waits(now, lambda key: known[key], (key,))
        else:
            now += n / 2
            open_ones = {key: begun[key][ended[key] :] for key in begun}
            late = {key: [v for v, until in some if until <= now] for key, some in open_ones.items()}
            assert waits.late(now) == {key: max(some) for key, some in late.items() if some}
            waits.end_waits(now, lambda key: known[key])
        left = {key: begun[key][ended[key] :] for key in begun if begun[key][ended[key] :]}
        if what in ("know", "time"):
            assert key not in left or (left[key][0][0] > known[key] and left[key][0][1] > now)
        assert len(waits) == len(left)
        assert waits.deadline == min((some[0][1] for some in left.values()), default=None)
