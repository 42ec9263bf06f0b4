"""An envelope that arrives is accepted here, forwarded, deferred, or refused."""

from typing import Any
from unittest.mock import Mock

import pytest
from msgspec.structs import replace

from mesh.kernel.forwarding.acceptance import Acceptance
from mesh.kernel.forwarding.refusal_memory import RefusalMemory
from mesh.mapping.decision import Decision, Kind, forward, refuse, wait
from mesh.streams.ranges import Ranges
from mesh.values import Hop
from mesh.wire.envelope import HELD, LOCAL_ONLY, Envelope
from tests.mesh.envelopes import STREAM, envelope
from tests.mesh.origins import Party

HERE = Decision(Kind.HERE, "this node is its master")
TO_FRODO, NO_MASTER = forward("by a rule", "frodo"), refuse("no master", "", "NO_MASTER")
PEER: Any = Party(b"frodo")


class Stage:
    """The acceptance of a node whose decision never changes. Its calls are recorded."""

    def __init__(self, decision: Decision = HERE, is_plain: bool = False) -> None:
        self.context: Any = Mock()
        self.context.settings.site.name, self.context.hop.side_effect = (
            "FRA",
            lambda stratum: Hop("heron", stratum, 1),
        )
        self.router: Any = Mock()
        self.router.log.find_stream.return_value = None
        self.mapping: Any = Mock(is_plain=is_plain, has_several=False, has_dirty=False)
        self.routing: Any = Mock()
        self.routing.onward.holds.return_value = False
        self.routing.onward.split_known.side_effect = lambda e: ([], [(e.first, e.last)])
        self.routing.deciding.split_by_route.side_effect = lambda e: [(e, decision)]
        self.routing.put_off.waits_for.return_value = None
        self.context.clock.stamp.return_value, self.routing.onward.sent_after.return_value = 9, 0
        self.routing.tailback.returns.return_arrived.return_value = False
        self.refused = RefusalMemory("heron", lambda e: None)
        self.answers: list[tuple[int, int, str]] = []
        local: Any = Mock(is_local=True)
        local.answer.side_effect = self._answered
        self.local = local
        self.acceptance = Acceptance(
            self.context, self.router, self.mapping, self.routing, self.refused, Mock(), local
        )

    def _answered(self, stream: bytes, answer: Any) -> None:
        self.answers.append((answer.first, answer.last, answer.state))

    @property
    def done(self) -> list[str]:
        """Return the outcome of the envelope."""
        accepted = self.routing.here.accept_envelope.call_args_list
        here = [f"here {c.args[0].first}-{c.args[0].last}" for c in accepted]
        added = [f"entry {c.args[0].first}-{c.args[0].last}" for c in self.routing.onward.add.call_args_list]
        sent = ["sent"] * self.routing.send_on.call_count
        behind = ["behind"] * self.routing.put_off.put_behind.call_count
        return [*here, *added, *sent, *behind, *(state for _, _, state in self.answers)]


@pytest.mark.parametrize(
    ("decision", "expected"),
    [
        (HERE, ["here 1-2"]),
        (TO_FRODO, ["entry 1-2", "sent"]),
        (wait("away", "frodo"), ["entry 1-2", "sent"]),
        (Decision(Kind.HERE, "both", copies=("frodo",)), ["entry 1-2", "sent"]),
        (NO_MASTER, ["NO_MASTER"]),
    ],
)
def test_each_decision_is_carried_out(decision: Decision, expected: list[str]) -> None:
    stage = Stage(decision)
    stage.acceptance.publish_envelope(envelope("a b"))
    assert stage.done == expected


@pytest.mark.parametrize(
    ("e", "expected"),
    [
        (envelope("k", flags=LOCAL_ONLY), ["here 1-1"]),
        (replace(envelope("k"), to="client/joe"), ["entry 1-1", "sent"]),
        (replace(envelope("k"), to="/site/LON/node/a/client/joe"), ["entry 1-1", "sent"]),
        (replace(envelope("k"), to="queue/jobs"), []),
    ],
)
def test_the_destination_of_a_client_decides_first(e: Envelope, expected: list[str]) -> None:
    stage = Stage(TO_FRODO, is_plain=True)
    stage.context.face.puts = {"queue/": Mock()}
    stage.acceptance.publish_envelope(e)
    assert stage.done == expected
    assert stage.context.face.puts["queue/"].called is e.to.startswith("queue/")


def test_an_address_in_this_site_has_no_site() -> None:
    stage = Stage(TO_FRODO)
    stage.acceptance.publish_envelope(replace(envelope("k"), to="/site/FRA/node/a/client/joe"))
    assert stage.routing.onward.add.call_args.args[0].to == "/node/a/client/joe"


def test_without_rules_nothing_is_decided_unless_the_stream_waits() -> None:
    stage = Stage(is_plain=True)
    stage.acceptance.publish_envelope(envelope("k"))
    assert stage.done == ["here 1-1"] and not stage.routing.deciding.split_by_route.called
    stage.routing.onward.holds.return_value = True
    stage.acceptance.publish_envelope(envelope("k", first=2))
    assert stage.routing.deciding.split_by_route.called


def test_a_repeated_number_adds_its_origin_to_the_entry_and_is_answered_again() -> None:
    stage, entry = Stage(TO_FRODO), Mock(is_kept=False)
    stage.routing.onward.split_known.side_effect = lambda e: ([entry], [(2, 2)])
    stage.routing.deciding.is_only_here.return_value = False
    stage.acceptance.publish_envelope(envelope("a b"))
    entry.add_origin.assert_called_once_with(stage.local)
    assert stage.routing.tailback.repeat.called and stage.routing.tailback.keep_entry.called
    assert stage.done == ["entry 2-2", "sent"]


def test_what_only_this_node_has_to_accept_does_not_wait_for_its_entry() -> None:
    stage, entry = Stage(HERE), Mock()
    stage.routing.onward.split_known.side_effect = lambda e: ([entry], [])
    stage.routing.deciding.is_only_here.return_value = True
    stage.acceptance.accept_envelope(envelope("a b"), PEER)
    assert stage.done == ["here 1-2"] and not entry.add_origin.called


def test_a_refusal_is_remembered_for_a_client_and_not_for_a_peer() -> None:
    for origin, is_remembered in ((None, True), (PEER, False)):
        stage = Stage(NO_MASTER)
        stage.acceptance.accept_envelope(envelope("k"), origin or stage.local)
        assert (stage.refused.refusal_of(STREAM, "", 1) is not None) is is_remembered


def test_what_was_refused_before_is_refused_again_and_the_rest_is_accepted() -> None:
    stage = Stage(NO_MASTER)
    stage.acceptance.publish_envelope(envelope("b", first=2))
    stage.routing.deciding.split_by_route.side_effect = lambda e: [(e, HERE)]
    stage.acceptance.publish_envelope(envelope("a b c"))
    assert stage.answers == [(2, 2, "NO_MASTER")] * 2
    assert stage.done[:2] == ["here 1-1", "here 3-3"]


@pytest.mark.parametrize(
    ("e", "is_local", "code"),
    [
        (envelope("k", domain="x\0"), True, "BAD_KEY"),
        (envelope("k", domain="__sys__x"), False, "RESERVED"),
        (replace(envelope("k"), xml="<key>"), True, "BAD_XML"),
    ],
)
def test_an_invalid_name_is_refused_before_any_decision(e: Envelope, is_local: bool, code: str) -> None:
    stage = Stage(TO_FRODO)
    origin = stage.local if is_local else Mock(is_local=False, answer=stage._answered)
    stage.acceptance.accept_envelope(e, origin)
    assert stage.done == [code] and not stage.routing.deciding.split_by_route.called


def test_an_envelope_waits_behind_a_deferred_one_of_its_stream() -> None:
    stage = Stage(TO_FRODO)
    stage.routing.put_off.waits_for.return_value = Mock()
    stage.acceptance.publish_envelope(envelope("k"))
    assert stage.done == ["entry 1-1", "behind"]


def test_an_entry_may_have_been_sent_by_an_earlier_process_and_holds_no_body_of_others() -> None:
    stage = Stage(TO_FRODO)
    stage.acceptance.publish_envelope(envelope("k", flags=HELD), was_sent=True)
    entry = stage.routing.onward.add.return_value
    assert entry.presume_sent.called and not stage.routing.onward.add.call_args.args[0].flags & HELD
    stage.acceptance.publish_envelope(envelope("k", first=2))
    assert entry.presume_sent.call_count == 1


@pytest.mark.parametrize(("was_sent", "later", "expected"), [(True, 7, 7), (True, 0, 9), (False, 7, 9)])
def test_a_resent_message_is_not_newer_than_a_later_one_that_waits(
    was_sent: bool, later: int, expected: int
) -> None:
    """Of one publisher the number decides, of two the timestamp: both must give the same order."""
    stage = Stage(TO_FRODO)
    stage.routing.onward.sent_after.return_value = later
    stage.acceptance.publish_envelope(envelope("k"), was_sent=was_sent)
    assert stage.routing.onward.add.call_args.args[0].sent == expected


def test_what_this_node_accepted_by_earlier_rules_is_not_forwarded() -> None:
    for was_master, expected in (
        (True, ["here 2-2", "entry 1-1", "entry 3-3", "sent", "sent"]),
        (False, ["entry 1-3", "sent"]),
    ):
        stage = Stage(TO_FRODO)
        stage.acceptance.was_master = was_master
        stage.router.log.find_stream.return_value = stream = Mock()
        stream.origin.above = Ranges.of((2,))
        stage.acceptance.publish_envelope(envelope("a b c"))
        assert stage.done == expected


def test_only_a_shared_value_has_the_timestamp_of_its_publisher() -> None:
    for is_shared in (False, True):
        stage = Stage(Decision(Kind.HERE, "one of several", is_shared=is_shared))
        stage.acceptance.publish_envelope(envelope("k"))
        assert stage.routing.here.shared_stamp.called is is_shared


def test_a_message_for_a_queue_is_accepted_here() -> None:
    stage = Stage(TO_FRODO)
    stage.acceptance.put_in_queue(replace(envelope("k"), to="queue/jobs"))
    assert stage.done == ["here 1-1"]
