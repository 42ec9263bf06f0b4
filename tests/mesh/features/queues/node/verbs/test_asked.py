"""Removal of a queue, only when all its local queues are known to be empty."""

from __future__ import annotations

from typing import Any

import pytest

from mesh.discovery.state import Sample
from mesh.features.queues.node.looking.lastknown import may_hold
from mesh.kernel.peers.reach_table import ReachState
from tests.mesh.features.queues.node.reader import Reader
from tests.mesh.features.queues.node.spread import Several
from tests.mesh.features.queues.node.worker import Worker
from tests.simulation import SimNetwork, SimNode

IDLE = Sample(cpu=(90.0, 80.0), ram_free=12_000_000, ram_total=100_000_000)
STAYS: dict[str, Any] = {"distribution": "independent", "redistribution": None}


def several(n: int = 2) -> Several:
    return Several(n, {"sample": lambda: IDLE}, **STAYS)


def refusal(it: Several, i: int = 1, **how: Any) -> str:
    """Return the error of `queue_remove` at that node, or "" if the queue is removed."""
    reply = it.bosses[i].ask("queue_remove", name="jobs", **how)
    assert reply.code in ("", "QUEUE_IN_USE"), reply
    return reply.text if reply.code else ""


def waits_at(it: Several, i: int) -> int:
    found = it.find(it.nodes[i])
    return found.part.backlog.messages if found is not None else 0


def told(node: SimNode) -> str:
    return "\n".join(event.text for event in node.core.parts.context.events.events_after(0)[0])


def test_a_queue_with_messages_at_another_node_is_not_removed() -> None:
    it = several()
    it.put(0, [1, 2, 3])
    assert "3 messages (3 at a)" in refusal(it)
    assert waits_at(it, 0) == 3 and it.find(it.nodes[1]) is not None


def test_a_queue_that_is_taken_from_at_another_node_is_not_removed() -> None:
    it = several()
    it.take(0)
    assert "'jobs' has 1 consumer" in refusal(it)


def test_an_unused_queue_is_removed_at_all_nodes() -> None:
    it = several(3)
    assert refusal(it) == ""
    it.net.until(lambda: not any(map(it.find, it.nodes)))


def test_messages_that_a_drained_node_moved_to_another_one_keep_their_queue() -> None:
    it = Several(2)
    it.put(1, [1, 2])
    it.bosses[1].ok(it.bosses[1].ask("queue_drain", do="begin"))
    it.net.until(lambda: waits_at(it, 0) == 2)
    assert "2 messages (2 at a)" in refusal(it)


def test_a_node_that_does_not_answer_is_not_known_to_be_empty() -> None:
    it = several()
    it.net.cut("a", "b")
    assert "not known to be empty: a" in refusal(it)


def test_a_node_that_crashed_is_not_known_to_be_empty_whatever_it_said_last() -> None:
    it = several()
    it.net.run(5)
    it.nodes[0].kill()
    it.net.until(lambda: "a" not in it.nodes[1].alive)
    assert "not known to be empty: a" in refusal(it)


def test_a_node_that_left_says_before_whether_something_waits_there() -> None:
    it = several(3)
    it.put(0, [1])  # only its next state would report it
    it.nodes[0].close()
    it.nodes[2].close()
    it.net.until(lambda: not it.nodes[1].alive)
    assert refusal(it).count("not known to be empty: a did not answer.") == 1
    it.nodes[0].start()
    it.net.until(lambda: it.nodes[0].core.parts.context.serves and "a" in it.nodes[1].alive)
    assert it.bosses[1].ok(it.bosses[1].ask("queue_purge", name="jobs"))["purged"] == 1
    it.nodes[0].close()
    it.net.until(lambda: not it.nodes[1].alive)
    assert refusal(it) == ""


@pytest.mark.parametrize("seed", range(6))
def test_the_last_state_of_a_node_comes_before_its_goodbye_on_each_connection(seed: int) -> None:
    net = SimNetwork(seed)
    a, b = net.mesh("a", "b", sample=lambda: IDLE)
    joe, sue = Worker(a, "joe"), Worker(b, "sue")
    joe.declare("jobs", **STAYS)
    number = joe.put("jobs", b"1")
    net.until(lambda: joe.state_of("jobs", number) == "OK")
    net.run(5)
    assert sue.ok(sue.ask("queue_purge", name="jobs"))["purged"] == 1  # on a data connection
    a.close()
    net.until(lambda: not b.alive)
    assert not sue.ask("queue_remove", name="jobs").code


def test_what_a_node_had_when_it_left_is_known_after_a_restart_too() -> None:
    it = several()
    it.put(0, [1])
    it.nodes[0].close()
    it.net.until(lambda: not it.nodes[1].alive)
    it.nodes[1].close()
    it.nodes[1].start()
    it.bosses[1] = Reader(it.nodes[1], "boss")
    assert "not known to be empty: a" in refusal(it)
    it.bosses[1].ok(it.bosses[1].ask("peer", rm="a"))
    assert refusal(it) == ""


def test_a_removal_by_force_is_an_event_where_messages_are_lost() -> None:
    it = several()
    it.put(0, [1, 2, 3])
    assert refusal(it, if_unused=False) == ""
    it.net.until(lambda: it.find(it.nodes[0]) is None)
    assert "'jobs': discarded 3 messages, because the queue was deleted" in told(it.nodes[0])
    assert "discarded" not in told(it.nodes[1])


@pytest.mark.parametrize(
    ("state", "queued", "may"),
    [
        (ReachState.LEFT, 0, False),
        (ReachState.LEFT, 1, True),
        (ReachState.LEFT, None, True),
        (ReachState.AWAY, 0, True),
        (ReachState.TOLD_OF, 0, True),
    ],
)
def test_only_a_node_that_left_with_nothing_is_known_to_be_empty(
    state: ReachState, queued: int | None, may: bool
) -> None:
    assert may_hold(state, queued) is may


# --- durable subscriptions ----------------------------------------------------------------------------------


def test_a_durable_subscription_is_not_removed_while_a_node_may_have_subscribers() -> None:
    net = SimNetwork()
    a, _ = net.mesh("a", "b")
    joe = Reader(a, "joe")
    joe.ok(joe.durable("audit"))
    net.cut("a", "b")
    reply = joe.remove("audit")
    assert reply.code == "QUEUE_IN_USE" and "not known to be unused: b" in reply.text
    net.until(lambda: "b" not in a.alive)
    assert joe.remove("audit").code == "QUEUE_IN_USE"
    assert joe.ok(joe.ask("durable_remove", name="audit", if_unused=False)) == {"removed": 0}
