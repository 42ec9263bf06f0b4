"""Queue contents and consumers, in the lines of the history and the state of a node."""

from mesh.discovery.state import Sample
from mesh.snapshots.line import QUEUE, STATE, HistoryLine
from mesh.snapshots.waiting import LONGEST
from tests.mesh.features.queues.node.worker import Worker
from tests.simulation import SimNetwork, SimNode

IDLE = Sample((90.0, 70.0), 4_000_000_000, 8_000_000_000, 0.001)
EVERY = 10.0


def a_node() -> SimNode:
    (a,) = SimNetwork(1).mesh("a", sample=lambda: IDLE, snapshots=EVERY)
    return a


def lines(by: SimNode, queue: str) -> list[HistoryLine]:
    return [line for line in by.lines if line.kind == QUEUE and line.queue == f"queue/{queue}"]


def test_a_queue_is_told_while_something_is_in_it_or_somebody_takes_and_then_once_more() -> None:
    a = a_node()
    boss, joe = Worker(a, "boss"), Worker(a, "joe")
    for name in ("jobs", "idle"):
        boss.declare(name, max_attempts=2)
    boss.put("jobs", b"1", b"22", b"333")
    a.net.until(lambda: lines(a, "jobs"))
    [line] = lines(a, "jobs")
    assert (line.node, line.uuid, line.depth, line.consumers) == ("a", a.uuid.hex(), 3, 0)
    assert (line.bytes, line.dead, line.redelivered) == (boss.info("jobs")["bytes"], 0, 0)
    assert line.oldest and 5 < line.oldest <= EVERY
    assert line.arrives and 0.1 < line.arrives < 0.3 and line.leaves == 0
    joe.take("jobs")
    a.net.until(lambda: len(joe.contents()) == 3)
    joe.settle(1, 1, entries=[(2, 2, 1, 0, ""), (3, 3, 2, 0, "bad")])
    a.net.until(lambda: len(joe.contents()) == 4)
    a.net.until(lambda: len(lines(a, "jobs")) == 2)
    second = lines(a, "jobs")[1]
    assert (second.depth, second.consumers, second.dead, second.redelivered) == (1, 1, 1, 1)
    assert second.oldest is None, "somebody has it"
    assert second.leaves and 0 < second.leaves < 0.1
    joe.settle(4, 4)
    a.net.until(lambda: len(lines(a, "jobs")) == 3)
    assert (lines(a, "jobs")[2].depth, lines(a, "jobs")[2].consumers) == (0, 1)
    joe.leave("jobs")
    a.net.run(5 * EVERY)
    assert [(line.depth, line.consumers, line.dead) for line in lines(a, "jobs")[3:]] == [(0, 0, 1)]
    assert lines(a, "idle") == []


def test_of_many_queues_the_longest_are_told_and_one_that_was_told_is_told_when_it_is_idle() -> None:
    a = a_node()
    boss, joe = Worker(a, "boss"), Worker(a, "joe")
    for number in range(LONGEST + 2):
        boss.declare(f"q{number}")
        boss.put(f"q{number}", *[b"x"] * (number + 1))
    a.net.until(lambda: lines(a, f"q{LONGEST + 1}"))
    assert not lines(a, "q0") and not lines(a, "q1") and lines(a, "q2")
    boss.ok(boss.ask("queue_purge", name="q2"))
    a.net.until(lambda: lines(a, "q1"))
    assert [line.depth for line in lines(a, "q2")] == [3, 0] and not lines(a, "q0")
    joe.take("q1", credit=1)
    a.net.until(lambda: [line.consumers for line in lines(a, "q1")] == [0, 1])


def test_a_queue_that_is_removed_is_told_as_empty_once() -> None:
    a = a_node()
    boss = Worker(a, "boss")
    boss.declare("jobs")
    boss.put("jobs", b"1")
    a.net.until(lambda: lines(a, "jobs"))
    boss.ok(boss.ask("queue_remove", name="jobs", if_unused=False))
    a.net.run(3 * EVERY)
    assert [(line.depth, line.consumers) for line in lines(a, "jobs")] == [(1, 0), (0, None)]


def test_a_state_says_how_much_is_in_queues_and_who_takes_and_other_nodes_list_it() -> None:
    a, b = SimNetwork(1).mesh("a", "b", sample=lambda: IDLE, snapshots=EVERY)
    boss, joe, looker = Worker(a, "boss"), Worker(a, "joe"), Worker(b, "looker")
    for name in ("jobs", "mails"):
        boss.declare(name, scope="node")
        boss.put(name, b"1", b"22")
    joe.take("jobs", credit=1)

    def listed() -> dict[str, tuple[int, int]]:
        found = looker.ok(looker.ask("ls"))
        return {node["name"]: (node["queued"], node["consumers"]) for node in found["nodes"]}

    a.net.until(lambda: listed() == {"a": (4, 1), "b": (0, 0)}, limit=10)
    joe.settle(1, 1)
    a.net.until(lambda: listed()["a"] == (3, 1), limit=10)
    said = [line.queued for line in b.lines if line.kind == STATE and line.node == "a" and line.queued]
    assert said[-2:] == [4, 3]
    assert not any(line.queued for line in b.lines if line.kind == STATE and line.node == "b")
