"""The client in examples/node moves to another node with its session, on real nodes."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import Any

import pytest

import mesh.sync
from tests.examples.nodejs import Program, program, taken
from tests.mesh.running import LIMIT, RunningNode, running, until
from tests.mesh.scenarios.flock import Flock, flock_in
from tests.mesh.security.keyed import mesh_file, user

pytestmark = pytest.mark.slow

# Publishes numbers until a line arrives, and receives them and those of Python, whose last text is "end".
AT_WORK = """
    const mesh = await connect({ node: NODE, name: 'joe' });
    mesh.on('session_moved', (moved) => say({ moved }));
    const [own, other] = [await mesh.subscribe('js', TERMS), await mesh.subscribe('py', TERMS)];
    const received = { own: [], other: [] };
    const read = async (subscription, into) => {
      for await (const { text } of subscription) {
        if (text === 'end') break;
        into.push(Number(text));
      }
    };
    const reading = [read(own, received.own), read(other, received.other)];
    say('ready');
    let goesOn = true;
    told().then(() => (goesOn = false));
    const publish = async (text) => {
      const { final } = await mesh.publish('js', text, { ...TERMS, persistent: true });
      return (await final).state;
    };
    let sent = 0;
    while (goesOn) {
      const states = await Promise.all(Array.from({ length: 5 }, () => publish(String(sent++))));
      if (states.some((state) => state !== 'OK')) throw new Error(states.join());
    }
    await publish('end');
    await Promise.all(reading);
    say({ sent, ...received, lost: [own.lost, other.lost], name: mesh.name });
    await mesh.close();
""".replace("TERMS", "{ domain: 'NEWS' }")


@pytest.fixture
def flock(tmp_path: Path) -> Iterator[Flock]:
    with flock_in(tmp_path) as nodes:
        yield nodes


def moved(js: Program) -> Any:
    return js.heard()["moved"]


def at_work(flock: Flock, nodes: str, disturb: Callable[[Program, Callable[[], None]], None]) -> None:
    """Let Node.js and Python publish to each other while `disturb(js, publish)` moves the former."""
    heron, _, ibis = flock
    text = AT_WORK.replace("NODE", nodes)
    with (
        mesh.sync.connect("ibis", environ=ibis.environ) as m,
        m.subscribe("js", domain="NEWS") as subscription,
        program(text, heron) as js,
    ):
        assert js.heard() == "ready"
        numbers = count()

        def publish() -> None:
            for n in islice(numbers, 20):
                m.publish("py", str(n), domain="NEWS", persistent=True)

        publish()
        disturb(js, publish)
        publish()
        m.publish("py", "end", domain="NEWS", persistent=True)
        js.tell()
        found: dict[str, Any] = js.heard()
        messages = taken(subscription, found["sent"] + 1)
    assert [message.value for message in messages] == [*map(str, range(found["sent"])), "end"]
    assert (found["own"], found["lost"]) == (list(range(found["sent"])), [0, 0])
    assert found["other"] == list(range(next(numbers)))
    assert found["name"].startswith("/node/heron/client/joe/"), "the session keeps its name"


def test_after_kill_9_of_its_node_it_goes_on_at_another_one_and_loses_nothing(flock: Flock) -> None:
    heron, stork, _ = flock

    def disturb(js: Program, publish: Callable[[], None]) -> None:
        heron.kill()
        publish()
        assert moved(js) == {"from": "heron", "to": "stork"}
        heron.start()
        stork.kill()
        publish()
        assert moved(js) == {"from": "stork", "to": "heron"}

    at_work(flock, "['heron', 'stork']", disturb)


def test_it_leaves_a_drained_node_also_if_it_knows_no_other_one(flock: Flock) -> None:
    heron, *_ = flock

    def disturb(js: Program, publish: Callable[[], None]) -> None:
        down = f"{sys.executable} -m mesh down --url heron"
        said = heron.mesh("drain", "--url", "heron", "--clients", "--wait", "120", "--then", down)
        assert said.returncode == 0 and "heron is empty" in said.stderr, said.stdout + said.stderr
        heron.wait()
        assert moved(js)["from"] == "heron"

    at_work(flock, "'heron'", disturb)


def test_in_a_mesh_with_keys_it_goes_on_at_another_node() -> None:
    text = """
        const mesh = await connect({ node: [await told(), await told()] });
        mesh.on('session_moved', (moved) => say({ moved }));
        const subscription = await mesh.subscribe('k');
        say((await mesh.publish('k', 'before')).state);
        say((await take(subscription, 1))[0].text);
        await told();
        say((await mesh.publish('k', 'after')).state);
        say((await take(subscription, 1))[0].text);
        await mesh.close();
    """
    with user(mesh_file("test")) as (state, _), ExitStack() as stack:
        heron, stork = nodes = [
            RunningNode(name, state, "test", ("--bind", "tcp://127.0.0.1:0")) for name in ("heron", "stork")
        ]
        for node in nodes:
            node.start()
            stack.callback(stop, node)
        assert heron.mesh("peer", "add", stork.tcp, "--url", "heron").returncode == 0
        until(lambda: heron.mesh("ls", "--url", "heron").stdout.count("alive") == 2)
        with program(text, heron) as js:
            for node in nodes:
                js.tell(node.tcp)
            assert [js.heard(), js.heard()] == ["OK", "before"]
            heron.kill()
            assert moved(js) == {"from": "heron", "to": "stork"}
            js.tell()
            assert [js.heard(), js.heard()] == ["OK", "after"]


def stop(node: RunningNode) -> None:
    if node.is_running:
        node.stop()


def test_a_full_node_sends_it_to_another_one(tmp_path: Path) -> None:
    file = tmp_path / "mesh.toml"
    file.write_text("[node]\nmax_connections = 1\n")
    with ExitStack() as stack:
        heron = stack.enter_context(running("heron", options=("--config", str(file))))
        stack.enter_context(running("stork", beside=heron))
        until(partial(knows_room, heron))
        stack.enter_context(mesh.sync.connect("heron", environ=heron.environ))
        text = """
            const mesh = await connect({ node: 'heron', name: 'joe' });
            say(mesh.name);
            say((await mesh.publish('k', 'v')).state);
            await mesh.close();
        """
        with program(text, heron) as js:
            assert js.heard().startswith("/node/stork/client/joe/")
            assert js.heard() == "OK"


def knows_room(node: RunningNode) -> bool:
    rows = json.loads(node.mesh("ls", "--url", node.name, "--json").stdout)["nodes"]
    return len(rows) == 2 and all(row["state"] == "alive" and row["load"] is not None for row in rows)


def test_direct_messages_follow_it(flock: Flock) -> None:
    heron, stork, _ = flock
    text = """
        const mesh = await connect({ node: ['stork', 'heron'], name: 'ann', session: 1 });
        mesh.on('session_moved', (moved) => say({ moved }));
        const inbox = await mesh.inbox();
        say(mesh.name);
        for (let n = 0; n < 3; n++) say((await inbox.next()).value.text);
        await mesh.close();
    """
    with mesh.sync.connect("heron", environ=heron.environ) as m, program(text, heron) as js:
        name = js.heard()
        assert m.send(name, "first").matched == 1
        assert js.heard() == "first"
        said = stork.mesh("drain", "--url", "stork", "--clients", "--wait", "120")
        assert said.returncode == 0, said.stdout + said.stderr
        assert moved(js)["from"] == "stork"
        for content in ("second", "third"):
            assert m.send(name, content, force_queuing=True, timeout=LIMIT).state == "OK"
            assert js.heard() == content
