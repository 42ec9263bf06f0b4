"""`mesh wait`: the conditions that end it, and its exit codes."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from mesh import sync
from mesh.cli import wait
from mesh.cli.main import main
from mesh.cli.wait import alive, consumed, emptied, subscribed
from mesh.errors import KeysRefused, MeshTimeout, NodeNotFound, NoQueue
from mesh.wire.replies import QueueRow, Reason
from tests.each import each
from tests.mesh.cli.fake import FakeClient, Given
from tests.mesh.meshes import in_memory
from tests.mesh.running import running

Capture = pytest.CaptureFixture[str]


class Node:
    """A row of `mesh ls`."""

    def __init__(self, name: str, state: str) -> None:
        self.name, self.state = name, state


STATES: list[tuple[list[Node], tuple[bool, str]]] = [
    ([], (False, "it is unknown")),
    ([Node("b", "alive")], (False, "it is unknown")),
    ([Node("a", "dead")], (False, "it is dead")),
    ([Node("a", "left"), Node("a", "alive")], (True, "it is alive")),
]


@each("case", STATES)
def test_a_node_is_there_when_one_of_its_name_is_alive(case: tuple[list[Any], tuple[bool, str]]) -> None:
    nodes, told = case
    assert alive("a", nodes) == told


QUEUES: list[tuple[dict[str, Any], tuple[bool, str]]] = [
    ({}, (True, "it is empty")),
    ({"ready": 2}, (False, "2 messages in it")),
    ({"out": 1}, (False, "1 message in it")),
    ({"delayed": 1, "going": 1}, (False, "2 messages in it")),
    ({"missing": ["b"]}, (False, "the state at b is unknown")),
    ({"away": ["c"], "missing": ["b"]}, (False, "the state at b, c is unknown")),
]


@each("case", QUEUES)
def test_a_queue_is_empty_when_all_nodes_are_known_to_have_nothing(
    case: tuple[dict[str, Any], tuple[bool, str]],
) -> None:
    row, told = case
    assert emptied(QueueRow(name="q", **row)) == told


def test_a_queue_has_a_consumer_wherever_that_is() -> None:
    assert consumed(QueueRow(name="q", consumers=2)) == (True, "2 consumers")
    assert consumed(QueueRow(name="q")) == (False, "0 consumers")


def said(code: str, node: str, *about: str) -> Reason:
    return Reason(node=node, code=code, about=list(about))


HERE, WANTED, AWAY = said("ACCEPTED_HERE", "a"), said("SUBSCRIBED", "b"), said("SUBSCRIBER_AWAY", "b")
SUBSCRIBERS: list[tuple[list[Reason], list[str]]] = [
    ([], []),
    ([HERE, said("SUBSCRIBED", "a")], ["a"]),
    ([HERE, WANTED], []),
    ([HERE, WANTED, said("ASKED_BY", "a", "b")], ["b"]),
    ([HERE, WANTED, AWAY, said("ASKED_BY", "a", "b")], []),
    ([HERE, WANTED, said("ASKED_BY", "c", "b")], []),
    ([HERE, WANTED, said("ASKED_BY", "a", "c"), said("ASKED_BY", "c", "a", "b")], ["b"]),
    ([WANTED, said("ASKED_BY", "a", "b")], []),
    ([HERE, said("GROUP_TAKES", "a")], ["a"]),
    ([HERE, said("DURABLE_TAKES", "a")], []),
]


@each("case", SUBSCRIBERS)
def test_a_subscriber_counts_when_the_master_knows_it_and_it_is_connected(
    case: tuple[list[Reason], list[str]],
) -> None:
    reasons, nodes = case
    assert subscribed(reasons) == nodes


async def _subscribing() -> None:
    async with in_memory("a", "b") as made, made.connect("a") as m, made.connect("b") as other:

        async def nodes() -> list[str]:
            return subscribed(await m.why("topic", "k"))

        assert await nodes() == []
        async with other.subscribe("k") as s:
            while await nodes() != ["b"]:
                await asyncio.sleep(0)
            await m.publish("k", "it is known")
            assert (await anext(aiter(s))).value == "it is known"
        async with m.subscribe("k", group="g"):
            assert await nodes() == ["a"]


def test_what_is_published_once_a_subscriber_is_there_reaches_it() -> None:
    asyncio.run(_subscribing())


# --- the verb ---------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use a clock that advances when a caller waits."""
    clock = [0.0]
    monkeypatch.setattr(wait, "monotonic", lambda: clock[0])
    monkeypatch.setattr(wait, "sleep", lambda s: clock.__setitem__(0, clock[0] + max(s, 0.001)))


class Answers:
    """A function with these answers, one after the other. The last one is repeated."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)

    def __call__(self, *_: Any, **__: Any) -> Any:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def test_it_ends_as_soon_as_it_is_there(given: Given, capsys: Capture) -> None:
    client = given(nodes=Answers([], [Node("b", "suspect")], [Node("b", "alive")]))
    assert main(["wait", "node", "b", "--url", "a"]) == 0
    assert capsys.readouterr() == ("", "node b: it is alive, after 400 ms\n")
    assert len(client.asked) == 3 and client.opened["url"] == "a"


def test_when_the_time_is_over_it_says_what_is_lacking(given: Given, capsys: Capture) -> None:
    given(nodes=[Node("b", "dead")])
    assert main(["wait", "node", "b", "--url", "a", "--timeout", "2"]) == 1
    assert capsys.readouterr() == (
        "",
        "mesh: the time limit has passed; waited for node b: it is dead, after 2 s\n",
    )
    client = given(nodes=[])
    assert main(["wait", "node", "b", "--url", "a", "--timeout", "0"]) == 1
    assert len(client.asked) == 1, "it looks once"


def test_with_json_it_is_one_document(given: Given, capsys: Capture) -> None:
    given(why=[])
    assert main(["wait", "subscriber", "k", "--url", "a", "--timeout", "1", "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == {
        "kind": "subscriber", "name": "k", "found": False, "seconds": 1.0, "says": "no subscriber",
    }  # fmt: skip


class FakeQueue:
    def __init__(self, info: Any) -> None:
        self.info = info


def test_a_queue_that_is_not_declared_yet_is_waited_for(given: Given, capsys: Capture) -> None:
    infos = [None, QueueRow(name="q", ready=1), QueueRow(name="q")]

    def info() -> QueueRow:
        found = infos.pop(0)
        if found is None:
            raise NoQueue("no")
        return found

    given(queue=FakeQueue(info))
    assert main(["wait", "queue", "q", "--empty", "--url", "a"]) == 0
    assert capsys.readouterr().err == "queue q: it is empty, after 400 ms\n"
    assert main(["wait", "queue", "q", "--empty", "--consumer"]) == 2


def test_a_node_that_cannot_be_asked_is_asked_again(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    client = FakeClient(nodes=Answers(MeshTimeout("busy"), [Node("b", "alive")]))
    errors: list[Exception] = [NodeNotFound("none"), NodeNotFound("none")]

    def connect(url: str | None, **options: Any) -> FakeClient:
        if errors:
            raise errors.pop()
        return client.connect(url, **options)

    monkeypatch.setattr(sync, "connect", connect)
    assert main(["wait", "node", "b", "--url", "a", "--timeout", "9"]) == 0
    assert capsys.readouterr().err == "node b: it is alive, after 600 ms\n"
    for error in (NodeNotFound("two", code="MANY_NODES"), KeysRefused("no keys")):
        errors.append(error)
        assert main(["wait", "node", "b", "--url", "a", "--timeout", "9"]) == 2
    errors += [NodeNotFound("none")] * 100
    assert main(["wait", "node", "b", "--url", "a", "--timeout", "1"]) == 1
    assert "no node answers" in capsys.readouterr().err


@pytest.mark.slow
def test_on_real_nodes_it_waits_for_what_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    with running("a") as a, running("b", beside=a):
        assert a.mesh("wait", "node", "b", "--url", "a", "--timeout", "60").returncode == 0
        assert a.mesh("wait", "node", "a", "--timeout", "60").returncode == 0, (
            "several run, and one is named so"
        )
        assert a.mesh("wait", "queue", "q", "--url", "a", "--timeout", "0").returncode == 1
        with sync.connect("b", environ=a.environ) as m:
            m.queue("q").declare()
            with m.subscribe("k"):
                for what in (["queue", "q", "--empty"], ["subscriber", "k"]):
                    assert a.mesh("wait", *what, "--url", "a", "--timeout", "60").returncode == 0
            with m.queue("q").consume():
                assert (
                    a.mesh("wait", "queue", "q", "--consumer", "--url", "a", "--timeout", "60").returncode
                    == 0
                )
