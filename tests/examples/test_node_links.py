"""The client in examples/node proves its identity, and continues after a cut and a kill -9."""

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import mesh.sync
from mesh.wire import commands as c
from mesh.wire.codec import pack
from mesh.wire.frames import write
from tests.examples.nodejs import EXAMPLE, FakeNode, Program, Wire, demo, program, taken
from tests.mesh.running import LIMIT, RunningNode, environment, running
from tests.mesh.security.keyed import mesh_file, user

pytestmark = pytest.mark.slow


# A program that publishes numbers to itself, ten at a time, until it is stopped.
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
    """Yield a node of a mesh with keys."""
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
    """The client uses the same file of pins as the client in Python."""
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
            while answered <= at + 100:  # publishing continues after the restart
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
