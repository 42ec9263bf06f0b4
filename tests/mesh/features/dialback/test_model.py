"""The choice of the nodes that dial back, the times, and the meaning of their answers."""

from collections.abc import Sequence
from math import inf

from mesh.features.dialback.model import (
    AGAIN,
    PAUSE,
    RETRY,
    WANTED,
    AddressCheck,
    Answer,
    Outcome,
    is_elsewhere,
    likely_cause,
    loopback_reachability,
    reachability,
)
from mesh.kernel.context.node_context import Reachability
from mesh.wire.commands import Introduction
from tests.each import each

HERE = "tcp://10.0.0.5:7710"
REACHED, REFUSED, SILENT, OTHER = Outcome.REACHED, Outcome.REFUSED, Outcome.SILENT, Outcome.OTHER


def node(*addresses: str) -> Introduction:
    return Introduction(b"n" * 16, "n", 1, addresses[0], tuple(addresses[1:]))


ELSEWHERE: Sequence[tuple[str, Introduction, Introduction, tuple[str, ...], bool]] = (
    ("another host", node(HERE), node("tcp://10.0.0.6:7710"), ("10.0.0.5",), True),
    ("the same host", node(HERE), node("tcp://10.0.0.5:7711"), (), False),
    ("one common host", node(HERE), node("tcp://10.0.0.6:1", "tcp://10.0.0.5:1"), (), False),
    (
        "an interface here",
        node("tcp://127.0.0.1:1"),
        node("tcp://10.0.0.5:1"),
        ("127.0.0.1", "10.0.0.5"),
        False,
    ),
    ("we are on loopback", node("tcp://127.0.0.1:1"), node("tcp://10.0.0.6:1"), ("10.0.0.5",), True),
    ("it is on loopback", node(HERE), node("tcp://127.0.0.1:1"), (), False),
    ("both on loopback", node("tcp://127.0.0.1:1"), node("tcp://127.0.0.2:1"), (), False),
    ("the same loopback", node("tcp://127.0.0.1:1"), node("tcp://127.0.0.1:1"), (), False),
    ("without an address", node(HERE), node(""), (), False),
    ("two containers", node("tcp://172.17.0.2:1"), node("tcp://172.17.0.2:1"), ("172.17.0.2",), True),
)


@each("case", ELSEWHERE, str)
def test_only_a_node_of_another_machine_is_elsewhere(
    case: tuple[str, Introduction, Introduction, tuple[str, ...], bool],
) -> None:
    _, me, peer, hosts, expected = case
    assert is_elsewhere(me, peer, lambda: hosts) is expected


CAUSES: Sequence[tuple[str, str, Outcome, str, str]] = (
    (HERE, "10.0.0.6", SILENT, "a firewall probably drops", "Open TCP port 7710"),
    (HERE, "10.0.0.6", REFUSED, "it was refused", "Forward TCP port 7710 to this node"),
    (HERE, "10.0.0.6", OTHER, "another process answered", "only this machine has"),
    (HERE, "8.8.8.8", SILENT, "behind NAT", "Forward TCP port 7710 in the router"),
    (HERE, "", SILENT, "a firewall", "Open TCP port"),
    (HERE, "nonsense", REFUSED, "it was refused", "Forward"),
    ("tcp://172.17.0.2:7710", "10.0.0.6", REFUSED, "inside a container", "docker run -p 7710:7710"),
    ("tcp://172.31.255.255:1", "8.8.8.8", OTHER, "inside a container", "docker run -p 1:1"),
    ("tcp://172.17.0.2:7710", "172.17.0.3", OTHER, "another process answered", "only this machine has"),
    ("tcp://172.16.0.2:7710", "10.0.0.6", SILENT, "a firewall", "Open TCP port"),
    ("tcp://8.8.4.4:7710", "8.8.8.8", SILENT, "a firewall", "Open TCP port"),
    ("tcp://[fd00::5]:7710", "fd00::6", SILENT, "a firewall", "Open TCP port 7710"),
)


@each("case", CAUSES, str)
def test_a_failed_dial_has_a_likely_cause_and_something_to_do(
    case: tuple[str, str, Outcome, str, str],
) -> None:
    address, theirs, outcome, cause, hint = case
    said = likely_cause(address, Answer("stork", theirs, outcome))
    assert cause in said[0] and hint in said[1], said


def test_the_answers_of_a_round_make_one_result() -> None:
    stork, swan = Answer("stork", "10.0.0.6", REACHED), Answer("swan", "10.0.0.7", SILENT)
    assert reachability(HERE, [stork]) == Reachability("yes", "dialed by stork", "")
    partly, no = reachability(HERE, [swan, stork]), reachability(HERE, [swan, swan])
    assert (partly.code, no.code) == ("partly", "no")
    cause = f"could not dial {HERE}: no answer, so a firewall probably drops the packets"
    assert partly.text == f"dialed by stork, but swan {cause}"
    assert no.text == f"swan and swan {cause}"
    assert partly.hint == no.hint != ""


def test_a_loopback_address_is_named_with_what_to_do() -> None:
    found = loopback_reachability("tcp://127.0.0.1:7710", "stork")
    assert found.code == "no"
    assert found.hint == "Listen on tcp://*:7710, or set node.advertise."


class Rounds:
    """An address check with a clock, and a dial by each node."""

    def __init__(self) -> None:
        self.now = 100.0
        self.check = AddressCheck(HERE, self.now)

    def ask(self, *nodes: bytes) -> bytes | None:
        return self.check.next_node(nodes, self.now, 0.0)

    def tell(self, uuid: bytes, outcome: Outcome | None) -> None:
        answer = None if outcome is None else Answer(uuid.decode(), "10.0.0.6", outcome)
        self.check.on_answer(uuid, answer, self.now)


def test_two_nodes_are_asked_one_after_the_other_and_a_reached_address_rests_for_an_hour() -> None:
    it = Rounds()
    assert it.ask(b"a", b"b", b"c") == b"a"
    assert it.ask(b"b", b"c") is None and it.check.due == inf  # one at a time
    it.tell(b"b", REACHED)  # was not asked
    assert it.ask(b"b") is None
    it.tell(b"a", SILENT)
    assert it.check.result() is None
    assert it.ask(b"a", b"b", b"c") == b"b"
    it.tell(b"b", REACHED)
    assert it.ask(b"a", b"b", b"c") is None  # WANTED
    result = it.check.result()
    assert result is not None and result.code == "partly"
    assert it.check.due == it.now + AGAIN
    it.now += AGAIN - 1
    assert it.ask(b"a") is None
    it.now += 1
    assert it.ask(b"a") == b"a" and it.check.result() is None
    assert WANTED == 2


def test_an_address_that_nobody_reached_is_tried_again_soon() -> None:
    it = Rounds()
    assert it.ask(b"a") == b"a"
    it.tell(b"a", REFUSED)
    assert it.ask(b"a") is None and it.check.due == it.now + RETRY
    result = it.check.result()
    assert result is not None and result.code == "no"


def test_without_a_node_to_ask_the_check_waits_until_one_comes() -> None:
    it = Rounds()
    assert it.ask() is None and it.check.due == inf and it.check.result() is None
    it.check.node_came(it.now)
    assert it.ask(b"a") == b"a"
    it.check.node_came(it.now)  # while a node dials
    assert it.check.due == inf and it.ask(b"b") is None


def test_a_node_that_does_not_dial_proves_nothing_and_is_asked_again_later() -> None:
    it = Rounds()
    assert it.ask(b"a") == b"a"
    it.tell(b"a", None)
    assert it.ask(b"a") is None and it.check.result() is None
    assert it.check.due == it.now + PAUSE
    it.now += PAUSE
    assert it.ask(b"a") == b"a"
    it.tell(b"a", None)
    assert it.ask(b"a", b"b") == b"b"  # another one, immediately
