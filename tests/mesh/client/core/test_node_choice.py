"""The choice of the node that a client dials next, and of the time."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from mesh.client.core.known_nodes import KnownNode, introduced
from mesh.client.core.node_choice import FLAPPING, FORWARDS, HERD, LATEST, OWN, STEADY, NodeChoice
from mesh.client.core.places import Place, Source, Step
from mesh.errors import MeshError, NodeNotFound, Refused
from mesh.wire import commands as c
from tools.costing.wire import WELCOME

STREAM = bytes(16)
ADDRESSES = [f"tcp://10.0.0.{number}:7710" for number in range(1, 13)]
DEAD, FULL = NodeNotFound("it is not there."), Refused("it is full.", hint="Wait.", code="NODE_FULL")


def chosen(*names: str, allowed: Sequence[bool] = (True,)) -> NodeChoice:
    return NodeChoice(names, STREAM, lambda: 0.5, lambda place: allowed[0])


def known(*numbers: int) -> tuple[c.Introduction, ...]:
    return tuple(c.Introduction(bytes([n]) * 16, f"n{n}", 1, ADDRESSES[n]) for n in numbers)


def welcome(uuid: int = 1, *nodes: int) -> c.Welcome:
    return replace(WELCOME, node=replace(WELCOME.node, uuid=bytes([uuid]) * 16, key=b""), nodes=known(*nodes))


def texts(choice: NodeChoice, n: int, first: Step, now: float = 0.0) -> list[str]:
    """Let each place fail, and return the next `n` places, from `first` on."""
    found = [first.place.text]
    while len(found) < n:
        choice.on_failed(DEAD)
        found.append(choice.next_step(now, 1.0).place.text)
    return found


# --- the order ----------------------------------------------------------------------------------------


def test_names_are_tried_in_their_order_then_the_saved_nodes_then_all_again() -> None:
    choice = chosen("heron", "stork")
    choice.saved = [KnownNode("crane", (ADDRESSES[0], ADDRESSES[1])), KnownNode("egret", (ADDRESSES[2],))]
    found = texts(choice, 6, choice.begin(0.0))
    assert found[:2] == ["heron", "stork"] and found[5] == "heron"
    assert sorted(found[2:5]) == ADDRESSES[:3]
    assert abs(found.index(ADDRESSES[0]) - found.index(ADDRESSES[1])) == 1, (
        "addresses of a node stay together"
    )


def test_only_the_next_round_waits() -> None:
    choice = chosen("heron", "stork")
    waits = [choice.begin(0.0).wait, *(choice.next_step(0.0, 7.0).wait for _ in range(3))]
    assert waits == [0.0, 0.0, 7.0, 0.0]


def test_a_lost_client_dials_its_own_node_for_a_second_and_then_those_it_knows() -> None:
    choice = chosen("")
    choice.begin(0.0)
    choice.on_welcome(0.0, welcome(1, 2, 3))
    choice.on_lost(10.0)
    assert choice.next_step(10.0, 0.05) == Step(Place("", Source.OWN), 0.05)
    assert choice.next_step(10.0 + OWN - 0.01, 0.05).place.source is Source.OWN
    now = 10.0 + OWN
    first = choice.next_step(now, 0.05)
    assert (first.place.text, first.wait) == (ADDRESSES[2], HERD / 2)
    assert texts(choice, 5, first, now)[1:] == [ADDRESSES[3], "", "", ADDRESSES[2]]


def test_a_client_that_may_not_visit_waits_for_its_node() -> None:
    allowed = [True]
    choice = chosen("heron", "stork", allowed=allowed)
    choice.begin(0.0)
    choice.on_welcome(0.0, welcome(1, 2))
    allowed[0] = False
    choice.on_lost(5.0)
    choice.on_refused(5.0, c.Refuse("NODE_FULL", "", forward=(ADDRESSES[4],)))
    for now in (5.0, 5.5, 6.0, 7.0, 100.0):
        assert choice.next_step(now, 0.3) == Step(Place("heron", Source.OWN), 0.3)


def test_a_node_that_drains_is_left_at_once_for_those_that_it_names() -> None:
    choice = chosen("heron")
    choice.begin(0.0)
    choice.on_welcome(0.0, welcome(1, 2))
    choice.on_lost(5.0, is_leaving=True, forward=("ipc:///tmp/evil", ADDRESSES[4]))
    found = texts(choice, 3, choice.next_step(5.0, 0.1), 5.0)
    assert found == [ADDRESSES[4], ADDRESSES[2], "heron"]


# --- redirects ----------------------------------------------------------------------------------------


def test_one_redirect_a_round_is_followed_and_never_to_an_address_that_was_dialed() -> None:
    choice = chosen("heron", "stork")
    choice.begin(0.0)
    choice.dialed(ADDRESSES[0])
    full = c.Refuse(
        "NODE_FULL", "full", forward=(ADDRESSES[0], "ipc:///run/evil", "tcp://host:1", ADDRESSES[1])
    )
    choice.on_refused(0.0, full)
    assert choice.next_step(0.0, 1.0) == Step(Place(ADDRESSES[1], Source.FORWARD), 0.0)
    choice.on_refused(0.0, replace(full, forward=(ADDRESSES[5],)))
    assert choice.next_step(0.0, 1.0).place.text == "stork"
    assert choice.next_step(0.0, 1.0).place.text == "heron"
    choice.on_refused(0.0, full)
    assert choice.next_step(0.0, 1.0).place.source is Source.FORWARD, "another round"


def test_the_commands_of_the_operator_are_not_redirected() -> None:
    choice = NodeChoice((), STREAM, lambda: 0.5, follows=False)
    choice.begin(0.0)
    choice.on_refused(0.0, c.Refuse("NODE_FULL", "full", forward=(ADDRESSES[1],)))
    assert choice.next_step(0.0, 1.0).place == Place("", Source.NAMED)


def test_only_so_many_forward_addresses_are_read() -> None:
    choice = chosen("heron")
    choice.begin(0.0)
    choice.on_refused(0.0, c.Refuse("NODE_FULL", "", forward=("x",) * FORWARDS + (ADDRESSES[1],)))
    assert choice.next_step(0.0, 1.0).place.text == "heron"


def test_a_forward_address_of_another_mesh_is_counted_and_ends_nothing() -> None:
    choice = chosen("heron")
    choice.begin(0.0)
    choice.on_refused(0.0, c.Refuse("NODE_FULL", "", forward=(ADDRESSES[1],)))
    choice.on_failed(FULL)
    choice.next_step(0.0, 1.0)
    other = Refused("it does not know the secret.", code="WRONG_SECRET")
    choice.on_failed(other, is_final=True)
    assert not choice.is_over("WRONG_SECRET")
    error = choice.summary()
    assert error is not None and error.code == "NODE_FULL" and "does not know the secret" in error.hint


def test_a_busy_node_is_dialed_when_it_says_but_not_later_than_a_minute() -> None:
    choice = chosen("heron")
    choice.begin(0.0)
    choice.on_refused(10.0, c.Refuse("NODE_BUSY", "", retry_ms=2500))
    assert choice.next_step(10.5, 0.1).wait == pytest.approx(2.0)
    choice.on_refused(20.0, c.Refuse("NODE_BUSY", "", retry_ms=2**63 - 1))
    assert choice.next_step(20.0, 0.1).wait == LATEST
    assert choice.next_step(90.0, 0.1).wait == 0.1


# --- visits that follow one another -------------------------------------------------------------------


def test_flapping_waits_longer_each_time_until_a_session_lasts() -> None:
    choice, now, waits = chosen("heron"), 0.0, []
    choice.begin(now)
    choice.on_welcome(now, welcome(1, 2, 3))
    for number in range(2, 10):
        choice.on_lost(now)
        now += OWN
        step = choice.next_step(now, 0.05)
        waits.append(step.wait - HERD / 2)
        choice.on_welcome(now, welcome(number, 2, 3))
        now += 1.0
    assert waits == [0.0, 0.0, 1.0, 2.0, 4.0, 8.0, 16.0, FLAPPING]
    now += STEADY
    choice.on_lost(now)
    assert choice.next_step(now + OWN, 0.05).wait == HERD / 2


def test_a_node_with_another_key_than_the_known_one_is_refused() -> None:
    choice = chosen("heron")
    choice.saved = [KnownNode("crane", (ADDRESSES[1],), b"k" * 32)]
    choice.begin(0.0)
    assert choice.check_key(WELCOME.node) is None, "nothing is known of heron"
    choice.next_step(0.0, 0.0)
    refusal = choice.check_key(replace(WELCOME.node, key=b"x" * 32))
    assert refusal is not None and refusal.code == "OTHER_KEY"
    assert choice.check_key(replace(WELCOME.node, key=b"k" * 32)) is None


# --- the outcome --------------------------------------------------------------------------------------


def failed(choice: NodeChoice, error: MeshError, is_final: bool, code: str = "") -> bool:
    choice.on_failed(error, is_final)
    return choice.is_over(code or error.code)


def test_a_connect_is_over_when_no_named_node_can_accept_the_client() -> None:
    choice = chosen("heron", "stork")
    choice.begin(0.0)
    assert not failed(choice, DEAD, is_final=True)
    choice.next_step(0.0, 1.0)
    assert failed(choice, DEAD, is_final=True)
    error = choice.summary()
    assert isinstance(error, NodeNotFound) and error.code == "NO_NODE"
    assert "heron: it is not there; stork: it is not there." in error.what


def test_an_address_in_a_reason_is_not_repeated() -> None:
    places = ("tcp://127.0.0.1:9", "tcp://127.0.0.1:8")
    choice = chosen(*places)
    choice.begin(0.0)
    for place in places:
        choice.on_failed(NodeNotFound(f"{place} accepted no connection."))
        choice.next_step(0.0, 1.0)
    error = choice.summary()
    assert error is not None
    assert error.what.count(places[0]) == error.what.count(places[1]) == 1


def test_a_failure_that_may_pass_keeps_the_connect_going() -> None:
    choice = chosen("heron", "stork")
    choice.begin(0.0)
    assert not failed(choice, DEAD, is_final=False)
    choice.next_step(0.0, 1.0)
    assert not failed(choice, DEAD, is_final=True)
    choice.next_step(0.0, 1.0)
    assert not failed(choice, DEAD, is_final=True)
    choice.next_step(0.0, 1.0)
    assert failed(choice, DEAD, is_final=True), "a round without hope"


def test_what_each_node_would_refuse_ends_the_connect_at_once() -> None:
    choice = chosen("heron", "stork")
    choice.begin(0.0)
    assert failed(choice, Refused("in use.", code="SESSION_IN_USE"), is_final=True)


def test_the_last_refusal_is_the_reason_and_the_others_are_in_its_hint() -> None:
    choice = chosen("heron", "stork", "egret")
    choice.begin(0.0)
    choice.on_failed(DEAD)
    choice.next_step(0.0, 1.0)
    choice.on_failed(FULL)
    choice.next_step(0.0, 1.0)
    choice.on_failed(DEAD)
    error = choice.summary()
    assert isinstance(error, Refused) and (error.what, error.code) == (FULL.what, "NODE_FULL")
    assert error.hint == "Wait. Also tried: heron: it is not there; egret: it is not there."
    choice.on_welcome(0.0, welcome())
    assert choice.summary() is None, "reasons of the past are forgotten"


def test_patience_has_a_limit_however_long_all_nodes_are_down() -> None:
    choice = chosen("heron", "stork")
    texts(choice, 4001, choice.begin(0.0))
    assert not choice.is_last
    assert choice.patience(5.0) == 5.0


def test_patience_is_short_while_others_wait_and_grows_with_each_round() -> None:
    choice = chosen("heron", "stork")
    choice.begin(0.0)
    found = []
    for _ in range(6):
        found.append(choice.patience(5.0))
        choice.next_step(0.0, 0.0)
    assert found == [1.0, 5.0, 2.0, 5.0, 4.0, 5.0]
    alone = chosen()
    alone.begin(0.0)
    assert alone.patience(5.0) == 5.0


def test_what_a_node_says_of_others_is_checked() -> None:
    good = c.Introduction(bytes(16), "crane", 1, "tcp://10.0.0.1:7710", ("tcp://10.0.0.2:0", "tcp://[::1]:9"))
    liars = (
        replace(good, name="a b"),
        replace(good, address="ipc:///run/evil", also=()),
        replace(good, address="tcp://example.com:1", also=()),
        replace(good, key=b"short"),
    )
    assert introduced((good, *liars)) == [KnownNode("crane", ("tcp://10.0.0.1:7710", "tcp://[::1]:9"))]
    assert len(introduced((good,) * 1000)) == 8
