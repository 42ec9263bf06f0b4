"""The route of an entry after a later decision."""

from typing import Any
from unittest.mock import Mock

import pytest
from msgspec.structs import replace

from mesh.kernel.forwarding.entry_routing import EntryRouting
from mesh.mapping.decision import CHANGING, Decision, Kind, forward, refuse, wait
from mesh.routing.forward_stages import Transit
from mesh.routing.pending_forward import HERE, PendingForward
from mesh.values import Hop
from mesh.wire.limits import DIRTY
from tests.mesh.envelopes import envelope
from tests.mesh.origins import CLIENT, Party

HERE_ALONE = Decision(Kind.HERE, "this node is its master")
TO_FRODO, LOOP = forward("by a rule", "frodo"), refuse("a loop", "", "CIRCULAR_LOOP")
NO_MASTER, TURNING = refuse("no master", "", "NO_MASTER"), wait("rules are changing", code=CHANGING)
ABROAD = "/site/LON/node/x/client/y/session/1"


class Stage:
    """The routing of a node with one entry. Its calls are recorded."""

    def __init__(self, origin: Any = CLIENT, sender: str = "") -> None:
        self.context: Any = Mock()
        self.context.settings.window_bytes = self.context.settings.window_count = 1000
        self.context.clock.now = 0.0
        self.nodes: Any = Mock()
        self.neighbours: Any = Mock()
        parts: list[Any] = [Mock() for _ in range(5)]
        disk, router, mapping, *others = parts
        mapping.has_filters = False
        self.routing = routing = EntryRouting(
            self.context, disk, router, self.neighbours, self.nodes, mapping, others[0], others[1], Mock()
        )
        e = replace(envelope("k k"), sender=sender, route=(Hop("heron", 0, 0),))
        self.entry: PendingForward = routing.onward.add(e, origin, 0.0)
        self.tailback: Any = Mock()
        self.put_off: Any = Mock()
        self.here: Any = Mock()
        self.put_off.waits_for.return_value = None
        routing.tailback, routing.put_off, routing.here = self.tailback, self.put_off, self.here
        routing.marking = marking = Mock()
        marking.here.side_effect = lambda entry: entry.envelope if not entry.is_done else None

    def decided(self, decision: Decision) -> str:
        """Return the outcome of the entry."""
        before = self.entry.hops
        self.routing.apply_decision(self.entry, decision)
        if self.put_off.put_behind.called:
            return "behind"
        if self.here.take_over.called:
            assert self.entry.is_done
            return "here"
        if self.tailback.refuse_entry.called:
            return f"refused {self.tailback.refuse_entry.call_args.args[1].code}"
        return "stays" if self.entry.hops == before else f"to {' '.join(self.entry.hops)}"


@pytest.mark.parametrize(
    ("decision", "transit", "expected"),
    [
        (TO_FRODO, Transit.UNSENT, "to frodo"),
        (TO_FRODO, Transit.SENT, "to frodo"),
        (HERE_ALONE, Transit.UNSENT, "here"),
        (HERE_ALONE, Transit.SENT, "here"),
        (LOOP, Transit.UNSENT, "refused CIRCULAR_LOOP"),
        (LOOP, Transit.SENT, "stays"),
        (LOOP, Transit.SENT_AGAIN, "stays"),
        (NO_MASTER, Transit.UNSENT, "refused NO_MASTER"),
        (NO_MASTER, Transit.SENT, "refused NO_MASTER"),
    ],
)
def test_an_entry_follows_a_later_decision(decision: Decision, transit: Transit, expected: str) -> None:
    stage = Stage()
    stage.entry.transit = transit
    assert stage.decided(decision) == expected


def test_an_entry_of_another_site_waits_for_an_unreachable_node_once_it_was_sent() -> None:
    unknown = refuse("unknown", "", "UNKNOWN_NODE")
    for sender, expected in ((ABROAD, "stays"), ("", "refused UNKNOWN_NODE")):
        stage = Stage(sender=sender)
        stage.entry.presume_sent()
        assert stage.decided(unknown) == expected


def test_a_final_refusal_is_final_for_what_was_sent() -> None:
    stage = Stage()
    stage.entry.presume_sent()
    assert stage.decided(refuse("gone", "", "SITE_UNREACHABLE", is_final=True)) == "refused SITE_UNREACHABLE"


class Newer(Party, frozen=True):
    """A peer with the feature of dirty reads, which understands a message that comes back."""

    def features(self) -> tuple[str, ...]:
        return (DIRTY,)


@pytest.mark.parametrize(
    ("origin", "was_sent", "is_given", "expected"),
    [
        (Newer(b"f"), False, False, f"refused {CHANGING}"),
        (Newer(b"f"), True, False, "stays"),
        (Newer(b"f"), False, True, "stays"),
        (Party(b"f"), False, False, "stays"),
        (CLIENT, False, False, "stays"),
    ],
)
def test_a_loop_that_may_end_sends_back_what_this_node_need_not_keep(
    origin: Any, was_sent: bool, is_given: bool, expected: str
) -> None:
    stage = Stage(origin)
    stage.entry.is_given = is_given
    if was_sent:
        stage.entry.presume_sent()
    assert stage.decided(TURNING) == expected


def test_an_entry_waits_for_an_earlier_one_of_its_stream_unless_it_was_sent() -> None:
    for was_sent, expected in ((False, "behind"), (True, "to frodo")):
        stage = Stage()
        stage.routing.onward.set_next_hops(stage.entry, ("sam",), "")
        stage.put_off.waits_for.return_value = Mock()
        if was_sent:
            stage.entry.presume_sent()
        assert stage.decided(TO_FRODO) == expected


def test_each_open_message_is_taken_over_and_its_answer_settles_the_entry() -> None:
    stage = Stage()
    stage.entry.presume_sent()
    assert stage.decided(HERE_ALONE) == "here"
    (call,) = stage.here.take_over.call_args_list
    part, _, _, answered = call.args
    assert (part.first, part.last) == (1, 2)
    answered("so")
    stage.tailback.record_final_answer.assert_called_once_with(stage.entry, "", "so")


def test_one_of_several_masters_accepts_its_copy_once() -> None:
    stage = Stage()
    both = Decision(Kind.HERE, "both", copies=("frodo",), to_master=True)
    for _ in range(2):
        stage.routing.send_on(stage.entry, both)
    assert stage.here.accept_copy.call_count == 1
    assert {*stage.entry.lacking} == {HERE, "frodo"} and stage.entry.was_sent
    assert stage.entry.envelope.route[-1].stratum == 1, "frodo is a master, too"


@pytest.mark.parametrize(
    ("is_known", "is_alive", "attempt", "is_settled", "is_warned"),
    [
        (True, True, 0, True, False), (True, True, 2, True, True), (True, False, 0, True, True),
        (False, False, 0, True, True), (False, False, 0, False, False),
    ],
)  # fmt: skip
def test_a_publisher_is_warned_at_once_if_no_next_hop_can_answer_soon(
    is_known: bool, is_alive: bool, attempt: int, is_settled: bool, is_warned: bool
) -> None:
    stage = Stage()
    peer: Any = Mock(data=None, lost_at=1.0)
    peer.link.attempt = attempt
    stage.nodes.named.return_value = peer if is_known else None
    stage.nodes.is_alive.return_value = is_alive
    stage.routing._settled = is_settled
    stage.routing.send_on(stage.entry, TO_FRODO)
    assert stage.tailback.warn.called is is_warned


def test_loops_are_not_final_for_a_while_after_new_rules_unless_all_nodes_have_agreed() -> None:
    stage = Stage()
    for is_agreed, until in ((False, 10.0), (True, 0.0)):
        stage.routing.on_rules(is_agreed, is_now=False)
        assert stage.routing.deciding.holds_until == until
    assert stage.put_off.ruled.call_count == 2 and not stage.put_off.refiled.called
    stage.routing.on_rules(True, is_now=True)
    assert stage.put_off.refiled.called
