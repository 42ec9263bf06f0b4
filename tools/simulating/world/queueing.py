"""What do the queues of a node do? Who takes, what is given to whom, and is each message in one state?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from mesh.core.desk.conn import Conn
from mesh.core.parts import Parts
from mesh.core.queues.here import QueueHere
from mesh.core.subscribers.session import Session, subscription_of
from mesh.names import PUTS
from mesh.queues.counts import Runs, count
from mesh.queues.lot import Lot
from mesh.queues.partial import PartialQueue
from mesh.queues.taker import Taker
from mesh.routing.parcel import Parcel
from mesh.routing.portion import Portion
from mesh.wire.commands import Consume

Tell = Callable[..., None]  # kind, and the fields of an event


class QueueWatch:
    """Of one process of a node."""

    def __init__(self, parts: Parts, tell: Tell) -> None:
        self._tell = tell
        self._room = parts.queues
        self._takers: set[str] = set()  # the names of sessions that ever took
        self._parts: dict[PartialQueue, Known] = {}
        queues, taking = self._room.queues, self._room.taking
        self._push, self._begin, self._make = queues._push, taking.begin, queues._make
        vars(queues)["_push"], vars(taking)["begin"] = self._gives, self._takes
        vars(queues)["_make"] = self._made

    # --- who takes, and is given ---------------------------------------------------------------------------

    def _gives(self, taker: Taker, portion: Portion) -> None:
        e = portion.parcel.envelope
        indices = range(e.count) if portion.indices is None else portion.indices
        for i, number in enumerate(e.number_list(indices)):
            self._tell(
                "gives", stream=e.stream.hex(), domain=e.domain, first=number, to=taker.name,
                sub=subscription_of(taker), stamp=taker.epoch, gap=portion.tries[i] if portion.tries else 0,
                flags="p" * e.persistent, keys=(" ".join(map(str, e.put)),),
            )  # fmt: skip
        self._push(taker, portion)

    def _takes(self, conn: Conn, session: Session, command: Consume) -> None:
        self._begin(conn, session, command)
        self._takers.add(session.text)
        self._tell(
            "takes", to=session.text, sub=command.subscription, domain=command.address, stamp=command.lease,
            text=command.selector, flags="e" * (not command.credit),
        )  # fmt: skip

    def parted(self, kind: str, session: Session) -> None:
        """A session is away, or closed."""
        if session.text in self._takers:
            self._tell(kind, to=session.text)

    # --- what there is ------------------------------------------------------------------------------------

    def _made(self, name: str, *args: Any) -> QueueHere:
        queue = self._make(name, *args)
        self._parts[queue.part] = Known(queue.part, PUTS + name, self._tell)
        return queue

    @property
    def messages(self) -> int:
        """In all queues."""
        return sum(queue.part.messages for queue in self._room.queues)

    def sample(self) -> None:
        """Tell of each figure that is not what is there."""
        for queue in self._room.queues:
            for text in self._parts[queue.part].wrong():
                self._tell("wrong sum", domain=PUTS + queue.name, text=text)


class Known:
    """What is known of a queue by who looks at what comes and goes."""

    def __init__(self, part: PartialQueue, address: str, tell: Tell) -> None:
        self._part, self._address, self._tell = part, address, tell
        self._lots: list[Lot] = []  # in memory
        self._paged: dict[int, tuple[str, list[int]]] = {}  # by position: stream and numbers
        self._came = self._purged = 0
        self._keep, self._page = part._keep, part.page
        self._add, self._loaded, self._purge = part.add, part.loaded, part.purge
        vars(part).update(_keep=self._keeps, page=self._pages, add=self._adds)
        self._put_back = part.put_back
        vars(part).update(loaded=self._loads, purge=self._purges, put_back=self._puts_back)
        self._page_plain = part.page_plain
        vars(part).update(page_plain=self._pages_plain)

    def _adds(self, lot: Lot, *more: Any) -> None:
        self._came += lot.left
        self._add(lot, *more)

    def _pages(self, lot: Lot) -> None:
        self._came += lot.left
        e = lot.envelope
        self._paged[lot.parcel.position] = e.stream.hex(), e.number_list(range(e.count))
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
        return purged

    def wrong(self) -> Iterator[str]:
        """What is wrong with its figures."""
        part, lots = self._part, self._lots
        lots[:] = [lot for lot in lots if lot.left]
        over = {"acked": part.acked, "dead": part.died - part.dying, "purged": self._purged}
        if self._came != part.messages + sum(over.values()):
            yield f"{self._came} came, {part.messages} are there, {over} are not"
        there, rest = Counter[str](), 0
        for lot in lots:
            left = _numbers(lot.open())
            states = _states(part, lot)
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
        so = {
            "ready": there["ready"] + paged,
            "out": there["out"],
            "delayed": there["delayed"],
            "dying": rest,
        }
        if said != so:
            yield f"it says {said}, and {so} is so"


def _states(part: PartialQueue, lot: Lot) -> dict[str, set[int]]:
    """The messages of a lot by what each waits for."""
    doubtful = part._doubtful._left.get(lot, ()) if part._doubtful is not None else ()
    runs = [run for taker in part.takers.values() for run in taker.holding if run.lot is lot]
    out = [number for run in runs for number in range(run.first, run.last + 1)]
    found = {
        "ready": _numbers(list(lot.ready)),
        "out": set(out),
        "delayed": _numbers([(first, last) for first, last, _, _ in lot.late]),
        "doubtful": _numbers(list(doubtful)),
    }
    assert count((n, n) for n in out) == len(found["out"]), "out twice"
    return found


def _numbers(runs: Runs) -> set[int]:
    return {number for first, last in runs for number in range(first, last + 1)}
