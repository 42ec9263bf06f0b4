"""The gossip sockets: messages reach the listeners, and only nodes of the mesh."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from mesh.errors import BindRefused
from mesh.security.keys import Keys
from mesh.transport.gossip import TOPIC
from tests.mesh.transport.ends import LIMIT, End, client_keys, eventually, node_keys
from tests.pages import ROOT

pytestmark = pytest.mark.usefixtures("without_haste")

ANY = "tcp://127.0.0.1:0"


async def heard(speaker: End, listener: End, word: bytes) -> None:
    """Publish `word` until it arrives, since a PUB socket does not report who subscribes."""

    def is_heard() -> bool:
        speaker.sockets.publish([TOPIC, word])
        return [TOPIC, word] in listener.heard

    await eventually(is_heard)


@pytest.mark.parametrize("keyed", [False, True])
def test_one_socket_hears_all_whom_it_listens_to(keyed: bool, directory: Path) -> None:
    async def scenario() -> None:
        a, b, c = (End(node_keys(n) if keyed else None) for n in (1, 2, 3))
        for name, speaker in (("a", a), ("b", b)):
            place = speaker.sockets.bind_pub(ANY if keyed else f"ipc://{directory}/{name}")
            c.sockets.listen(place)
            c.sockets.listen(place)
        await heard(a, c, b"1")
        await heard(b, c, b"2")
        a.sockets.publish([b"another topic", b"3"])
        await heard(a, c, b"4")
        assert {frames[0] for frames in c.heard} == {TOPIC}
        for end in (a, b, c):
            end.sockets.close()

    asyncio.run(scenario())


def test_who_listens_no_more_hears_no_more() -> None:
    async def scenario() -> None:
        a, b, c = End(node_keys(1)), End(node_keys(2)), End(node_keys(3))
        places = [end.sockets.bind_pub(ANY) for end in (a, b)]
        for place in places:
            c.sockets.listen(place)
        await heard(a, c, b"1")
        c.sockets.unlisten(places[0])
        c.sockets.unlisten(places[0])
        c.sockets.unlisten("tcp://127.0.0.1:1")
        await heard(b, c, b"2")
        c.heard.clear()
        a.sockets.publish([TOPIC, b"3"])
        await heard(b, c, b"4")
        assert [TOPIC, b"3"] not in c.heard
        c.sockets.listen(places[0])
        await heard(a, c, b"5")
        for end in (a, b, c):
            end.sockets.close()

    asyncio.run(scenario())


# ZeroMQ has taken a frame of a waiting message, for its readiness check, when the publisher is disconnected.
GOES = """
import asyncio, sys
from tests.mesh.transport.ends import End, eventually
from tests.mesh.transport.test_gossip import TOPIC, heard
from tests.waiting import until
from mesh.transport.options import readable

async def settled(speaker, listener, word):
    await heard(speaker, listener, word)
    speaker.sockets.publish([TOPIC, b"and all of " + word])
    await eventually(lambda: [TOPIC, b"and all of " + word] in listener.heard)

async def scenario():
    a, b, c = End(None), End(None), End(None)
    places = [end.sockets.bind_pub(f"ipc://{sys.argv[1]}/{name}") for end, name in ((a, "a"), (b, "b"))]
    c.sockets.listen(places[1])
    await settled(b, c, b"b")
    for word in (b"1", b"2", b"3"):
        c.sockets.listen(places[0])
        await settled(a, c, word)
        a.sockets.publish([TOPIC, b"last " + word])
        until(lambda: readable(c.sockets._gossip._sub))  # the loop has no turn, and so cannot take it
        c.sockets.unlisten(places[0])
        await settled(b, c, b"b after " + word)
        assert [TOPIC, b"last " + word] in c.heard
    for end in (a, b, c):
        end.sockets.close()

asyncio.run(scenario())
"""


def test_a_message_that_waits_while_its_publisher_is_given_up_is_heard_and_harms_nobody(
    directory: Path,
) -> None:
    """The test runs in a program of its own, since this error ended the process."""
    done = subprocess.run(
        [sys.executable, "-c", GOES, str(directory)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=2 * LIMIT,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "keys", [None, node_keys(2, secret=b"x" * 32), client_keys(2)], ids=["none", "another mesh", "a client"]
)
def test_only_nodes_of_the_mesh_hear_it(keys: Keys | None) -> None:
    if keys is not None and not keys.gossip.public:  # otherwise it would accept its only known key
        keys = Keys(keys.mine, keys.server, keys.server)

    async def scenario() -> None:
        a, stranger, friend = End(node_keys(1)), End(keys), End(node_keys(3))
        place = a.sockets.bind_pub(ANY)
        for end in (stranger, friend):
            end.sockets.listen(place)
        for word in (b"1", b"2", b"3"):
            await heard(a, friend, word)
        assert stranger.heard == []
        for end in (a, stranger, friend):
            end.sockets.close()

    asyncio.run(scenario())


def test_without_keys_it_is_published_on_this_users_own_file_only(directory: Path) -> None:
    async def scenario() -> None:
        end = End()
        with pytest.raises(BindRefused) as refused:
            end.sockets.bind_pub(ANY)
        assert refused.value.code == "BIND_WITHOUT_KEYS"
        place = end.sockets.bind_pub(f"ipc://{directory}/pub")
        assert place == f"ipc://{directory}/pub"
        assert (directory / "pub").stat().st_mode & 0o777 == 0o600
        end.sockets.close()
        assert not (directory / "pub").exists()

    asyncio.run(scenario())


def test_an_address_that_is_none_does_no_harm() -> None:
    async def scenario() -> None:
        end = End(node_keys(1))
        for address in ("", "nonsense", "tcp://*:7711", "tcp://127.0.0.1:99999", "ipc://" + "x" * 300):
            end.sockets.listen(address)
            end.sockets.unlisten(address)
        end.sockets.close()

    asyncio.run(scenario())


def test_who_is_too_slow_misses_some_and_holds_up_nobody() -> None:
    async def scenario() -> None:
        a, b = End(node_keys(1)), End(node_keys(2))
        b.sockets.listen(a.sockets.bind_pub(ANY))
        await heard(a, b, b"first")
        for _ in range(200):
            a.sockets.publish([TOPIC, b"x" * 500_000])  # never blocks
        await heard(a, b, b"last")
        assert len(b.heard) < 200
        for end in (a, b):
            end.sockets.close()

    asyncio.run(scenario())
