"""The figures that a generated node writes every 10 s: links, balances, queues, topics and services."""

from collections.abc import Callable, Mapping

from mesh.snapshots.line import BALANCE, LINK, QUEUE, SERVICE, TOPIC
from tools.generating import wording
from tools.generating.cast import SECOND
from tools.generating.roster import Alive

LETTERS = 0.2  # direct messages for each request to a candidate
SERVED = 2  # candidates whose services its clients use
REQUESTS = 0.5  # service requests for each request to a candidate
FAILED, LOST = 50, 400  # one in n requests
TAIL = 6.0  # p99 / p50
BUSIEST = 0.97  # most used share of the capacity

Noise = Callable[[int], float]  # a number around 1, by argument


def write(node: Alive, alive: Mapping[int, Alive], boots: Mapping[int, str], at: int, noise: Noise) -> None:
    """Write all figures of the time `at`.

    `boots` has the fields about each machine, by index.
    """
    _links(node, alive, at, noise)
    _balances(node, alive, boots, at, noise)
    _queues(node, at, noise)
    _topics(node, at, noise)
    _services(node, alive, boots, at)
    node.counted_until = at


def _links(node: Alive, alive: Mapping[int, Alive], at: int, noise: Noise) -> None:
    mine, log = node.machine.index, node.log
    for index in node.linked:
        other = alive.get(index)
        if other is None:
            continue
        rtt = 0.0002 + 0.0011 * (mine * index % 11) / 10  # equal in both directions
        skew = (other.log.offset - log.offset) / SECOND
        by_chance = noise(at // SECOND + 7 * index + 3 * mine)
        age = round(2 - other.machine.said_at / SECOND, 3)
        log.add(LINK, at, f"{other.about}{age}{wording.link(rtt * by_chance, skew + (by_chance - 1) / 50)}")


def _balances(
    node: Alive, alive: Mapping[int, Alive], boots: Mapping[int, str], at: int, noise: Noise
) -> None:
    """Write balances: live candidates get equal shares, and differ in latency."""
    machine, given = node.machine, node.given
    candidates = [alive[index] for index in node.asked if index in alive]
    if candidates:
        seconds = (at - node.counted_until) / SECOND
        asked = seconds * machine.asks * machine.daily(at) * noise(at // SECOND + machine.index)
        each = int(asked / len(candidates)) + 1
        for other in candidates:
            of = given.setdefault(other.machine.index, [0, 0, 0, 0, 0.0])
            busy = min(BUSIEST, other.machine.busy(at))
            took = other.machine.latency / (1 - busy) * noise(at // SECOND + 5 * other.machine.index)
            letters = int(LETTERS * each)
            of[0] += each + letters
            of[1] += letters
            of[2] += each
            of[3] += each
            of[4] += each * took
    for index, (chosen, sent, put, answered, took) in given.items():
        age = 0.5 if index in alive else 60.0
        rest = wording.balance(int(chosen), int(sent), int(put), int(answered), took)
        node.log.add(BALANCE, at, f"{boots[index]}{age}{rest}")


def _queues(node: Alive, at: int, noise: Noise) -> None:
    """Write queues; an empty queue is written once after it had messages."""
    for number, queue in enumerate(node.machine.queues):
        grown = queue.growth * (at - node.began) / SECOND
        by_chance = 2 * noise(at // SECOND + 13 * number + node.machine.index) - 1
        depth = max(0, int(queue.depth * by_chance + grown))
        if depth or node.waited[number]:
            node.waited[number] = depth
            rest = wording.queue(queue.name, depth, queue.size, 0.05 * depth)
            node.log.add(QUEUE, at, f"{node.about}0.0{rest}")


def _topics(node: Alive, at: int, noise: Noise) -> None:
    machine = node.machine
    seconds = (at - node.counted_until) / SECOND
    messages = seconds * machine.capacity * machine.busy(at) * noise(at // SECOND + 17 * machine.index)
    for topic, taken in zip(machine.topics, node.taken, strict=True):
        count = int(messages * topic.share)
        taken[0] += count
        taken[1] += count * topic.size
        node.log.add(TOPIC, at, f"{node.about}0.0{wording.topic(topic.name, topic.domain, *taken)}")


def _services(node: Alive, alive: Mapping[int, Alive], boots: Mapping[int, str], at: int) -> None:
    """Write services: requests are proportional to queries, with their latency."""
    for index in node.asked[:SERVED]:
        given = node.given.get(index)
        if given is None:
            continue
        done = node.requested.setdefault(index, [0, 0, 0, 0, 0.0])
        requests = int(REQUESTS * given[3])
        p50 = (given[4] / given[3] if given[3] else 0.0) if requests > done[0] else 0.0
        failed, lost = requests // FAILED, requests // LOST
        replies = requests - failed - lost
        done[4] += p50 * (replies - done[1])
        done[:4] = [requests, replies, failed, lost]
        if p50:
            age = 0.5 if index in alive else 60.0
            rest = wording.service(
                f"jobs/{index % 3}", requests, replies, failed, lost, done[4], p50, TAIL * p50
            )
            node.log.add(SERVICE, at, f"{boots[index]}{age}{rest}")
