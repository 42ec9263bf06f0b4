"""The core of a client: what it sends when it is connected again, and the commands that it accepts."""

import pytest
from msgspec.structs import replace

from mesh.client.access import Access
from mesh.client.core.effects import CloseConnection, DialNode, Find, SendCommand
from mesh.client.core.intake import Terms
from mesh.client.core.node_connection import SILENCE, SILENT
from mesh.errors import Closed
from mesh.wire import commands as c
from tests.mesh.client.core.benches import CoreBench, result
from tools.costing.wire import WELCOME


def post(bench: CoreBench, *contents: bytes) -> None:
    for content in contents:
        bench.core.publisher.append_message("k", content, "", 0, b"", 0)
    bench.wait()


def said(bench: CoreBench) -> list[str]:
    """Return the sent commands by name, with the numbers of envelopes. ACK and HELLO have no fixed order."""
    words = []
    for effect in bench.done:
        if isinstance(effect, SendCommand) and not isinstance(effect.command, c.Ack | c.Hello):
            numbers = [f" {e.first}..{e.last}" for e in effect.envelopes]
            words.append(type(effect.command).__name__ + "".join(numbers))
    return words


def test_it_subscribes_then_publishes_again_and_then_asks_again() -> None:
    bench = CoreBench()
    core = bench.core
    query = c.Query("exact", "k")
    intake = core.subscriptions.new_subscription(query, True, Terms())
    core.subscriptions.register(intake)
    bench.hear(c.Reply(1, {}))
    post(bench, b"1", b"2", b"3")
    bench.hear(c.Answers((c.Answer("", 1, 2, "FORWARD_WARNING"), c.Answer("", 3, 3))))
    erasing = core.calls.send_with_timeout(lambda request: c.Call(request, "erase", {"key": "k"}))
    bench.again(boot=2)
    assert said(bench) == ["Subscribe", "Publish 1..3", "Call"]
    assert bench.told() == [("connected", WELCOME.session)]
    bench.hear(c.Reply(2, {"erased": ["k"]}))
    assert result(erasing.promise) == [({"erased": ["k"]}, [])]


def test_what_is_published_while_the_node_is_away_leaves_when_it_is_back() -> None:
    bench = CoreBench()
    bench.core.on_disconnected(bench.context.now, bench.core.line.key)
    post(bench, b"1")
    assert said(bench) == []
    bench.connect()
    assert said(bench) == ["Publish 1..1"]


def test_a_node_says_what_it_will_take() -> None:
    bench = CoreBench()
    bench.core.on_disconnected(bench.context.now, bench.core.line.key)
    bench.connect(replace(WELCOME, max_content=77, window=(5, 6)))
    publisher = bench.core.publisher
    assert (publisher.accumulator.max_content, publisher.outbox.window) == (77, (5, 6))


@pytest.mark.parametrize(
    "command",
    [WELCOME, c.Challenge(b"n" * 16, ""), c.Hello((1, 1), c.CLIENT, "", b""), c.Login()],
    ids=lambda command: type(command).__name__,
)
def test_a_node_that_says_to_a_client_that_is_in_what_is_for_others_is_left(command: c.Command) -> None:
    bench = CoreBench()
    bench.hear(c.Pong(1))
    assert bench.core.line.is_up and CloseConnection(1) not in bench.done
    bench.hear(command)
    assert not bench.core.line.is_up and CloseConnection(1) in bench.done


def test_what_cannot_be_read_ends_the_connection_and_what_comes_by_an_old_one_does_not() -> None:
    bench = CoreBench()
    bench.core.on_disconnected(bench.context.now, 0, "of another")
    bench.core.received(bench.context.now, 0, c.Bye("of another"), [])
    assert bench.core.line.is_up
    bench.core.on_disconnected(bench.context.now, 1, "no command")
    bench.wait()
    assert bench.told() == [("disconnected", "heron: no command")] and bench.done[0] == CloseConnection(1)


def test_a_node_that_asks_whether_it_is_there_is_answered() -> None:
    bench = CoreBench()
    bench.hear(c.Ping(7))
    assert bench.sent() == [c.Pong(7)]


def test_closing_says_bye_last_and_tells_all_who_wait() -> None:
    bench = CoreBench()
    core = bench.core
    post(bench, b"1")
    waiting = [
        core.calls.send_with_timeout(lambda request: c.Call(request, "info")).promise,
        core.publisher.change(),
        core.publisher.verdicts.when_answered("", 1, last=False),
        core.publisher.verdicts.when_answered("", 1, last=True),
    ]
    bench.wait()
    core.close()
    core.close()
    bench.wait()
    assert bench.done[-2:] == [SendCommand(1, c.Bye("done")), CloseConnection(1)]
    for promise in waiting:
        with pytest.raises(Closed):
            result(promise)
    assert bench.wait(60.0) == [] and core.due == float("inf")
    with pytest.raises(Closed):
        core.publisher.verdicts.when_answered("", 1, last=False)


def test_after_it_was_lost_it_finds_its_node_by_name_wherever_that_is_now() -> None:
    bench = CoreBench()
    bench.core.on_disconnected(bench.context.now, 1)
    bench.wait(2.0)
    assert bench.done[-1] == Find() and bench.core.line.home == "heron"
    elsewhere = Access("ipc:///run/elsewhere")
    bench.core.found(bench.context.now, elsewhere)
    assert bench.wait()[0] == DialNode(2, elsewhere)


def test_trial_B2_a_node_of_which_pieces_come_is_not_silent() -> None:
    bench = CoreBench()
    for _ in range(10):
        bench.wait(SILENCE / 2)
        bench.core.on_piece(bench.context.now, bench.core.line.key)
    assert bench.core.line.is_up
    for _ in range(4):
        bench.wait(SILENCE / 2)
        bench.core.on_piece(bench.context.now, bench.core.line.key + 1)
    assert bench.told() == [("disconnected", f"heron: {SILENT}")], (
        "pieces on another connection are no sign of life"
    )
