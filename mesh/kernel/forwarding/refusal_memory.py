"""Remembers refusals, to give the same answer again if a publisher resends a message.

Otherwise a message could be accepted at the second attempt, after later messages of its publisher.
"""

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from mesh.errors import PublishRefused
from mesh.flow.bounded import Bounded
from mesh.routing.origin import Origin
from mesh.site_policy.refusals import is_for_now
from mesh.streams.ranges import Ranges
from mesh.wire.commands import Answer
from mesh.wire.envelope import Envelope

WARNING = "FORWARD_WARNING"
MOST = 4096  # streams whose refusals are remembered
EACH = 1024  # refusals of one stream

SpanAnswer = tuple[int, int, Answer | None]


class RefusalMemory:
    """The refusals of this boot by stream and domain, for local clients and for peers.

    `given_up(envelope)` returns the numbers of the envelope's stream whose refusals are on disk, if any.
    """

    def __init__(self, node: str, given_up: Callable[[Envelope], Ranges | None]) -> None:
        self._node = node
        self._given_up = given_up
        self._said = Bounded[tuple[bytes, str], dict[int, Answer]](MOST)

    def remember(self, stream: bytes, refusal: Answer) -> None:
        """Remember a refusal, as its answer may be lost.

        Beyond 1024 refusals of a stream, the refusal of the lowest number is forgotten; beyond 4096 streams,
        the stream without a new refusal for the longest time.
        """
        key = (stream, refusal.domain)
        said = self._said.get(key, {})
        self._said.keep(key, said)
        known = said.get(refusal.first)
        if known is None or known.last < refusal.last:  # a repeated one may be shorter
            said[refusal.first] = refusal
        if len(said) > EACH:
            del said[min(said)]

    def answer_origin(self, origin: Origin, e: Envelope, answer: Answer) -> None:
        """Answer the origin of an envelope, and remember a final refusal."""
        if answer.state not in ("OK", WARNING) and not is_for_now(e.sender, answer.state, e.to):
            self.remember(e.stream, answer)
        origin.answer(e.stream, answer)

    def refusal_of(self, stream: bytes, domain: str, number: int) -> Answer | None:
        """Return the refusal of one message, or `None` if none is remembered."""
        said = self._said.get((stream, domain), {})
        return next((a for a in said.values() if a.first <= number <= a.last), None)

    def split_repeated(self, e: Envelope, first: int, last: int, is_own: bool) -> Iterator[SpanAnswer]:
        """Yield the parts of `first` to `last`: refused ones with the answer, others with `None`.

        For a local client (`is_own`), the refused parts include messages whose refusals are on disk, and the
        parts are not always in order.
        """
        given_up = self._given_up(e) if is_own else None
        for a, b, answer in self.parts(e.stream, e.domain, first, last, e.low):
            if answer is not None or not given_up:
                yield a, b, answer
                continue
            # Both are computed before the first yield, as a yielded part may be refused meanwhile.
            news, old = list(given_up.missing(a, b)), list(given_up.common(a, b))
            yield from ((*part, None) for part in news)
            yield from ((*part, self._refusal_answer(e, *part)) for part in old)

    def _refusal_answer(self, e: Envelope, first: int, last: int) -> Answer:
        error = PublishRefused(
            f"{self._node} refused the message before its last restart.", hint="Send it as a new message."
        )
        return Answer(e.domain, first, last, error.code, 0, str(error))

    def parts(self, stream: bytes, domain: str, first: int, last: int, low: int) -> Iterator[SpanAnswer]:
        """Yield the parts of `first` to `last` in order: refused ones with their answer, others with `None`.

        The publisher knows all answers below `low`, so these are forgotten.
        """
        said = self._said.get((stream, domain), {})
        for number in [n for n, refusal in said.items() if refusal.last < low]:
            del said[number]
        for refusal in sorted(said.values(), key=lambda refusal: refusal.first):
            if refusal.last < first or refusal.first > last:
                continue
            if refusal.first > first:
                yield first, refusal.first - 1, None
                first = refusal.first
            end = min(last, refusal.last)
            yield first, end, replace(refusal, first=first, last=end)
            first = end + 1
        if first <= last:
            yield first, last, None
