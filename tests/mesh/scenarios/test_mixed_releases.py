"""Nodes and clients of the last release beside those of this one, with masters of either.

The last release is tests/releases/wire1.zip, which speaks version 1 of the wire and nothing else.
"""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TypeVar

import pytest
import zmq
from msgspec.structs import replace

import mesh.sync
from mesh.client.message import Message
from mesh.errors import MeshError
from mesh.names import SENDS
from mesh.proof import stream_of
from mesh.sync import Client, Subscription
from mesh.wire import commands as c
from mesh.wire.envelope import Envelope
from mesh.wire.frames import read, write
from mesh.wire.limits import SERVICES
from tests.mesh.running import LIMIT, RunningNode, running, until

C = TypeVar("C", bound=c.Command)
LAST = Path(__file__).parents[2] / "releases" / "wire1.zip"
OLD = ("env", f"PYTHONPATH={LAST}")
RULES = """
[limits]
max_content = 3145728
[nodes.heron]
[[nodes.heron.master]]
domains = ["BIRDS"]
[nodes.frodo]
[[nodes.frodo.master]]
domains = ["NEWS"]
"""
DOMAINS = {"heron": "BIRDS", "frodo": "NEWS"}
MANY = 950  # subscriptions of one client
WAYS = [("heron", "frodo"), ("frodo", "heron")]
both_ways = pytest.mark.parametrize(("here", "there"), WAYS)


@dataclass
class Two:
    """heron and frodo, one of which is of the last release."""

    heron: RunningNode
    frodo: RunningNode
    old: str

    def __getitem__(self, name: str) -> RunningNode:
        return self.heron if name == "heron" else self.frodo

    def client(self, node: str, name: str | None = None, session: int | None = None) -> Client:
        return mesh.sync.connect(
            node, client=name, session=session, environ=self.heron.environ, timeout=LIMIT
        )


@pytest.fixture(scope="module", params=["heron", "frodo"])
def two(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Two]:
    """Both nodes; the request's `param` is the name of the old one."""
    config = tmp_path_factory.mktemp("mixed") / "mesh.toml"
    config.write_text(RULES)
    options = ("--config", str(config))
    inside = {name: OLD if name == request.param else () for name in DOMAINS}
    with running("heron", options=options, inside=inside["heron"]) as heron:
        with running("frodo", beside=heron, options=options, inside=inside["frodo"]) as frodo:
            yield Two(heron, frodo, request.param)


def taken(subscription: Subscription, count: int) -> list[Message]:
    messages: list[Message] = []
    while len(messages) < count:
        batch = subscription.next_batch(timeout=LIMIT)
        assert batch is not None
        messages += batch
    return messages


def test_the_last_release_is_what_it_says() -> None:
    said = subprocess.run(
        [*OLD, sys.executable, "-c", "from mesh.wire.limits import VERSION_MAX; print(VERSION_MAX)"],
        capture_output=True,
        text=True,
        check=True,
        cwd=LAST.parent,
    )
    assert said.stdout == "1\n"


@both_ways
@pytest.mark.parametrize("domain", ["BIRDS", "NEWS", ""])
@pytest.mark.parametrize("persistent", [False, True])
def test_published_here_it_is_heard_there_in_order(
    two: Two, here: str, there: str, domain: str, persistent: bool
) -> None:
    key = f"order/{here}/{domain}/{persistent}"
    with two.client(there) as reader, two.client(here) as publisher:
        with reader.subscribe(key, domain=domain) as one, reader.subscribe(pattern=f"{key}/#") as all_of_it:
            for number in range(2000):
                publisher.post(key, str(number), domain=domain, persistent=persistent)
            publisher.flush()
            for subscription in (one, all_of_it):
                assert [int(m.content) for m in taken(subscription, 2000)] == list(range(2000))


@both_ways
@pytest.mark.parametrize("two", [pytest.param("heron", marks=pytest.mark.smoke), "frodo"], indirect=True)
def test_last_values_are_read_and_erased_there(two: Two, here: str, there: str) -> None:
    domain, key = DOMAINS[there], f"value/{here}"
    with two.client(here) as m, two.client(there) as other:
        m.publish(key, "1", domain=domain, persistent=True)
        assert [(x.content, x.source) for x in m.get(key, domain=domain, fresh=True)] == [(b"1", there)]
        with other.subscribe(key, domain=domain) as subscription:
            assert taken(subscription, 1)[0].state == "INITIAL"
            assert m.erase(key, domain=domain) == [key]
            assert taken(subscription, 1)[0].state == "ERASED"
        assert m.get(key, domain=domain) == []


@both_ways
def test_a_text_is_one_behind_a_node_of_the_last_release_whose_clients_read_it_too(
    two: Two, here: str, there: str
) -> None:
    domain, key = DOMAINS[there], f"text/{here}"
    with two.client(here) as m, two.client(there) as other:
        with other.subscribe(key, domain=domain) as subscription:
            for content in ("text", b"bytes"):
                m.publish(key, content, domain=domain, persistent=True)
            assert [x.value for x in taken(subscription, 2)] == ["text", b"bytes"]
        m.publish(key, "text", domain=domain)
        assert "text" in of_the_last_release(two[there], "get", key, "--domain", domain)


@both_ways
def test_letters_go_to_clients_there(two: Two, here: str, there: str) -> None:
    with two.client(there, f"ann-{here}", 1) as ann, two.client(here) as joe:
        with ann.inbox() as inbox:
            assert (
                joe.send(f"/node/{there}/client/ann-{here}/session/1", "hello", persistent=True).matched == 1
            )
            (letter,) = taken(inbox, 1)
            assert (letter.content, letter.sender) == (b"hello", joe.name)
        with pytest.raises(MeshError, match="NOT_CONNECTED"):
            joe.send(f"/node/{there}/client/nobody", "hello")
        assert (
            joe.send(f"/node/{there}/client/late-{here}/session/1", "waits", force_queuing=True).matched == 0
        )
    with two.client(there, f"late-{here}", 1) as late, late.inbox() as inbox:
        assert taken(inbox, 1)[0].content == b"waits"


@both_ways
def test_large_messages_arrive(two: Two, here: str, there: str) -> None:
    large = bytes(range(256)) * 4096 * 3  # the size limit: it travels in fragments
    with two.client(there) as reader, two.client(here) as publisher:
        with reader.subscribe(f"large/{here}", domain=DOMAINS[here]) as subscription:
            for _ in range(3):
                publisher.publish(f"large/{here}", large[:-1000], domain=DOMAINS[here], persistent=True)
            assert [m.content == large[:-1000] for m in taken(subscription, 3)] == [True] * 3


@both_ways
def test_many_things_are_wanted_there_and_again_after_a_restart(two: Two, here: str, there: str) -> None:
    """The subscriptions need more than one part of INTEREST."""

    async def scenario() -> None:
        async with mesh.connect(here, environ=two[here].environ, timeout=LIMIT) as reader:
            subscriptions = [reader.subscribe(f"many/{here}/{n}") for n in range(MANY)]
            await asyncio.gather(*(subscription.__aenter__() for subscription in subscriptions))
            two[there].kill()
            two[there].start()
            async with mesh.connect(there, environ=two[there].environ, timeout=LIMIT) as publisher:
                for n in (0, MANY // 2, MANY - 1):
                    await publisher.publish(f"many/{here}/{n}", "x", domain=DOMAINS[there], persistent=True)
                    async with asyncio.timeout(LIMIT):
                        assert (await anext(aiter(subscriptions[n]))).content == b"x"

    asyncio.run(scenario())


@both_ways
@pytest.mark.parametrize("killed", ["heron", "frodo"])
def test_after_kill_9_of_either_nothing_is_lost_or_doubled(
    two: Two, here: str, there: str, killed: str
) -> None:
    domain, key = DOMAINS[there], f"killed/{here}/{killed}"
    with two.client(there) as reader, two.client(here) as publisher:
        with reader.subscribe(key, domain=domain) as subscription:
            for number in range(600):
                publisher.post(key, str(number), domain=domain, persistent=True)
                if number == 300:
                    two[killed].kill()
                    two[killed].start()
            publisher.flush()
            until(lambda: publisher.waiting()[0] == 0)
            assert [int(m.content) for m in taken(subscription, 600)] == list(range(600))


def of_the_last_release(node: RunningNode, *arguments: str) -> str:
    """Return the output of a command of the last release beside this node."""
    command = [*OLD, sys.executable, "-m", "mesh", *arguments, "--url", node.name]
    said = subprocess.run(
        command, env=node.environ, cwd=node.state, capture_output=True, text=True, timeout=2 * LIMIT
    )
    assert said.returncode == 0, said.stdout + said.stderr
    return said.stdout


@both_ways
def test_clients_of_either_release_use_nodes_of_either(two: Two, here: str, there: str) -> None:
    key = f"client/{here}"
    with two.client(there) as reader, reader.subscribe(key) as subscription:
        of_the_last_release(two[here], "pub", key, "from then")
        assert taken(subscription, 1)[0].content == b"from then"
    assert "from then" in of_the_last_release(two[there], "get", key)
    names = of_the_last_release(two[here], "ls")
    assert "heron" in names and "frodo" in names


class Wire:
    """A client that speaks the wire itself, with the feature of services."""

    def __init__(self, node: RunningNode, name: str) -> None:
        self.key = name.encode().ljust(32, b"-")
        self.stream = stream_of(self.key)
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._socket = self._context.socket(zmq.DEALER)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.connect(node.it["ipc"])
        hello = c.Hello(
            (1, 2), c.CLIENT, "", bytes(16), client=name, stream=self.stream, key=self.key, speaks=(SERVICES,)
        )
        self.welcome = self.asks(hello, c.Welcome)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        self._context.term()

    def asks(self, command: c.Command, answer: type[C], *envelopes: Envelope) -> C:
        """Send a command, and wait for one of the type `answer`."""
        self._socket.send_multipart(write(command, envelopes))
        return self.hears(answer)

    def hears(self, answer: type[C]) -> C:
        while True:
            assert self._socket.poll(int(1000 * LIMIT))
            command, _ = read(self._socket.recv_multipart())
            if isinstance(command, answer):
                return command


def test_beside_a_node_of_the_last_release_addresses_are_served_as_without_it(two: Two) -> None:
    new = "frodo" if two.old == "heron" else "heron"
    with two.client(new) as m:
        until(lambda: [node.name for node in m.nodes() if node.state == "alive"] == [new, two.old])
    with Wire(two[two.old], "old") as user:
        assert user.welcome.version == 1 and SERVICES not in user.welcome.speaks
    with Wire(two[new], "server") as server, Wire(two[new], "asker") as asker:
        assert SERVICES in asker.welcome.speaks
        nobody = Envelope(asker.stream, SENDS, 1, 1, ("",), 1, 1, b"1", to="nobody")
        asked = [replace(nobody, first=n, last=n, to=to) for n, to in enumerate(("nobody",) * 9 + ("x",), 1)]
        asker.asks(c.Publish((1,)), c.Answers, asked[0])
        for envelope in asked[1:9]:
            assert asker.asks(c.Publish((1,)), c.Answers, envelope).answers[0].state == "NO_HANDLERS"
        assert server.asks(c.Consume(1, 1, "x", 9), c.Reply).value == {"epoch": 1}
        assert asker.asks(c.Publish((1,)), c.Answers, asked[9]).answers[0].state == "OK"
        assert server.hears(c.Items).heads[0].targets == ((1, b""),)
