"""Work that this node can do stays at this node."""

from dataclasses import replace

from mesh.balancers.local_first import LocalFirst
from tests.balancers.candidates import chance, named

ABC = named("a b c")
WITH_ME = [*ABC, replace(ABC[0], node="me", is_here=True, load=1.0, sent=999.0)]


def test_this_node_is_taken_however_busy_it_is() -> None:
    balancer = LocalFirst(chance())
    assert balancer.pick(WITH_ME) == "me" == balancer.order(WITH_ME)[0]
    assert balancer.assign(WITH_ME, 7) == {"me": 7}


def test_where_it_is_none_of_them_the_others_are_taken_in_turn_by_their_consumers() -> None:
    assert LocalFirst(chance()).assign(ABC, 9) == {"a": 3, "b": 3, "c": 3}
    among = [replace(node, consumers=number) for number, node in enumerate(ABC)]
    assert LocalFirst(chance()).assign(among, 9) == {"b": 3, "c": 6}


def test_what_is_for_all_goes_to_all() -> None:
    assert LocalFirst(chance()).several(WITH_ME) == ["a", "b", "c", "me"]
