"""The client in examples/node commits transactions, over reconnects and at another node."""

import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import mesh.sync
from mesh.features.transactions.wire import Commit
from mesh.wire import commands as c
from mesh.wire.envelope import RESENT, Envelope
from mesh.wire.frames import write
from tests.examples.nodejs import FakeNode, Program, Wire, program, taken
from tests.mesh.running import RunningNode, environment, until

pytestmark = pytest.mark.slow


def test_all_of_a_transaction_happens_or_nothing(node: RunningNode, m: mesh.sync.Client) -> None:
    text = """
        const mesh = await connect();
        const code = (error) => say([error.code, error.operation ?? null]);
        const jobs = await mesh.consume('work');
        const [one, two] = await take(jobs, 2);
        const answers = await mesh.transaction((tx) => {
          tx.ack(one);
          tx.put('next', 'a', { priority: 9 });
          tx.publish('orders/1', 'done');
          tx.put('next', 'b');
          tx.nack(two);
        });
        say(answers.map(({ state, matched }) => [state, matched]));
        await mesh.transaction((tx) => tx.ack(one)).catch(code);
        const [again] = await take(jobs, 1);
        const bad = (tx) => { tx.put('next', 'c'); tx.ack(again); tx.put('none', 'd'); };
        await mesh.transaction(bad).catch(code);
        const thrown = (tx) => { tx.put('next', 'e'); throw new Error('no'); };
        await mesh.transaction(thrown).catch(() => say('dropped'));
        await mesh.transaction((tx) => tx.send('calc/add', '1')).catch(code);
        await mesh.transaction((tx) => tx.ack({})).catch(code);
        say(await mesh.transaction(() => {}));
        await again.ack();
        await mesh.close();
    """
    queues = [m.queue("work"), m.queue("next")]
    for q in queues:
        q.declare()
    queues[0].put_many(["1", "2"])
    with m.subscribe("orders/1") as orders, program(text, node) as js:
        assert js.heard() == [["OK", 1], ["OK", 1], ["OK", 1]]
        assert js.heard() == ["SETTLED", None]
        assert js.heard() == ["NO_QUEUE", 2]
        assert [js.heard(), js.heard(), js.heard()] == [
            "dropped",
            ["BAD_ARGUMENT", None],
            ["BAD_ARGUMENT", None],
        ]
        assert js.heard() == []
        assert [order.text for order in taken(orders, 1)] == ["done"]
    assert [job.text for job in queues[1].peek(5)] == ["a", "b"]
    assert (queues[0].info().ready, queues[0].info().out) == (0, 0)


def test_each_transaction_happens_once_although_connections_break(
    node: RunningNode, m: mesh.sync.Client
) -> None:
    text = """
        const mesh = await connect({ node: await told() });
        say('ready');
        const all = [];
        for (let n = 0; n < 300; n++) {
          all.push(mesh.transaction((tx) => { tx.put('cut', `a${n}`); tx.put('cut2', `${n}`); }));
          all.push(mesh.put('cut', `b${n}`));
          if (n % 30 === 0) await Promise.all(all);
        }
        await Promise.all(all);
        say('done');
        await mesh.close();
    """
    queues = [m.queue("cut"), m.queue("cut2")]
    for q in queues:
        q.declare()
    wire = Wire(node.state / "tx.sock", node.it["ipc"].removeprefix("ipc://"))
    try:
        with program(text, node) as js:
            js.tell(wire.address)
            assert js.heard() == "ready"
            for count in (40, 200, 400):
                until(lambda least=count: queues[0].info().ready >= least)  # type: ignore[misc]
                wire.cut()
            assert js.heard() == "done"
        with queues[0].consume(prefetch=100) as jobs:
            texts = []
            for job in jobs:
                texts.append(job.text)
                job.ack()
                if len(texts) == 600:
                    break
        for kind in "ab":  # each once, and in order
            assert [text for text in texts if text[0] == kind] == [f"{kind}{n}" for n in range(300)]
        assert queues[1].info().ready == 300
    finally:
        wire.close()


WORDS = ("queues", "durable", "visits", "transactions")
MOVES = """
    const [heron, stork] = [await told(), await told()];
    const mesh = await connect({ node: [heron, stork], name: 'joe' });
    mesh.transaction((tx) => tx.publish('k', 'v')).then(
      ([{ state }]) => say(state), (error) => say(error.code));
    await told();
    mesh.publish('k', 'later');
    mesh.publish('k', 'other', { domain: 'd' });
    await told();
    process.exit(0);
"""


def received(node: FakeNode, kind: type[Any]) -> Any:
    """Return the next command of this kind."""
    while not isinstance(command := node.receive()[0], kind):
        pass
    return command


def published(node: FakeNode) -> Envelope:
    """Return the envelope of the next PUBLISH."""
    while True:
        command, envelopes = node.receive()
        if isinstance(command, c.Publish):
            return envelopes[0]


OUTCOMES = """
    const [heron, stork] = [await told(), await told()];
    const mesh = await connect({ node: [heron, stork], name: 'joe' });
    const code = (error) => say(error.code);
    await mesh.outcome({}).catch(code);
    let tx;
    await mesh.transaction((it) => { tx = it; }).then(say, code);
    say(await mesh.outcome(tx));
    await mesh.transaction((it) => { tx = it; it.publish('k', 'v'); }, { timeout: 2 }).catch(code);
    await mesh.outcome(tx, { timeout: 0.1 }).catch(code);
    await mesh.outcome(tx).then(say, code);
    process.exit(0);
"""


@pytest.mark.parametrize("outcome", ["committed", "refused"])
def test_the_outcome_is_known_after_a_doubt(tmp_path: Path, outcome: str) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as short:
        heron, stork = Path(short) / "heron", Path(short) / "stork"
        js = Program(OUTCOMES, environment(tmp_path))
        try:
            js.tell(f"ipc://{heron}")
            js.tell(f"ipc://{stork}")
            with closing(FakeNode(heron, speaks=WORDS)) as first:
                received(first, Commit)
            assert [js.heard() for _ in range(3)] == ["BAD_ARGUMENT", [], "committed"]
            with closing(FakeNode(stork, name="stork", speaks=WORDS)) as second:
                received(second, c.Call)  # attach
                asked = received(second, c.Call)
                assert [js.heard(), js.heard()] == ["IN_DOUBT", "IN_DOUBT"]
                value = {"outcome": outcome, "answers": [["OK", 0, ""]]}
                refusal = {"code": "MOVED", "text": "too late"} if outcome == "refused" else {}
                second.say(*write(c.Reply(asked.request, value | refusal)))
                assert js.heard() == outcome
            js.end()
        finally:
            js.let_go()


def test_another_node_is_asked_for_the_outcome_and_later_messages_wait(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as short:
        heron, stork = Path(short) / "heron", Path(short) / "stork"
        js = Program(MOVES, environment(tmp_path))
        try:
            js.tell(f"ipc://{heron}")
            js.tell(f"ipc://{stork}")
            with closing(FakeNode(heron, speaks=WORDS)) as first:
                commit = received(first, Commit)
                assert (commit.count, commit.low, commit.sizes) == (1, 1, (8,))
            with closing(FakeNode(stork, name="stork", speaks=WORDS)) as second:
                received(second, c.Call)  # attach
                asked = received(second, c.Call)
                assert (asked.verb, asked.arguments["target"], asked.arguments["count"]) == (
                    "tx_outcome", first.uuid, 1,
                )  # fmt: skip
                js.tell()
                other = published(second)
                assert (other.domain, other.first) == ("d", 1)
                value = {"outcome": "committed", "answers": [["FORWARD_WARNING", 0, "waits"]]}
                second.say(*write(c.Reply(asked.request, value)))
                assert js.heard() == "FORWARD_WARNING"
                sent = [published(second) for _ in range(2)]
                assert [(e.domain, e.first, e.low, e.flags & RESENT) for e in sent] == [
                    ("", 1, 1, RESENT),
                    ("", 2, 1, 0),
                ]
            js.tell()
            js.end()
        finally:
            js.let_go()
