"""Calls about a queue: combined answers of all nodes, with the names of those that did not answer."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import pytest

from mesh.discovery.state import Sample
from mesh.features.queues.node.looking.lastknown import EACH, LastKnown
from mesh.features.queues.node.parts import QueueParts
from mesh.wire.calls import AskQueueInfo, AskQueuePeek, AskQueuePurge, AskQueues, AskQueueWhy
from mesh.wire.envelope import Envelope
from mesh.wire.frames import read
from mesh.wire.replies import QueueRow
from tests.mesh.features.queues.node.spread import Several
from tests.mesh.features.queues.node.worker import Worker
from tests.mesh.kernel.lying import replies
from tests.seeds import scenarios

IDLE = Sample(cpu=(90.0, 80.0), ram_free=12_000_000, ram_total=100_000_000)
STAYS: dict[str, Any] = {"distribution": "independent", "redistribution": None}


def filled(**terms: Any) -> Several:
    """Create a queue with 1 and 2 at a, 3 to 5 at b, and none at c, which has a consumer."""
    it = Several(3, **{**STAYS, **terms})
    it.put(0, [1, 2])
    it.put(1, [3, 4, 5])
    it.take(2)
    return it


def parts(row: dict[str, Any]) -> dict[str, tuple[int, int]]:
    return {part["node"]: (part["ready"], part["consumers"]) for part in row["parts"]}


def test_info_is_the_sum_of_all_parts() -> None:
    it = filled()
    row = it.bosses[0].info("jobs")
    assert (row["ready"], row["consumers"], row["node"], row["missing"]) == (5, 1, "a", [])
    assert parts(row) == {"a": (2, 0), "b": (3, 0), "c": (0, 1)}
    assert row["bytes"] == sum(part["bytes"] for part in row["parts"]) and row["oldest"] > 0
    here = it.bosses[1].ok(it.bosses[1].ask("queue_info", name="jobs", here=True))
    assert here["ready"] == 3 and parts(here) == {"b": (3, 0)}


def test_a_queue_of_one_node_is_nobody_elses() -> None:
    it = Several(2)
    for boss in it.bosses:
        boss.declare("own", scope="node")
    it.bosses[1].put("own", b"1")
    it.net.run(1)
    row = it.bosses[0].info("own")
    assert (row["ready"], parts(row)) == (0, {"a": (0, 0)})
    it.bosses[1].declare("both", scope="node")
    it.bosses[0].declare("both")
    it.bosses[1].put("both", b"1")
    it.net.run(1)
    row = it.bosses[0].info("both")
    assert (row["ready"], row["missing"], parts(row)) == (0, [], {"a": (0, 0)})
    rows = {row["name"]: row for row in it.bosses[0].ok(it.bosses[0].ask("queue_ls"))["queues"]}
    assert rows["own"]["ready"] == rows["both"]["ready"] == 0
    assert it.bosses[0].ok(it.bosses[0].ask("queue_purge", name="both"))["purged"] == 0
    assert it.bosses[1].info("both")["ready"] == 1


def test_who_does_not_answer_is_named() -> None:
    it = filled()
    it.net.cut("a", "b")
    row = it.bosses[0].info("jobs")
    assert (row["ready"], row["missing"]) == (2, ["b"])
    assert it.bosses[0].ok(it.bosses[0].ask("queue_ls"))["missing"] == ["b"]
    assert it.bosses[0].ok(it.bosses[0].ask("queue_purge", name="jobs")) == {
        "purged": 2,
        "missing": ["b"],
        "away": [],
    }


def dead(it: Several, i: int) -> None:
    it.nodes[i].kill()
    it.net.until(lambda: it.nodes[i].name not in it.nodes[0].alive)


def test_what_a_dead_node_had_when_it_was_asked_is_told_with_its_age_and_is_in_no_sum() -> None:
    it = filled()
    boss = it.bosses[0]
    assert boss.info("jobs")["away"] == []
    dead(it, 1)
    row = boss.info("jobs")
    assert (row["ready"], row["missing"], row["away"]) == (2, [], ["b"])
    assert parts(row) == {"a": (2, 0), "b": (3, 0), "c": (0, 1)}
    ages = {part["node"]: part["as_of"] for part in row["parts"]}
    assert ages["a"] == ages["c"] == 0 and 1 < ages["b"] < 15
    page = boss.ok(boss.ask("queue_ls"))
    (row,) = page["queues"]
    assert page["away"] == ["b"] and (row["ready"], parts(row)["b"]) == (2, (3, 0))
    whys = boss.ok(boss.ask("queue_why", name="jobs"))["rows"]
    (why,) = [row for row in whys if row["node"] == "b"]
    assert why["messages"] == 3 and why["why"].startswith("the node is unreachable; the number is ")
    assert boss.ok(boss.ask("queue_purge", name="jobs")) == {"purged": 2, "missing": [], "away": ["b"]}
    here = boss.ok(boss.ask("queue_info", name="jobs", here=True))
    assert here["away"] == [] and "b" not in parts(here)
    it.nodes[1].start()
    it.net.until(lambda: "b" in it.nodes[0].alive)
    row = boss.info("jobs")
    assert (row["ready"], row["away"], row["parts"][1]["as_of"]) == (3, [], 0)


def test_of_a_dead_node_that_nobody_has_asked_it_is_known_whether_anything_was_in_its_queues() -> None:
    it = Several(3, {"sample": lambda: IDLE}, **STAYS)
    it.put(1, [1, 2, 3])
    it.net.run(5)
    dead(it, 1)
    dead(it, 2)
    row = it.bosses[0].info("jobs")
    assert (row["ready"], row["away"], list(parts(row))) == (0, ["b"], ["a"])
    whys = it.bosses[0].ok(it.bosses[0].ask("queue_why", name="jobs"))["rows"]
    assert [(row["node"], row["messages"]) for row in whys] == [("b", 0)]
    assert "its queues had 3 messages" in whys[0]["why"]


def test_a_node_that_is_dead_and_had_nothing_any_more_is_not_named() -> None:
    it = Several(2, {"sample": lambda: IDLE}, **STAYS)
    it.put(1, [1, 2, 3])
    assert it.bosses[0].info("jobs")["ready"] == 3
    it.bosses[1].ask("queue_purge", name="jobs", here=True)
    it.net.run(5)
    dead(it, 1)
    row = it.bosses[0].info("jobs")
    assert (row["away"], list(parts(row))) == ([], ["a"])


def test_what_nodes_say_of_many_queues_is_remembered_of_some() -> None:
    it = Several(2)
    (last,) = [part for part in it.nodes[0].core.parts[QueueParts].components if isinstance(part, LastKnown)]
    peers = it.nodes[0].core.parts.neighbours.peers
    (b,) = peers.values()
    for n in range(EACH + 5):
        last.record_row(b, QueueRow(name=str(n), ready=1))
    dead(it, 1)
    assert not last.parts("4") and last.parts("5") and last.parts(str(EACH))
    last.record_row(b, QueueRow(name="5", ready=0))
    last.none(b, "6")
    last.none(b, "6")
    assert not last.parts("5") and not last.parts("6") and last._count == EACH - 2
    last._forget_node(b.node.uuid)
    assert not (last._count or last._parts or last._of)


@pytest.mark.parametrize(
    "said", scenarios([{"queues": [{"name": "jobs", "ready": "x"}]}, None, 5, {"queues": 5}, ["jobs"]], 2)
)
def test_a_node_that_answers_nonsense_is_missing(said: Any) -> None:
    it = filled()
    replies(it.nodes[1], AskQueueInfo, said)
    row = it.bosses[0].info("jobs")
    assert (row["ready"], row["missing"]) == (2, ["b"])


def test_nobody_speaks_for_another() -> None:
    it = filled()
    replies(it.nodes[1], AskQueueInfo, {"queues": [{"name": "other", "node": "c", "ready": 7}] * 2})
    row = it.bosses[0].info("jobs")
    assert row["name"] == "jobs" and parts(row) == {"a": (2, 0), "b": (7, 0), "c": (0, 1)}


def test_a_list_has_a_row_for_each_queue_page_by_page() -> None:
    it = filled()
    for name in ("x", "y"):
        it.bosses[1].declare(name)
    it.bosses[1].put("x", b"1")
    it.net.run(1)
    boss = it.bosses[0]
    rows = boss.ok(boss.ask("queue_ls"))["queues"]
    assert [(row["name"], row["ready"]) for row in rows] == [("jobs", 5), ("x", 1), ("y", 0)]
    assert parts(rows[0]) == {"a": (2, 0), "b": (3, 0), "c": (0, 1)}
    found, after = [], ""
    for _ in range(5):
        page = boss.ok(boss.ask("queue_ls", after=after, limit=1))
        found += [row["name"] for row in page["queues"]]
        after = page["more"]
        if not after:
            break
    assert found == ["jobs", "x", "y"]
    here = boss.ok(boss.ask("queue_ls", here=True))["queues"]
    assert [(row["name"], row["ready"]) for row in here] == [("jobs", 2), ("x", 0), ("y", 0)]


def test_a_queue_is_known_everywhere_when_it_is_declared() -> None:
    it = Several(3)
    it.bosses[1].declare("new", max_count=7)
    assert [it.find(node, "new").part.terms.max_count for node in it.nodes] == [7, 7, 7]  # type: ignore[union-attr]


class Looker(Worker):
    """A worker that records the messages that it has peeked at."""

    def __init__(self, it: Several, i: int = 0) -> None:
        self.found: list[Envelope] = []
        super().__init__(it.nodes[i], "looker")

    def hear(self, key: Hashable, frames: list[bytes]) -> None:
        self.found += read(frames)[1]
        super().hear(key, frames)

    def peek(self, count: int, **more: Any) -> list[bytes]:
        self.found = []
        reply = self.ok(self.ask("queue_peek", name="jobs", count=count, **more))
        assert len(reply["tries"]) == sum(envelope.count for envelope in self.found)
        return [envelope.message(i)[1] for envelope in self.found for i in range(envelope.count)]


def test_peek_shows_the_next_ones_of_all_in_their_order() -> None:
    it = Several(3, **STAYS)
    for n in range(1, 7):
        it.put(n % 3, [n], put=(9 if n == 6 else 5, 0, ""))
    looker = Looker(it)
    assert looker.peek(10) == [b"6", b"1", b"2", b"3", b"4", b"5"]
    assert looker.peek(2) == [b"6", b"1"]
    assert looker.peek(10, here=True) == [b"6", b"3"]
    it.put(1, [7, 8, 9], at_once=True)
    assert looker.peek(7) == [b"6", b"1", b"2", b"3", b"4", b"5", b"7"]


def test_purge_empties_all_parts() -> None:
    it = filled()
    assert it.bosses[2].ok(it.bosses[2].ask("queue_purge", name="jobs"))["purged"] == 5
    assert it.ready() == [0, 0, 0]
    it.net.run(2)
    for node in it.nodes:
        node.kill()
        node.restart()
    it.net.run(2)
    assert it.ready() == [0, 0, 0]


def test_purge_here_leaves_the_others() -> None:
    it = filled()
    assert it.bosses[1].ok(it.bosses[1].ask("queue_purge", name="jobs", here=True))["purged"] == 3
    assert it.ready() == [2, 0, 0]


def why(it: Several, i: int = 0) -> list[tuple[str, int, str]]:
    rows = it.bosses[i].ok(it.bosses[i].ask("queue_why", name="jobs"))["rows"]
    return [(row["node"], row["messages"], row["why"]) for row in rows]


def test_why_says_for_each_part_what_it_waits_for() -> None:
    it = filled()
    off = "the queue's terms keep the messages here, although consumers are at c"
    assert why(it) == [("a", 2, f"no consumer is here; {off}"), ("b", 3, f"no consumer is here; {off}")]
    assert why(it, 2) == [("a", 2, f"no consumer is here; {off}"), ("b", 3, f"no consumer is here; {off}")]
    assert it.bosses[0].ask("queue_why", name="nothing").code == "NO_QUEUE"


def test_who_cannot_be_asked_is_named_where_no_queue_is_known() -> None:
    it = filled()
    a = it.nodes[0].core.parts
    a.meeting.deny(frozenset("b"))
    for verb, more in (("queue_why", {}), ("queue_info", {}), ("queue_peek", {"count": 1})):
        told = it.bosses[0].ask(verb, name="other", **more)
        assert told.code == "NO_QUEUE" and "b, which may have the queue, cannot be reached" in told.text
    a.meeting.deny(frozenset())
    assert "cannot be reached" not in it.bosses[0].ask("queue_why", name="other").text


def test_why_says_who_selects_and_who_is_busy() -> None:
    it = Several(2)
    it.take(1, selector="color == 'red'", credit=1)
    it.put(1, [1], color="red")
    it.put(1, [2], color="red")
    it.put(1, [3], color="blue")
    it.put(0, [4], put=(5, 60_000, ""))
    found = why(it)
    assert [(node, n) for node, n, _ in found] == [("a", 1), ("b", 1), ("b", 1), ("b", 1)]
    texts = [text for _, _, text in found]
    assert texts[0].startswith("delayed: the first becomes ready in ")
    assert texts[1] == "no consumer here selects them: color == 'red'; no other node has a consumer"
    assert texts[2] == "no consumer here is free: 1 consumer with 1 message; no other node has a consumer"
    assert texts[3].startswith("delivered to a consumer")
    it.take(0, selector="x == 1")
    assert "they move to a after 1 s, where 'x == 1' is selected" in why(it)[1][2]


@pytest.mark.parametrize("n", scenarios([2**64 - 1, -(2**63), -1], 2))
def test_what_a_node_claims_that_nobody_can_have_counts_as_nothing(n: int) -> None:
    it = filled()
    said = {"name": "jobs", "ready": n, "bytes": n, "oldest": float("nan"), "arrives": float("inf")}
    replies(it.nodes[1], AskQueueInfo, {"queues": [said]})
    replies(it.nodes[1], AskQueues, {"queues": [said] * 3, "more": "zzz"})
    replies(it.nodes[1], AskQueuePurge, {"purged": n})
    replies(it.nodes[1], AskQueueWhy, {"rows": [{"node": "c", "messages": n, "why": "\x1b[1m" * 50}]})
    replies(it.nodes[1], AskQueuePeek, {"tries": [n] * 5})
    boss = it.bosses[0]
    assert boss.info("jobs")["ready"] == 2
    assert boss.ok(boss.ask("queue_ls"))["queues"][0]["ready"] == 2
    assert [node for node, *_ in why(it)] == ["a", "b"]
    assert Looker(it).peek(10) == [b"1", b"2"]
    assert boss.ok(boss.ask("queue_purge", name="jobs"))["purged"] == 2
