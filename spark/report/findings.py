"""What stands out? Plain sentences from the facts, the worst first."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from spark.report.facts import Clock, Facts, Node, Parts, Quality, Queue
from spark.report.figures import counted, decimal, duration, listed, number, percent, spoken
from spark.report.machines import among, labels
from spark.report.sampling import median, most

BAD, WARN, NOTE, GOOD = "bad", "warn", "note", "good"
RANKS = {BAD: "Problem", WARN: "Look at", NOTE: "Note", GOOD: "All well"}

BUSY_PERCENT, FULL_RAM_PERCENT = 85, 92
SLOW_S, SLOWER = 0.1, 3  # a loop so late at the median, and so many times as late as the typical node's
RESTLESS = 3  # deaths, or restarts, of one node
CLOCK_S = 2.0  # what the views take for right
UNEVEN, CHOSEN = 0.25, 100  # coefficient of variation, of at least so many choices
WELL_LINKED, FAR_MS, FARTHER = 0.95, 20, 5
NEAR_CAPACITY = 0.8
SILENT_S = 60
STRANDED = 0.1  # of the time in which something waited in a queue
FAILING, ASKED = 0.05, 20  # share of at least so many requests


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence or two. `about` is the section that has more of it."""

    rank: str
    text: str
    about: str


def findings(facts: Facts) -> list[Finding]:
    """The worst first; a single good one if there is nothing to tell."""
    found = [finding for rule in RULES for finding in rule(facts)]
    if not found and facts.nodes:
        text = "Nobody is slow, restless or off the clock, no queue grows, and no line is missing."
        found = [Finding(GOOD, text, "load")]
    return sorted(found, key=lambda finding: list(RANKS).index(finding.rank))


def verdict(facts: Facts) -> str:
    """All of it in one sentence, for who reads no more."""
    if not facts.nodes:
        return "Nothing is known of this time."
    ranks = [finding.rank for finding in findings(facts)]
    where = f"among {among(facts)}"
    bad, warn = ranks.count(BAD), ranks.count(WARN)
    odd = f"{counted(warn, 'thing')} to look at"
    if bad:
        there = f"There {'is' if bad == 1 else 'are'} {counted(bad, 'problem')}"
        return f"{there}, and {odd}, {where}." if warn else f"{there} {where}."
    return f"The mesh works, with {odd} {where}." if warn else f"All is well {where}."


def _gone(facts: Facts) -> Iterator[Finding]:
    gone = [life for life in facts.last_lives.values() if life.ended in ("dead", "silent")]
    if len(gone) == 1:
        when = spoken(gone[0].ended_at or gone[0].last_at)
        yield Finding(BAD, f"{gone[0].node} died at {when} and has not come back.", "membership")
    elif gone:
        names = labels(facts, [life.node for life in gone])
        of_one = " of one machine" if len(names) == 1 else ""
        text = f"{counted(len(gone), 'node')}{of_one} died and have not come back: {listed(names)}."
        yield Finding(BAD, text, "membership")


def _restless(facts: Facts) -> Iterator[Finding]:
    restless = [row for row in facts.flapping if max(row.deaths, row.restarts) >= RESTLESS]
    restless.sort(key=lambda row: -(row.deaths + row.restarts))
    for row in restless[:1]:
        others = _so([other.node for other in restless[1:]])
        text = (
            f"{row.node} flaps: {counted(row.deaths, 'death')} and {counted(row.restarts, 'restart')} "
            f"in {duration(3600 * row.seen_hours)}.{others}"
        )
        yield Finding(BAD, text, "membership")


def _so(names: list[str]) -> str:
    """A sentence on those of whom the same is to be said."""
    return f" So {'does' if len(names) == 1 else 'do'} {listed(names)}." if names else ""


def _false_alarms(facts: Facts) -> Iterator[Finding]:
    alarms = [row.node for row in facts.detections if row.lived_on and row.how == "dead"]
    if alarms:
        names = listed(sorted(set(alarms)))
        times = "Once" if len(alarms) == 1 else f"{len(alarms):,} times"
        why = "a cut network, or a machine that stood still"
        text = f"{times} a node was held dead that lived on ({names}): {why}."
        yield Finding(WARN, text, "detection")


def _slow(facts: Facts) -> Iterator[Finding]:
    typical = median([node.lag_s for node in facts.nodes]) or 0.0
    slow = [node for node in facts.nodes if (node.lag_s or 0) >= max(SLOW_S, SLOWER * typical)]
    slow.sort(key=lambda node: -(node.lag_s or 0))
    names = labels(facts, [node.name for node in slow])
    for node in slow[:1]:
        others = f" {listed(names[1:])} too." if names[1:] else ""
        text = (
            f"{names[0]} is slow: its loop comes {duration(node.lag_s)} late, "
            f"that of the typical node {duration(typical)}.{others}"
        )
        yield Finding(BAD, text, "load")


def _busy(facts: Facts) -> Iterator[Finding]:
    """Both are figures of a whole machine."""
    yield from _of_machines(
        facts,
        [node for node in facts.nodes if (node.cpu_percent or 0) >= BUSY_PERCENT],
        lambda node, who: f"{who} has hardly any cpu left: {percent(node.cpu_percent)} in use at the mean",
        lambda who: f"{who} have hardly any cpu left: over {BUSY_PERCENT} % in use at the mean",
    )
    yield from _of_machines(
        facts,
        [node for node in facts.nodes if (node.ram_peak_percent or 0) >= FULL_RAM_PERCENT],
        lambda node, who: f"{who} was short of memory: {percent(node.ram_peak_percent)} of it in use",
        lambda who: f"{who} were short of memory: over {FULL_RAM_PERCENT} % of it in use",
    )


def _of_machines(
    facts: Facts, nodes: Sequence[Node], one: Callable[[Node, str], str], many: Callable[[str], str]
) -> Iterator[Finding]:
    if nodes:
        names = labels(facts, [node.name for node in nodes])
        text = one(nodes[0], names[0]) if len(names) == 1 else many(listed(names))
        yield Finding(WARN, f"{text}.", "load")


def _queues(facts: Facts) -> Iterator[Finding]:
    growing = [queue for queue in facts.queues if queue.verdict == "growing"]
    for queue in growing[:3]:
        come, go = queue.arrives_per_s, queue.leaves_per_s
        rates = "" if come is None else f": {decimal(come)} a second come, {decimal(go)} go"
        text = (
            f"At {queue.observer} the queue {queue.name} grows by {number(queue.growth_per_hour)} messages "
            f"an hour{rates}; {_waits(queue)}{', and nobody takes them' if queue.is_stranded else ''}."
        )
        yield Finding(BAD, text, "queues")
    if growing[3:]:
        yield Finding(BAD, f"{counted(len(growing) - 3, 'more queue')} grow.", "queues")
    stranded = [queue for queue in facts.queues if queue.is_stranded and queue not in growing[:3]]
    stranded.sort(key=lambda queue: -queue.depth)
    for queue in stranded[:1]:
        others = f" Nor from {listed([_at(other) for other in stranded[1:]])}." if stranded[1:] else ""
        text = f"Nobody takes from the queue {_at(queue)}: {_waits(queue)}.{others}"
        yield Finding(WARN, text, "queues")


def _parts(facts: Facts) -> Iterator[Finding]:
    stranded = [each for each in facts.parts if (each.stranded_share or 0) >= STRANDED]
    starved = [each for each in facts.parts if (each.starved_share or 0) >= STRANDED and each not in stranded]
    stranded.sort(key=lambda each: -(each.stranded_share or 0))
    starved.sort(key=lambda each: -(each.starved_share or 0))
    for each in stranded[:1]:
        text = (
            f"In {percent(each.stranded_share, 1)} of the time in which something waited in the queue "
            f"{each.name}, it waited where nobody takes, and somebody took elsewhere: "
            f"{counted(each.stranded_max or 0, 'message')} at most{_others(stranded)}."
        )
        yield Finding(WARN, text, "queues")
    for each in starved[:1]:
        text = (
            f"In {percent(each.starved_share, 1)} of the time in which something waited in the queue "
            f"{each.name}, consumers at another node had room for it: for "
            f"{counted(each.starved_max or 0, 'message')} at most{_others(starved)}."
        )
        yield Finding(NOTE, text, "queues")


def _others(found: Sequence[Parts]) -> str:
    return f". So it was with {listed([each.name for each in found[1:]])}" if found[1:] else ""


def _at(queue: Queue) -> str:
    return f"{queue.name} at {queue.observer}"


def _waits(queue: Queue) -> str:
    oldest = f", the oldest for {duration(queue.oldest_s)}" if queue.oldest_s else ""
    return f"{counted(queue.depth, 'message')} wait{'s' if queue.depth == 1 else ''}{oldest}"


def _uneven(facts: Facts) -> Iterator[Finding]:
    groups: dict[tuple[str, str], list[Quality]] = {}
    for row in facts.balance:
        groups.setdefault(row.whose, []).append(row)
    uneven = [rows for rows in groups.values() if (rows[0].chosen_variation or 0) >= UNEVEN]
    uneven = [rows for rows in uneven if sum(row.chosen for row in rows) >= CHOSEN]
    uneven.sort(key=lambda rows: -(rows[0].chosen_variation or 0))
    for rows in uneven[:1]:
        row = max(rows, key=lambda row: abs((row.chosen_ratio or 0) - 1))
        others = _so([other[0].observer for other in uneven[1:]])
        text = (
            f"{row.observer} balances unevenly: {row.node} got {percent(row.chosen_share, 1)} of its "
            f"messages with {percent(row.capacity_share, 1)} of the capacity.{others}"
        )
        yield Finding(WARN, text, "balance")


def _near_capacity(facts: Facts) -> Iterator[Finding]:
    full = sorted((row for row in facts.forecasts if row.full_at), key=lambda row: str(row.full_at))
    for row in full[:1]:
        last = spoken(row.full_last_at) if row.full_last_at else "a time too far off to tell"
        others = f" After it {listed([other.node for other in full[1:]])}." if full[1:] else ""
        text = (
            f"If its load goes on growing as it did, {row.node} is full on {spoken(row.full_at)} "
            f"(between {spoken(row.full_first_at)} and {last}).{others}"
        )
        yield Finding(WARN, text, "capacity")
    near = [row for row in facts.forecasts if row.in_use >= NEAR_CAPACITY and not row.full_at]
    near.sort(key=lambda row: -row.in_use)
    for row in near[:1]:
        others = f" {listed([other.node for other in near[1:]])} too." if near[1:] else ""
        text = (
            f"{row.node} carried {number(row.rate_per_s)} of the {number(row.capacity_per_s)} messages "
            f"a second that it can take, at the mean.{others}"
        )
        yield Finding(WARN, text, "capacity")


def _links(facts: Facts) -> Iterator[Finding]:
    known = [(link.logged_in_share, link) for link in facts.links if link.logged_in_share is not None]
    loose = [(share, link) for share, link in known if share < WELL_LINKED and link.lost]
    for share, link in sorted(loose, key=lambda row: row[0])[:1]:
        more = f" {counted(len(loose) - 1, 'more link')} like it." if loose[1:] else ""
        text = (
            f"The link from {link.observer} to {link.node} was lost {counted(link.lost, 'time')}, and was "
            f"there for {percent(share, 1)} of the time.{more}"
        )
        yield Finding(WARN, text, "links")
    typical = median([link.rtt_median_ms for link in facts.links]) or 0.0
    far = [link for link in facts.links if (link.rtt_median_ms or 0) >= max(FAR_MS, FARTHER * typical)]
    for link in sorted(far, key=lambda link: -(link.rtt_median_ms or 0))[:1]:
        more = f" {counted(len(far) - 1, 'more link')} like it." if far[1:] else ""
        text = (
            f"From {link.observer} to {link.node} and back takes {decimal(link.rtt_median_ms)} ms, "
            f"elsewhere {decimal(typical)} ms.{more}"
        )
        yield Finding(NOTE, text, "links")


def _clocks(facts: Facts) -> Iterator[Finding]:
    off = sorted(wrong_clocks(facts), key=lambda clock: -abs(clock.skew_s))
    names = labels(facts, [clock.node for clock in off])
    if len(names) == 1:
        side = "ahead" if off[0].skew_s > 0 else "behind"
        text = f"The clock of {names[0]} is {duration(abs(off[0].skew_s))} {side}"
    elif off:
        text = f"The clocks of {listed(names)} are off, by up to {duration(abs(off[0].skew_s))}"
    if off:
        yield Finding(WARN, f"{text}. Times here are put right.", "clocks")


def wrong_clocks(facts: Facts) -> list[Clock]:
    """Clocks that are off by more than the views let pass."""
    return [clock for clock in facts.clocks if abs(clock.skew_s) > CLOCK_S]


def _missing(facts: Facts) -> Iterator[Finding]:
    lost = sum(row.states_lost for row in facts.coverage)
    if lost:
        worst = max(facts.coverage, key=lambda row: row.states_lost)
        text = f"{counted(lost, 'state')} of nodes never came here, most of them of {worst.node}."
        yield Finding(NOTE, text, "quality")
    bad = sum(row.rows for row in facts.quarantined)
    if bad:
        worst_reason = max(facts.quarantined, key=lambda row: row.rows)
        text = f"{counted(bad, 'line')} could not be read and lie{'s' if bad == 1 else ''} in quarantine, "
        yield Finding(WARN, f"{text}most often because: {worst_reason.reason}.", "quality")
    gap = most([row.gap_s for row in facts.coverage])
    if gap and gap >= max(SILENT_S, 3 * facts.width_s):
        row = max(facts.coverage, key=lambda row: row.gap_s or 0)
        end = spoken(row.gap_at + timedelta(seconds=gap)) if row.gap_at else "-"
        text = f"Nothing is known of {row.node} for {duration(gap)}, from {spoken(row.gap_at)} to {end}."
        yield Finding(NOTE, text, "quality")
    strange = sum(row.future + row.past for row in facts.coverage)
    if strange:
        text = (
            f"{counted(strange, 'row')} have a time later than now or before 2020: a clock that was not set."
        )
        yield Finding(NOTE, text, "quality")


def _failing(facts: Facts) -> Iterator[Finding]:
    """Addresses of whose requests too many have no good reply, the worst first."""
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
        more = f" So did many of those to {listed(others)}." if others else ""
        text = f"Of {counted(asked, 'request')} to {address} {percent(share, 1)} failed.{more}"
        yield Finding(WARN, text, "services")


def _largest_topic(facts: Facts) -> Iterator[Finding]:
    everything = sum(topic.messages for topic in facts.topics)
    for topic in facts.topics[:1]:
        if len(facts.topics) > 3 and topic.messages > everything / 2:
            share = percent(topic.messages / everything, 1)
            text = f"{topic.topic} alone has {share} of the messages of the busiest topics."
            yield Finding(NOTE, text, "topics")


RULES: tuple[Callable[[Facts], Iterator[Finding]], ...] = (
    _gone, _slow, _queues, _parts, _restless, _uneven, _near_capacity, _busy, _links, _clocks, _false_alarms,
    _failing, _missing, _largest_topic,
)  # fmt: skip
