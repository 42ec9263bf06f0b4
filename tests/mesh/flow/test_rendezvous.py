"""How clients spread over nodes."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from mesh.flow.rendezvous import ranked

streams = st.binary(min_size=16, max_size=16)
nodes = st.dictionaries(st.binary(min_size=1, max_size=16), st.integers(1, 4096), max_size=8)


@given(streams, nodes)
def test_without_one_node_the_order_of_the_others_stays(stream: bytes, weights: dict[bytes, int]) -> None:
    order = ranked(stream, weights)
    assert sorted(order) == sorted(weights)
    for gone in weights:
        others = {node: weight for node, weight in weights.items() if node != gone}
        assert ranked(stream, others) == [node for node in order if node != gone]


def test_clients_spread_in_proportion_to_the_room() -> None:
    weights = {b"heron": 300, b"stork": 100, b"full": 0, b"broken": -5}
    firsts = Counter(ranked(number.to_bytes(16), weights)[0] for number in range(4000))
    assert firsts.keys() == {b"heron", b"stork"}
    assert 2900 < firsts[b"heron"] < 3100
