"""The sections about links, queues and topics."""

from mesh.history.report.charts.by_name import bars, matrix
from mesh.history.report.charts.over_time import bands, lines
from mesh.history.report.facts import Facts
from mesh.history.report.figures import counted, decimal, duration, harmless, number, percent, signed, size
from mesh.history.report.markup import Html
from mesh.history.report.message_rows import Queue, Topic
from mesh.history.report.node_rows import Link
from mesh.history.report.sampling import median, most
from mesh.history.report.sections.section import FEW, Section, axis, drawn, in_words, nothing, worst

HOW_LINKS = (
    "Each cell is the round-trip time from the node at the left to the node below, in ms "
    "(median of one measurement every ten seconds); darker is longer. An empty cell is a "
    "link that was not needed."
)
HOW_QUEUES = (
    "Messages that wait at a node: in queues, for subscribers that are slow or disconnected, and for "
    "unreachable masters. Growth is the slope of a line through all samples, in messages an hour. Consumers "
    "(at the end) and messages that arrive and leave a second (means) are known of queues only. Work is "
    "stranded while it waits at a node without a consumer and another node has one; consumers starve while "
    "they have more credit than work and work waits elsewhere. Both are shares of the time in which messages "
    "waited."
)
HOW_TOPICS = "What the masters of a topic accepted, in messages and in bytes of content."
MOST = 300  # rows and columns of the matrix
LINKS = ("From", "To", "Last state", "Median", "95th percentile", "Logged in", "Times lost")
QUEUES = (
    "At", "Queue", "Verdict", "Growth an hour", "Waiting now", "Most", "Oldest waits", "Size", "Consumers",
    "Arrive a second", "Leave a second",
)  # fmt: skip
PARTS = ("Queue", "Nodes", "Put", "Moved", "Of what was put", "Stranded", "At most", "Starved", "For at most")
TOPICS = ("Topic", "Domain", "Messages", "Share of these", "A second", "Content", "Mean size", "Masters")
GROWTH = {"growing": "grows", "draining": "drains", "steady": "steady", "unknown": "too new"}


def links(facts: Facts) -> Section:
    """Return the section with the round trips of all links, and the links that were not always up."""
    return Section("links", "Links", HOW_LINKS, _links(facts))


def _links(facts: Facts) -> Html:
    if not facts.links:
        return nothing("No link was seen.")
    slowest = sorted(facts.links, key=lambda link: (-(link.rtt_median_ms or 0), link.observer, link.node))
    loose = [link for link in facts.links if link.lost or (link.logged_in_share or 0) < 1]
    loose.sort(key=lambda link: (link.logged_in_share is None, link.logged_in_share, -link.lost))
    table = worst("Slowest links", LINKS, [_link(link) for link in slowest], 3)
    if loose:
        table = Html(
            table + worst("Links that were not always up", LINKS, [_link(link) for link in loose], 3)
        )
    else:
        table = Html(table + nothing("Every link was up all the time."))
    return Html(_matrix(facts) + table)


def _matrix(facts: Facts) -> Html:
    measured = [link for link in facts.links if link.rtt_median_ms]
    if not measured:
        return nothing("No round trip has been measured.")
    rows, columns = (sorted({getattr(link, end) for link in measured})[:MOST] for end in ("observer", "node"))
    found = {(link.observer, link.node): link.rtt_median_ms for link in measured}
    cells = [[found.get((row, column)) for column in columns] for row in rows]
    times = [link.rtt_median_ms for link in measured]
    title = "Round trip from each node to each other"
    text = (
        f"{title}: {counted(len(measured), 'link')}, median {decimal(median(times))} ms, at "
        f"most {decimal(most(times))} ms."
    )
    return drawn("links", title, matrix(rows, columns, cells, "ms"), text)


def _link(link: Link) -> tuple[str, ...]:
    return (
        link.observer,
        link.node,
        link.state or "-",
        _ms(link.rtt_median_ms),
        _ms(link.rtt_p95_ms),
        percent(link.logged_in_share, 1),
        number(link.lost),
    )


def _ms(value: float | None) -> str:
    return duration(None if value is None else value / 1000)


def queues(facts: Facts) -> Section:
    """Return the section about waiting messages, the growth of queues, and moves between their nodes."""
    return Section("queues", "Queues", HOW_QUEUES, Html(_waiting(facts) + _queues(facts) + _parts(facts)))


def _waiting(facts: Facts) -> Html:
    rows = facts.series["waiting"]
    if not any(most(values) for values in rows.values()):
        return nothing("No node has reported waiting messages.")
    title, unit = "Waiting messages", "messages"
    if len(rows) > FEW:
        title += f", of {len(rows):,} nodes: the median, the middle 80 % and the highest"
    draw = lines if len(rows) <= FEW else bands
    return drawn("waiting", title, draw(axis(facts), rows, unit), in_words(rows, f"{title}, {unit}", number))


def _queues(facts: Facts) -> Html:
    grows = [queue for queue in facts.queues if queue.verdict == "growing"]
    text = f"{counted(len(grows), 'queue grows', 'queues grow')}." if grows else "No queue grows."
    stranded = [queue for queue in facts.queues if queue.is_stranded]
    if stranded:
        text += f" {counted(len(stranded), 'queue has', 'queues have')} messages without a consumer."
    words = nothing(text)
    rows = [queue for queue in facts.queues if queue.depth_max]
    if not rows:
        return words
    return Html(words + worst("Queues, the fastest growing first", QUEUES, [_queue(row) for row in rows], 3))


def _queue(queue: Queue) -> tuple[str, ...]:
    return (
        queue.observer,
        queue.queue,
        "stranded" if queue.is_stranded else GROWTH.get(queue.verdict, queue.verdict),
        signed(queue.growth_per_hour),
        number(queue.depth),
        number(queue.depth_max),
        duration(queue.oldest_s),
        size(queue.bytes),
        number(queue.consumers),
        decimal(queue.arrives_per_s),
        decimal(queue.leaves_per_s),
    )


def _parts(facts: Facts) -> Html:
    if not facts.parts:
        return Html("")
    rows = [
        (
            each.name,
            number(each.parts),
            number(each.put),
            number(each.moved),
            percent(each.moved_share, 1),
            percent(each.stranded_share, 1),
            number(each.stranded_max),
            percent(each.starved_share, 1),
            number(each.starved_max),
        )
        for each in facts.parts
    ]
    return worst("Queues at several nodes, those with the most moves first", PARTS, rows, 1)


def topics(facts: Facts) -> Section:
    return Section("topics", "Busiest topics", HOW_TOPICS, _topics(facts))


def _topics(facts: Facts) -> Html:
    if not facts.topics:
        return nothing("No master has accepted a message.")
    names = [_name(topic) for topic in facts.topics]
    title = f"The {counted(len(names), 'busiest topic')}" if len(names) > 1 else "The only topic"
    told = [f"{name} {number(topic.messages)}" for name, topic in zip(names, facts.topics, strict=True)]
    chart = bars(names, [topic.messages for topic in facts.topics], "messages")
    total = sum(topic.messages for topic in facts.topics)
    rows = [_topic(topic, total) for topic in facts.topics]
    return Html(
        drawn("topics", title, chart, f"{title}, messages: {'; '.join(told)}.")
        + worst("Topics, the busiest first", TOPICS, rows, 2, shown=20)
    )


def _name(topic: Topic) -> str:
    return harmless(f"{topic.topic} ({topic.domain})" if topic.domain else topic.topic)


def _topic(topic: Topic, total: int) -> tuple[str, ...]:
    mean = topic.bytes / topic.messages if topic.messages else None
    return (
        topic.topic,
        topic.domain or "-",
        number(topic.messages),
        percent(topic.messages, total or 1),
        decimal(topic.messages_per_s),
        size(topic.bytes),
        size(mean),
        number(topic.masters),
    )
