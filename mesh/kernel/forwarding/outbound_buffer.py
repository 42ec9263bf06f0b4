"""The outbound buffer: messages that wait for an unreachable master."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import takewhile

from msgspec.structs import replace as changed

from mesh.errors import MeshError
from mesh.kernel.context.disk import Disk
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.forwarding.deadletters import DeadLetters
from mesh.kernel.forwarding.entry_expiry import RETRY, EntryExpiry
from mesh.kernel.forwarding.entry_storage import EntryStorage
from mesh.kernel.forwarding.outbound_size import OutboundSize
from mesh.kernel.forwarding.route_decisions import CIRCULAR
from mesh.kernel.forwarding.transit_returns import TransitReturns
from mesh.mapping.decision import CHANGING
from mesh.routing.forward_stages import DONE, Keeping
from mesh.routing.forward_table import ForwardTable
from mesh.routing.log import Log
from mesh.routing.origin import Origin
from mesh.routing.pending_forward import HERE, PendingForward
from mesh.routing.verdict import PARTLY_REFUSED, verdicts
from mesh.site_policy.refusals import is_for_now
from mesh.wire.commands import Answer
from mesh.wire.envelope import Envelope


class OutboundBuffer:
    """The waiting entries of `onward`: their warnings, storage and final answers.

    `keep` remembers a refusal for resent messages.
    """

    def __init__(
        self,
        context: NodeContext,
        disk: Disk,
        log: Log,
        onward: ForwardTable,
        dead: DeadLetters,
        is_alive: Callable[[str], bool],
        keep: Callable[[bytes, Answer], None],
        is_unsettled: Callable[[PendingForward], bool],
        retract: Callable[[Envelope, Answer], None],
    ) -> None:
        """`is_unsettled` returns whether an entry may still be sent by another route.

        `retract` handles refused messages that local clients have already received.
        """
        self._context = context
        self._disk = disk
        self._log = log
        self._storage = EntryStorage(disk, log.shelf)
        self._dead = dead
        self._is_alive = is_alive
        self._keep = keep
        self._is_unsettled = is_unsettled
        self._retract = retract
        self._onward = onward
        self._young: dict[tuple[bytes, str], dict[PendingForward, None]] = {}  # by stream: not warned yet
        self._stuck: dict[tuple[bytes, str], PendingForward] = {}  # by stream: could not be stored
        self._expiry = EntryExpiry(context, onward, self.record_final_answer)
        self._expire_in_time = self._expiry.add
        self.returns = TransitReturns(context, onward, self.record_final_answer)
        size = self._size = OutboundSize(context, onward)
        self.age, self.depth, self.is_half_full = size.age, size.depth, size.is_half_full
        self.check_room, self.reserve = size.check_room, size.reserve

    # --- waiting ----------------------------------------------------------------------------------------

    def watch(self, entry: PendingForward) -> None:
        """Schedule the warning and the expiry of a new entry."""
        if not entry.keeping.is_warned:
            self._stay_young(entry)
            self._context.clock.wake(self._context.clock.now + self._patience(entry))
        self._expire_in_time(entry)

    def replace_entry(self, entry: PendingForward, parts: Sequence[PendingForward]) -> None:
        """Watch the parts of an entry in its place; they share its stored envelope, if any."""
        self._young.get(entry.key, {}).pop(entry, None)
        self._storage.replace_entry(entry, parts)
        for part in parts:
            self.watch(part)

    def warn(self, entry: PendingForward, why: str = "") -> None:
        """Warn the publisher that an entry waits, after a persistent entry is on disk.

        An entry for which there is no room is refused, unless it was sent. Earlier entries of the publisher
        on the same route are handled first, so that after a crash no stored entry lacks an earlier one. No
        warning is sent yet for an entry that this node must answer as a master, nor for later ones.
        """
        self._warn_of_row((*self._young_before(entry), entry), why)

    def warn_before(self, entry: PendingForward) -> None:
        """Warn of earlier entries of the publisher on the same route, before `entry` is stored."""
        self._warn_of_row(self._young_before(entry), "")

    def _young_before(self, entry: PendingForward) -> list[PendingForward]:
        young = self._young.get(entry.key, {})
        before = [
            e for e in young if e.serial < entry.serial and (e.is_beside(entry) or self._is_unsettled(e))
        ]
        return sorted(before, key=lambda e: e.serial)

    def _warn_of_row(self, row: Sequence[PendingForward], why: str) -> None:
        young = self._young.get(row[0].key, {}) if row else {}
        for each in takewhile(lambda e: not e.lacking.get(HERE), row):
            self._warn(each, why)
            if each.warned or each.is_done:
                young.pop(each, None)

    def _warn(self, entry: PendingForward, why: str) -> None:
        if entry.warned or entry.is_done:
            return
        if not entry.is_kept:  # in transit: the publishing node keeps it
            entry.change_keeping(Keeping.PASSING_WARNED)
            self._warn_origins(entry, why)
        elif self._is_behind(entry):
            self._stay_young(entry)
        elif self._size.is_full:
            if entry.was_sent:  # the master may have it, so it must not be refused
                self._stick(entry)
            else:
                self.refuse_entry(entry, self._size.full_error)
        elif entry.envelope.persistent:
            entry.change_keeping(Keeping.STORING)
            self._storage.store(entry, partial(self._on_stored, why))
        else:
            entry.change_keeping(Keeping.KEPT_WARNED)
            self._warn_origins(entry, why)

    def unanswered(self) -> Iterator[PendingForward]:
        """Yield the entries whose publishers were not warned; some may have their final answer already."""
        for lane in self._young.values():
            yield from lane

    def repeat(self, entry: PendingForward, again: Envelope) -> None:
        """Send the answers and the warning of a resent entry to its origin again, as they may be lost."""
        told = [a for a in entry.told if a.first <= again.last and a.last >= again.first]
        _answer_origins(entry, told, (entry.origin,))
        if entry.warned and entry.keeping is not Keeping.STORING:
            self._warn_origins(entry, "", (entry.origin,))

    def keep_entry(self, entry: PendingForward) -> None:
        """Keep an entry that was only in transit, as its publisher is now a client of this node.

        The publisher's earlier node may have sent the entry by another route, so the entry is never refused
        for lack of space.
        """
        entry.change_keeping(Keeping.KEPT)
        entry.presume_sent()
        self._stay_young(entry)
        self._context.clock.wake(self._context.clock.now + self._patience(entry))

    def _on_stored(self, why: str, entry: PendingForward, position: int, error: MeshError | None) -> None:
        if error is None and not entry.is_done and not self._is_behind(entry):
            entry.change_keeping(Keeping.STORED)
            entry.position = position
            self._warn_origins(entry, why)
            return
        self._storage.release_share(position)
        if entry.is_done:
            return
        entry.change_keeping(Keeping.KEPT)
        if error is None:
            self._stay_young(entry)
        elif entry.was_sent:  # the master may still answer
            self._stick(entry)
        else:
            self.refuse_entry(entry, error)

    def _stick(self, entry: PendingForward) -> None:
        """Mark an entry that cannot be stored now.

        Later entries of its publisher must not be stored first, as they would reach the master first after a
        crash.
        """
        self._stuck[entry.key] = entry
        self._stay_young(entry)

    def _is_behind(self, entry: PendingForward) -> bool:
        stuck = self._stuck.get(entry.key)
        if stuck is None or stuck.serial >= entry.serial:
            return False
        if stuck.is_done or stuck.keeping in (Keeping.STORED, Keeping.KEPT_WARNED):
            del self._stuck[entry.key]
            return False
        return True

    def _stay_young(self, entry: PendingForward) -> None:
        self._young.setdefault(entry.key, {})[entry] = None

    def _warn_origins(self, entry: PendingForward, why: str, whom: Iterable[Origin] | None = None) -> None:
        """Warn the given origins, by default all, that an entry waits."""
        e, whom = entry.envelope, entry.askers if whom is None else whom
        text = why or f"waits at {self._context.me.name} for {self._for_whom(entry)}"
        self._context.counters.add_count("forward_warnings", entry.messages)
        for first, last in entry.open:
            answer = Answer(e.domain, first, last, "FORWARD_WARNING", 0, text)
            _answer_origins(entry, (answer,), whom)

    def _for_whom(self, entry: PendingForward) -> str:
        if not entry.was_divided:
            return f"{entry.hops[0] or 'a master'} ({entry.why})"
        whys = {hop: "has not answered yet" if self._is_alive(hop) else "unreachable" for hop in entry.hops}
        return ", ".join(f"{hop} ({why})" for hop, why in whys.items())

    # --- final answers ----------------------------------------------------------------------------------

    def record_final_answer(self, entry: PendingForward, hop: str, answer: Answer) -> None:
        """Handle the final answer of a hop for some messages, and answer their publisher.

        The answers of several masters are combined into one.
        """
        if entry.was_divided:
            entry.said.append((self._context.me.name if hop == HERE else hop, answer))
        words: list[Answer] = []
        for first, last in self._onward.settle(entry, hop, answer.first, answer.last):
            whole = changed(answer, first=first, last=last)
            words += verdicts(entry.said, first, last) if entry.was_divided else (whole,)
        if entry.transit is not DONE:
            entry.told += words  # at most one for each number
        was_stored = False
        if not entry.open and entry.position > 0:
            was_stored, entry.position = self._storage.release_share(entry.position), 0
        refusals = [word for word in words if word.state != "OK"]
        for refusal in refusals:
            if was_stored:
                self._log.give_up(entry.envelope, refusal.first, refusal.last, self._context.clock.now)
            self._on_refused(entry, refusal)
            self.returns.on_answer(entry, refusal)
        if was_stored and refusals:
            # The entry is deleted before it is answered: otherwise, after a crash, the entry would be sent
            # again after later messages.
            self._disk.commit((), lambda _: _answer_origins(entry, words, entry.askers))
        else:
            _answer_origins(entry, words, entry.askers)

    def _on_refused(self, entry: PendingForward, answer: Answer) -> None:
        is_of_its_way = not entry.is_kept and answer.state in (CHANGING, CIRCULAR)
        if not is_of_its_way and not is_for_now(entry.envelope.sender, answer.state, entry.envelope.to):
            self._keep(entry.envelope.stream, answer)
        self._context.counters.add_count("refused", answer.last - answer.first + 1)
        if entry.is_given:
            self._retract(entry.envelope, answer)
        if entry.origin.is_local and (entry.warned or answer.state == PARTLY_REFUSED):
            self._dead.publish_refused(entry.envelope, answer, is_joint=entry.is_joint)

    def refuse_entry(self, entry: PendingForward, error: MeshError) -> None:
        """Refuse all open messages of an entry."""
        e = entry.envelope
        for hop in entry.hops:
            self.record_final_answer(entry, hop, Answer(e.domain, e.first, e.last, error.code, 0, str(error)))

    # --- timers -----------------------------------------------------------------------------------------

    def tick(self) -> None:
        """Send warnings that are due, and expire messages."""
        now = self._context.clock.now
        young, self._young = list(self.unanswered()), {}
        for entry in sorted(young, key=lambda entry: entry.serial):
            due = self._warning_due(entry)
            if now >= due:
                self.warn(entry)
                due = now + RETRY
            if not entry.is_done and not entry.warned:
                self._stay_young(entry)
                self._context.clock.wake(due)
        with self._disk.together():
            self._expiry.tick()
            self.returns.return_waiting()

    def _warning_due(self, entry: PendingForward) -> float:
        """Return the time at which the patience for the first stalled hop of the entry runs out."""
        of_link = self._context.settings.of_link
        lines = [(hop, line) for hop in entry.hops if (line := self._onward.line_of(entry, hop))]
        due = [max(entry.arrived, line.progress) + of_link("patience", hop) for hop, line in lines]
        return min(due, default=self._context.clock.now + self._patience(entry))

    def _patience(self, entry: PendingForward) -> float:
        """Return the seconds after which the publisher of an entry is warned at the earliest."""
        s = self._context.settings
        return min((s.of_link("patience", hop) for hop in entry.hops), default=s.patience)


def _answer_origins(entry: PendingForward, words: Iterable[Answer], whom: Iterable[Origin]) -> None:
    for origin in whom:
        for answer in words:
            origin.answer(entry.envelope.stream, answer)
