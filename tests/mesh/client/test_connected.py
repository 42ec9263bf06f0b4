"""What does a client say when it is connected again? Without a node."""

import asyncio
from unittest.mock import patch

import pytest
from msgspec.structs import replace

import mesh
from mesh.client import session
from mesh.streams.link import LinkReceiver
from mesh.wire import commands as c
from mesh.wire.envelope import Envelope
from mesh.wire.frames import write
from tools.costing.wire import WELCOME, Wire


class FakeSession:
    """Keeps what is sent."""

    name = "/node/a/client/joe/session/1"
    is_up = True

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.inlet = LinkReceiver()
        self.said: list[str] = []

    def send(self, command: c.Command) -> bool:
        self.said.append(type(command).__name__)
        return True

    def publish(self, envelope: Envelope) -> bool:
        self.said.append(f"Publish {envelope.first}..{envelope.last}")
        return True

    def look(self) -> None:
        """Nothing comes."""


def test_it_subscribes_then_publishes_again_and_then_asks_again() -> None:
    async def story() -> None:
        m, session = mesh.connect(), FakeSession()
        m._session = session  # type: ignore[assignment]
        entering = asyncio.ensure_future(m.subscribe("k").__aenter__())
        await asyncio.sleep(0)
        m._received(c.Reply(1, {}), [])
        await entering
        for content in (b"1", b"2", b"3"):
            m.post("k", content)
        await asyncio.sleep(0)
        m._received(c.Answers((c.Answer("", 1, 2, "FORWARD_WARNING"), c.Answer("", 3, 3))), [])
        erasing = asyncio.ensure_future(m.erase("k"))
        await asyncio.sleep(0)
        session.said.clear()
        node = c.Introduction(b"u" * 16, "a", 1, "")
        m._welcomed(c.Welcome(1, node, "cluster", session=session.name), is_new=True)
        assert [said for said in session.said if said != "Ack"] == ["Subscribe", "Publish 1..3", "Call"]
        m._received(c.Reply(2, {"erased": ["k"]}), [])
        assert await erasing == ["k"]

    asyncio.run(story())


class Line(Wire):
    """To a node that answers at once; what ends it is kept."""

    ended: bool = False

    def hang_up(self, key: object) -> None:
        self.ended = True


@pytest.mark.parametrize("command", [WELCOME, c.Challenge(b"n" * 16, ""), c.Hello((1, 1), c.CLIENT, "", b"")])
def test_a_node_that_says_to_a_client_that_is_in_what_is_for_others_is_left(command: c.Command) -> None:
    async def story() -> None:
        with patch.object(session, "Sockets", Line):
            m = mesh.Client("ipc:///run/heron", client="joe")
            await m.__aenter__()
        line = Wire.made
        assert isinstance(line, Line) and m._session is not None
        line.hear(m._session._key, write(c.Pong(1)))
        assert m._session.is_up and not line.ended
        line.hear(m._session._key, write(command))
        assert not m._session.is_up and line.ended
        await m.close(drain=False)

    asyncio.run(story())


@pytest.mark.parametrize("version", [1, 2])
def test_a_client_tells_a_node_of_version_2_what_it_does_not_know_and_goes_on(version: int) -> None:
    async def story() -> None:
        welcome = replace(WELCOME, version=version)
        with patch.object(session, "Sockets", Line), patch("tools.costing.wire.WELCOME", welcome):
            m = mesh.Client("ipc:///run/heron", client="joe")
            await m.__aenter__()
        line = Wire.made
        assert isinstance(line, Line) and m._session is not None
        with patch.object(line, "send") as said:
            for number in range(100):
                line.hear(m._session._key, [b"\x92\x63" + bytes((number,)), b"an envelope"])
        told = [call.args[1][0] for call in said.mock_calls if call.args[1][0][1] == 27]
        assert told == ([write(c.Unknown(99, number))[0] for number in range(10)] if version == 2 else [])
        assert m._session.is_up is (version == 2)
        line.hear(m._session._key, write(c.Unknown(41, 7)))
        assert m._session.is_up is (version == 2)
        await m.close(drain=False)

    asyncio.run(story())


def test_an_erase_waits_for_the_answers_to_what_was_posted_before() -> None:
    async def story() -> None:
        m, session = mesh.connect(), FakeSession()
        m._session = session  # type: ignore[assignment]
        m.post("k", b"1")
        erasing = asyncio.ensure_future(m.erase("k"))
        await asyncio.sleep(0)
        assert session.said == ["Publish 1..1"]
        m._received(c.Answers((c.Answer("", 1, 1, "EXPIRED"),)), [])
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert session.said == ["Publish 1..1", "Call"]
        erasing.cancel()

    asyncio.run(story())
