"""The commands of the client in examples/node at a node that it visits, and their order."""

import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from mesh.proof import attach_text
from mesh.security.signing import verify
from mesh.wire import commands as c
from mesh.wire.envelope import PERSISTENT, RESENT, Envelope
from mesh.wire.frames import write
from tests.examples.nodejs import FakeNode, Program
from tests.mesh.running import environment

pytestmark = pytest.mark.slow

WORDS = ("queues", "durable", "visits")
MASTER = b"m" * 16

TEXT = """
    const [heron, stork] = [await told(), await told()];
    const mesh = await connect({ node: [heron, stork], name: 'joe' });
    mesh.on('session_moved', say);
    const subscription = await mesh.subscribe('k');
    mesh.publish('k', 'v', { persistent: true });
    const putting = mesh.put('jobs', 'x', { priority: 9, delay: 2, group: 'g' });
    say((await putting).state);
    process.exit(0);
"""


@contextmanager
def joe(environ: dict[str, str]) -> Iterator[Program]:
    js = Program(TEXT, environ)
    try:
        yield js
        js.end()
    finally:
        js.let_go()


def commands(node: FakeNode) -> list[tuple[c.Command, list[Envelope]]]:
    """Return the commands up to the first ACK, without PING."""
    found = [node.receive()]
    while not isinstance(found[-1][0], c.Ack):
        found.append(node.receive())
    return [pair for pair in found if not isinstance(pair[0], c.Ping)]


def test_a_visit_begins_with_attach_and_repeats_what_the_node_needs(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as short, joe(environment(tmp_path)) as js:
        heron, stork = Path(short) / "heron", Path(short) / "stork"
        js.tell(f"ipc://{heron}")
        js.tell(f"ipc://{stork}")
        with closing(FakeNode(heron, speaks=WORDS)) as first:
            begun = first.receive()[0]
            while not isinstance(begun, c.Subscribe):
                begun = first.receive()[0]
            first.say(*write(c.Reply(begun.request, {"subscription": 1, "since": [[MASTER, 2**40]]})))
            sent = [first.receive() for _ in range(2)]
            assert [envelope.flags for _, (envelope,) in sent] == [PERSISTENT, PERSISTENT]
        with closing(FakeNode(stork, name="stork", speaks=WORDS)) as second:
            hello = second.hello
            assert isinstance(hello, c.Hello)
            assert (hello.home, hello.attach, hello.token) == ("heron", 0, b"t")
            assert (hello.boot_seen, hello.have, hello.session) == (0, 0, 1)
            assert js.heard() == {"from": "heron", "to": "stork"}
            (attach, _), (subscribe, _), (_, [news]), (_, [put]), _ = commands(second)
            check_attach(attach, hello.key, first, second)
            assert isinstance(subscribe, c.Subscribe) and not subscribe.resumed
            assert subscribe.since == ((MASTER, 2**40 + 1),)
            assert (news.first, news.flags, news.to) == (1, PERSISTENT | RESENT, "")
            assert (put.first, put.flags, put.to) == (1, PERSISTENT | RESENT, "queue/jobs")
            assert put.put == (9, 2000, "g")
        with closing(FakeNode(stork, name="stork", speaks=WORDS)) as again:
            assert isinstance(again.hello, c.Hello)
            assert (again.hello.attach, again.hello.boot_seen) == (1, 1)
            (attach, _), *_ = commands(again)
            check_attach(attach, hello.key, first, second)
            again.say(*write(c.Answers((c.Answer("queue/jobs", 1, 1),))))
            assert js.heard() == "OK"


def check_attach(command: c.Command, key: bytes, former: FakeNode, visited: FakeNode) -> None:
    assert isinstance(command, c.Call) and command.verb == "attach"
    session, said, attach, node, signature = command.arguments["certificate"]
    assert (session, said, attach, node) == ("/node/heron/client/joe/session/1", key, 1, visited.uuid)
    assert verify(key, signature, attach_text(session, attach, node))
    assert command.arguments["former"] == [former.uuid]
