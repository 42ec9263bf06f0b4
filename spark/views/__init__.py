"""Views of the history of a mesh, as functions.

Each is a function from the history (mesh.history.reading.history) to a
DataFrame.

They filter `kind` themselves, so that only the partitions that they need are read, and they take times as
they stand: `clocks.aligned(history)` first puts right those of nodes whose clocks are wrong. Nothing is
computed before the DataFrame is used, but for `load.width`. Names of columns end with their unit: `_s`
seconds, `_ms` milliseconds, `_per_s` a second, `_per_hour` an hour, `_percent` 0..100, `_share` 0..1.
Columns that end with `_at` are timestamps. Counts are whole numbers, and null is what the history does not
tell.

What one view needs of another can be given where it is at hand: `known_skews` is what clocks.skews found,
`lives` what membership.timeline found.

Of a boot whose start lies before the history, counters count from its first line in the history.

clocks.skews(history)
    One row a node: uuid, node, skew_s (how far its clock is ahead of the mesh's common time), observers.
clocks.aligned(history, known_skews=None)
    The history itself, with the common time in `ts` for nodes that are more than 2 s off.
load.over_time(history, width_s=None, buckets=120)
    One row a bucket of time and node: bucket_at (its start), width_s, node, states, cpu_percent, load_share
    (mean), lag_s (worst), ram_percent (used), published_per_s, delivered_per_s, pending, tailback, queued
    (messages, most), machine (the last one that it ran on).
load.width(history, buckets=120)
    The width in s of such buckets, a round one; None without any state.
balance.counters(history)
    One row an observer, its boot and a candidate, since that boot began: observer, observer_uuid,
    observer_boot, node, sent, chosen (messages), asked, answered (questions), seconds (that the answers
    took, all together), clean (that boot ended with a clean stop, so that the figures are final).
balance.quality(history)
    One row an observer and candidate: observer, observer_uuid, node, sent, chosen, sent_share,
    chosen_share, answered, latency_ms (mean), capacity (idle cores), capacity_share (of those that were
    there), sent_ratio, chosen_ratio (share / capacity share: 1 is just), sent_variation, chosen_variation
    (of the observer: coefficient of variation of those ratios).
membership.timeline(history)
    One row a node and boot: node, uuid, boot, first_at, last_at (signs of life), state_at (last state),
    up_s (as it says), seen_s (of it, in the history), states, ended ("stopped", "left", "dead", "replaced"
    by its next boot, "silent", "there" still), ended_at.
membership.flapping(history, lives=None)
    One row a node: node, uuid, suspicions, refutations, deaths, restarts, seen_hours, changes_per_hour.
detection.times(history, lives=None)
    One row a death or goodbye: how ("dead" or "left"), node, uuid, boot, last_at (last state),
    first_observer, first_at, final_at (the last observer's), first_s, final_s (since last_at), age_s (since
    the first observer had received it), observers, lived_on (it was no death: states came later).
links.matrix(history)
    One row an observer and node: observer, node, state (last), rtt_median_ms, rtt_p95_ms, logged_in_share
    (of the lines), lines, lost (times that the link was lost), last_at.
queues.growth(history)
    One row an observer and queue: observer, queue, depth, bytes, oldest_s, consumers (last), arrives_per_s,
    leaves_per_s (mean; these three of `queue/…` alone), depth_max, growth_per_hour (messages), verdict
    ("growing", "steady", "draining", "unknown"), lines, last_at.
parts.of_queues(history, n=1000)
    One row a queue that was at several nodes, or of which something was moved: queue, parts (nodes), put,
    moved (messages), moved_share (of what was put), stranded_share (of the time in which something was
    ready: it waited where nobody takes, and somebody took elsewhere), stranded_max (messages),
    starved_share (consumers at another node had room for more than waits there), starved_max.
topics.busiest(history, n=20)
    One row a domain and topic, the busiest first: domain, topic, messages, messages_per_s, bytes, masters
    (nodes that took them).
services.fared(history, n=1000)
    One row an address and node that serves it, the busiest first: address, node (empty: nobody), requests,
    requests_per_s, replies, failed, lost, refused, expired (requests), sent (messages without a reply),
    mean_ms, p50_ms (of the replies), p99_ms (of the worst 10 s), callers (nodes whose clients asked).
services.over_time(history, width_s=None, n=8)
    One row a bucket of time and address, of the n busiest: bucket_at (its start), address, requests_per_s,
    failures_per_s, p50_ms, p99_ms (of the worst 10 s).
forecast.capacity(history)
    One row a node: node, uuid, points, rate_per_s (mean), load_share (mean), r2, capacity_per_s (messages
    at load 1), capacity_low_per_s, capacity_high_per_s (95 %), reason (why there is none), full_at,
    full_first_at, full_last_at (when the trend of its load reaches 1, 95 %; null for never).
capacity.idle(history)
    One row a node: node, uuid, states, last_at, load_share (mean), foreign_share (not the mesh's),
    idle_cores (left of its cores without the mesh's load).
answers.latencies(history, known, half_life_s=86400)
    One row a node: node, answers, unanswered (questions), latency_ms (mean of the answers of all observers,
    of which newer ones count more; an unanswered question counts 2 s). `known` is what capacity.idle found.
coverage.rows(history)
    One row a node: node, uuid, boots, states, states_lost (numbers that are missing within a boot),
    first_at, last_at, gap_s (longest time without a state, from 30 s), gap_at (when that began), lines
    (others that it wrote), future (rows later than now), past (rows before 2020).
coverage.quarantined(history)
    One row a reason and node that wrote the segment: reason, node, rows, segments, example (text).
"""
