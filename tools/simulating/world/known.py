"""What does one part of a queue do? What comes and goes, moves, and is in which state?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from mesh.core.queues.keeping.here import QueueHere
from mesh.queues.lots.counts import Runs, count, numbers_of
from mesh.queues.lots.lot import Lot
from mesh.queues.moves.distribution import messages
from mesh.queues.moves.stock import matching_here
from mesh.queues.part.partial import PartialQueue
from mesh.routing.parcel import Parcel

Tell = Callable[..., None]  # kind, and the fields of an event
Name = tuple[str, int]  # stream and number of a message
Id = tuple[str, str, int]  # and its domain between them


class Known:
    """What is known of a part by who looks on. `is_later()`: does what moves now so as it waited in vain?"""

    def __init__(self, queue: QueueHere, address: str, tell: Tell, is_later: Callable[[], bool]) -> None:
        part = queue.part
        self._part, self._address, self._tell, self._is_later = part, address, tell, is_later
        self._lots: list[Lot] = []  # in memory
        self._paged: dict[int, tuple[str, list[int]]] = {}  # by position: stream and numbers
        self._came = self._purged = self._gone = 0
        self.strayed: set[Name] = set()  # what moved, or was to, or has come from elsewhere
        self._returning: dict[Lot, set[int]] = {}  # refused elsewhere, and that is not on disk
        self._keep, self._page = part._keep, part.page
        self._add, self._loaded, self._purge = part.add, part.loaded, part.purge
        vars(part).update(_keep=self._keeps, page=self._pages, add=self._adds)
        self._put_back = part.put_back
        vars(part).update(loaded=self._loads, purge=self._purges, put_back=self._puts_back)
        self._page_plain = part.page_plain
        vars(part).update(page_plain=self._pages_plain)
        self._go, self._moved, self._returns = part.go, part.moved, part.returns
        self._came_back, self._gave_up, self._arrive = part.came_back, part.gave_up, queue.arrive
        vars(part).update(go=self._goes, moved=self._has_moved, returns=self._refused)
        vars(part).update(came_back=self._is_back, gave_up=self._is_given_up)
        vars(queue).update(arrive=self._arrives)

    # --- what moves ---------------------------------------------------------------------------------------

    def _goes(self, lot: Lot, runs: Runs, node: bytes, number: int) -> int:
        """Flags: w: somebody here wants it."""
        here = matching_here(self._part.eligible())
        for n, key, headers in messages(lot, sorted(_numbers(runs))):
            self._tell_of(
                "goes", lot, n, to=node.hex(), gap=lot.moves, text="later" if self._is_later() else "",
                flags="w" * here.takes(key, lot.priority, headers),
            )  # fmt: skip
        return self._go(lot, runs, node, number)

    def _arrives(self, lot: Lot) -> None:
        for n in sorted(_numbers(lot.open())):
            self._tell_of("comes", lot, n, gap=lot.moves)
        self._arrive(lot)

    def _tell_of(self, kind: str, lot: Lot, number: int, **what: Any) -> None:
        self.strayed.add((lot.envelope.stream.hex(), number))
        self._tell(kind, stream=lot.envelope.stream.hex(), domain=self._address, first=number, **what)

    def _has_moved(self, lot: Lot, node: bytes, number: int) -> int:
        runs = [run for going, *way in lot.going if way == [node, number] for run in going]
        for n in sorted(_numbers(runs)):
            self._tell_of("went", lot, n, to=node.hex())
        gone = self._moved(lot, node, number)
        self._gone += gone
        return gone

    def _refused(self, lot: Lot, node: bytes, *more: Any) -> Runs:
        runs = self._returns(lot, node, *more)
        for n in sorted(_numbers(runs)):
            self._tell_of("came back", lot, n, to=node.hex())
        self._returning.setdefault(lot, set()).update(_numbers(runs))
        return runs

    def _is_back(self, lot: Lot, runs: Runs) -> None:
        self._returning[lot] -= _numbers(runs)
        self._came_back(lot, runs)

    def _is_given_up(self, lot: Lot, runs: Runs) -> None:
        self._returning[lot] -= _numbers(runs)
        self._gave_up(lot, runs)
        self._gone += count(runs)

    def copies(self) -> Iterator[tuple[Id, bool]]:
        """See QueueWatch."""
        for lot in self._lots:
            stream, going = lot.envelope.stream.hex(), self._going(lot)
            for number in _numbers(lot.open()) if lot.left else ():
                yield (stream, self._address, number), number in going
        for stream, numbers in self._paged.values():
            for number in numbers:
                yield (stream, self._address, number), False

    def _going(self, lot: Lot) -> set[int]:
        going = {number for runs, _, _ in lot.going for number in numbers_of(runs)}
        return going | self._returning.get(lot, set())

    # --- what there is ------------------------------------------------------------------------------------

    def _adds(self, lot: Lot, *more: Any) -> None:
        self._came += lot.left
        self._add(lot, *more)

    def _pages(self, lot: Lot) -> None:
        self._came += lot.left
        e = lot.envelope
        self._paged[lot.parcel.position] = e.stream.hex(), sorted(_numbers(lot.open()))
        if lot.moves:
            self.strayed.update((e.stream.hex(), number) for number in e.number_list(range(e.count)))
        self._page(lot)

    def _pages_plain(self, parcel: Parcel) -> bool:
        is_paged = self._page_plain(parcel)
        if is_paged:
            e = parcel.envelope
            self._came += e.count
            self._paged[parcel.position] = e.stream.hex(), e.number_list(range(e.count))
        return is_paged

    def _puts_back(self, lot: Lot) -> None:
        left = sorted(_numbers(lot.open()))
        self._put_back(lot)
        if not lot.left:
            self._paged[lot.parcel.position] = lot.envelope.stream.hex(), left

    def _keeps(self, lot: Lot, *more: Any) -> None:
        self._paged.pop(lot.parcel.position, None)
        self._lots.append(lot)
        if lot.moves or lot.going:
            e = lot.envelope
            self.strayed.update((e.stream.hex(), number) for number in e.number_list(range(e.count)))
        self._keep(lot, *more)

    def _loads(self, *args: Any) -> None:
        before = self._part.messages
        self._loaded(*args)
        self._purged += before - self._part.messages

    def _purges(self) -> int:
        before = [(lot, lot.open()) for lot in self._lots]
        purged = self._purge()
        self._purged += purged
        gone = [(lot.envelope.stream.hex(), _numbers(runs) - _numbers(lot.open())) for lot, runs in before]
        for stream, numbers in (*gone, *self._paged.values()):
            for number in sorted(numbers):
                self._tell("purged", stream=stream, domain=self._address, first=number)
        self._paged.clear()
        return purged

    def wrong(self) -> Iterator[str]:
        """What is wrong with its figures."""
        part, lots = self._part, self._lots
        lots[:] = [lot for lot in lots if lot.left]
        over = {"acked": part.acked, "dead": part.died - part.dying, "purged": self._purged}
        over["moved"] = self._gone
        if self._came != part.messages + sum(over.values()):
            yield f"{self._came} came, {part.messages} are there, {over} are not"
        there, rest = Counter[str](), 0
        for lot in lots:
            left = _numbers(lot.open())
            states = {**_states(part, lot), "going": self._going(lot)}
            rest += len(left) - sum(map(len, states.values()))
            there.update({state: len(numbers) for state, numbers in states.items()})
            mixed = Counter(number for numbers in states.values() for number in numbers)
            if any(n > 1 for n in mixed.values()) or not mixed.keys() <= left:
                yield f"of {lot.envelope.first} to {lot.envelope.last} {sorted(left)} are left: {states}"
        paged = part.messages - sum(lot.left for lot in lots)
        on_disk = sum(each.messages for each in part.on_disk._paged.values())
        if paged < on_disk or (paged > on_disk and not part.on_disk._loading):
            yield f"{paged} are not in memory, {on_disk} wait on the disk"
        said = {"ready": part.ready, "out": part.out, "delayed": part.later.messages, "dying": part.dying}
        said["going"] = part.going
        so = {
            "ready": there["ready"] + paged,
            "out": there["out"],
            "delayed": there["delayed"],
            "dying": rest,
            "going": there["going"],
        }
        if said != so:
            yield f"it says {said}, and {so} is so"


def _states(part: PartialQueue, lot: Lot) -> dict[str, set[int]]:
    """The messages of a lot by what each waits for."""
    doubtful = part._doubtful._left.get(lot, ()) if part._doubtful is not None else ()
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
