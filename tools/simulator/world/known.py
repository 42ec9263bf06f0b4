"""Observes one part of a queue: arrivals, departures, moves, and the states of its messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from mesh.features.queues.model.consumers.queue_consumer import QueueConsumer
from mesh.features.queues.model.envelopes.counts import Runs, count, numbers_of
from mesh.features.queues.model.envelopes.queued_envelope import QueuedEnvelope
from mesh.features.queues.model.moves.distribution import messages
from mesh.features.queues.model.moves.queue_report import matching_here
from mesh.features.queues.model.part.local_queue import LocalQueue
from mesh.features.queues.node.keeping.queue_sink import QueueSink
from mesh.kernel.subscribers.session import subscription_of
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.wire.envelope import Envelope

Tell = Callable[..., None]  # kind, and the fields of an event
Name = tuple[str, int]  # stream and number of a message
Id = tuple[str, str, int]  # stream, domain and number of a message


class Known:
    """The observed state of one part of a queue, for `QueueWatch`."""

    def __init__(self, queue: QueueSink, address: str, tell: Tell) -> None:
        self._part, self._address, self._tell = queue.part, address, tell
        self._envelopes: list[QueuedEnvelope] = []  # in memory
        self._paged: dict[int, tuple[str, list[int]]] = {}  # stream and numbers, by position
        self._came = self._purged = self._gone = 0
        self._strayed: set[Name] = set()  # messages that moved, even in part
        self._in_vain: set[tuple[QueuedEnvelope, int]] = set()  # messages that move now for lack of consumers
        self._returning: dict[QueuedEnvelope, set[int]] = {}  # refused elsewhere, and not yet stored here
        self._before: list[tuple[QueuedEnvelope, Runs]] = []  # open messages in memory before a purge

    # --- deliveries
    # ------------------------------------------------------------------------------------------

    def gives(self, taker: QueueConsumer, slice_: EnvelopeSlice) -> None:
        e = slice_.stored.envelope
        indices = range(e.count) if slice_.indices is None else slice_.indices
        for i, number in enumerate(e.number_list(indices)):
            strayed = "m" * ((e.stream.hex(), number) in self._strayed)
            self._tell(
                "gives",
                stream=e.stream.hex(),
                domain=e.to,
                first=number,
                to=taker.name,
                sub=subscription_of(taker),
                stamp=taker.epoch,
                gap=slice_.tries[i] if slice_.tries else 0,
                flags="p" * e.persistent + strayed,
                keys=(" ".join(map(str, e.put)),),
            )

    # --- moves ----------------------------------------------------------------------------------------------

    def redistributes(self, pieces: Iterable[tuple[QueuedEnvelope, Runs]]) -> None:
        self._in_vain = {(queued, number) for queued, runs in pieces for number in numbers_of(runs)}

    def goes(self, queued: QueuedEnvelope, runs: Runs, node: bytes) -> None:
        """Record that messages leave for `node`.

        The flag w means that a local consumer wants the message.
        """
        here = matching_here(self._part.consumers.eligible())
        for n, key, headers in messages(queued, sorted(_numbers(runs))):
            self._tell_of(
                "goes",
                queued,
                n,
                to=node.hex(),
                gap=queued.moves,
                text="later" * ((queued, n) in self._in_vain),
                flags="w" * here.takes(key, queued.priority, headers),
            )
            self._in_vain.discard((queued, n))

    def comes(self, queued: QueuedEnvelope) -> None:
        for n in sorted(_numbers(queued.open())):
            self._tell_of("comes", queued, n, gap=queued.moves)

    def has_no_room(self, where: str) -> None:
        self._tell("no room", text=where)

    def _tell_of(self, kind: str, queued: QueuedEnvelope, number: int, **what: Any) -> None:
        self._strayed.add((queued.envelope.stream.hex(), number))
        self._tell(kind, stream=queued.envelope.stream.hex(), domain=self._address, first=number, **what)

    def went(self, queued: QueuedEnvelope, runs: Runs, node: bytes) -> None:
        for n in sorted(_numbers(runs)):
            self._tell_of("went", queued, n, to=node.hex())
        self._gone += count(runs)

    def transfer_refused(self, queued: QueuedEnvelope, runs: Runs, node: bytes) -> None:
        for n in sorted(_numbers(runs)):
            self._tell_of("came back", queued, n, to=node.hex())
        self._returning.setdefault(queued, set()).update(_numbers(runs))

    def came_back(self, queued: QueuedEnvelope, runs: Runs) -> None:
        self._returning[queued] -= _numbers(runs)

    def gave_up(self, queued: QueuedEnvelope, runs: Runs) -> None:
        self._returning[queued] -= _numbers(runs)
        self._gone += count(runs)

    def copies(self) -> Iterator[tuple[Id, bool]]:
        """Yield the id of each message, and whether it is in transit."""
        for queued in self._envelopes:
            stream, going = queued.envelope.stream.hex(), self._going(queued)
            for number in _numbers(queued.open()) if queued.left else ():
                yield (stream, self._address, number), number in going
        for stream, numbers in self._paged.values():
            for number in numbers:
                yield (stream, self._address, number), False

    def _going(self, queued: QueuedEnvelope) -> set[int]:
        going = {number for runs, _, _ in queued.going for number in numbers_of(runs)}
        return going | self._returning.get(queued, set())

    # --- figures --------------------------------------------------------------------------------------------

    def adds(self, queued: QueuedEnvelope) -> None:
        self._came += queued.left

    def pages(self, queued: QueuedEnvelope) -> None:
        self._came += queued.left
        e = queued.envelope
        self._paged[queued.stored.position] = e.stream.hex(), sorted(_numbers(queued.open()))
        if queued.moves:
            self._strays(e)

    def pages_plain(self, stored: StoredEnvelope) -> None:
        e = stored.envelope
        self._came += e.count
        self._paged[stored.position] = e.stream.hex(), e.number_list(range(e.count))

    def puts_back(self, queued: QueuedEnvelope) -> None:
        self._paged[queued.stored.position] = queued.envelope.stream.hex(), sorted(_numbers(queued.open()))

    def keeps(self, queued: QueuedEnvelope) -> None:
        self._paged.pop(queued.stored.position, None)
        self._envelopes.append(queued)
        if queued.moves or queued.going:
            self._strays(queued.envelope)

    def _strays(self, e: Envelope) -> None:
        self._strayed.update((e.stream.hex(), number) for number in e.number_list(range(e.count)))

    def voids(self, runs: Runs) -> None:
        self._purged += count(runs)

    def purges(self) -> None:
        self._before = [(queued, queued.open()) for queued in self._envelopes]

    def purged(self, messages: int) -> None:
        self._purged += messages
        before, self._before = self._before, []
        gone = [
            (queued.envelope.stream.hex(), _numbers(runs) - _numbers(queued.open()))
            for queued, runs in before
        ]
        for stream, numbers in (*gone, *self._paged.values()):
            for number in sorted(numbers):
                self._tell("purged", stream=stream, domain=self._address, first=number)
        self._paged.clear()

    def wrong(self, is_committing: bool = False) -> Iterator[str]:
        """Yield a description of each figure that does not match the messages.

        `is_committing` means that a transaction may hold deliveries, which count as out.
        """
        part, envelopes = self._part, self._envelopes
        envelopes[:] = [queued for queued in envelopes if queued.left]
        over = {
            "acked": part.deliveries.acked,
            "dead": part.failures.died - part.failures.dying,
            "purged": self._purged,
            "moved": self._gone,
        }
        if self._came != part.backlog.messages + sum(over.values()):
            yield f"{self._came} came, {part.backlog.messages} are there, {over} are not"
        there, rest = Counter[str](), 0
        for queued in envelopes:
            left = _numbers(queued.open())
            states = {**_states(part, queued), "going": self._going(queued)}
            rest += len(left) - sum(map(len, states.values()))
            there.update({state: len(numbers) for state, numbers in states.items()})
            mixed = Counter(number for numbers in states.values() for number in numbers)
            if any(n > 1 for n in mixed.values()) or not mixed.keys() <= left:
                first, last = queued.envelope.first, queued.envelope.last
                yield f"of {first} to {last} {sorted(left)} are left: {states}"
        paged = part.backlog.messages - sum(queued.left for queued in envelopes)
        on_disk = sum(each.messages for each in part.order.on_disk._paged.values())
        if paged < on_disk or (paged > on_disk and not part.order.on_disk._loading):
            yield f"{paged} are not in memory, {on_disk} wait on the disk"
        held = max(0, part.deliveries.out - there["out"]) if is_committing else 0
        yield from self._wrong_states(there, paged, rest, held)

    def _wrong_states(self, there: Counter[str], paged: int, rest: int, held: int) -> Iterator[str]:
        part = self._part
        said = {
            "ready": part.ready,
            "out": part.deliveries.out,
            "delayed": part.backlog.later.messages,
            "dying": part.failures.dying,
            "going": part.moving.messages,
        }
        so = {
            "ready": there["ready"] + paged,
            "out": there["out"] + held,
            "delayed": there["delayed"],
            "dying": rest - held,
            "going": there["going"],
        }
        if said != so:
            yield f"it says {said}, and {so} is so"


def _states(part: LocalQueue, queued: QueuedEnvelope) -> dict[str, set[int]]:
    unclaimed = part.consumers.unclaimed
    doubtful = unclaimed._left.get(queued, ()) if unclaimed is not None else ()
    runs = [run for taker in part.takers.values() for run in taker.holding if run.queued is queued]
    out = [number for run in runs for number in numbers_of(run.runs)]
    found = {
        "ready": _numbers(list(queued.ready)),
        "out": set(out),
        "delayed": _numbers([(first, last) for first, last, _, _ in queued.late]),
        "doubtful": _numbers(list(doubtful)),
    }
    assert count((n, n) for n in out) == len(found["out"]), "out twice"
    return found


def _numbers(runs: Runs) -> set[int]:
    return set(numbers_of(runs))
