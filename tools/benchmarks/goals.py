"""What is to be reached? One row a figure, on a machine of two cores."""

from dataclasses import dataclass

from tools.benchmarks.growth.curves import EXPERIMENTS


@dataclass(frozen=True, slots=True)
class Goal:
    """`limit` in `unit`; None where no figure is promised, only reported. `more`: more is better."""

    what: str
    unit: str
    limit: float | None = None
    more: bool = False

    def ratio(self, measured: float) -> float | None:
        """How well it is reached: 1 or above is good."""
        if self.limit is None or not measured:
            return None
        return measured / self.limit if self.more else self.limit / measured

    def is_reached(self, measured: float) -> bool:
        ratio = self.ratio(measured)
        return ratio is None or ratio >= 1.0


GOALS = {
    "one topic": Goal("post, one topic, 100 B", "msg/s", 200_000, more=True),
    "100 topics, pattern": Goal("post, 100 topics, 100 B, one pattern", "msg/s", 40_000, more=True),
    "100 topics, exact": Goal("post, 100 topics, 100 B, each subscribed", "msg/s", 40_000, more=True),
    "1 KiB": Goal("post, one topic, 1 KiB", "msg/s"),
    "rules, here": Goal("post, one topic, 100 B, here by a rule", "msg/s"),
    "one hop": Goal("post, one topic, 100 B, to its master", "msg/s"),
    "two hops": Goal("post, one topic, 100 B, to its master by a way", "msg/s"),
    "rules by none": Goal("here by a rule, of one topic without rules", "of 1", 0.9, more=True),
    "two hops by one": Goal("two hops, of one hop", "of 1", 0.6, more=True),
    "publish_many": Goal("publish_many, one topic, 100 B", "msg/s"),
    "p50": Goal("a lone message at 500/s, median", "ms", 1.0),
    "p99": Goal("a lone message at 500/s, 99 of 100", "ms"),
    "max": Goal("a lone message at 500/s, worst", "ms"),
    "p50, one hop": Goal("likewise to its master, median", "ms"),
    "p50, two hops": Goal("likewise to its master by a way, median", "ms"),
    "late": Goal("the sender itself was late, median", "ms"),
    "resident": Goal("idle node with two peers, resident", "MB", 45.0),
    "cpu": Goal("idle node with two peers, of a core", "%", 1.0),
    "help": Goal("mesh --help", "ms", 200.0),
    "ready": Goal("mesh up, until it is ready", "s", 1.0),
    "durable": Goal("persistent, window-limited, 100 B, acked", "msg/s"),
    "durable, alone": Goal("persistent, one at a time, 100 B, acked", "msg/s"),
    "fsyncs": Goal("raw fsync of 4 KiB, beside it", "1/s"),
    "durable by fsync": Goal("one at a time, of raw fsyncs", "of 1"),
    "lost": Goal("lost of what was promised", "messages", 0.0),
    "doubled": Goal("doubled", "messages", 0.0),
    "disordered": Goal("out of their publisher's order", "messages", 0.0),
    "unwanted": Goal("refused, and came", "messages", 0.0),
    "answered": Goal("answered with OK", "messages"),
    "warned": Goal("answered with FORWARD_WARNING", "messages"),
    "refused": Goal("refused", "messages"),
    "while killed": Goal("promised and arrived, all publishers", "msg/s"),
    "recovery": Goal("worst recovery after a kill", "s"),
    "found by mdns, p50": Goal("3 nodes see each other by mDNS, median", "s", 2.0),
    "found by mdns, p99": Goal("3 nodes see each other by mDNS, 99 of 100", "s", 2.0),
    "found by a seed, p50": Goal("3 nodes see each other by one seed, median", "s", 2.0),
    "found by a seed, p99": Goal("3 nodes see each other by one seed, 99 of 100", "s", 2.0),
    "killed of 3, p50": Goal("kill -9 of 1 of 3 seen by all, median", "s", 1.5),
    "killed of 3, p99": Goal("kill -9 of 1 of 3 seen by all, 99 of 100", "s", 1.5),
    "killed of 10, p50": Goal("kill -9 of 1 of 10 seen by all, median", "s", 1.5),
    "killed of 10, p99": Goal("kill -9 of 1 of 10 seen by all, 99 of 100", "s", 1.5),
    "silent of 3, p50": Goal("silence of 1 of 3 seen by all, median", "s", 8.0),
    "silent of 3, p99": Goal("silence of 1 of 3 seen by all, 99 of 100", "s", 8.0),
    "silent of 10, p50": Goal("silence of 1 of 10 seen by all, median", "s", 11.0),
    "silent of 10, p99": Goal("silence of 1 of 10 seen by all, 99 of 100", "s", 11.0),
    "stopped of 3, p50": Goal("goodbye of 1 of 3 seen by all, median", "s", 0.5),
    "stopped of 3, p99": Goal("goodbye of 1 of 3 seen by all, 99 of 100", "s", 0.5),
    "simulated, 3, p50": Goal("simulated silence of 1 of 3 seen by all, median", "s", 6.0),
    "simulated, 3, p99": Goal("simulated silence of 1 of 3 seen by all, 99 of 100", "s", 8.0),
    "simulated, 10, p50": Goal("simulated silence of 1 of 10 seen by all, median", "s", 8.0),
    "simulated, 10, p99": Goal("simulated silence of 1 of 10 seen by all, 99 of 100", "s", 11.0),
    "simulated, 3, hint, p50": Goal("simulated kill of 1 of 3 seen by all, median", "s", 1.5),
    "simulated, 3, hint, p99": Goal("simulated kill of 1 of 3 seen by all, 99 of 100", "s", 1.5),
    "simulated, 10, hint, p50": Goal("simulated kill of 1 of 10 seen by all, median", "s", 1.5),
    "simulated, 10, hint, p99": Goal("simulated kill of 1 of 10 seen by all, 99 of 100", "s", 1.5),
    "simulated, 100, p50": Goal("simulated silence of 1 of 100 seen by all, median", "s"),
    "simulated, 100, p99": Goal("simulated silence of 1 of 100 seen by all, 99 of 100", "s", 20.0),
    "membership, cpu": Goal("membership of 1,000 nodes, of a core", "%", 8.0),
    "membership, memory": Goal("membership of 1,000 nodes, memory", "MB", 60.0),
    "falsely dead": Goal("said to be dead, and lived", "times", 0.0),
    "in turn": Goal("RoundRobin: gets of any of 3 masters, off a third", "points", 1.0),
    "in turn, p90": Goal("RoundRobin: a get while one master is busy, 9 of 10", "ms"),
    "busy": Goal("LeastLoaded: gets of a busy master, after 6 s", "%", 15.0),
    "busy, felt": Goal("LeastLoaded: a busy master is asked less", "s", 6.0),
    "relieved": Goal("LeastLoaded: gets of a relieved master, after 10 s", "%", 25.0, more=True),
    "relieved, felt": Goal("LeastLoaded: a relieved master is asked again", "s", 10.0),
    "by load, p90": Goal("LeastLoaded: a get while one master is busy, 9 of 10", "ms"),
    "snapshots, cpu": Goal("snapshots of a node of 100, of a core", "%", 1.0),
    "snapshots, line": Goal("a line of a snapshot, made and written", "µs"),
    "snapshots, node": Goal("a node of 10 that writes snapshots, of one that does not", "of 1"),
    "spark, 1 M": Goal("ingest and all views, warm: 1,000,000 lines", "s"),
    "spark, 2 M": Goal("ingest and all views, warm: 2,000,000 lines", "s"),
    "spark, 5 M": Goal("ingest and all views, warm: 5,000,000 lines", "s", 60.0),
    "spark, 10 M": Goal("ingest and all views, warm: 10,000,000 lines", "s"),
    "spark, 20 M": Goal("ingest and all views, warm: 20,000,000 lines", "s"),
    "spark, few": Goal("ingest and all views, warm: a few lines", "s"),
    "spark, growth": Goal("their time grows with this power of the lines", "", 1.1),
    "spark, memory": Goal("ingest and all views: memory of JVM and Python, at most", "MB", 3_000.0),
    "stopped, p99": Goal(
        "lone messages beside a stopped subscriber: p99, of that while all read", "of 1", 1.2
    ),
    "stopped, memory": Goal("a stopped subscriber's node grows by", "MB", 16.0),
    "waiting": Goal("kill -9 with so much waiting, until a publish is answered again", "s", 10.0),
    "weights, p99": Goal("learnt weights: 99 of 100 gets with a slow master, of RoundRobin", "of 1", 0.8),
    "weights, learnt": Goal("learnt weights: of the slow master", "of 1"),
    "weights, in turn, p99": Goal("RoundRobin: a get with a slow master, 99 of 100", "ms"),
    "weights, in turn, p50": Goal("RoundRobin: a get with a slow master, median", "ms"),
    "weights, weighted, p99": Goal("WeightedRoundRobin: likewise by learnt weights, 99 of 100", "ms"),
    "weights, weighted, p50": Goal("WeightedRoundRobin: likewise by learnt weights, median", "ms"),
}
GOALS |= {
    each.row(figure): Goal(each.what(figure), "", figure.limit)
    for each in EXPERIMENTS
    for figure in each.figures
}
