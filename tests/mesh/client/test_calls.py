"""Does each question get its whole reply, its error or an end to the waiting? Without a node."""

import asyncio
from typing import Any

import pytest
from mesh.client.calls import Calls

from mesh.errors import Closed, LocalError, MasterAway, MeshTimeout, Refused, UnknownNode
from mesh.wire.commands import Call, Command, Reply
from tests.mesh.envelopes import envelope


class Bench:
    """Calls, and what they have sent."""

    def __init__(self, timeout: float = 5.0) -> None:
        self.sent: list[Command] = []
        self.calls = Calls(self._send, timeout)

    def _send(self, command: Command) -> bool:
        self.sent.append(command)
        return True

    async def asked(self, verb: str = "erase") -> "asyncio.Task[Any]":
        """A question that has been sent."""
        task = asyncio.ensure_future(self.calls.ask(lambda request: Call(request, verb)))
        await asyncio.sleep(0)
        return task


def test_each_question_gets_its_own_reply() -> None:
    async def story() -> None:
        bench = Bench()
        first, second = await bench.asked(), await bench.asked()
        bench.calls.replied(Reply(2, "two"), [])
        bench.calls.replied(Reply(1, "one"), [])
        bench.calls.replied(Reply(1, "again"), [])
        assert (await first, await second) == ("one", "two")

    asyncio.run(story())


def test_a_reply_in_parts_keeps_what_came_with_what() -> None:
    async def story() -> None:
        bench = Bench()
        parts = asyncio.ensure_future(bench.calls.ask_for_parts(lambda request: Call(request, "get")))
        await asyncio.sleep(0)
        one, two = envelope("a"), envelope("b")
        bench.calls.replied(Reply(1, {"more": True, "sources": [["x", None]]}), [one])
        bench.calls.replied(Reply(1, {"sources": [["y", 2.5]]}), [two])
        assert [(value["sources"], found) for value, found in await parts] == [
            ([["x", None]], [one]),
            ([["y", 2.5]], [two]),
        ]

    asyncio.run(story())


def test_after_a_reconnect_it_asks_again_with_the_same_number_and_forgets_half_a_reply() -> None:
    async def story() -> None:
        bench = Bench()
        parts = asyncio.ensure_future(bench.calls.ask_for_parts(lambda request: Call(request, "erase")))
        await asyncio.sleep(0)
        bench.calls.replied(Reply(1, {"more": True}), [envelope("a")])
        bench.calls.again()
        assert bench.sent == [Call(1, "erase")] * 2
        bench.calls.replied(Reply(1, {}), [envelope("b")])
        assert [found[0].keys for _, found in await parts] == [("b",)]

    asyncio.run(story())


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("MASTER_AWAY", MasterAway),
        ("UNKNOWN_NODE", UnknownNode),
        ("PROTOCOL", Refused),
        ("TOO_MANY", LocalError),
    ],
)
def test_a_code_becomes_its_class(code: str, kind: type[Exception]) -> None:
    async def story() -> None:
        bench = Bench()
        asked = await bench.asked()
        bench.calls.replied(Reply(1, None, code, f"that is why. [{code}]"), [])
        with pytest.raises(kind) as caught:
            await asked
        assert type(caught.value) is kind
        assert str(caught.value) == f"that is why. [{code}]"

    asyncio.run(story())


def test_a_node_that_does_not_answer_is_not_waited_for_long() -> None:
    async def story() -> None:
        asked = await Bench(timeout=0.01).asked()
        with pytest.raises(MeshTimeout, match="mesh ls"):
            await asked

    asyncio.run(story())


def test_closing_ends_the_waiting() -> None:
    async def story() -> None:
        bench = Bench()
        asked = await bench.asked()
        bench.calls.close(Closed("closed."))
        with pytest.raises(Closed):
            await asked

    asyncio.run(story())
