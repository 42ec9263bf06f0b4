"""Views of the history of a mesh, as functions.

Each view is a function from the history (mesh.history.reading.history) to a DataFrame. It filters `kind`
itself, so that Spark reads only the needed partitions, and uses times as recorded. To correct the times of
nodes whose clocks are wrong, pass the result of `clocks.aligned(history)`. Nothing is computed before the
DataFrame is used, except by `load.width`, which both `over_time` views call if they get no width.

Names of columns end with their unit: `_s` seconds, `_ms` milliseconds, `_per_s` per second, `_per_hour` per
hour, `_percent` 0..100, `_share` 0..1. Columns that end with `_at` are timestamps. Counts are whole numbers.
Null means unknown.

A view that needs the result of another accepts it as an argument: `known_skews` is the result of
clocks.skews, `lives` that of membership.timeline.

The counters of a boot that started before the history count from its first line in the history, except in
`balance.counters`.

clocks.skews(history)
    One row per node: uuid, node, skew_s (how far its clock is ahead of the mesh's common time), observers.
clocks.aligned(history, known_skews=None)
    The history itself, with the common time in `ts` for nodes that are more than 2 s off.
load.over_time(history, width_s=None, buckets=120)
    One row per bucket of time and node: bucket_at (its start), width_s, node, states, cpu_percent, load_share
    (mean), lag_s (maximum), ram_percent (used), published_per_s, delivered_per_s, pending, tailback, queued
    (messages, maximum), machine (the last one that it ran on).
load.width(history, buckets=120)
    The width of these buckets in s, a round number; None without states.
balance.counters(history)
    One row per observer, boot and candidate, counted since the boot began: observer, observer_uuid,
    observer_boot, node, sent, chosen (messages), asked, answered (reads), seconds (response times
    of all answers, added up), clean (the boot stopped cleanly, so the counts are final).
balance.quality(history)
    One row per observer and candidate: observer, observer_uuid, node, sent, chosen, sent_share,
    chosen_share, answered, latency_ms (mean), capacity (idle cores), capacity_share (of the candidates
    that were reachable), sent_ratio, chosen_ratio (share / capacity_share: 1 is fair), sent_variation,
    chosen_variation (of the observer: coefficient of variation of these ratios).
membership.timeline(history)
    One row per node and boot: node, uuid, boot, first_at, last_at (signs of life), state_at (last state),
    up_s (its last uptime), seen_s (uptime within the history), states, ended ("stopped", "left", "dead",
    "replaced" by its next boot, "silent", "there" if it still runs), ended_at.
membership.flapping(history, lives=None)
    One row per node: node, uuid, suspicions, refutations, deaths, restarts, seen_hours, changes_per_hour.
detection.times(history, lives=None)
    One row per death or goodbye: how ("dead" or "left"), node, uuid, boot, last_at (last state),
    first_observer, first_at, final_at (by the last observer), first_s, final_s (since last_at), age_s (since
    the first observer's last contact), observers, lived_on (later states exist, so it was no death).
links.matrix(history)
    One row per observer and node: observer, node, state (last), rtt_median_ms, rtt_p95_ms, logged_in_share
    (of the lines), lines, lost (times that the link was lost), last_at.
queues.growth(history)
    One row per observer and queue: observer, queue, depth, bytes, oldest_s, consumers (last), arrives_per_s,
    leaves_per_s (mean; these three only for `queue/…`), depth_max, growth_per_hour (messages), verdict
    ("growing", "steady", "draining", "unknown"), lines, last_at.
parts.of_queues(history, n=1000)
    One row per queue that was at several nodes, or whose messages were moved: queue, parts (nodes), put,
    moved (messages), moved_share (of put), stranded_share (of the time in which messages were ready: some
    were at a node without a consumer, while another node had one), stranded_max (messages),
    starved_share (of the same time: consumers at another node had more credit than work), starved_max.
topics.busiest(history, n=20)
    One row per domain and topic, the busiest first: domain, topic, messages, messages_per_s, bytes, masters
    (nodes that accepted them).
services.fared(history, n=1000)
    One row per address and serving node, the busiest first: address, node (empty without one), requests,
    requests_per_s, replies, failed, lost, refused, expired (requests), sent (messages without a reply),
    mean_ms, p50_ms (of the replies), p99_ms (of the worst 10 s), callers (nodes of the requesters).
services.over_time(history, width_s=None, n=8)
    One row per bucket of time and address, for the n busiest: bucket_at (its start), address, requests_per_s,
    failures_per_s, p50_ms, p99_ms (of the worst 10 s).
forecast.capacity(history)
    One row per node: node, uuid, points, rate_per_s (mean), load_share (mean), r2, capacity_per_s (messages
    at load 1), capacity_low_per_s, capacity_high_per_s (95 %), reason (why it is unknown), full_at,
    full_first_at, full_last_at (when the trend of its load reaches 1, 95 %; null if never).
capacity.idle(history)
    One row per node: node, uuid, states, last_at, load_share (mean), foreign_share (not of the mesh),
    idle_cores (cores that remain beside the foreign load).
answers.latencies(history, known, half_life_s=86400)
    One row per node: node, answers, unanswered (reads), latency_ms (mean of the answers to other observers;
    newer ones count more, and an unanswered read counts as 2 s). `known` is rows.newest of capacity.idle.
coverage.rows(history)
    One row per node: node, uuid, boots, states, states_lost (numbers that are missing within a boot),
    first_at, last_at, gap_s (longest time without a state, from 30 s), gap_at (start of that gap),
    lines (of other kinds, which it wrote), future (rows later than now), past (rows before 2020).
coverage.quarantined(history)
    One row per reason and node that wrote the segment: reason, node, rows, segments, example (text).
"""
