"""The gateway of each stream: the same for all nodes, and kept as long as possible."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from mesh.features.sites.model.gateways import gateway

NODES = st.lists(st.binary(min_size=16, max_size=16), max_size=8, unique=True)
STREAMS = st.binary(min_size=16, max_size=16)
RELAYS = st.integers(1, 9)


@given(STREAMS, NODES, RELAYS, st.randoms())
def test_all_nodes_choose_alike_in_whatever_order_they_know_the_gateways(
    stream: bytes, nodes: list[bytes], relays: int, random: object
) -> None:
    chosen = gateway(stream, "NYC", nodes, relays)
    random.shuffle(nodes)  # type: ignore[attr-defined]
    assert gateway(stream, "NYC", nodes, relays) == chosen
    assert chosen in sorted(nodes)[:relays] if nodes else chosen is None


@given(STREAMS, NODES, RELAYS, st.data())
def test_when_a_gateway_goes_only_its_own_streams_move(
    stream: bytes, nodes: list[bytes], relays: int, data: st.DataObject
) -> None:
    if not nodes:
        return
    gone = data.draw(st.sampled_from(nodes))
    left = [node for node in nodes if node != gone]
    before, after = (gateway(stream, "NYC", each, relays) for each in (nodes, left))
    came = set(sorted(left)[:relays]) - set(sorted(nodes)[:relays])
    assert after == before or before == gone or after in came


def test_streams_are_shared_among_the_first_ones_and_no_others() -> None:
    nodes = [bytes([n]) * 16 for n in (5, 1, 4, 2, 3)]
    taken = Counter(gateway(n.to_bytes(16), "NYC", nodes, 3) for n in range(300))
    assert set(taken) == {bytes([n]) * 16 for n in (1, 2, 3)}
    assert min(taken.values()) > 50


def test_sites_have_gateways_of_their_own() -> None:
    nodes = [bytes([n]) * 16 for n in range(8)]
    assert len({gateway(b"s" * 16, f"site{n}", nodes, 8) for n in range(50)}) > 1


def test_a_senseless_number_of_relays_is_one() -> None:
    nodes = [b"b", b"a"]
    assert gateway(b"s", "NYC", nodes, 0) == gateway(b"s", "NYC", nodes, -1) == b"a"
