"""Does a client that was written from docs/wire.md alone, in examples/node, get what the page promises?"""

import fcntl
import hashlib
import json
import os
import queue
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import zmq
from msgspec.structs import replace

import mesh.sync
from mesh.client.message import Message
from mesh.sync import Subscription
from mesh.wire import commands as c
from mesh.wire.codec import pack
from mesh.wire.frames import read, write
from mesh.wire.limits import MIB
from tests.mesh.running import LIMIT, RunningNode, environment, running
from tests.mesh.security.keyed import mesh_file, user

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "node"
OLDEST = 18  # of Node.js, as package.json says

pytestmark = pytest.mark.slow

# What each program begins with: `say` writes a line of JSON, `told` reads a line.
PRELUDE = f"""
import {{ createInterface }} from 'node:readline';
import * as heronry from {json.dumps(str(EXAMPLE / "heronry.js"))};
const connect = (options) => heronry.connect({{ patience: {1000 * LIMIT:.0f}, ...options }});
const lines = createInterface({{ input: process.stdin }})[Symbol.asyncIterator]();
const told = async () => (await lines.next()).value;
const say = (value) => console.log(JSON.stringify(value));
const take = async (subscription, count) => {{
  const taken = [];
  while (taken.length < count) taken.push((await subscription.next()).value);
  return taken;
}};
"""


@pytest.fixture(scope="module", autouse=True)
def dependencies() -> None:
    """What package-lock.json names, installed once for all test processes."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if not node or not npm:
        pytest.skip("needs Node.js and npm: apt-get install nodejs npm")
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    if int(re.findall(r"\d+", version)[0]) < OLDEST:
        pytest.skip(f"needs Node.js {OLDEST} or newer, this is {version}")
    lock, installed = EXAMPLE / "package-lock.json", EXAMPLE / "node_modules" / ".package-lock.json"
    with lock.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if not installed.exists() or installed.stat().st_mtime < lock.stat().st_mtime:
            command = [npm, "ci", "--no-audit", "--no-fund"]
            result = subprocess.run(command, cwd=EXAMPLE, capture_output=True, text=True)
            assert result.returncode == 0, result.stdout + result.stderr


class Program:
    """JavaScript that runs beside a node."""

    def __init__(self, text: str, environ: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            ["node", "--input-type=module", "-e", f"{PRELUDE}{text}\nprocess.stdin.destroy();"],
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._said: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._said.put(line)
        self._said.put("")

    def heard(self) -> Any:
        """The next value that it says."""
        line = self._said.get(timeout=2 * LIMIT)
        assert line, f"it ended with {self._process.wait(LIMIT)}: {self._errors()}"
        return json.loads(line)

    def tell(self, line: str = "") -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def end(self) -> None:
        """It must end by itself, and well."""
        code = self._process.wait(LIMIT)
        assert code == 0, self._errors()

    def _errors(self) -> str:
        assert self._process.stderr is not None
        return self._process.stderr.read()

    def let_go(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait(LIMIT)
        self._reader.join(LIMIT)
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert pipe is not None
            pipe.close()


@contextmanager
def program(text: str, node: RunningNode) -> Iterator[Program]:
    it = Program(text, node.environ)
    try:
        yield it
        it.end()
    finally:
        it.let_go()


def demo(node: RunningNode, *arguments: str, content: str = "") -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["node", str(EXAMPLE / "demo.js"), *arguments],
        input=content,
        env=node.environ,
        capture_output=True,
        text=True,
        timeout=2 * LIMIT,
    )


def taken(subscription: Subscription, count: int) -> list[Message]:
    messages: list[Message] = []
    while len(messages) < count:
        batch = subscription.next_batch(timeout=LIMIT)
        assert batch is not None
        messages += batch
    assert len(messages) == count
    return messages


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningNode]:
    """A node that takes large messages."""
    config = tmp_path_factory.mktemp("node") / "mesh.toml"
    config.write_text(f"[limits]\nmax_content = {8 * MIB}\n")
    with running("heron", options=("--config", str(config))) as node:
        yield node


@pytest.fixture
def m(node: RunningNode) -> Iterator[mesh.sync.Client]:
    with mesh.sync.connect(environ=node.environ) as m:
        yield m


def test_what_python_publishes_node_receives(node: RunningNode, m: mesh.sync.Client) -> None:
    text = """
        const mesh = await connect();
        const subscription = await mesh.subscribe('to-node');
        say('ready');
        for (const message of await take(subscription, 1001)) {
          const { text, domain, headers, sender, state, priority, route } = message;
          say({ text, domain, headers, sender, state, priority, nodes: route.map((stop) => stop.node) });
        }
        await mesh.close();
    """
    with program(text, node) as js:
        assert js.heard() == "ready"
        sent = [f"line {number} äöü" for number in range(1000)]
        m.publish_many("to-node", sent)
        m.publish("to-node", "last", domain="D", headers={"Unit": "°C", "unit": "K"}, priority=9)
        received = [js.heard() for _ in range(1001)]
    assert [message["text"] for message in received] == [*sent, "last"]
    assert received[-1] == {
        "text": "last",
        "domain": "D",
        "headers": [["Unit", "°C"], ["unit", "K"]],
        "sender": m.name,
        "state": "OK",
        "priority": 9,
        "nodes": ["heron"],
    }


def test_a_thousand_that_node_publishes_python_receives_in_order(
    node: RunningNode, m: mesh.sync.Client
) -> None:
    text = """
        const mesh = await connect({ name: 'joe', session: 7 });
        const domain = 'D';
        const rich = { domain, headers: { unit: '°C', n: '1' }, expiry: 3600, priority: 3 };
        const publish = (_, i) => mesh.publish(`from-node/${i % 3}`, `line ${i}`, i % 2 ? rich : { domain });
        const answers = await Promise.all(Array.from({ length: 1000 }, publish));
        say(answers.map(({ state, id, matched }) => [state, id, matched]));
        await mesh.close();
    """
    with m.subscribe(pattern="from-node/+", domain="D") as subscription, program(text, node) as js:
        messages = taken(subscription, 1000)
        answers = js.heard()
    assert [message.content.decode() for message in messages] == [f"line {i}" for i in range(1000)]
    assert [message.key for message in messages[:4]] == [f"from-node/{i % 3}" for i in range(4)]
    assert answers == [["OK", message.id, 1] for message in messages]
    plain, rich = messages[0], messages[1]
    assert (dict(plain.headers.items()), plain.priority, plain.expires) == ({}, 5, 0)
    assert (dict(rich.headers.items()), rich.priority) == ({"unit": "°C", "n": "1"}, 3)
    assert 0 < rich.expires - rich.sent < 3601e9
    assert {message.sender for message in messages} == {"/node/heron/client/joe/session/7"}


def test_values_are_got_one_and_many(node: RunningNode, m: mesh.sync.Client) -> None:
    for key, content in (("got/a", "1"), ("got/b", "2"), ("got/a", "3")):
        m.publish(key, content, domain="GET")
    text = """
        const mesh = await connect();
        for (const query of ['got/a', 'got/+', 'got/none']) {
          const { messages, missing } = await mesh.get(query, { domain: 'GET' });
          say([messages.map(({ key, text, state }) => [key, text, state]).sort(), missing]);
        }
        await mesh.get('got/#/b').catch((error) => say(error.code));
        await mesh.publish('got/+', 'x').catch((error) => say(error.code));
        await mesh.close();
    """
    with program(text, node) as js:
        assert js.heard() == [[["got/a", "3", "INITIAL"]], []]
        assert js.heard() == [[["got/a", "3", "INITIAL"], ["got/b", "2", "INITIAL"]], []]
        assert js.heard() == [[], []]
        assert [js.heard(), js.heard()] == ["BAD_QUERY", "BAD_KEY"]


def test_a_pattern_begins_with_the_last_values_and_goes_on_until_it_is_left(
    node: RunningNode, m: mesh.sync.Client
) -> None:
    m.publish("room/a/temp", "old")
    m.publish("room/b/temp", "other domain", domain="D")
    text = """
        const mesh = await connect();
        const every = await mesh.subscribe('room/+/temp');
        const news = await mesh.subscribe('room/#', { domain: 'D', initial: false });
        const first = await take(every, 2);
        say(first.map(({ text, state }) => [text, state]).sort());
        for await (const { key, text, state } of every) {
          say([key, text, state]);
          if (text === 'end') break;
        }
        say((await take(news, 1)).map(({ key, text }) => [key, text]));
        await mesh.close();
    """
    with program(text, node) as js:
        assert js.heard() == [["old", "INITIAL"], ["other domain", "INITIAL"]]
        m.publish("room/c/humidity", "not this one")
        m.publish("room/c/temp", "new")
        m.publish("room/c/door", "open", domain="D")
        m.publish("room/c/temp", "end")
        assert js.heard() == ["room/c/temp", "new", "OK"]
        assert js.heard() == ["room/c/temp", "end", "OK"]
        assert js.heard() == [["room/c/door", "open"]]


def test_a_content_of_several_frames_goes_both_ways(node: RunningNode, m: mesh.sync.Client) -> None:
    large = os.urandom(3 * MIB + 5)
    text = """
        import { createHash } from 'node:crypto';
        const mesh = await connect();
        const subscription = await mesh.subscribe('large');
        say('ready');
        const [{ content }] = await take(subscription, 1);
        say([content.length, createHash('sha256').update(content).digest('hex')]);
        await Promise.all([mesh.publish('large-back', 'before'), mesh.publish('large-back', content)]);
        const refused = (error) => say(error.code);
        await mesh.publish('large', Buffer.alloc(8 * 2 ** 20 + 1)).catch(refused);
        await mesh.publish('large', 'x', { headers: { a: 'b'.repeat(70_000) } }).catch(refused);
        await mesh.close();
    """
    with m.subscribe("large-back") as subscription, program(text, node) as js:
        assert js.heard() == "ready"
        m.publish("large", large)
        assert js.heard() == [len(large), hashlib.sha256(large).hexdigest()]
        assert [message.content for message in taken(subscription, 2)] == [b"before", large]
        assert [js.heard(), js.heard()] == ["TOO_LARGE", "TOO_LARGE"]


def test_over_tcp_both_sides_prove_that_they_know_the_cookie(node: RunningNode, m: mesh.sync.Client) -> None:
    with m.subscribe("over-tcp") as subscription:
        told = demo(node, "publish", "over-tcp", "hello", "--node", node.tcp)
        assert (told.returncode, told.stderr) == (0, "")
        assert taken(subscription, 1)[0].content == b"hello"
        elsewhere = dict(node.environ, MESH_STATE_DIR=str(node.state / "elsewhere"))
        (node.state / "elsewhere").mkdir()
        (node.state / "elsewhere" / "cookie").write_bytes(bytes(32))
        text = f"await connect({{ node: '{node.tcp}' }}).catch((error) => say(error.code));"
        stranger = Program(text, elsewhere)
        try:
            assert stranger.heard() == "BAD_COOKIE"
            stranger.end()
        finally:
            stranger.let_go()


# A program that publishes numbers to itself, ten at a time, until it is told to stop.
TO_ITSELF = """
    const mesh = await connect({ name: 'ann', session: 1 });
    mesh.on('connected', (anew) => say({ anew }));
    const [subscription, publish] = await OPEN;
    const received = [];
    const receiving = (async () => {
      for await (const { text } of subscription) {
        if (text === 'end') break;
        received.push(Number(text));
      }
    })();
    let goesOn = true;
    told().then(() => (goesOn = false));
    let sent = 0;
    while (goesOn) {
      const answers = await Promise.all(Array.from({ length: 10 }, () => publish(String(sent++))));
      say({ answered: sent, states: [...new Set(answers.map(({ state }) => state))] });
    }
    await publish('end');
    await receiving;
    say({ received, lost: subscription.lost });
    await mesh.close();
"""
WAYS = {
    "published": "[await mesh.subscribe('n'), (text) => mesh.publish('n', text, { persistent: true })]",
    "sent": """[await mesh.inbox(),
        (text) => mesh.send(mesh.name, text, { persistent: true, forceQueuing: true })]""",
}


@pytest.fixture(scope="module")
def keyed() -> Iterator[RunningNode]:
    """A node of a mesh with keys."""
    with user(mesh_file("test")) as (state, _):
        node = RunningNode("heron", state, "test", ("--bind", "tcp://127.0.0.1:0"))
        node.start()
        try:
            yield node
        finally:
            node.stop()


@pytest.mark.parametrize("role", ["node", "client"])
def test_with_the_keys_of_the_mesh_it_speaks_curve(keyed: RunningNode, role: str) -> None:
    with user(mesh_file("test", role)) as (_, environ):
        with mesh.sync.connect(keyed.tcp, environ=environ) as m, m.subscribe(f"by/{role}") as subscription:
            command = ["node", str(EXAMPLE / "demo.js"), "publish", f"by/{role}", "hello"]
            environ["MESH_URL"] = keyed.tcp
            told = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=2 * LIMIT)
            assert told.returncode == 0, told.stderr
            assert [message.content for message in taken(subscription, 1)] == [b"hello"]


def test_trial_A5_another_node_under_the_same_name_is_found_out(keyed: RunningNode) -> None:
    """As by the client in Python, with the same file."""
    text = f"""await connect({{ node: '{keyed.tcp}' }})
        .then(async (mesh) => {{ say('in'); await mesh.close(); }})
        .catch((error) => say(error.code));"""
    with user(mesh_file("test", "client")) as (state, environ):
        with mesh.sync.connect(keyed.tcp, environ=environ):
            pass
        (pin,) = (state / "pins" / "test").iterdir()
        for content, said in ((pin.read_text(), "in"), ("0" * 64, "OTHER_KEY")):
            pin.write_text(content)
            js = Program(text, environ)
            try:
                assert js.heard() == said
                js.end()
            finally:
                js.let_go()


@pytest.mark.parametrize(
    ("keys", "said"),
    [("none", "cookie cannot be read (ENOENT)"), ("other", "missing or wrong"), ("false", "WRONG_SECRET")],
)
def test_without_them_it_says_so(keyed: RunningNode, keys: str, said: str) -> None:
    files = {
        "none": [],
        "other": [mesh_file("test", "client", secret=b"x" * 32)],
        "false": [replace(mesh_file("test", "client"), secret=b"x" * 32)],
    }
    text = f"await connect({{ node: '{keyed.tcp}', patience: 3000 }}).catch((error) => say(error.message));"
    with user(*files[keys]) as (_, environ):
        js = Program(text, environ)
        try:
            assert said in js.heard()
            js.end()
        finally:
            js.let_go()


@pytest.mark.parametrize("way", WAYS)
def test_after_kill_9_of_its_node_nothing_is_lost_and_nothing_comes_twice(way: str) -> None:
    with running("swift") as node, program(TO_ITSELF.replace("OPEN", WAYS[way]), node) as js:
        beginnings = []
        for _ in range(3):
            at = answered = 0
            while answered <= at + 100:  # it goes on after the restart
                said = js.heard()
                if "anew" in said:
                    beginnings.append(said["anew"])
                    continue
                assert said["states"] == ["OK"]
                answered = said["answered"]
                at = at or answered
            node.kill()
            node.start()
        js.tell()
        last: dict[str, Any] = {}
        while "received" not in last:
            sent, last = last.get("answered", 0), js.heard()
            if "anew" in last:
                beginnings.append(last["anew"])
    assert beginnings == [True, True, True]
    assert last == {"received": list(range(sent)), "lost": 0}


class Wire:
    """A socket file that leads to another one, until it is cut; then a new connection may begin."""

    def __init__(self, path: Path, target: str) -> None:
        self.address = f"ipc://{path}"
        self._target = target
        self._ends: list[socket.socket] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.socket(socket.AF_UNIX)
                far.connect(self._target)
                self._ends += [near, far]
                for pair in ((near, far), (far, near)):
                    self._threads.append(threading.Thread(target=self._pump, args=pair))
                    self._threads[-1].start()

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        self._hang_up(target)

    def cut(self) -> None:
        for end in self._ends:
            self._hang_up(end)

    def _hang_up(self, end: socket.socket) -> None:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._hang_up(self._listener)
        self.cut()
        for thread in self._threads:
            thread.join(LIMIT)
        for end in (self._listener, *self._ends):
            end.close()


def test_a_new_connection_to_the_same_node_goes_on_where_the_old_one_ended(
    node: RunningNode, m: mesh.sync.Client
) -> None:
    text = """
        const mesh = await connect({ node: await told() });
        const name = mesh.name;
        mesh.on('connected', (anew) => say({ anew, isSame: mesh.name === name }));
        const subscription = await mesh.subscribe('cut');
        say('ready');
        const publishing = [];
        for await (const { text } of subscription) {
          publishing.push(mesh.publish('cut-back', text));
          if (publishing.length === 2000) break;
        }
        const answers = await Promise.all(publishing);
        say(answers.every(({ state }) => state === 'OK'));
        await mesh.close();
    """
    wire = Wire(node.state / "wire.sock", node.it["ipc"].removeprefix("ipc://"))
    try:
        with m.subscribe("cut-back") as subscription, program(text, node) as js:
            js.tell(wire.address)
            assert js.heard() == "ready"
            for number in range(2000):
                m.post("cut", str(number))
                if number % 700 == 699:
                    m.flush()
                    wire.cut()
                    assert js.heard() == {"anew": False, "isSame": True}
            assert js.heard()
            back = taken(subscription, 2000)
    finally:
        wire.close()
    assert [message.content for message in back] == [b"%d" % i for i in range(2000)]


def test_node_sends_to_a_session_of_python_and_hears_who_is_not_there(
    node: RunningNode, m: mesh.sync.Client
) -> None:
    text = """
        const mesh = await connect({ name: 'joe' });
        const answered = ({ state, matched }) => say([state, matched]);
        const refused = (error) => say(error.code);
        await mesh.send('TO', 'first', { headers: { a: 'b' } }).then(answered);
        await mesh.send('TO', 'second', { key: 'a word', persistent: true }).then(answered);
        await mesh.send('/node/heron/client/nobody', 'x').catch(refused);
        await mesh.send('/node/nowhere/client/nobody', 'x').catch(refused);
        await mesh.send('nobody', 'x').catch(refused);
        await mesh.send('client/sleeper/session/3', 'waits', { forceQueuing: true }).then(answered);
        say(mesh.name);
        await mesh.close();
    """
    with m.inbox() as inbox, program(text.replace("TO", m.name), node) as js:
        assert [js.heard(), js.heard()] == [["OK", 1], ["OK", 1]]
        assert [js.heard(), js.heard(), js.heard()] == ["NOT_CONNECTED", "UNKNOWN_NODE", "NO_HANDLERS"]
        assert js.heard() == ["OK", 0]
        first, second = taken(inbox, 2)
        assert {message.sender for message in (first, second)} == {js.heard()}
    assert (first.content, first.key, first.headers["a"], first.to) == (b"first", "", "b", m.name)
    assert (second.content, second.key, second.persistent) == (b"second", "a word", True)
    waited = demo(node, "inbox", "--name", "sleeper", "--session", "3", "--count", "1")
    assert "  waits\n" in waited.stdout


def test_python_sends_to_a_session_of_node_while_its_inbox_is_open_and_before(
    node: RunningNode, m: mesh.sync.Client
) -> None:
    text = """
        const mesh = await connect({ name: 'ann', session: 1 });
        say(mesh.name);
        await told();
        const inbox = await mesh.inbox();
        for await (const { text, key, sender, to, headers, state } of inbox) {
          say({ text, key, sender, to, headers, state });
          if (text === 'last') break;
        }
        await mesh.close();
    """
    with program(text, node) as js:
        name = js.heard()
        assert name == "/node/heron/client/ann/session/1"
        early = m.send("client/ann/session/1", "early", headers={"a": "b"})
        assert (early.state, early.matched) == ("OK", 1)
        js.tell()
        common = {"sender": m.name, "to": name, "state": "OK"}
        assert js.heard() == {"text": "early", "key": "", "headers": [["a", "b"]], **common}
        assert m.send("/node/heron/client/ann", "last", key="k").matched == 1
        assert js.heard() == {"text": "last", "key": "k", "headers": [], **common}


def test_node_serves_python_and_hears_what_python_replies(node: RunningNode, m: mesh.sync.Client) -> None:
    text = """
        const mesh = await connect({ name: 'calculator' });
        const service = await mesh.serve('js/sum', ({ text, sender, header }) => {
          const sum = text.split('+').reduce((a, b) => a + Number(b), 0);
          if (Number.isNaN(sum)) throw Object.assign(new Error(`${text} is no sum`), { code: 'NO_SUM' });
          return String(sum);
        });
        say(mesh.name);
        await told();
        const asked = Array.from({ length: 500 }, (_, i) => mesh.request('py/double', String(i)));
        say((await Promise.all(asked)).map(({ text }) => Number(text)));
        const refused = (error) => say([error.code, error.message]);
        await mesh.request('py/double', 'x').catch(refused);
        await mesh.request('py/nobody', 'x').catch(refused);
        await mesh.request('map/x', 'x').catch(refused);
        await mesh.request('js/never', 'x', { timeout: 0.2 }).catch(refused);
        await service.close();
        say('closed');
        await told();
        await mesh.close();
    """
    text = text.replace(
        "await told();", "await mesh.serve('js/never', () => new Promise(() => {}));\nawait told();", 1
    )
    with program(text, node) as js:
        name = js.heard()
        replies = [m.request("js/sum", f"{n}+1") for n in range(20)]
        assert [reply.content for reply in replies] == [b"%d" % (n + 1) for n in range(20)]
        assert {reply.sender for reply in replies} == {name}
        with pytest.raises(mesh.RequestFailed, match="one\\+two is no sum") as failed:
            m.request("js/sum", "one+two")
        assert failed.value.code == "NO_SUM"
        with m.serve("py/double") as service:
            thread = threading.Thread(target=double, args=(service, 501))
            thread.start()
            js.tell()
            assert js.heard() == [2 * n for n in range(500)]
            thread.join(LIMIT)
            assert [js.heard()[0] for _ in range(4)] == ["NOT_A_NUMBER", "NO_HANDLERS", "BAD_NAME", "TIMEOUT"]
        assert js.heard() == "closed"
        with pytest.raises(mesh.NoHandlers):
            m.request("js/sum", "1+1")
        js.tell()


def double(service: Any, count: int) -> None:
    for _ in range(count):
        request = next(service)
        if request.content.isdigit():
            request.reply(b"%d" % (2 * int(request.content)))
        else:
            request.fail("NOT_A_NUMBER", "that is no number")


@pytest.mark.parametrize("broken", ["cut", "kill"])
def test_after_a_cut_and_after_kill_9_of_its_node_it_serves_again_and_asks_once(broken: str) -> None:
    text = """
        const mesh = await connect({ node: await told() });
        mesh.on('connected', (anew) => say({ anew }));
        let done = 0;
        await mesh.serve('js/count', async () => {
          await new Promise((resolve) => setTimeout(resolve, 20));
          return String(++done);
        });
        say('serves');
        for (let line = await told(); line; line = await told()) {
          const ask = () => mesh.request('js/count', '', { timeout: 120 });
          const asked = Array.from({ length: 200 }, () => ask().then((x) => +x.text, (x) => x.code));
          const all = await Promise.all(asked);
          const numbers = all.filter((x) => typeof x === 'number');
          const refused = [...new Set(all.filter((x) => typeof x !== 'number'))];
          say([all.length, new Set(numbers).size === numbers.length, refused]);
        }
        await mesh.close();
    """
    with running("swift") as node:
        wire = Wire(node.state / "wire.sock", node.it["ipc"].removeprefix("ipc://"))
        try:
            with program(text, node) as js:
                js.tell(wire.address if broken == "cut" else node.it["ipc"])
                assert js.heard() == "serves"
                js.tell("go")
                assert js.heard() == [200, True, []]
                js.tell("go")
                time.sleep(0.03)
                if broken == "cut":
                    wire.cut()
                else:
                    node.kill()
                    node.start()
                said = [js.heard(), js.heard()]
                assert {"anew": broken == "kill"} in said
                total, once, refused = next(x for x in said if isinstance(x, list))
                assert total == 200 and once and set(refused) <= {"HANDLER_LOST", "NO_HANDLERS"}
                js.tell("go")
                assert js.heard() == [200, True, []]
                js.tell("")
        finally:
            wire.close()


def test_an_erased_topic_is_gone_and_each_subscriber_hears_of_it_once(
    node: RunningNode, m: mesh.sync.Client
) -> None:
    text = """
        const mesh = await connect();
        const subscription = await mesh.subscribe('gone/#');
        await mesh.publish('gone/by-node', 'a');
        say(await mesh.erase('gone/by-node'));
        say(await mesh.erase('gone/by-node'));
        await mesh.publish('gone/by-node', 'begun anew');
        say('ready');
        const shown = ({ key, text, state }) => [key, text, state];
        say((await take(subscription, 5)).map(shown));
        await mesh.close();
    """
    with m.subscribe(pattern="gone/#") as subscription, program(text, node) as js:
        assert [js.heard(), js.heard(), js.heard()] == [["gone/by-node"], [], "ready"]
        m.publish("gone/by-python", "b")
        assert m.erase("gone/by-python") == ["gone/by-python"]
        expected = [
            ["gone/by-node", "a", "OK"],
            ["gone/by-node", "", "ERASED"],
            ["gone/by-node", "begun anew", "OK"],
            ["gone/by-python", "b", "OK"],
            ["gone/by-python", "", "ERASED"],
        ]
        assert js.heard() == expected
        messages = taken(subscription, 5)
    assert [[m.key, m.content.decode(), m.state] for m in messages] == expected


RULES = """
[nodes.heron]
[nodes.frodo]
[[nodes.frodo.master]]
domains = ["NEWS"]
"""


@pytest.fixture
def rules(tmp_path: Path) -> tuple[str, str]:
    """Options for nodes that know who is master of NEWS."""
    config = tmp_path / "mesh.toml"
    config.write_text(RULES)
    return "--config", str(config)


def test_a_domain_whose_master_is_another_node_is_published_read_and_erased_there(
    rules: tuple[str, str],
) -> None:
    text = """
        const mesh = await connect({ node: 'heron' });
        const subscription = await mesh.subscribe('#', { domain: 'NEWS' });
        const publish = (_, i) => mesh.publish('sport', String(i), { domain: 'NEWS', persistent: true });
        const answers = await Promise.all(Array.from({ length: 1000 }, publish));
        say([...new Set(answers.map(({ state }) => state))]);
        const messages = await take(subscription, 1000);
        say(messages.map(({ text }) => Number(text)));
        say(messages[0].route.map((stop) => [stop.node, stop.stratum]));
        await subscription.close();
        const got = await mesh.get('sport', { domain: 'NEWS', fresh: true });
        say(got.messages.map(({ text, source, stale }) => [text, source, stale]));
        say(await mesh.erase('sport', { domain: 'NEWS' }));
        await mesh.close();
    """
    with running("heron", options=rules) as heron, running("frodo", beside=heron, options=rules) as frodo:
        with mesh.sync.connect("frodo", environ=frodo.environ) as m:
            with m.subscribe(domain="NEWS") as subscription, program(text, heron) as js:
                received = [int(message.content) for message in taken(subscription, 1000)]
                assert js.heard() == ["OK"]
                assert received == js.heard() == list(range(1000))
                assert js.heard() == [["heron", 1], ["frodo", 0], ["heron", 1]]
                assert js.heard() == [["999", "frodo", None]]
                assert js.heard() == ["sport"]
                assert taken(subscription, 1)[0].state == "ERASED"


def test_what_waits_for_a_master_that_is_away_is_answered_twice(rules: tuple[str, str]) -> None:
    text = """
        const mesh = await connect({ node: 'heron' });
        mesh.on('connected', () => say('connected again'));
        const publish = (_, i) => mesh.publish('sport', String(i), { domain: 'NEWS', persistent: true });
        const answers = await Promise.all(Array.from({ length: 20 }, publish));
        say(answers.map(({ state, note }) => [state, note]));
        const finals = await Promise.all(answers.map(({ final }) => final));
        say(finals.map(({ state, id }) => [state, id]));
        say(answers.map(({ id }) => id));
        await mesh.get('none', { domain: 'NEWS', fresh: true }).catch((error) => say(error.code));
        await mesh.close();
    """
    with running("heron", options=rules) as heron, program(text, heron) as js:
        warned = js.heard()
        assert [state for state, _ in warned] == ["FORWARD_WARNING"] * 20
        assert all("frodo" in note for _, note in warned)
        heron.kill()
        heron.start()
        assert js.heard() == "connected again"
        with running("frodo", beside=heron, options=rules) as frodo:
            finals, ids = js.heard(), js.heard()
            with mesh.sync.connect("frodo", environ=frodo.environ) as m:
                assert m.get("sport", domain="NEWS")[0].content == b"19"
        assert finals == [["OK", id] for id in ids]


class FakeNode:
    """Says WELCOME with a version of the wire, and then what it is told to; keeps what it hears."""

    def __init__(self, path: Path, version: int) -> None:
        self.address = f"ipc://{path}"
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.ROUTER)
        self._socket.linger = 0
        self._socket.bind(self.address)
        node = c.Introduction(b"u" * 16, "heron", 1, "")
        self._who, self.hello = self._hears()
        self.say(
            *write(
                c.Welcome(
                    version, node, "", session="/node/heron/client/joe/session/1", token=b"t", max_content=9
                )
            )
        )

    def say(self, *frames: bytes) -> None:
        self._socket.send_multipart([self._who, *frames])

    def _hears(self) -> tuple[bytes, c.AnyCommand]:
        assert self._socket.poll(int(2000 * LIMIT)), "it says nothing"
        who, *frames = self._socket.recv_multipart()
        return who, read(frames)[0]

    def until(self, last: c.Command) -> list[c.AnyCommand]:
        """What it says up to that."""
        said: list[c.AnyCommand] = []
        while last not in said:
            said.append(self._hears()[1])
        return said

    def close(self) -> None:
        self._socket.close()
        self._context.term()


@pytest.mark.parametrize("version", [1, 2, 3])
def test_it_speaks_both_versions_and_tells_one_of_version_2_what_it_does_not_know(
    version: int, tmp_path: Path
) -> None:
    text = """
        await connect({ node: await told(), name: 'joe', patience: 5000 })
          .then((mesh) => { mesh.on('disconnected', say); say('in'); })
          .catch((error) => say(error.code));
        await told();
        process.exit(0);
    """
    js = Program(text, environment(tmp_path))
    fake = None
    try:
        with tempfile.TemporaryDirectory(dir="/tmp") as short:
            path = Path(short) / "node.sock"
            js.tell(f"ipc://{path}")
            fake = FakeNode(path, version)
            assert isinstance(fake.hello, c.Hello) and fake.hello.versions == (1, 2)
            assert js.heard() == ("in" if version < 3 else "VERSION")
            if version < 3:
                for number in range(30):
                    fake.say(pack([99, 2**40 + number, "more"]), b"a header", b"a body")
                fake.say(pack([98, "x" * 100]))
                fake.say(*write(c.Unknown(41, 7)))
            if version == 1:
                assert "99" in js.heard()
            if version == 2:
                fake.say(*write(c.Ping(5)))
                said = fake.until(c.Pong(5))
                assert [x for x in said if isinstance(x, c.Unknown)] == [
                    c.Unknown(99, 2**40 + number) for number in range(10)
                ]
            js.tell()
            js.end()
    finally:
        js.let_go()
        if fake is not None:
            fake.close()


def test_the_commands_of_the_demo(node: RunningNode, m: mesh.sync.Client) -> None:
    with m.subscribe("demo/a", domain="DEMO") as subscription:
        sent = demo(node, "publish", "demo/a", "--domain", "DEMO", "--header", "unit=K", content="1\n2\n3\n")
        assert (sent.returncode, sent.stdout, sent.stderr) == (0, "", "")
        messages = taken(subscription, 3)
    assert [message.content for message in messages] == [b"1", b"2", b"3"]
    assert messages[0].headers["unit"] == "K"
    assert demo(node, "get", "demo/a", "--domain", "DEMO").stdout == "demo/a  3  unit=K\n"
    shown = demo(node, "subscribe", "demo/+", "--domain", "DEMO", "--count", "1")
    assert (shown.stdout, shown.stderr) == ("demo/a  3  unit=K\n", "subscribed to demo/+\n")
    assert "[NO_HANDLERS]" in demo(node, "request", "demo/greet", "hello").stderr
    wrong = demo(node, "publish", "demo/+", "x")
    assert (wrong.returncode, wrong.stdout) == (1, "") and wrong.stderr.endswith("[BAD_KEY]\n")
    nowhere = demo(node, "get", "a", "--node", "nobody")
    assert nowhere.returncode == 1 and "no node nobody" in nowhere.stderr
    assert "subscribe KEY_OR_PATTERN" in demo(node, "fly").stderr


def test_what_the_readme_says_of_the_demo_is_there() -> None:
    readme, demo_js = (EXAMPLE / "README.md").read_text(), (EXAMPLE / "demo.js").read_text()
    offered = set(re.findall(r"^  async (\w+)\(", demo_js, re.MULTILINE))
    usage = re.findall(r"const USAGE = `(.*?)`", demo_js, re.DOTALL)[0]
    assert offered == set(re.findall(r"node demo.js (\w+)", readme))
    assert offered == set(re.findall(r"^  (\w+)", usage, re.MULTILINE)) - {"for"}
    assert set(re.findall(r"^\| `(\w+\.js)`", readme, re.MULTILINE)) == {
        path.name for path in EXAMPLE.glob("*.js") if path.name != "demo.js"
    }
    assert (EXAMPLE / re.findall(r"\]\((.*?)\)", readme)[0]).is_file()
