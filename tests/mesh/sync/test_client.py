"""The blocking client: results as with asyncio, in any thread, at Ctrl-C, after a fork, and at exit."""

import asyncio
import gc
import signal
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest

import mesh
import mesh.sync
from mesh.client.message import Message
from mesh.errors import (
    BadKey,
    BadQuery,
    BadXml,
    Closed,
    MeshTimeout,
    MessageTooLarge,
    NodeNotFound,
    NotConnected,
    WouldBlock,
)
from mesh.values import Published
from tests.mesh.running import LIMIT, RunningNode, environment, running, state_directory, until

BEGIN = f"""
import mesh.sync
from mesh.client import connected
connected.TIMEOUT = {LIMIT}
"""


def script(node: RunningNode, text: str) -> "subprocess.Popen[str]":
    """Run a program that may use this node."""
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", BEGIN + text],
        env=node.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def output(process: "subprocess.Popen[str]") -> tuple[int, str, str]:
    try:
        out, err = process.communicate(timeout=LIMIT)
    finally:
        process.kill()  # does not disturb the next test
    return process.returncode, out, err


def test_a_client_that_is_not_open_says_how_to_open_it() -> None:
    m = mesh.sync.connect()
    calls: list[Callable[[], object]] = [
        lambda: m.publish("k", ""),
        lambda: m.post("k", ""),
        m.flush,
        m.ping,
        lambda: m.name,
        lambda: m.send("client/joe", ""),
        lambda: m.erase("k"),
        m.inbox().__enter__,
        lambda: m.final(Published("OK", "", 0)),
        lambda: m.route("k"),
    ]
    for call in calls:
        with pytest.raises(Closed, match=r"with mesh\.sync\.connect"):
            call()


def test_without_a_node_it_says_so_and_leaves_no_thread() -> None:
    before = threading.active_count()
    with (
        state_directory() as state,
        pytest.raises(NodeNotFound, match="mesh up"),
        mesh.sync.connect(environ=environment(state)),
    ):
        pass
    assert threading.active_count() == before


@pytest.mark.slow
def test_a_published_message_arrives_and_can_be_got(m: mesh.sync.Client) -> None:
    with m.subscribe("greeting") as subscription:
        published = m.publish("greeting", "hello", headers={"Language": "en"}, persistent=True)
        message = next(subscription)
        assert (published.ok, published.matched, published.id) == (True, 1, message.id)
        assert (message.content, message.headers["language"]) == (b"hello", "en")
        assert [found.content for found in m.get("greeting")] == [b"hello"]
    assert m.ping() > 0
    assert m.call("info")["name"] == "a"
    assert m.name.startswith("/node/a/client/")


@pytest.mark.slow
def test_results_equal_those_of_the_async_client(node: RunningNode, m: mesh.sync.Client) -> None:
    async def scenario() -> list[object]:
        async with mesh.connect(environ=node.environ) as other:
            return [await other.get("same"), (await other.publish("same", "1")).state, await other.call("ls")]

    m.publish("same", "0")
    found, state, listed = m.get("same"), m.publish("same", "1").state, m.call("ls")
    m.publish("same", "0")
    others = asyncio.run(scenario())
    assert [type(found), state, listed] == [type(others[0]), *others[1:]]
    assert isinstance(found[0], Message)


@pytest.mark.slow
def test_posts_publishes_and_many_keep_the_order_in_which_they_were_called(m: mesh.sync.Client) -> None:
    with m.subscribe(pattern="order/#") as subscription:
        expected = []
        for number in range(0, 2000, 4):
            m.post(f"order/{number % 7}", str(number))
            m.post(f"order/{number % 3}", str(number + 1))
            if number % 100 == 0:
                m.publish("order/x", str(number + 2))
            else:
                m.publish_oneway("order/x", str(number + 2))
            assert m.publish_many("order/y", [str(number + 3)]) == 1
            expected += [str(number + i).encode() for i in range(4)]
        assert [next(subscription).content for _ in expected] == expected


@pytest.mark.slow
def test_a_receipt_tells_the_id_and_the_result(m: mesh.sync.Client) -> None:
    receipts = [m.post("receipts", str(number)) for number in range(3)]
    assert [receipt.result().id for receipt in receipts] == [receipt.id for receipt in receipts]
    assert len({receipt.id for receipt in receipts}) == 3


@pytest.mark.slow
def test_what_cannot_be_published_is_refused_where_it_is_posted(m: mesh.sync.Client) -> None:
    refused: list[tuple[Callable[[], object], type[Exception]]] = [
        (lambda: m.post("a/#", ""), BadKey),
        (lambda: m.post("a", "", domain="\n"), BadKey),
        (lambda: m.post("a", bytes((1 << 20) + 1)), MessageTooLarge),
        (lambda: m.post("a", object()), TypeError),
        (lambda: m.post("a", "", priority=11), ValueError),
        (lambda: m.post("a", "", xml="<a>"), BadXml),
    ]
    for call, error in refused:
        with pytest.raises(error):
            call()


@pytest.mark.slow
def test_a_posted_buffer_may_be_changed_at_once(m: mesh.sync.Client) -> None:
    buffer = bytearray(b"before")
    receipt = m.post("buffer", buffer)
    buffer[:] = b"after!"
    receipt.result()
    assert m.get("buffer")[0].content == b"before"


@pytest.mark.slow
def test_what_is_sent_waits_and_is_taken_once(node: RunningNode, m: mesh.sync.Client) -> None:
    with pytest.raises(NotConnected):
        m.send("client/eve", "hello")
    assert m.send("/node/a/client/joe/session/5", "0", force_queuing=True).matched == 0
    with mesh.sync.connect(environ=node.environ, client="joe", session=5) as joe:
        results = m.send([joe.name, "client/eve"], "1")
        assert [sent.destination for sent in results] == [joe.name, "client/eve"]
        assert isinstance(results[0].result, Published) and results[0].error is None
        assert isinstance(results[1].error, NotConnected) and results[1].result is None
        assert m.send(joe.name, "2").matched == 1
        for expected in (b"0", b"1"):
            with joe.inbox() as inbox:
                message = next(inbox)
                assert (message.content, message.sender, message.to) == (expected, m.name, joe.name)
        with joe.inbox() as inbox:
            with pytest.raises(BadQuery, match="one inbox"):
                joe.inbox()
            assert [message.content for message in inbox.batches().__next__()] == [b"2"]
    with mesh.sync.connect(environ=node.environ, client="joe", session=5) as joe, joe.inbox() as inbox:
        m.send(joe.name, "3")
        assert next(inbox).content == b"3", "nothing of before comes again"


@pytest.mark.slow
def test_what_nobody_took_before_its_time_was_over_is_given_again(m: mesh.sync.Client) -> None:
    with m.inbox() as inbox, pytest.raises(MeshTimeout):
        inbox.next_message(timeout=0.01)
    with m.inbox() as inbox:
        with pytest.raises(MeshTimeout):
            inbox.next_message(timeout=0.01)
        m.send(m.name, "late")  # arrives for a call that timed out
    with m.inbox() as inbox:
        message = inbox.next_message(timeout=LIMIT)
        assert message is not None and message.content == b"late"


@pytest.mark.slow
def test_a_topic_is_erased_after_what_was_posted(m: mesh.sync.Client) -> None:
    with m.subscribe(pattern="erased/#") as subscription:
        for number in range(3000):
            m.post("erased/k", str(number))
        assert m.erase("erased/k") == ["erased/k"]
        assert m.get("erased/k") == []
        states = [next(subscription).state for _ in range(3001)]
    assert states == ["OK"] * 3000 + ["ERASED"]


@pytest.mark.slow
def test_last_words_routes_and_sources_are_told(m: mesh.sync.Client) -> None:
    receipt = m.post("told", "x")
    assert m.final(receipt).ok and m.final(receipt.result()).ok
    assert m.waiting() == (0, "")
    with pytest.raises(BadQuery):
        m.final(Published("OK", "nobody's", 0))
    assert [step["decision"] for step in m.route("told")] == ["here"]
    assert [(found.source, found.stale) for found in m.get("told", fresh=True)] == [("a", None)]


def test_a_closed_client_says_so_and_cannot_be_opened_again(node: RunningNode) -> None:
    with mesh.sync.connect(environ=node.environ) as m:
        m.post("k", "")
    m.close()
    with pytest.raises(Closed):
        m.publish("k", "")
    with pytest.raises(Closed, match="opened before"):
        m.__enter__()


@pytest.mark.slow
def test_leaving_publishes_what_was_posted(node: RunningNode) -> None:
    with mesh.sync.connect(environ=node.environ) as m:
        for number in range(3000):
            m.post("leaving", str(number))
    with mesh.sync.connect(environ=node.environ) as m:
        assert m.get("leaving")[0].content == b"2999"


def test_no_thread_is_left(node: RunningNode) -> None:
    before = threading.active_count()
    with mesh.sync.connect(environ=node.environ) as m, m.subscribe("k"):
        assert threading.active_count() == before + 1
    assert threading.active_count() == before


def test_a_client_that_nobody_has_any_more_is_named_and_leaves_no_thread(node: RunningNode) -> None:
    before = threading.active_count()
    held = mesh.sync.connect(environ=node.environ).__enter__().subscribe("k", initial=False).__enter__()
    gc.collect()
    with pytest.raises(MeshTimeout):  # a subscription keeps its client alive
        held.next_message(0.1)
    with pytest.warns(ResourceWarning, match="was never closed"):
        del held
        gc.collect()
        until(lambda: threading.active_count() == before)


@pytest.mark.smoke
@pytest.mark.slow
def test_it_goes_on_over_a_restart_of_its_node_and_events_tell_of_it() -> None:
    with running("a") as a, mesh.sync.connect(environ=a.environ) as m, m.subscribe("k") as subscription:
        kinds: list[str] = []
        telling = threading.Thread(target=lambda: kinds.extend(event.kind for event in m.events()))
        telling.start()
        m.publish("k", "before")
        a.kill()
        m.post("k", "meanwhile")
        a.start()
        m.flush()
        assert [next(subscription).content for _ in range(2)] == [b"before", b"meanwhile"]
        m.close()
        telling.join(LIMIT)
        # On a busy machine a node can be unreachable for so long that the client reports it.
        assert [kind for kind in kinds if kind != "waiting"] == ["disconnected", "connected"]


@pytest.mark.slow
def test_while_the_node_is_away_posts_end_in_would_block_and_closing_in_a_timeout() -> None:
    with running("a") as a:
        m = mesh.sync.connect(environ=a.environ)
        with pytest.raises(MeshTimeout, match="a is unreachable"), m:
            m._aio._timeout = 0.5
            a.kill()
            with pytest.raises(WouldBlock, match="flush"):
                while True:
                    m.post("k", bytes(1 << 16))


@pytest.mark.slow
def test_ctrl_c_interrupts_an_iteration_and_loses_nothing(node: RunningNode, m: mesh.sync.Client) -> None:
    process = script(
        node,
        """
with mesh.sync.connect() as m, m.subscribe("interrupt") as subscription:
    try:
        print("ready", flush=True)
        next(subscription)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    print(next(subscription).content.decode(), flush=True)
""",
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "interrupted\n"
    m.publish("interrupt", "still here")
    assert output(process) == (0, "still here\n", "")


@pytest.mark.slow
def test_a_forked_process_is_told_to_connect_by_itself_and_does_no_harm(node: RunningNode) -> None:
    code, out, err = output(
        script(
            node,
            """
import os, sys, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12: of forks beside threads
with mesh.sync.connect() as m, m.subscribe("fork") as subscription:
    child = os.fork()
    if child == 0:
        for call in (lambda: m.publish("fork", ""), lambda: m.post("fork", ""), lambda: next(subscription)):
            try:
                call()
            except mesh.errors.Closed as error:
                print(error.hint, flush=True)
    else:
        assert os.waitpid(child, 0)[1] == 0
        m.publish("fork", "parent")
        print(next(subscription).content.decode())
if child == 0:
    with mesh.sync.connect() as m:
        m.publish("fork2", "child")
""",
        )
    )
    assert (code, err) == (0, "")
    assert out == "Connect again after the fork.\n" * 3 + "parent\n"


@pytest.mark.slow
def test_a_program_may_end_without_closing_and_what_it_posted_is_published(
    node: RunningNode, m: mesh.sync.Client
) -> None:
    process = script(
        node,
        """
m = mesh.sync.connect().__enter__()
subscription = m.subscribe("exit").__enter__()
for number in range(1000):
    m.post("exit", str(number))
""",
    )
    assert output(process) == (0, "", "")
    assert m.get("exit")[0].content == b"999"
    until(lambda: m.call("info")["metrics"]["sessions"] == 1)
