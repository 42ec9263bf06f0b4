"""Observes one part of a queue: arrivals, departures, moves, and the states of its messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from mesh.features.queues.model.consumers.queue_consumer import QueueConsumer
from mesh.features.queues.model.lots.counts import Runs, count, numbers_of
from mesh.features.queues.model.lots.queued_envelope import QueuedEnvelope
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
        self._lots: list[QueuedEnvelope] = []  # in memory
        self._paged: dict[int, tuple[str, list[int]]] = {}  # stream and numbers, by position
        self._came = self._purged = self._gone = 0
        self._strayed: set[Name] = set()  # messages that moved, even in part
        self._in_vain: set[tuple[QueuedEnvelope, int]] = set()  # messages that move now for lack of consumers
        self._returning: dict[QueuedEnvelope, set[int]] = {}  # refused elsewhere, and not yet stored here
        self._before: list[tuple[QueuedEnvelope, Runs]] = []  # open messages in memory before a purge

    # --- deliveries
    # ------------------------------------------------------------------------------------------

    def gives(self, taker: QueueConsumer, portion: EnvelopeSlice) -> None:
        e = portion.parcel.envelope
        indices = range(e.count) if portion.indices is None else portion.indices
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
                gap=portion.tries[i] if portion.tries else 0,
                flags="p" * e.persistent + strayed,
                keys=(" ".join(map(str, e.put)),),
            )

    # --- moves ----------------------------------------------------------------------------------------------

    def redistributes(self, pieces: Iterable[tuple[QueuedEnvelope, Runs]]) -> None:
        self._in_vain = {(lot, number) for lot, runs in pieces for number in numbers_of(runs)}

    def goes(self, lot: QueuedEnvelope, runs: Runs, node: bytes) -> None:
        """Record that messages leave for `node`.

        The flag w means that a local consumer wants the message.
        """
        here = matching_here(self._part.consumers.eligible())
        for n, key, headers in messages(lot, sorted(_numbers(runs))):
            self._tell_of(
                "goes",
                lot,
                n,
                to=node.hex(),
                gap=lot.moves,
                text="later" * ((lot, n) in self._in_vain),
                flags="w" * here.takes(key, lot.priority, headers),
            )
            self._in_vain.discard((lot, n))

    def comes(self, lot: QueuedEnvelope) -> None:
        for n in sorted(_numbers(lot.open())):
            self._tell_of("comes", lot, n, gap=lot.moves)

    def has_no_room(self, where: str) -> None:
        self._tell("no room", text=where)

    def _tell_of(self, kind: str, lot: QueuedEnvelope, number: int, **what: Any) -> None:
        self._strayed.add((lot.envelope.stream.hex(), number))
        self._tell(kind, stream=lot.envelope.stream.hex(), domain=self._address, first=number, **what)

    def went(self, lot: QueuedEnvelope, runs: Runs, node: bytes) -> None:
        for n in sorted(_numbers(runs)):
            self._tell_of("went", lot, n, to=node.hex())
        self._gone += count(runs)

    def transfer_refused(self, lot: QueuedEnvelope, runs: Runs, node: bytes) -> None:
        for n in sorted(_numbers(runs)):
            self._tell_of("came back", lot, n, to=node.hex())
        self._returning.setdefault(lot, set()).update(_numbers(runs))

    def came_back(self, lot: QueuedEnvelope, runs: Runs) -> None:
        self._returning[lot] -= _numbers(runs)

    def gave_up(self, lot: QueuedEnvelope, runs: Runs) -> None:
        self._returning[lot] -= _numbers(runs)
        self._gone += count(runs)

    def copies(self) -> Iterator[tuple[Id, bool]]:
        """Yield the id of each message, and whether it is in transit."""
        for lot in self._lots:
            stream, going = lot.envelope.stream.hex(), self._going(lot)
            for number in _numbers(lot.open()) if lot.left else ():
                yield (stream, self._address, number), number in going
        for stream, numbers in self._paged.values():
            for number in numbers:
                yield (stream, self._address, number), False

    def _going(self, lot: QueuedEnvelope) -> set[int]:
        going = {number for runs, _, _ in lot.going for number in numbers_of(runs)}
        return going | self._returning.get(lot, set())

    # --- figures --------------------------------------------------------------------------------------------

    def adds(self, lot: QueuedEnvelope) -> None:
        self._came += lot.left

    def pages(self, lot: QueuedEnvelope) -> None:
        self._came += lot.left
        e = lot.envelope
        self._paged[lot.parcel.position] = e.stream.hex(), sorted(_numbers(lot.open()))
        if lot.moves:
            self._strays(e)

    def pages_plain(self, parcel: StoredEnvelope) -> None:
        e = parcel.envelope
        self._came += e.count
        self._paged[parcel.position] = e.stream.hex(), e.number_list(range(e.count))

    def puts_back(self, lot: QueuedEnvelope) -> None:
        self._paged[lot.parcel.position] = lot.envelope.stream.hex(), sorted(_numbers(lot.open()))

    def keeps(self, lot: QueuedEnvelope) -> None:
        self._paged.pop(lot.parcel.position, None)
        self._lots.append(lot)
        if lot.moves or lot.going:
            self._strays(lot.envelope)

    def _strays(self, e: Envelope) -> None:
        self._strayed.update((e.stream.hex(), number) for number in e.number_list(range(e.count)))

    def voids(self, runs: Runs) -> None:
        self._purged += count(runs)

    def purges(self) -> None:
        self._before = [(lot, lot.open()) for lot in self._lots]

    def purged(self, messages: int) -> None:
        self._purged += messages
        before, self._before = self._before, []
        gone = [(lot.envelope.stream.hex(), _numbers(runs) - _numbers(lot.open())) for lot, runs in before]
        for stream, numbers in (*gone, *self._paged.values()):
            for number in sorted(numbers):
                self._tell("purged", stream=stream, domain=self._address, first=number)
        self._paged.clear()

    def wrong(self) -> Iterator[str]:
        """Yield a description of each figure that does not match the messages."""
        part, lots = self._part, self._lots
        lots[:] = [lot for lot in lots if lot.left]
        over = {
            "acked": part.deliveries.acked,
            "dead": part.failures.died - part.failures.dying,
            "purged": self._purged,
            "moved": self._gone,
        }
        if self._came != part.backlog.messages + sum(over.values()):
            yield f"{self._came} came, {part.backlog.messages} are there, {over} are not"
        there, rest = Counter[str](), 0
        for lot in lots:
            left = _numbers(lot.open())
            states = {**_states(part, lot), "going": self._going(lot)}
            rest += len(left) - sum(map(len, states.values()))
            there.update({state: len(numbers) for state, numbers in states.items()})
            mixed = Counter(number for numbers in states.values() for number in numbers)
            if any(n > 1 for n in mixed.values()) or not mixed.keys() <= left:
                yield f"of {lot.envelope.first} to {lot.envelope.last} {sorted(left)} are left: {states}"
        paged = part.backlog.messages - sum(lot.left for lot in lots)
        on_disk = sum(each.messages for each in part.order.on_disk._paged.values())
        if paged < on_disk or (paged > on_disk and not part.order.on_disk._loading):
            yield f"{paged} are not in memory, {on_disk} wait on the disk"
        said = {
            "ready": part.ready,
            "out": part.deliveries.out,
            "delayed": part.backlog.later.messages,
            "dying": part.failures.dying,
            "going": part.moving.messages,
        }
        so = {
            "ready": there["ready"] + paged,
            "out": there["out"],
            "delayed": there["delayed"],
            "dying": rest,
            "going": there["going"],
        }
        if said != so:
            yield f"it says {said}, and {so} is so"


def _states(part: LocalQueue, lot: QueuedEnvelope) -> dict[str, set[int]]:
    unclaimed = part.consumers.unclaimed
    doubtful = unclaimed._left.get(lot, ()) if unclaimed is not None else ()
    runs = [run for taker in part.takers.values() for run in taker.holding if run.lot is lot]
    out = [number for run in runs for number in numbers_of(run.runs)]
    found = {
        "ready": _numbers(list(lot.ready)),
        "out": set(out),
        "delayed": _numbers([(first, last) for first, last, _, _ in lot.late]),
        "doubtful": _numbers(list(doubtful)),
    }
    assert count((n, n) for n in out) == len(found["out"]), "out twice"
    return found


def _numbers(runs: Runs) -> set[int]:
    return set(numbers_of(runs))
