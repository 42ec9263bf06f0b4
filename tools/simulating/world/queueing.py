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
from mesh.queues.moves.distribution import messages
from mesh.queues.moves.stock import matching_here
from mesh.queues.partial import PartialQueue
from mesh.queues.taker import Taker
from mesh.routing.parcel import Parcel
from mesh.routing.portion import Portion
from mesh.wire.commands import Consume

Tell = Callable[..., None]  # kind, and the fields of an event
Name = tuple[str, int]  # stream and number of a message
Id = tuple[str, str, int]  # and its domain between them


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
        self._later, self._redistribute = False, self._room.balancing._redistribute
        vars(self._room.balancing)["_redistribute"] = self._redistributes

    # --- who takes, and is given ---------------------------------------------------------------------------

    def _gives(self, taker: Taker, portion: Portion) -> None:
        e = portion.parcel.envelope
        indices = range(e.count) if portion.indices is None else portion.indices
        for i, number in enumerate(e.number_list(indices)):
            strayed = "m" * self._has_strayed(e.domain, (e.stream.hex(), number))
            self._tell(
                "gives", stream=e.stream.hex(), domain=e.domain, first=number, to=taker.name,
                sub=subscription_of(taker), stamp=taker.epoch, gap=portion.tries[i] if portion.tries else 0,
                flags="p" * e.persistent + strayed, keys=(" ".join(map(str, e.put)),),
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

    # --- what moves ---------------------------------------------------------------------------------------

    def _has_strayed(self, address: str, name: Name) -> bool:
        """Was it on its way to another node, or did it come from one?"""
        queue = self._room.queues.find(address.removeprefix(PUTS))
        return queue is not None and name in self._parts[queue.part].strayed

    def _redistributes(self, *args: Any) -> None:
        self._later = True
        try:
            self._redistribute(*args)
        finally:
            self._later = False

    # --- what there is ------------------------------------------------------------------------------------

    def _made(self, name: str, *args: Any) -> QueueHere:
        queue = self._make(name, *args)
        self._parts[queue.part] = Known(queue, PUTS + name, self._tell, lambda: self._later)
        return queue

    def copies(self) -> Iterator[tuple[Id, bool]]:
        """Each message that is here, and not done; is it only on its way elsewhere?"""
        for queue in self._room.queues:
            yield from self._parts[queue.part].copies()

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

    def _goes(self, lot: Lot, runs: Runs, node: bytes, number: int) -> None:
        """Flags: w: somebody here wants it."""
        here = matching_here(self._part.eligible())
        for n, key, headers in messages(lot, sorted(_numbers(runs))):
            self._tell_of(
                "goes", lot, n, to=node.hex(), gap=lot.moves, text="later" if self._is_later() else "",
                flags="w" * here.takes(key, lot.priority, headers),
            )  # fmt: skip
        self._go(lot, runs, node, number)

    def _arrives(self, lot: Lot) -> None:
        for n in sorted(_numbers(lot.open())):
            self._tell_of("comes", lot, n, gap=lot.moves)
        self._arrive(lot)

    def _tell_of(self, kind: str, lot: Lot, number: int, **what: Any) -> None:
        self.strayed.add((lot.envelope.stream.hex(), number))
        self._tell(kind, stream=lot.envelope.stream.hex(), domain=self._address, first=number, **what)

    def _has_moved(self, *args: Any) -> int:
        n = self._moved(*args)
        self._gone += n
        return n

    def _refused(self, lot: Lot, *more: Any) -> Runs:
        runs = self._returns(lot, *more)
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
        going = _numbers([(first, last) for first, last, _, _ in lot.going])
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
