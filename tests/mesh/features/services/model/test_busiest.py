"""The sums of the busiest addresses, which never shrink, and the sum of all other addresses."""

from hypothesis import given
from hypothesis import strategies as st

from mesh.features.services.model.busiest import REST, Busiest, Sums, sums
from mesh.snapshots.outcomes import OutcomeCounts


def looked(busiest: Busiest, **requests: int) -> dict[str, int]:
    """Return the sum of each selected address, when `requests` counts the requests of all."""
    found = {name: Sums(requests=n) for name, n in requests.items()}
    told = busiest.select(Sums(requests=sum(requests.values())), found)
    return {name: row.requests for name, row in told.items()}


def test_with_room_for_all_each_has_its_own_sum_and_there_is_no_rest() -> None:
    busiest = Busiest(2)
    assert looked(busiest) == {}
    assert looked(busiest, a=3) == {"a": 3}
    assert looked(busiest, a=5, b=1) == {"a": 5, "b": 1}


def test_who_has_no_place_is_in_the_rest_and_who_gets_one_begins_there() -> None:
    busiest = Busiest(1)
    assert looked(busiest, a=3, b=1) == {"a": 3, REST: 1}
    assert looked(busiest, a=3, b=5) == {"b": 0, REST: 5}
    assert looked(busiest, a=3, b=7) == {"b": 2, REST: 5}
    assert looked(busiest, a=9, b=7) == {"a": 0, REST: 11}


def test_an_address_of_the_name_of_the_rest_is_in_it() -> None:
    busiest = Busiest(2)
    assert looked(busiest, other=9, a=1) == {"a": 1, REST: 9}
    assert looked(busiest, other=9, a=1, b=2) == {"a": 1, "b": 2, REST: 9}


def test_an_address_that_was_forgotten_begins_again_and_nothing_shrinks() -> None:
    busiest = Busiest(1)
    assert looked(busiest, a=3, b=1) == {"a": 3, REST: 1}
    told = busiest.select(Sums(requests=6), {"a": Sums(requests=1), "b": Sums(requests=0)})
    assert {name: row.requests for name, row in told.items()} == {"a": 3, REST: 3}


@given(
    st.lists(st.lists(st.tuples(st.sampled_from("abcde"), st.integers(0, 5)), max_size=5), max_size=8),
    st.integers(0, 6),
)
def test_all_sums_together_are_all_that_was_counted_and_none_shrinks(
    looks: list[list[tuple[str, int]]], places: int
) -> None:
    busiest, count, rest, own = Busiest(places), dict[str, int](), 0, dict[str, int]()
    gone = 0  # counted for addresses that lost their place
    for look in looks:
        for name, n in look:
            count[name] = count.get(name, 0) + n
        told = looked(busiest, **count)
        before, rest = rest, told.pop(REST, 0)
        assert rest >= before and len(told) <= places
        assert all(told[name] >= n for name, n in own.items() if name in told)
        gone += sum(n for name, n in own.items() if name not in told)
        own = told
        assert sum(told.values()) + rest + gone == sum(count.values())


def test_failures_of_all_kinds_are_one_figure() -> None:
    fared = OutcomeCounts(sent=1, requests=20, replies=9, seconds=0.5, failed=1, lost=2, refused=3, expired=4)
    assert sums(fared) == Sums(sent=1, requests=20, replies=9, failures=10, seconds=0.5)
