"""Items of other masters are relayed, or only settled."""

from typing import Any
from unittest.mock import Mock

import pytest
from msgspec.structs import replace

from mesh.kernel.delivery.item_relay import Select
from mesh.kernel.subscribers.item_arrivals import ItemArrivals
from mesh.kernel.subscribers.settling import FeedSettling
from mesh.routing.merging import Merging
from mesh.routing.refill_gates import RefilledRoute, RefillGates
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.values import Hop
from mesh.wire.limits import HOPS
from tests.mesh.envelopes import envelope

MASTER = b"m" * 16


class Stage:
    """A node with the peers a and b, both of which may send the log of one master."""

    def __init__(self, merges: bool = False, relays_on: bool = False, is_owed: bool = True) -> None:
        self.context, self.router, self.settling = Mock(), Mock(), Mock(merges=merges, acking={})
        self.context.hop.side_effect = lambda stratum: Hop("me", stratum, 1)
        self.context.relayed.side_effect = lambda envelope: envelope
        self.router.relays.plan.return_value = [1] if relays_on else []
        self.peers: dict[str, Any] = {}
        for name in "ab":
            self.peers[name] = peer = Mock()
            peer.node.uuid = name.encode() * 16
            peer.begun = peer.exchange
            peer.exchange.upstreams = {}
        self.neighbours: Any = Mock(peers={p.node.uuid: p for p in self.peers.values()})
        self.mapping: Any = Mock(has_dirty=False, has_several=False)
        self.merging, self.copies, self.dirty = Mock(has_arrivals=False), Mock(), Mock()
        self.arrivals = ItemArrivals(
            self.context, self.router, self.neighbours, self.mapping, self.settling, self.merging,
            self.copies, self.dirty, RefillGates(),
        )  # fmt: skip
        self.is_owed = is_owed
        self.router.relay.side_effect = self._relay
        self.relayed: list[StoredEnvelope] = []
        self.selects: list[Select | None] = []

    def _relay(self, stored: StoredEnvelope, select: Select | None = None) -> None:
        stored.owed = int(self.is_owed)
        self.relayed.append(stored)
        self.selects.append(select)

    def comes(self, name: str, position: int, after: int = 0, master: bytes = MASTER, route: Any = ()) -> str:
        """Return the outcome of an item of that peer: relayed, settled, or nothing."""
        before, settled = len(self.relayed), self.settling.settle.call_count
        e = replace(envelope("a b"), route=route)
        self.arrivals.on_item(self.peers[name], master, position, after, e)
        signs = ["relayed"] * (len(self.relayed) - before)
        return " ".join([*signs, *["settled"] * (self.settling.settle.call_count - settled)])


def test_a_new_item_is_relayed_with_one_more_hop_and_its_position_is_noted() -> None:
    stage = Stage()
    assert stage.comes("a", 7, route=(Hop("m", 0, 1),)) == "relayed"
    (item,) = stage.relayed
    assert [hop.stratum for hop in item.envelope.route] == [0, 1]
    assert dict(stage.arrivals.received_positions()) == {MASTER: 7}


def test_an_item_that_is_owed_to_nobody_is_settled_at_once() -> None:
    stage = Stage(is_owed=False)
    assert stage.comes("a", 7) == "relayed settled"
    assert stage.comes("a", 0, 7) == "relayed", "a transient one is never settled"


def test_an_item_that_the_same_peer_repeats_is_only_acknowledged() -> None:
    stage = Stage()
    stage.comes("a", 7)
    assert stage.comes("a", 7) == ""
    assert stage.peers["a"] in stage.settling.acking


@pytest.mark.parametrize(("relays_on", "expected"), [(True, "settled"), (False, "relayed")])
def test_an_item_that_goes_round_between_relays_does_not_wait_for_its_first_copy(
    relays_on: bool, expected: str
) -> None:
    stage = Stage(relays_on=relays_on)
    stage.comes("a", 7)
    assert stage.comes("b", 7) == expected


def test_an_item_of_the_master_itself_is_in_no_loop() -> None:
    stage = Stage(relays_on=True)
    master = stage.peers["b"].node.uuid
    stage.comes("a", 7, master=master)
    assert stage.comes("b", 7, master=master) == "relayed"


def test_an_item_that_has_passed_too_many_nodes_is_dropped() -> None:
    stage = Stage()
    assert stage.comes("a", 7, route=(Hop("m", HOPS - 1, 1),)) == ""
    stage.context.counters.add_count.assert_called_once_with("too_many_hops")
    assert not stage.arrivals.received_positions()


def test_the_rest_of_an_earlier_relay_is_late() -> None:
    stage = Stage()
    for name, position in (("a", 7), ("b", 9), ("a", 8), ("b", 8), ("a", 10)):
        stage.comes(name, position)
    assert [item.is_late for item in stage.relayed] == [False, False, True, False]


@pytest.mark.parametrize(("merges", "expected"), [(True, [False, True]), (False, [False, False])])
def test_another_part_of_a_position_is_late_where_parts_are_merged(
    merges: bool, expected: list[bool]
) -> None:
    stage = Stage(merges)
    stage.merging.select_new.side_effect = [(1,), (0,)]
    stage.comes("a", 7)
    stage.comes("b", 7)
    assert [item.is_late for item in stage.relayed] == expected


def test_a_transient_item_at_the_furthest_position_is_not_late() -> None:
    stage = Stage(merges=True)
    stage.merging.select_new.return_value = None
    stage.comes("a", 7)
    stage.comes("b", 0, after=7)
    assert [item.is_late for item in stage.relayed] == [False, False]


@pytest.mark.parametrize("name", ["has_several", "has_parts", "knows_sites", ""])
def test_duplicates_are_looked_for_where_several_nodes_may_send_them(name: str) -> None:
    mapping: Any = Mock(has_several=name == "has_several", has_parts=name == "has_parts")
    settling = FeedSettling(Mock(), mapping, Mock(), {}, knows_sites=name == "knows_sites")
    assert settling.merges == bool(name)


def test_duplicates_are_settled_although_the_rules_no_longer_let_them_come() -> None:
    mapping: Any = Mock(has_several=False, has_parts=True)
    merging = Merging("me", lambda key, envelope: ("heron",), lambda key, envelope: True)
    peers: dict[bytes, Any] = {name.encode() * 16: Mock() for name in "ab"}
    for peer in peers.values():
        peer.exchange.upstreams = {MASTER: Mock()}
    settling = FeedSettling(Mock(), mapping, merging, peers)
    first, repeat = (StoredEnvelope(envelope("k"), 7, MASTER, source=uuid) for uuid in peers)
    merging.remember(first)
    assert merging.waits(repeat)
    mapping.has_parts = False
    settling.settle(peers[first.source], first)
    peers[repeat.source].exchange.upstreams[MASTER].release_envelope.assert_called_once_with(repeat)


@pytest.mark.parametrize(
    ("news", "waits", "expected", "count"),
    [(None, False, "relayed", 2), ((0,), False, "relayed", 1), ((), False, "settled", 0), ((), True, "", 0)],
)
def test_of_an_item_of_several_masters_only_the_new_messages_are_relayed(
    news: Any, waits: bool, expected: str, count: int
) -> None:
    stage = Stage(merges=True)
    stage.merging.select_new.return_value, stage.merging.waits.return_value = news, waits
    assert stage.comes("a", 7) == expected
    assert [item.envelope.count for item in stage.relayed] == [count] * bool(count)
    assert stage.merging.remember.called is bool(count), "its repeats wait until it is settled"


@pytest.mark.parametrize(
    ("news", "waits", "expected", "to_moved", "to_others"),
    [
        ((), False, "relayed", (0,), ()),
        ((), True, "", (), ()),  # the first copy is in the log that is resumed
        ((1,), False, "relayed", (0, 1), (1,)),
    ],
)
def test_subscriptions_that_moved_here_get_what_they_have_missed(
    news: Any, waits: bool, expected: str, to_moved: Any, to_others: Any
) -> None:
    stage, moved, other = Stage(merges=True), Mock(arrival=3), Mock(arrival=0)
    stage.merging.has_arrivals, stage.merging.waits.return_value = True, waits
    stage.merging.select_new.return_value = news
    stage.merging.missed_before.return_value = {0}
    stage.router.clients.plan.return_value = [(moved, None), (other, None)]
    assert stage.comes("a", 7) == expected
    for select in filter(None, stage.selects):
        assert (select(moved, None), select(other, None)) == (to_moved, to_others)
        assert select(moved, (1,)) == to_others
    stage.merging.missed_before.return_value = set()
    stage.selects.clear()
    stage.comes("a", 8)
    assert not any(stage.selects)


def test_a_peer_to_which_a_session_moved_gets_what_it_has_missed() -> None:
    stage, behind, other = Stage(merges=True), Mock(arrival=3), Mock(arrival=0)
    stage.merging.has_arrivals, stage.merging.select_new.return_value = True, ()
    stage.merging.missed_before.return_value = {0}
    stage.router.clients.plan.return_value = []
    stage.router.relays.plan.return_value = [(behind, None), (other, None)]
    assert stage.comes("a", 7) == "relayed"
    (select,) = stage.selects
    assert select is not None
    assert (select(behind, None), select(other, None)) == ((0,), ())


def test_what_only_a_forgotten_peer_has_brought_is_not_known_any_longer() -> None:
    stage = Stage()
    stage.comes("a", 7)
    stage.comes("b", 3, master=b"n" * 16)
    stage.comes("b", 5)
    gone = stage.peers["a"]
    del stage.neighbours.peers[gone.node.uuid]
    stage.arrivals.forget_peer(gone)
    assert dict(stage.arrivals.received_positions()) == {MASTER: 5, b"n" * 16: 3}


def test_a_subscription_after_a_refill_begins_at_its_end() -> None:
    stage = Stage()
    stage.arrivals.gates.close_gate("", MASTER)
    stage.arrivals.relay_page("", MASTER, [], 9)
    assert stage.arrivals.received_positions() == {MASTER: 8}
    stage.arrivals.relay_page("", MASTER, [], 5)
    assert stage.arrivals.received_positions() == {MASTER: 8}


def test_of_a_refilled_log_the_items_of_all_peers_wait_and_follow_in_order() -> None:
    stage, calls = Stage(), Mock()
    stage.arrivals.gates.close_gate("", MASTER)
    stage.arrivals.gates.call_when_open("", calls)
    for name, position, after in (("a", 7, 0), ("a", 0, 7), ("b", 9, 0)):
        assert stage.comes(name, position, after) == ""
    page = [StoredEnvelope(envelope("a b"), position, MASTER, source=b"refill") for position in (5, 7)]
    stage.arrivals.relay_page("", MASTER, page, 9)
    assert [(each.position, each.source[:1]) for each in stage.relayed] == [(5, b"r"), (7, b"r"), (0, b"a")]
    (settled,) = stage.settling.on_released.call_args_list
    assert settled.args[0].source == b"a" * 16, "the page had it"
    calls.assert_not_called()
    stage.arrivals.open_gate("")
    assert (stage.relayed[-1].position, calls.call_count) == (9, 1)
    assert stage.comes("b", 10) == "relayed"


def test_of_a_refilled_log_only_the_items_of_the_next_hop_are_relayed() -> None:
    stage = Stage()
    stage.mapping.named_nodes.return_value = frozenset()
    hop = stage.peers["a"].node.uuid
    stage.arrivals.gates.set_route("", RefilledRoute(MASTER, hop, 0, 4, lambda: False))
    assert stage.comes("b", 5) == "settled" and stage.comes("b", 0, 5) == ""
    assert stage.comes("a", 5) == "relayed" and stage.comes("a", 0, 5) == "relayed"
    assert stage.comes("b", 5, master=b"n" * 16) == "relayed"
    stage.peers["b"].node.name = "b"
    stage.mapping.named_nodes.return_value = frozenset(("b",))
    assert stage.comes("b", 6) == "relayed", "the rule of a key names it"
