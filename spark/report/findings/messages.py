"""Findings about queues, balance, requests and topics."""

from collections.abc import Iterator, Sequence

from mesh.history.report.facts import Facts
from mesh.history.report.figures import counted, decimal, duration, listed, number, percent
from mesh.history.report.findings.finding import BAD, NOTE, WARN, Finding, so
from mesh.history.report.message_rows import Parts, Quality, Queue

UNEVEN, CHOSEN = 0.25, 100  # coefficient of variation, minimum of choices
STRANDED = 0.1  # share of the time with waiting messages
FAILING, ASKED = 0.05, 20  # share, minimum of requests


def queues(facts: Facts) -> Iterator[Finding]:
    growing = [queue for queue in facts.queues if queue.verdict == "growing"]
    for queue in growing[:3]:
        come, go = queue.arrives_per_s, queue.leaves_per_s
        rates = "" if come is None else f": {decimal(come)} arrive a second, {decimal(go)} leave"
        text = (
            f"At {queue.observer} the queue {queue.name} grows by "
            f"{number(queue.growth_per_hour)} messages an hour{rates}; "
            f"{_waits(queue)}{', without a consumer' if queue.is_stranded else ''}."
        )
        yield Finding(BAD, text, "queues")
    if growing[3:]:
        more = len(growing) - 3
        yield Finding(BAD, f"{counted(more, 'more queue')} {'grows' if more == 1 else 'grow'}.", "queues")
    stranded = [queue for queue in facts.queues if queue.is_stranded and queue not in growing[:3]]
    stranded.sort(key=lambda queue: -queue.depth)
    for queue in stranded[:1]:
        others = f" Nor has {listed([_at(other) for other in stranded[1:]])}." if stranded[1:] else ""
        text = f"The queue {_at(queue)} has no consumer: {_waits(queue)}.{others}"
        yield Finding(WARN, text, "queues")


def parts(facts: Facts) -> Iterator[Finding]:
    stranded = [each for each in facts.parts if (each.stranded_share or 0) >= STRANDED]
    starved = [each for each in facts.parts if (each.starved_share or 0) >= STRANDED and each not in stranded]
    stranded.sort(key=lambda each: -(each.stranded_share or 0))
    starved.sort(key=lambda each: -(each.starved_share or 0))
    for each in stranded[:1]:
        text = (
            f"The queue {each.name} had messages at a node without a consumer, while another "
            f"node had one, in {percent(each.stranded_share, 1)} of the time with a backlog: "
            f"{counted(each.stranded_max or 0, 'message')} at most{_others(stranded)}."
        )
        yield Finding(WARN, text, "queues")
    for each in starved[:1]:
        text = (
            f"Consumers of the queue {each.name} at another node had credit for waiting "
            f"messages in {percent(each.starved_share, 1)} of the time with a backlog: for "
            f"{counted(each.starved_max or 0, 'message')} at most{_others(starved)}."
        )
        yield Finding(NOTE, text, "queues")


def _others(found: Sequence[Parts]) -> str:
    return f". The same is true of {listed([each.name for each in found[1:]])}" if found[1:] else ""


def _at(queue: Queue) -> str:
    return f"{queue.name} at {queue.observer}"


def _waits(queue: Queue) -> str:
    oldest = f", the oldest for {duration(queue.oldest_s)}" if queue.oldest_s else ""
    return f"{counted(queue.depth, 'message')} wait{'s' if queue.depth == 1 else ''}{oldest}"


def uneven(facts: Facts) -> Iterator[Finding]:
    groups: dict[tuple[str, str], list[Quality]] = {}
    for row in facts.balance:
        groups.setdefault(row.whose, []).append(row)
    uneven = [rows for rows in groups.values() if (rows[0].chosen_variation or 0) >= UNEVEN]
    uneven = [rows for rows in uneven if sum(row.chosen for row in rows) >= CHOSEN]
    uneven.sort(key=lambda rows: -(rows[0].chosen_variation or 0))
    for rows in uneven[:1]:
        row = max(rows, key=lambda row: abs((row.chosen_ratio or 0) - 1))
        others = so([other[0].observer for other in uneven[1:]])
        text = (
            f"{row.observer} balances unevenly: {row.node} got {percent(row.chosen_share, 1)} of its "
            f"messages with {percent(row.capacity_share, 1)} of the capacity.{others}"
        )
        yield Finding(WARN, text, "balance")


def failing(facts: Facts) -> Iterator[Finding]:
    """Yield at most one finding, about addresses with too many failed requests."""
    totals: dict[str, tuple[int, int]] = {}
    for row in facts.services:
        asked, without = totals.get(row.address, (0, 0))
        totals[row.address] = asked + row.requests, without + row.failures
    bad = [
        (without / asked, address, asked)
        for address, (asked, without) in totals.items()
        if asked >= ASKED and without >= FAILING * asked
    ]
    for share, address, asked in sorted(bad, reverse=True)[:1]:
        others = sorted(name for _, name, _ in bad if name != address)
        more = f" So did many requests to {listed(others)}." if others else ""
        text = f"Of {counted(asked, 'request')} to {address} {percent(share, 1)} failed.{more}"
        yield Finding(WARN, text, "services")


def largest_topic(facts: Facts) -> Iterator[Finding]:
    everything = sum(topic.messages for topic in facts.topics)
    for topic in facts.topics[:1]:
        if len(facts.topics) > 3 and topic.messages > everything / 2:
            share = percent(topic.messages / everything, 1)
            text = f"{topic.topic} alone has {share} of the messages of the busiest topics."
            yield Finding(NOTE, text, "topics")
