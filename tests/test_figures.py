"""Agreement of the figures on the pages with those of the code. A failure names the page to change."""

import re
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from mesh import weightset
from mesh.balancers import capacity, least_loaded
from mesh.client.core import accumulator, node_connection
from mesh.config import DAY, FIELDS, MIB, Limits, Snapshots, TimingSettings
from mesh.discovery import advert_limiter, listening, relay, rumor_evidence, rumor_queue
from mesh.discovery import state as node_state
from mesh.discovery.detector import AGAIN
from mesh.discovery.timing import SwimTiming
from mesh.kernel.access import authenticator
from mesh.kernel.asking import lookup
from mesh.kernel.context import node_clock, settings
from mesh.kernel.peers import peer_address_book, remembered_nodes, rounds
from mesh.routing import feed_state
from mesh.security import zap
from mesh.shell import damper, driver, lag
from mesh.store import room, witnessed
from mesh.store.lease import LeaseTiming
from mesh.streams import origin
from mesh.values import LONGEST_DOMAIN, LONGEST_KEY
from mesh.wire import limits
from tools.simulator import campaign, counters
from tools.simulator.checks import members

DOCS = Path(__file__).parents[1] / "docs"
WORDS: dict[float, str] = {
    0.001: "a millisecond",
    0.1: "a tenth",
    0.5: "half a second",
    1: "a second",
    2: "two seconds",
    3: "three",
    6: "six",
    10: "ten seconds",
}
ORDINALS: dict[float, str] = {50: "fiftieth"}
KIB, WEEK_NS = 1024, 7 * int(DAY) * 10**9
CORE = {field.name: field.default for field in fields(settings.Settings)}
LIMITS, TIMING, SWIM, LEASE = Limits(), TimingSettings(), SwimTiming(), LeaseTiming()

# Texts of each page, with {} for a figure in digits, or (:w) in words; and the figures of the code.
SAID: dict[str, list[tuple[str, tuple[Any, ...]]]] = {
    "routing.md": [
        ("A route has at most {} hops", (limits.HOPS,)),
        ("if no answer comes within {} s, the next", (lookup.HEDGE,)),
    ],
    "balancing.md": [
        ("Every node publishes its [load](gossip.md#load) every {} s", (TIMING.state,)),
        ("A `get` that it does not answer within {} s goes to the next master", (lookup.HEDGE,)),
        ("counts as at most {} times, and at least a quarter of", (capacity.BELIEVED,)),
        ("attracts at most {} times a typical node's share", (capacity.BELIEVED,)),
        ("bilbo's {} became", (capacity.FULL,)),
        ("frodo is within {} % of it", (round(100 * (least_loaded.BAND - 1)),)),
        ("or without one for {} intervals, counts with the median", (capacity.MISSED,)),
        ("At most {} nodes; a mesh of another name", (weightset.NODES,)),
        ("more than {} KiB, as it is sent", (weightset.PACKED // KIB,)),
    ],
    "links.md": [("in a mesh of more than {} nodes, only while it is needed", (rounds.CROWD,))],
    "finding.md": [
        ("in `mesh events`, at most {} a minute, then as a count", (damper.MOST,)),
        (
            "keeps at most {} other nodes and processes {} advertisements a second; at most {} wait",
            (advert_limiter.MOST_SERVICES, advert_limiter.MOST_A_SECOND, advert_limiter.LONGEST_LINE),
        ),
        (
            "remembers up to {} nodes for a week after their last contact. At its next start it dials the"
            " last {} of them",
            (remembered_nodes.MET, peer_address_book.DIALLED),
        ),
        ("Every {:w} (`timing.state`) each node publishes", (TIMING.state,)),
        ("Up to {} nodes, every node receives every state", (listening.FULL,)),
        ("within {:w}, {:w} other nodes ping it", (SWIM.timeout, SWIM.indirect)),
    ],
    "gossip.md": [
        ("99th percentile of the last {} s", (lag.WINDOW,)),
        ("is 0 while {:w} of the memory or more is free", (node_state._RAM_SHORT,)),
        (
            "is 0 up to a delay of {} ms, and rises to 1 at {} ms",
            (1000 * node_state._LAG_FINE, 1000 * node_state._LAG_FULL),
        ),
        ("Up to {} nodes, each node subscribes to the PUB sockets of all others", (listening.FULL,)),
        ("on each ring (at most {:w})", (2 * listening.RINGS,)),
        ("to up to {} nodes among which it balances", (listening.FAVOURITES,)),
        ("one in n/{} of a node's states", (listening.FULL,)),
        ("32 others on average (at most {}), and a part of a digest", (relay.LINES,)),
    ],
    "reliability.md": [
        ("visits no node twice, and at most {} nodes", (limits.HOPS,)),
        ("every healthy node marks a dead process within {} s", (members.NOTICED,)),
        ("every {:o} run is repeated, and both histories", (campaign.TWICE,)),
        ("in {} runs or more, everything in `tools/simulator/counters.py`", (counters.ENOUGH,)),
    ],
    "journeys/publish.md": [
        (
            "up to {} messages or {} KiB, and a message waits {:w} at most",
            (limits.ENVELOPE_MESSAGES, limits.ENVELOPE_BYTES // KIB, accumulator.LINGER),
        ),
        ("live node that does not answer ends after {} s", (settings.CONFIRM,)),
        ("waits for at most {} s until the nodes", (rounds.FIRST_VIEW,)),
        ("Up to {} ranges are kept", (origin.MAX_RANGES,)),
        ("that has received nothing for {:w} has stopped", (feed_state.PROGRESS,)),
        ("transient messages: after {:w} at the smaller window", (4 * feed_state.PROGRESS,)),
    ],
    "decisions/004-ranges.md": [("keeps up to {} ranges", (origin.MAX_RANGES,))],
    "decisions/009-stores-do-not-guess.md": [
        ("the last {} MiB are held by a file", (room.RESERVE // MIB,)),
        ("lags the store by at most {:w}", (witnessed.PERIOD,)),
    ],
    "journeys/gossip.md": [
        ("If a node's event loop is more than {} s late", (driver.LATE,)),
        ("Up to {} nodes, each keeps a control connection", (rounds.CROWD,)),
        ("and every {:w} for each of its own figures", (Snapshots().interval,)),
    ],
    "security.md": [
        ("up to {} s ahead of the system clock", (node_clock.AHEAD / 1e9,)),
        (
            "At most {} keys may be unproven at a time, with at most {} new ones a second from one address."
            " Each has {} s, and its messages at most {} KiB",
            (zap.PENDING, zap.NEW_A_SECOND, zap.PATIENCE, authenticator.PENDING // KIB),
        ),
        ("Failed handshakes: {} a minute are named", (damper.MOST,)),
    ],
    "stores.md": [
        (
            "a **lease** on its store: {} seconds by the database's clock, renewed every {}",
            (LEASE.ttl, LEASE.interval),
        ),
        ("whose renewals fail stops {} seconds after", (LEASE.useful,)),
        ("waits until the lease expires, {} seconds at most", (LEASE.ttl,)),
        ("the database was unreachable or too slow for {} seconds", (LEASE.useful,)),
    ],
    "configuration.md": [
        ("up to {} MiB (a quarter of `limits.disk_reserve_bytes`)", (room.RESERVE // MIB,)),
        ("takes {} KiB of it for the writes of its start", (room.START // KIB,)),
        ("progress of the store, at most {:w} behind", (witnessed.PERIOD,)),
    ],
    "wire.md": [
        ("Both ends abandon a handshake after {} s", (settings.CONNECT,)),
        ("no message of more than {} KiB: the node answers others with WHO", (authenticator.PENDING // KIB,)),
        ("is kept for {} s (`limits.linger`)", (LIMITS.linger,)),
        (
            "drops a client after {} s of silence (`timing.silence`), or {} s (`timing.busy`)",
            (TIMING.silence, TIMING.busy),
        ),
        ("A client sends PING every {} s.", (node_connection.PING,)),
        ("A client drops a node after {} s", (node_connection.SILENCE,)),
        ("At most {} KiB. A node refuses unreadable ones", (limits.CONTROL_FRAME // KIB,)),
        ("A **key** has 1 to {} characters", (LONGEST_KEY,)),
        ("A **domain** has at most {} characters", (LONGEST_DOMAIN,)),
        (
            "when one holds {} messages, or its body and keys have {} KiB",
            (limits.ENVELOPE_MESSAGES, limits.ENVELOPE_BYTES // KIB),
        ),
        (
            "(default {} MiB; at most {} MiB can be allowed)",
            (LIMITS.max_content // MIB, limits.MAX_CONTENT_EVER // MIB),
        ),
        ("which is unreachable or sends no answer for {} s", (TIMING.forward_patience,)),
        ("Beyond {} envelopes of a domain", (origin.MAX_RANGES,)),
        ("uses up no item for {} s while messages are dropped", (LIMITS.slow_consumer,)),
        (
            "frees the connection: {} messages or {} MiB may be in flight",
            (CORE["link_messages"], LIMITS.window_bytes // MIB),
        ),
        ("by default {} items or {} MiB may be in flight", (LIMITS.window_count, LIMITS.window_bytes // MIB)),
        ("Envelopes that had passed {} nodes", (limits.HOPS,)),
        ("Above {} nodes, unused control connections end after {} s", (rounds.CROWD, rounds.UNUSED)),
        ("**Keepalive.** PING every {} s", (TIMING.ping,)),
        ("With up to {} nodes, a rumor makes no node alive", (rumor_evidence.HEARSAY,)),
        ("rumors, up to {} with each probe", (rumor_queue.PACKET,)),
        (
            "Every {} s a node sends RUMOURS with rumors that it has sent fewer than {:w} times",
            (AGAIN, rumor_queue.FRESH),
        ),
        ("Every {} s (`timing.state`) a node publishes", (TIMING.state,)),
        ("| {} nodes have forwarded the message. |", (limits.HOPS,)),
        ("at most {}, of a queue {}. 0: stop", (limits.ADDRESS_CREDIT, limits.QUEUE_CREDIT)),
    ],
}


class Figure:
    """A figure as pages write it: 1,000 and 0.25, or a word with format `w`, or an ordinal with `o`."""

    def __init__(self, value: float) -> None:
        self._value = value

    def __format__(self, how: str) -> str:
        tables: dict[str, dict[float, str]] = {"w": WORDS, "o": ORDINALS}
        words = tables.get(how)
        return words.get(self._value, f"{self._value} in words") if words else f"{self._value:,g}"


@cache
def page(name: str) -> str:
    """Return the text of a page without its line breaks."""
    return " ".join((DOCS / name).read_text(encoding="utf-8").split())


@pytest.mark.parametrize(
    ("name", "said", "figures"), [(name, *row) for name, rows in SAID.items() for row in rows]
)
def test_trial_B9_a_page_says_the_figure_of_the_code(
    name: str, said: str, figures: tuple[float, ...]
) -> None:
    assert said.format(*map(Figure, figures)) in page(name), f"docs/{name}, or this test, says another figure"


UNITS = {
    "MiB": MIB,
    "KiB": KIB,
    "s": 1,
    "hour": 3600,
    "day": int(DAY),
    "days": int(DAY),
    "": 1,
    "GiB": 1 << 30,
}


def defaults() -> dict[str, float]:
    """Return each numeric default in the table of settings."""
    rows = re.findall(
        r"^\| `([a-z_.]+)` \| ([\d.,]+) ?(\w*)(?: \([^)]*\))? \|", _configuration(), re.MULTILINE
    )
    return {name: float(number.replace(",", "")) * UNITS[unit] for name, number, unit in rows}


def _configuration() -> str:
    return (DOCS / "configuration.md").read_text(encoding="utf-8")


def test_trial_B9_the_defaults_of_the_page_are_those_of_the_code() -> None:
    numbers = {
        name: field.default
        for name, field in FIELDS.items()
        if isinstance(field.default, int | float) and not isinstance(field.default, bool)
    }
    assert {name: value for name, value in defaults().items() if name in FIELDS} == numbers
    assert len(numbers) > 15


def test_trial_B9_a_node_waits_60_times_as_long_for_a_node_and_a_week_for_whom_it_met() -> None:
    said = page("configuration.md")
    times = re.search(r"those of a node: (\d+) times as long", said)
    assert times and int(times[1]) * LIMITS.linger == CORE["peer_linger"]
    assert "for 60 times `linger`" in page("journeys/publish.md") and int(times[1]) == 60
    assert "for a week after their last contact" in page("finding.md")
    assert remembered_nodes.FORGOTTEN == WEEK_NS
