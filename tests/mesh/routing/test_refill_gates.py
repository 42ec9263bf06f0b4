"""Items that wait while the log of a master is refilled."""

from __future__ import annotations

from mesh.mapping.rules import ANY_DOMAIN
from mesh.routing.refill_gates import WAITING, RefilledRoute, RefillGates
from mesh.routing.stored_envelope import StoredEnvelope
from tests.mesh.envelopes import envelope

MASTER, OTHER = b"m" * 16, b"o" * 16


def item(
    position: int = 0, after: int = 0, domain: str = "NEWS", master: bytes = MASTER, source: bytes = b""
) -> StoredEnvelope:
    return StoredEnvelope(envelope(domain=domain), position, master, after=after, source=source)


HOP = b"h" * 16


def test_of_a_refilled_log_the_items_of_other_peers_are_stray() -> None:
    gates, lacks = RefillGates(), list[bool]()
    gates.set_route("NEWS", RefilledRoute(MASTER, HOP, 3, 9, lambda: bool(lacks)))
    assert gates.is_used and gates.is_stray(item(4), tuple) and gates.is_stray(item(12), tuple)
    assert not gates.is_stray(item(4, source=HOP), tuple)
    assert not gates.is_stray(item(4, master=OTHER), tuple)
    assert not gates.is_stray(item(4, domain="SPORT"), tuple)
    assert gates.is_stray(item(after=10), tuple)
    assert not gates.is_stray(item(after=9), tuple), "no refill has it"
    assert gates.is_stray(item(2, source=HOP), tuple), "it was acknowledged before the refill"
    lacks.append(True)
    assert not gates.is_stray(item(4), tuple), "the hop may not send it"
    gates.remove_route("NEWS")
    assert not gates.is_used


def test_the_route_of_all_other_domains_is_not_that_of_a_named_one() -> None:
    gates = RefillGates()
    gates.set_route(ANY_DOMAIN, RefilledRoute(MASTER, HOP, 3, 9, lambda: False))
    assert gates.is_stray(item(4), tuple)
    assert not gates.is_stray(item(4), lambda: ("NEWS",))


def test_the_items_of_a_refilled_domain_wait_whichever_peer_sends_them() -> None:
    gates = RefillGates()
    assert not gates.is_used and not gates.add_item(item(1))
    gates.close_gate("NEWS", MASTER)
    assert gates.is_used and gates.add_item(item(1))
    assert not gates.add_item(item(1, domain="SPORT")), "its route has not changed"
    assert not gates.add_item(item(1, master=OTHER))
    gates.close_gate(ANY_DOMAIN, MASTER)
    assert gates.add_item(item(1, domain="SPORT"))
    gates.close_gate("NEWS", MASTER)  # for another parent
    gate = gates.remove_gate("NEWS")
    assert gate is not None and len(gate.waiting) == 1, "what waited for the former refill waits on"


def test_items_before_the_first_position_of_a_refill_are_stray() -> None:
    gates = RefillGates()
    gates.close_gate("NEWS", MASTER, 4)
    assert gates.is_stray(item(3, source=HOP), tuple)
    assert not any(gates.is_stray(other, tuple) for other in (item(4), item(after=3), item(3, master=OTHER)))
    gates.close_gate("NEWS", MASTER)
    assert not gates.is_stray(item(3), tuple), "the position is unknown"


def test_items_follow_in_the_order_of_the_log() -> None:
    gates = RefillGates()
    gates.close_gate("NEWS", MASTER)
    transient, late, first, later = item(after=5), item(5), item(3), item(9)
    for stored in (transient, late, later, first):
        gates.add_item(stored)
    assert gates.take_before("NEWS", 6) == [first, late, transient]
    assert gates.take_before("NEWS", 6) == [] == gates.take_before("SPORT", 6)
    assert gates.take_before("NEWS", 10) == [later]


def test_calls_wait_for_the_items_of_their_domain() -> None:
    gates, made = RefillGates(), list[str]()
    gates.close_gate("NEWS", MASTER)
    gates.call_when_open("SPORT", lambda: made.append("other"))
    gates.call_when_open("NEWS", lambda: made.append("its"))
    gates.call_when_open("", lambda: made.append("all"))
    assert made == ["other"]
    gates.close_gate("SPORT", MASTER)
    for domain, expected in (("NEWS", ["other", "its"]), ("SPORT", ["other", "its", "all"])):
        gate = gates.remove_gate(domain)
        for call in gate.calls if gate is not None else ():
            call()
        assert made == expected


def test_a_gate_with_too_many_items_is_full() -> None:
    gates = RefillGates()
    gates.close_gate("NEWS", MASTER)
    one = item(1)
    for _ in range(WAITING):
        gates.add_item(one)
    assert gates.full_gates() == []
    gates.add_item(one)
    assert gates.full_gates() == ["NEWS"]
