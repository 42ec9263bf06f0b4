"""Do peers learn of each change of what this node's clients want, and of nothing else?"""

from hypothesis import given
from hypothesis import strategies as st

from mesh.routing.interest import Interests
from mesh.wire.commands import Interest, Query

A, B = Query("exact", "a"), Query("pattern", "b/#")


def test_only_the_first_and_the_last_client_change_anything() -> None:
    interests = Interests()
    assert interests.add(A) == Interest(1, False, add=(A,))
    assert interests.add(A) is None
    assert interests.discard(A) is None
    assert interests.discard(A) == Interest(2, False, remove=(A,))
    assert not interests


def test_a_peer_that_logs_in_hears_everything_at_once() -> None:
    interests = Interests()
    interests.add(A)
    interests.add(B)
    interests.add(B)
    full = interests.full(position=7)
    assert (full.version, full.full, full.position) == (2, True, 7)
    assert set(full.add) == {A, B}


def test_the_same_text_in_another_domain_or_of_another_kind_is_another_query() -> None:
    interests = Interests()
    for query in (Query("exact", "a"), Query("pattern", "a"), Query("exact", "a", "sport")):
        assert interests.add(query) is not None
    assert len(interests) == 3


@given(st.lists(st.sampled_from([A, B, Query("exact", "c")]), max_size=30))
def test_a_peer_that_hears_each_change_knows_the_same_as_one_that_hears_everything(
    wanted: list[Query],
) -> None:
    interests, known, clients = Interests(), set[Query](), list[Query]()
    for query in wanted:
        if query in clients and len(clients) % 2:
            clients.remove(query)
            change = interests.discard(query)
        else:
            clients.append(query)
            change = interests.add(query)
        if change is not None:
            assert change.version == interests.version
            known = (known | set(change.add)) - set(change.remove)
        assert known == set(clients) == set(interests.full(0).add)
        assert len(interests) == len(known)
