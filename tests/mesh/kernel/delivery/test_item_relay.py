"""The receivers of relayed items of other masters, and the values that a node caches."""

from typing import Any
from unittest.mock import Mock

import pytest
from msgspec.structs import replace

from mesh.kernel.delivery.item_relay import ItemRelay
from mesh.operations import BOOT
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.values import Hop
from tests.mesh.envelopes import envelope

MASTER = b"m" * 16


class Stage:
    """A relay with one local subscription, and the peers `owners` behind this node."""

    def __init__(self, *owners: str, floor: int = 0, boot: int = 0, keeps_cache: bool = True) -> None:
        self.deliveries: Any = Mock()
        feed: Any = Mock(floors={MASTER: floor})
        self.client = feed
        clients: Any = Mock()
        clients.plan.return_value = [(feed, None)]
        context: Any = Mock()
        context.settings.topics_bytes = 10_000
        self.items = ItemRelay(
            context, clients, self.deliveries, lambda master: boot, keeps_cache, Mock(return_value={})
        )
        self.items.peers = peers = Mock()
        peers.plan.return_value = [(Mock(owner=owner), None) for owner in owners]
        self.items.cache = self.cache = Mock()

    def relay(self, **fields: Any) -> set[str]:
        """Return the receivers of an item, where "" is the subscription."""
        route = fields.pop("route", ())
        self.stored = StoredEnvelope(replace(envelope("k"), route=route), master=MASTER, **fields)
        self.items.relay(self.stored)
        ((_, targets),) = self.deliveries.offer_all.call_args.args[0]
        return {"" if sink is self.client else sink.owner for sink, _ in targets}


def test_an_item_goes_to_no_node_that_it_has_passed_since_its_master() -> None:
    route = (Hop("bilbo", 2, 0), Hop("frodo", 0, 0), Hop("heron", 0, 0))
    assert Stage("bilbo", "frodo", "heron", "sam").relay(route=route) == {"", "bilbo", "sam"}


def test_an_item_goes_to_no_peer_to_which_it_is_not_due() -> None:
    stage = Stage("sam")
    ((sam, _),) = stage.items.peers.plan.return_value  # type: ignore[attr-defined]
    sam.is_due.return_value = False
    assert stage.relay() == {""}


@pytest.mark.parametrize(
    ("floor", "position", "expected"), [(5, 5, set()), (5, 6, {""}), (5, 0, {""}), (0, 1, {""})]
)
def test_a_subscription_gets_nothing_from_before_its_start(
    floor: int, position: int, expected: set[str]
) -> None:
    assert Stage(floor=floor).relay(position=position) == expected


def test_an_item_goes_only_to_those_for_whom_some_of_its_messages_are_selected() -> None:
    stage = Stage("bilbo", "sam")
    stored = StoredEnvelope(envelope("k k"), 7, MASTER)
    stage.items.relay(stored, lambda sink, indices: (1,) if sink.owner == "sam" else ())
    ((_, ((sam, indices),)),) = stage.deliveries.offer_all.call_args.args[0]
    assert (sam.owner, indices, stored.owed) == ("sam", (1,), 1)


@pytest.mark.parametrize(("position", "owed"), [(0, 0), (7, 3)])
def test_only_a_stored_item_is_owed(position: int, owed: int) -> None:
    stage = Stage("bilbo", "sam")
    stage.relay(position=position)
    assert stage.stored.owed == owed


@pytest.mark.parametrize(
    ("boot", "is_stored", "keeps_cache", "expected"),
    [
        (3, False, True, "store_value"), (2, False, True, "empty"), (2, True, True, "store_value"),
        (0, False, True, "store_value"), (2, False, False, ""), (3, False, False, ""),
    ],
)  # fmt: skip
def test_no_value_of_an_earlier_process_is_cached(
    boot: int, is_stored: bool, keeps_cache: bool, expected: str
) -> None:
    stage = Stage(boot=3, keeps_cache=keeps_cache)
    place = boot * BOOT + 7 if boot else 0
    stage.relay(position=place) if is_stored else stage.relay(after=place)
    assert [call[0] for call in stage.cache.method_calls] == ([expected] if expected else [])


def test_new_rules_empty_the_cache_and_decide_whether_there_is_one() -> None:
    stage = Stage()
    stage.items.ruled(is_plain=True)
    assert not stage.items.keeps_cache and stage.cache.empty.called
    stage.items.ruled(is_plain=False)
    assert stage.items.keeps_cache
