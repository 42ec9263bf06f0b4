"""Queued envelopes, consumers and queues for tests."""

from array import array
from math import inf

from mesh.features.queues.model.consumers.queue_consumer import QueueConsumer
from mesh.features.queues.model.declared.definition import QueueTerms
from mesh.features.queues.model.envelopes.counts import Runs
from mesh.features.queues.model.envelopes.queued_envelope import QueuedEnvelope
from mesh.features.queues.model.part.giving import deliver
from mesh.features.queues.model.part.local_queue import LocalQueue
from mesh.features.queues.model.selecting.selector import Selector
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.values import Headers
from mesh.wire.envelope import PERSISTENT, Envelope
from mesh.wire.properties import Properties, encode_properties

WALL = 1_700_000_000 * 10**9


def envelope(
    first: int = 1,
    n: int = 1,
    *,
    at: int = 0,
    stream: bytes = b"p" * 16,
    put: tuple[int, int, str] | tuple[()] = (),
    kinds: str = "",
    expires: int = 0,
    times: tuple[int, ...] = (),
) -> Envelope:
    """Return an envelope of `n` messages from number `first` on, accepted `at` ns after WALL.

    `kinds` has a header of each message. `times` has the expiry of each, if they differ.
    """
    slices = [
        encode_properties(Properties(Headers([("kind", kinds[i])]) if kinds else Headers(), expires=void))
        for i, void in enumerate(times or [expires] * n)
    ]
    expires = min(filter(None, times), default=expires)
    each = array("I", map(len, slices))
    sizes = each[0] if len(set(each)) == 1 else each.tobytes()
    return Envelope(
        stream=stream, domain="queue/jobs", first=first, last=first + n - 1, keys=("jobs",), count=n,
        sizes=sizes, body=b"".join(slices), props=sizes, flags=PERSISTENT, sent=WALL + at, expires=expires,
        to="queue/jobs", put=put,
    )  # fmt: skip


def queued(first: int = 1, n: int = 1, position: int = 0, **more: object) -> QueuedEnvelope:
    """Return an envelope as a queued envelope at a position of the log."""
    return QueuedEnvelope(StoredEnvelope(envelope(first, n, at=position or first, **more), position or first))  # type: ignore[arg-type]


def taker(
    name: str = "joe", credit: int = 10, selector: str = "", lease: float = inf, epoch: int = 1
) -> QueueConsumer:
    return QueueConsumer(name.encode(), name, epoch, credit, Selector(selector) if selector else None, lease)


def queue(*envelopes: QueuedEnvelope, **terms: object) -> LocalQueue:
    made = LocalQueue("jobs", QueueTerms(**terms))  # type: ignore[arg-type]
    for each in envelopes:
        made.add(each, 0.0, WALL)
    return made


def given(it: LocalQueue, now: float = 0.0) -> list[tuple[str, Runs]]:
    """Return the deliveries at `now`: each consumer's name and its ranges of numbers."""
    return [(to.name, runs) for to, _, runs in deliver(it, now, WALL + int(now * 10**9))]


def numbers(it: LocalQueue, now: float = 0.0) -> list[int]:
    """Return the numbers of all deliveries at `now`."""
    return [n for _, runs in given(it, now) for first, last in runs for n in range(first, last + 1)]
