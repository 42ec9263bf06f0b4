"""The publishing half of a client: gather messages into envelopes, keep them until they are answered."""

from __future__ import annotations

import asyncio
from array import array
from collections import deque
from collections.abc import Callable, Generator
from typing import Any

from mesh.errors import MeshError, MessageTooLarge, PublishRefused, StaleSequence, WouldBlock
from mesh.streams.outbox import Outbox
from mesh.values import Published, check_domain, check_key, message_id
from mesh.wire.commands import Answer
from mesh.wire.envelope import Envelope
from mesh.wire.limits import ENVELOPE_BYTES, ENVELOPE_MESSAGES, MAX_CONTENT

EAGER = 4  # envelopes under way up to which a message leaves at once; above, it waits for company
REMEMBERED = 1024  # answers kept for receipts that are asked late

REFUSALS: dict[str, type[PublishRefused]] = {"STALE_SEQUENCE": StaleSequence}


class Receipt:
    """A message on its way. Await it for its `Published`, or the error that refused it."""

    __slots__ = ("_publisher", "domain", "number")

    def __init__(self, publisher: Publisher, domain: str, number: int) -> None:
        self._publisher = publisher
        self.domain = domain
        self.number = number

    @property
    def id(self) -> str:
        return message_id(self._publisher.stream, self.domain, self.number)

    def __await__(self) -> Generator[object, None, Published]:
        return self._publisher.result(self).__await__()


class Builder:
    """An envelope that is still open."""

    def __init__(self, domain: str, flags: int, first: int) -> None:
        self.domain, self.flags, self.first = domain, flags, first
        self.slices: list[bytes] = []
        self.rows: dict[str, int] = {}
        self.index: list[int] = []
        self.props: list[int] = []
        self.bytes = 0
        self.expires = 0

    def add(self, key: str, content: bytes, props: bytes, expires: int) -> int:
        """Returns the number of the message."""
        rows = self.rows
        row = rows.get(key)
        if row is None:
            row = rows[key] = len(rows)
        self.index.append(row)
        if props or self.props:
            self.props += [0] * (len(self.slices) - len(self.props)) + [len(props)]
            content = props + content
        self.slices.append(content)
        self.bytes += len(content)
        if expires:
            self.expires = min(expires, self.expires or expires)
        return self.first + len(self.slices) - 1

    @property
    def full(self) -> bool:
        return len(self.slices) >= ENVELOPE_MESSAGES or self.bytes >= ENVELOPE_BYTES

    def seal(self, stream: bytes) -> Envelope:
        sizes = array("I", map(len, self.slices))
        alike = sizes.count(sizes[0]) == len(sizes)
        return Envelope(
            stream=stream, domain=self.domain, first=self.first, last=self.first + len(sizes) - 1,
            keys=tuple(self.rows), count=len(sizes), sizes=sizes[0] if alike else sizes.tobytes(),
            body=b"".join(self.slices), flags=self.flags, expires=self.expires,
            index=array("H", self.index).tobytes() if len(self.rows) > 1 else b"",
            props=array("I", self.props).tobytes() if self.props else 0,
        )  # fmt: skip


class Publisher:
    """`send` puts an envelope on the wire; False while there is none, then it is sent after the reconnect."""

    def __init__(self, stream: bytes, send: Callable[[Envelope], bool], look: Callable[[], None]) -> None:
        self.stream = stream
        self.max_content = MAX_CONTENT
        self.outbox = Outbox(4 << 20, 1024)
        self._send = send
        self._look = look  # take answers that have arrived, without giving up the loop
        self._builder: Builder | None = None
        self._checked: set[str] = set()
        self._planned = False
        self._waiters: dict[tuple[str, int], asyncio.Future[Published]] = {}
        self._answers: deque[Answer] = deque(maxlen=REMEMBERED)
        self._errors: dict[tuple[str, int], MeshError] = {}  # refusals that nobody has asked for yet
        self._quiet: list[asyncio.Future[None]] = []  # wait until all is answered, or there is room

    def post(self, key: str, content: bytes, domain: str, flags: int, props: bytes, expires: int) -> int:
        """Append a message; returns its number. WouldBlock while the window is full."""
        self.check(key, content)
        builder = self._builder
        if builder is None or builder.domain != domain or builder.flags != flags:
            builder = self._open(domain, flags)
        number = builder.add(key, content, props, expires)
        if len(builder.slices) >= ENVELOPE_MESSAGES or builder.bytes >= ENVELOPE_BYTES:
            self._seal()
        elif not self._planned:
            self._planned = True
            asyncio.get_running_loop().call_soon(self._flush_soon)
        return number

    def _open(self, domain: str, flags: int) -> Builder:
        self._seal()
        check_domain(domain)
        if not self.outbox.open:
            self._look()
            if not self.outbox.open:
                raise WouldBlock(
                    f"{self.outbox.flight} envelopes are unanswered: the window is full.",
                    hint="Await flush(), or use publish() or publish_many(), which wait by themselves.",
                )
        self._builder = Builder(domain, flags, self.outbox.next_number(domain))
        return self._builder

    def check(self, key: str, content: bytes) -> None:
        """BadKey or MessageTooLarge; in any thread."""
        if key not in self._checked:
            check_key(key)
            if len(self._checked) > 100_000:
                self._checked.clear()
            self._checked.add(key)
        if len(content) > self.max_content:
            hint = "Send it in parts, or raise limits.max_content on every node (up to 64 MiB)."
            raise MessageTooLarge(
                f"{key}: content of {len(content)} bytes, at most {self.max_content} allowed.", hint=hint
            )

    def _flush_soon(self) -> None:
        self._planned = False
        if self.outbox.flight < EAGER:
            self._seal()

    def _seal(self) -> None:
        if self._builder is not None and self._builder.slices:
            envelope = self.outbox.add(self._builder.seal(self.stream))
            self._builder = None
            self._send(envelope)

    def answered(self, answer: Answer) -> None:
        """What a master said of some numbers."""
        final = answer.state != "FORWARD_WARNING"
        fresh = self.outbox.answered(answer.domain, answer.first, answer.last, final)
        if fresh:
            self._answers.append(answer)
        if answer.state not in ("OK", "FORWARD_WARNING"):
            self._refused(answer, fresh)
        elif self._waiters:
            for first, last in fresh:
                self._settle(answer, first, last)
        if self._builder is not None and self.outbox.flight < EAGER:
            self._seal()
        self._wake()

    def _settle(self, answer: Answer, first: int, last: int) -> None:
        for number in range(first, last + 1):
            future = self._waiters.pop((answer.domain, number), None)
            if future is not None and not future.done():
                future.set_result(self._published(answer, number))

    def _refused(self, answer: Answer, fresh: list[tuple[int, int]]) -> None:
        for first, last in fresh:
            for number in range(first, last + 1):
                error = _refusal(answer)
                future = self._waiters.pop((answer.domain, number), None)
                if future is None:
                    self._errors[answer.domain, number] = error
                elif not future.done():
                    future.set_exception(error)

    def _published(self, answer: Answer, number: int) -> Published:
        state = "OK" if answer.state == "OK" else "FORWARD_WARNING"
        return Published(state, message_id(self.stream, answer.domain, number), answer.matched)  # type: ignore[arg-type]

    async def result(self, receipt: Receipt) -> Published:
        """The answer to one message, when it comes."""
        key = (receipt.domain, receipt.number)
        if key in self._errors:
            raise self._errors.pop(key)
        if self.outbox.is_answered(*key):
            return self._known(receipt)
        future = self._waiters.get(key)
        if future is None:
            future = self._waiters[key] = asyncio.get_running_loop().create_future()
        return await asyncio.shield(future)

    def _known(self, receipt: Receipt) -> Published:
        for answer in reversed(self._answers):
            if answer.domain == receipt.domain and answer.first <= receipt.number <= answer.last:
                if answer.state not in ("OK", "FORWARD_WARNING"):
                    raise _refusal(answer)  # asked a second time
                return self._published(answer, receipt.number)
        return Published("OK", receipt.id, -1)  # so long ago that only the fact is known

    async def flush(self) -> None:
        """Until every message has an answer. Raises the first refusal that no receipt was asked for."""
        self._seal()
        while self.outbox.unanswered or self._builder is not None:
            await self._change()
            self._seal()
        if self._errors:
            key = next(iter(self._errors))
            error = self._errors.pop(key)
            self._errors.clear()
            raise error

    async def room(self) -> None:
        """Until a message may be posted."""
        while not self.outbox.open:
            await self._change()

    async def _change(self) -> None:
        future = asyncio.get_running_loop().create_future()
        self._quiet.append(future)
        await future

    def _wake(self) -> None:
        quiet, self._quiet = self._quiet, []
        for future in quiet:
            if not future.done():
                future.set_result(None)

    def fail(self, error: MeshError) -> None:
        """The client is closed for good: whoever waits learns it."""
        waiting: list[asyncio.Future[Any]] = [*self._waiters.values(), *self._quiet]
        for future in waiting:
            if not future.done():
                future.set_exception(error)
                future.exception()  # not everybody who waits looks at it
        self._waiters.clear()
        self._quiet.clear()


def _refusal(answer: Answer) -> PublishRefused:
    kind = REFUSALS.get(answer.state, PublishRefused)
    return kind(answer.text.removesuffix(f" [{answer.state}]"), code=answer.state)
