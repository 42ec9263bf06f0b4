"""Messages of a consumer here that the part of the queue at another node has delivered to its session."""

# Law 1: the claim comes first: nothing is settled before the part has granted it, and after each loss of the
#   part it is repeated for what is left.
# Law 2: a settlement is answered when the part has answered it. Until then it is sent again after each claim.
# Law 3: one question at a time is open.

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from mesh.errors import RemoteError
from mesh.features.queues.model.envelopes.counts import Runs, joined
from mesh.wire.calls import AskHold, AskSettle
from mesh.wire.commands import EXTEND, Certificate
from mesh.wire.limits import QUEUE_CREDIT

Message = tuple[bytes, int]  # stream, number
HeldRuns = tuple[tuple[bytes, tuple[int, ...]], ...]  # as in CONSUME
SettledRun = tuple[int, int, int, int, str]  # as in SETTLE
OnSettled = Callable[[list[int]], None]  # called with the tags that were not the consumer's


class RemoteSettlement(Struct, eq=False):
    """A settlement for another part, by the delivery tags of the consumer here."""

    done: list[int]
    entries: list[tuple[list[int], int, int, str]]  # tags, outcome, delay, reason
    then: OnSettled

    @property
    def tags(self) -> set[int]:
        return {*self.done, *(tag for tags, *_ in self.entries for tag in tags)}

    @property
    def final(self) -> set[int]:
        """The tags that are settled, not only extended."""
        return {*self.done, *(tag for tags, what, *_ in self.entries if what != EXTEND for tag in tags)}


class RemoteClaim:
    """The deliveries of another node to one consumer, from its registration until all are settled.

    `messages` has the messages by their delivery tags here. `opened` is called once, with the tags that do
    not belong to the consumer, after the first answer, or when none is to be expected.
    """

    def __init__(
        self, subscription: int, queue: str, lease: int, messages: Mapping[int, Message], opened: OnSettled
    ) -> None:
        """Set up an unclaimed claim. `lease` in ms; 0: none."""
        self.asked: AskHold | AskSettle | None = None  # the open question
        self.is_refused = False
        self.left = dict(messages)  # not settled
        self.tags = frozenset(messages)  # here, of all messages
        self._about = subscription, queue, lease
        self._opened: OnSettled | None = opened
        self._epoch = 0  # at the part; 0: not granted
        self._remote: dict[int, int] = {}  # of the part, by tag here
        self._waiting: list[RemoteSettlement] = []
        self._sent: list[RemoteSettlement] = []

    @property
    def is_granted(self) -> bool:
        return self._epoch > 0

    @property
    def is_owed_answer(self) -> bool:
        """True while a settlement is not answered."""
        return bool(self._waiting or self._sent)

    # --- questions --------------------------------------------------------------------------------------

    def next_question(self, certificate: Certificate) -> AskHold | AskSettle | None:
        """Return the next question for the part, which is then open, or `None`."""
        if self.asked is not None or self.is_refused or not self.left:
            return None
        if not self._epoch:
            self._remote = {tag: at for at, tag in enumerate(self.left, 1)}
            self.asked = self._hold(certificate, as_held(self.left.values()))
        elif self._waiting:
            self._sent = self._take_waiting()
            self.asked = AskSettle(
                certificate=certificate,
                subscription=self._about[0],
                epoch=self._epoch,
                done=self._ends(tag for each in self._sent for tag in each.done),
                entries=[
                    (first, last, what, delay, reason)
                    for each in self._sent
                    for tags, what, delay, reason in each.entries
                    for first, last in self._runs(tags)
                ],
            )
        return self.asked

    def touch(self, certificate: Certificate) -> AskSettle | None:
        """Return a question that settles nothing and is then open, or `None` if there is no need for one."""
        if self.asked is not None or not self.is_granted or not self.left:
            return None
        self.asked = AskSettle(certificate=certificate, subscription=self._about[0], epoch=self._epoch)
        return self.asked

    def leave(self, certificate: Certificate, begun: int) -> AskHold:
        """Return the question that ends the claim; `begun` is the last tag that the consumer has begun."""
        return self._hold(certificate, (), sum(tag <= begun for tag in self._remote))

    def _hold(self, certificate: Certificate, held: HeldRuns, begun: int = 0) -> AskHold:
        subscription, queue, lease = self._about
        return AskHold(
            certificate=certificate,
            subscription=subscription,
            queue=queue,
            lease=lease,
            held=held,
            begun=begun,
        )

    def _take_waiting(self) -> list[RemoteSettlement]:
        """Remove and return the settlements for one question: they have different tags, or one is alone."""
        taken, tags, entries = list[RemoteSettlement](), set[int](), 0
        while self._waiting:
            each = self._waiting[0]
            entries += len(each.tags)
            if taken and (tags & each.tags or entries > QUEUE_CREDIT):
                break
            tags |= each.tags
            taken.append(self._waiting.pop(0))
        return taken

    def _runs(self, tags: Iterable[int]) -> Runs:
        return joined(sorted(self._remote[tag] for tag in tags if tag in self._remote))

    def _ends(self, tags: Iterable[int]) -> list[int]:
        return [end for run in self._runs(tags) for end in run]

    # --- answers ----------------------------------------------------------------------------------------

    def on_held(self, epoch: int, void: Sequence[int]) -> None:
        """Record that the part granted the claim except for the `void` tags. Raises: RemoteError."""
        over = self._at_home(void)
        if epoch <= 0:
            raise RemoteError(f"the part opened the invalid epoch {epoch}", code="MALFORMED")
        self.asked, self._epoch = None, epoch
        self._open(over)

    def on_settled(self, over: Sequence[int]) -> None:
        """Record the answer to a settlement; `over` has the tags that were not outstanding."""
        lost = set(self._at_home(over))
        sent, self._sent, self.asked = self._sent, [], None
        for each in sent:
            for tag in each.final:
                self.left.pop(tag, None)
            unknown = each.tags - self._remote.keys()
            each.then(sorted(each.tags & lost | unknown))
        late = [each for each in self._waiting if not each.tags & self.left.keys()]
        self._waiting = [each for each in self._waiting if each not in late]
        for each in late:
            each.then(sorted(each.tags))

    def on_lost(self) -> None:
        """Record that the part is disconnected: the claim has to be repeated."""
        self.asked, self._epoch = None, 0
        self._waiting, self._sent = self._sent + self._waiting, []
        self._open([])

    def on_refused(self) -> None:
        """Record that the part grants nothing, for good."""
        self.on_lost()
        self.is_refused = True
        self._open(sorted(self.left))
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            each.then(sorted(each.tags))
        self.left.clear()

    def _open(self, over: list[int]) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            opened(over)

    def _at_home(self, ends: Sequence[int]) -> list[int]:
        """Return the tags here for ranges of tags of the part. Raises: RemoteError for impossible ones."""
        runs = list(zip(ends[::2], ends[1::2], strict=False))
        if len(ends) % 2 or any(not 1 <= a <= b <= len(self._remote) for a, b in runs):
            raise RemoteError("the part named tags that it was not asked about", code="MALFORMED")
        return [tag for tag, at in self._remote.items() if any(a <= at <= b for a, b in runs)]

    # --- settling ---------------------------------------------------------------------------------------

    def select(self, done: Runs, entries: Sequence[SettledRun], then: OnSettled) -> RemoteSettlement | None:
        """Return the part of a SETTLE that concerns this claim, or `None`."""
        mine = [tag for first, last in done for tag in range(first, last + 1) if tag in self.tags]
        some = [
            (tags, what, delay, reason)
            for first, last, what, delay, reason in entries
            if (tags := [tag for tag in range(first, last + 1) if tag in self.tags])
        ]
        return RemoteSettlement(mine, some, then) if mine or some else None

    def settle(self, settlement: RemoteSettlement) -> None:
        """Queue a settlement for the part; after a refusal it is answered now."""
        if self.is_refused or not settlement.tags & self.left.keys():
            settlement.then(sorted(settlement.tags))
        else:
            self._waiting.append(settlement)


def as_held(messages: Iterable[Message]) -> HeldRuns:
    """Return messages, in this order, as ranges by stream."""
    entries: list[tuple[bytes, list[int]]] = []
    for stream, number in messages:
        if not entries or entries[-1][0] != stream or entries[-1][1][-1] >= number:
            entries.append((stream, [number, number]))
        elif entries[-1][1][-1] == number - 1:
            entries[-1][1][-1] = number
        else:
            entries[-1][1].extend((number, number))
    return tuple((stream, tuple(ends)) for stream, ends in entries)


def split_held(
    held: HeldRuns, held_at: Sequence[bytes], me: bytes
) -> tuple[HeldRuns, dict[bytes, dict[int, Message]]]:
    """Return the messages of CONSUME that are held here, and those at other nodes by their delivery tags.

    The former have empty stream ids in place of the others, so that all have the same tags as in `held`.
    """
    here, others, tag = list[tuple[bytes, tuple[int, ...]]](), dict[bytes, dict[int, Message]](), 0
    nodes = held_at or (me,) * len(held)
    for (stream, ends), node in zip(held, nodes, strict=True):
        here.append((stream if node == me else b"", ends))
        for first, last in zip(ends[::2], ends[1::2], strict=True):
            if node != me:
                found = others.setdefault(node, {})
                found.update({tag + 1 + at: (stream, first + at) for at in range(last - first + 1)})
            tag += last - first + 1
    return tuple(here), others


def without_tags(
    done: Runs, entries: Sequence[SettledRun], others: set[int]
) -> tuple[Runs, list[SettledRun]]:
    """Return a SETTLE without the tags `others`."""
    kept = joined(tag for first, last in done for tag in range(first, last + 1) if tag not in others)
    rest = [
        (first, last, *terms)
        for a, b, *terms in entries
        for first, last in joined(tag for tag in range(a, b + 1) if tag not in others)
    ]
    return kept, rest  # type: ignore[return-value]  # of a starred tuple
