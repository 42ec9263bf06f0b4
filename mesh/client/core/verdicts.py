"""The answers to published messages, and the promises that wait for them.

A message has one answer, or two: FORWARD_WARNING, and later a final answer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from mesh.client.core.client_context import Promise
from mesh.client.core.refusals import of_answer
from mesh.errors import BadQuery, MeshError, PublishRefused
from mesh.names import SENDS
from mesh.streams.outbox import Outbox
from mesh.streams.ranges import Ranges
from mesh.values import Published, message_id
from mesh.wire.commands import Answer

REMEMBERED = 1024  # answers, and refusals, kept for late calls
REFUSED = 10_000  # remembered ranges of refused sends to addresses

DomainNumber = tuple[str, int]  # domain, sequence number


class Waiters:
    """The promises that wait for answers, by message."""

    def __init__(self) -> None:
        self._promises: dict[DomainNumber, list[Promise]] = {}

    def __bool__(self) -> bool:
        return bool(self._promises)

    def add(self, number: DomainNumber, promise: Promise) -> None:
        self._promises.setdefault(number, []).append(promise)

    def drop(self, number: DomainNumber, promise: Promise) -> None:
        waiting = self._promises.get(number)
        if waiting is not None and promise in waiting:
            waiting.remove(promise)
            if not waiting:
                del self._promises[number]

    def pop(self, number: DomainNumber) -> list[Promise]:
        return [promise for promise in self._promises.pop(number, ()) if not promise.done()]

    def pop_all(self) -> list[Promise]:
        return [promise for number in list(self._promises) for promise in self.pop(number)]


class Verdicts:
    """The answers to one session's messages.

    `refused_later(id, why)` is called if a message with an earlier answer is refused and no call waits for
    it.
    """

    def __init__(
        self,
        stream: bytes,
        outbox: Outbox,
        promise: Callable[[], Promise],
        refused_later: Callable[[str, PublishRefused], None],
    ) -> None:
        self._stream = stream
        self._outbox = outbox
        self._promise = promise
        self._refused_later = refused_later
        self._first, self._last = Waiters(), Waiters()  # for any answer, for the final one
        self._errors: dict[DomainNumber, MeshError] = {}  # unreported refusals
        self._answers: deque[Answer] = deque(maxlen=REMEMBERED)
        self._refusals: deque[Answer] = deque(maxlen=REMEMBERED)  # separate, so that no OK displaces them
        self._refused: dict[str, Ranges] = {}  # numbers by domain; only sends are bounded
        self._closed: MeshError | None = None
        self.note: str = ""  # why the latest waiting message waits

    # --- recording answers ------------------------------------------------------------------------------

    def record_answer(self, answer: Answer) -> None:
        """Record an answer for a range of numbers. A repeated answer changes nothing."""
        if answer.state not in ("OK", "FORWARD_WARNING"):
            self._refuse(answer)
            return
        is_final = answer.state == "OK"
        fresh = self._outbox.note_answer(answer.domain, answer.first, answer.last, is_final)
        if fresh:
            self._answers.append(answer)
        if not is_final:
            self.note = answer.text
        for waiters in (self._first, self._last) if is_final else (self._first,):
            if waiters:
                self._settle(waiters, answer, fresh)

    def record_reported(self, answer: Answer) -> None:
        """Record an answer; a refusal is raised elsewhere, so `flush` does not raise it."""
        if answer.state not in ("OK", "FORWARD_WARNING"):
            self._refuse(answer, is_reported=True)
        self.record_answer(answer)

    def _settle(self, waiters: Waiters, answer: Answer, fresh: list[tuple[int, int]]) -> None:
        for number in _each(fresh):
            for promise in waiters.pop((answer.domain, number)):
                promise.set_result(self._published(answer, number))

    def _refuse(self, answer: Answer, is_reported: bool = False) -> None:
        unheard = set(_each(self._outbox.note_answer(answer.domain, answer.first, answer.last, final=False)))
        fresh = self._outbox.note_answer(answer.domain, answer.first, answer.last, final=True)
        if fresh:
            self._refusals.append(answer)
        for first, last in fresh:
            self._refused.setdefault(answer.domain, Ranges()).add(first, last)
        if answer.domain == SENDS and len(self._refused.get(SENDS, ())) > REFUSED:
            self._refused[SENDS].drop_lowest()
        for number in _each(fresh):
            name = (answer.domain, number)
            waiting = self._first.pop(name) + self._last.pop(name)
            for promise in waiting:
                promise.set_exception(of_answer(answer))
            if waiting or is_reported or answer.domain == SENDS:  # sends are awaited or abandoned
                continue
            if number in unheard:
                self._errors[name] = of_answer(answer)
            else:
                self._refused_later(message_id(self._stream, *name), of_answer(answer))

    def _published(self, answer: Answer, number: int) -> Published:
        name = message_id(self._stream, answer.domain, number)
        return Published(answer.state, name, answer.matched, answer.text)  # type: ignore[arg-type]

    # --- queries ----------------------------------------------------------------------------------------

    def answer_of(self, domain: str, number: int, last: bool) -> Published | None:
        """Return the answer to a message, or its final answer if `last`; None if there is none yet.

        Raises: the refusal; BadQuery if the outcome of a send to an address is forgotten.
        """
        has = self._outbox.is_final if last else self._outbox.is_answered
        return self._known(domain, number) if has(domain, number) else None

    def when_answered(self, domain: str, number: int, last: bool) -> Promise:
        """Return a promise for the answer to a message, or for its final answer if `last`.

        `wait_no_more` withdraws the promise. Raises: the error of `fail_all`.
        """
        if self._closed is not None:
            raise self._closed
        promise = self._promise()
        (self._last if last else self._first).add((domain, number), promise)
        return promise

    def wait_no_more(self, domain: str, number: int, last: bool, promise: Promise) -> None:
        (self._last if last else self._first).drop((domain, number), promise)

    def _known(self, domain: str, number: int) -> Published:
        if number in self._refused.get(domain, ()):
            raise self._errors.pop((domain, number), None) or self._refusal(domain, number)
        for answer in reversed(self._answers):
            if _is_of(answer, domain, number):
                return self._published(answer, number)
        if domain == SENDS:
            what = f"The outcome of {message_id(self._stream, domain, number)} is no longer known."
            hint = f"The session remembers {REMEMBERED:,} answers: ask for the outcome earlier."
            raise BadQuery(what, hint=hint)
        # The answer is too old: only its kind is known.
        state = "OK" if self._outbox.is_final(domain, number) else "FORWARD_WARNING"
        return Published(state, message_id(self._stream, domain, number), -1)  # type: ignore[arg-type]

    def _refusal(self, domain: str, number: int) -> MeshError:
        """Return the error of a refusal that was reported before; the reason of an old one is unknown."""
        for answer in reversed(self._refusals):
            if _is_of(answer, domain, number):
                return of_answer(answer)
        what = (
            f"Message {message_id(self._stream, domain, number)} was refused; the reason is no longer known."
        )
        return PublishRefused(what, hint="Await its receipt or final() earlier to receive the reason.")

    def first_refusal(self, domain: str, numbers: Sequence[tuple[int, int]]) -> MeshError | None:
        """Return the first refusal of a message in the ranges `numbers`, or None.

        Refusals in these ranges are not reported again.
        """
        refused = self._refused.get(domain, Ranges())
        some = [part for first, last in numbers for part in refused.common(first, last)]
        if not some:
            return None
        unheard = [name for name in self._errors if name[0] == domain and _is_in(name[1], some)]
        errors = [self._errors.pop(name) for name in unheard]
        return errors[0] if errors else self._refusal(domain, some[0][0])

    def count_accepted(self, domain: str, numbers: Sequence[tuple[int, int]]) -> int:
        """Return how many messages in the ranges `numbers` have an answer that is not a refusal."""
        refused, ends = self._refused.get(domain, Ranges()), [last for _, last in numbers]
        if self._outbox.is_answered_below({domain: max(ends, default=0) + 1}):
            return sum(b - a + 1 for a, b in numbers) - sum(
                d - c + 1 for a, b in numbers for c, d in refused.common(a, b)
            )
        each = (n for first, last in numbers for n in range(first, last + 1))
        return sum(self._outbox.is_answered(domain, n) and n not in refused for n in each)

    def has_refused(self, domain: str, numbers: Sequence[tuple[int, int]]) -> bool:
        refused = self._refused.get(domain)
        return refused is not None and any(refused.overlaps(first, last) for first, last in numbers)

    def raise_first(self) -> None:
        """Raise the first unreported refusal, and drop the others."""
        if self._errors:
            error = next(iter(self._errors.values()))
            self._errors.clear()
            raise error

    def fail_all(self, error: MeshError) -> None:
        """Fail all waiting promises, and refuse later ones, because the client is closed."""
        self._closed = error
        for promise in self._first.pop_all() + self._last.pop_all():
            promise.set_exception(error)


def _each(ranges: Iterable[tuple[int, int]]) -> Iterator[int]:
    return (number for first, last in ranges for number in range(first, last + 1))


def _is_in(number: int, numbers: Iterable[tuple[int, int]]) -> bool:
    return any(first <= number <= last for first, last in numbers)


def _is_of(answer: Answer, domain: str, number: int) -> bool:
    return answer.domain == domain and answer.first <= number <= answer.last
