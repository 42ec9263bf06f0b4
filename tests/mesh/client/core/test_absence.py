"""Reports of a client about messages that wait for an unreachable node, and about dropped ones."""

import pytest

from mesh.client.core.absence import AWAY, AWAY_AGAIN
from mesh.client.core.intake import Terms
from mesh.client.core.node_connection import REDIAL_MAX, SILENCE
from mesh.client.core.subscriptions import DROPPED, ENDED, GAPS_AFTER
from mesh.errors import Closed, NodeNotFound
from mesh.wire import commands as c
from tests.mesh.client.core.benches import CoreBench, DeskBench, LineBench


def waiting(bench: DeskBench) -> list[str]:
    return [text for kind, text in bench.told() if kind == "waiting"]


def post(bench: CoreBench) -> None:
    bench.core.publisher.append_message("k", b"x", "", 0, b"", 0)


def test_after_5_seconds_it_is_said_what_waits_and_then_each_minute() -> None:
    bench = CoreBench()
    bench.core.line.lose("disconnected")
    post(bench)
    bench.core.calls.send_with_timeout(lambda request: c.Call(request, "info", {}))
    bench.wait(AWAY - 0.1)
    assert waiting(bench) == []
    bench.wait(0.2)
    [text] = waiting(bench)
    assert text == "unreachable for 5 s: heron; waiting for it: 1 message, 1 question"
    bench.wait(AWAY_AGAIN - 1)
    assert len(waiting(bench)) == 1
    bench.wait(2)
    assert waiting(bench)[1].startswith("unreachable for 65 s: heron")


def test_what_has_not_left_yet_waits_too_and_who_reads() -> None:
    bench = CoreBench()
    subscriptions = bench.core.subscriptions
    subscriptions.register(subscriptions.new_subscription(c.Query("exact", "k", ""), True, Terms()))
    bench.core.line.lose("disconnected")
    for _ in range(2):
        post(bench)
    bench.wait(AWAY)
    assert waiting(bench)[0].endswith("waiting for it: 2 messages, 1 question, 1 subscription")


def test_where_nothing_waits_nothing_is_said_until_something_does() -> None:
    bench = CoreBench()
    bench.core.line.lose("disconnected")
    bench.wait(AWAY + 1)
    assert waiting(bench) == []
    post(bench)
    bench.wait(AWAY_AGAIN)
    assert len(waiting(bench)) == 1


def test_a_node_that_was_only_silent_has_been_away_since_it_was_last_heard() -> None:
    bench = CoreBench()
    post(bench)
    bench.wait(SILENCE + 3)
    assert waiting(bench) == ["unreachable for 8 s: heron; waiting for it: 1 message"], (
        "as soon as that is known"
    )


@pytest.mark.parametrize("seconds", [0.0, AWAY - 1])
def test_a_node_that_is_back_is_away_no_more(seconds: float) -> None:
    bench = CoreBench()
    bench.core.line.lose("disconnected")
    post(bench)
    bench.wait(seconds)
    bench.connect()
    bench.wait(4)
    assert waiting(bench) == []


def test_a_client_that_is_closed_says_nothing_more_and_rings_no_more() -> None:
    bench = CoreBench()
    bench.core.line.lose("disconnected")
    post(bench)
    bench.core.close()
    bench.wait()
    bench.wait(10 * AWAY_AGAIN)
    assert waiting(bench) == []


@pytest.mark.parametrize("waits", [True, False])
def test_who_waits_for_a_node_to_come_hears_what_is_the_matter(waits: bool) -> None:
    bench = LineBench()
    opening = bench.line.connect(waits=waits)
    for _ in range(5):
        bench.wait(REDIAL_MAX)
        bench.line.not_found(NodeNotFound("nobody is there."))
    expected = "unreachable for 5 s: the node (nobody is there); waiting for it: connect()"
    assert waiting(bench) == ([expected] if waits else []), "or connect() itself says it"
    bench.line.close()
    with pytest.raises((Closed, NodeNotFound)):
        opening.__await__().send(None)


def test_what_was_dropped_is_told_once_a_second_with_its_number() -> None:
    bench = CoreBench()
    subscriptions = bench.core.subscriptions
    intake = subscriptions.new_subscription(c.Query("pattern", "a/#", ""), True, Terms())
    for gap in (3, 4):
        intake._has_gap(intake, gap)
    bench.wait(GAPS_AFTER / 2)
    assert bench.told() == []
    bench.wait(GAPS_AFTER)
    assert bench.told() == [("gap", f"dropped 7 messages of a/#: {DROPPED}")]
    intake._has_gap(intake, 1)
    bench.wait(GAPS_AFTER * 0.8)
    intake._has_gap(intake, 1)
    bench.wait(GAPS_AFTER * 0.3)
    intake._has_gap(intake, 1)
    bench.wait(GAPS_AFTER * 0.8)
    assert [text.split()[1] for _, text in bench.told()] == ["7", "2"], "the third waits for its own second"
    intake._has_gap(intake, 0)
    intake._has_gap(intake, 999)
    bench.core.close()
    bench.wait()
    assert bench.told()[2] == ("gap", f"dropped 1,000 messages of a/#: {DROPPED}"), "at once"
    assert bench.told()[3] == ("gap", f"may lack transient messages of a/#: {ENDED}")


def test_a_gap_of_unknown_size_is_told_once_for_all_subscriptions() -> None:
    bench = CoreBench()
    subscriptions = bench.core.subscriptions
    for n in range(7):
        intake = subscriptions.new_subscription(c.Query("exact", f"k{n}", ""), True, Terms())
        intake._has_gap(intake, 0)
    bench.wait(GAPS_AFTER)
    assert bench.told() == [("gap", f"may lack transient messages of k0, k1, k2, k3, k4 and 2 more: {ENDED}")]
