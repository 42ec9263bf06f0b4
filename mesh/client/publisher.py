"""The publishing half of a client: gather messages into envelopes, keep them until they are answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Sequence

from msgspec import Struct

from mesh.client.builder import Builder
from mesh.client.oneloop import check_loop, running_loop
from mesh.client.verdicts import Verdicts
from mesh.errors import (
    BadArgument,
    BadName,
    BadQuery,
    MeshError,
    MessageTooLarge,
    PublishRefused,
    WouldBlock,
    shown,
)
from mesh.reserved import check_free
from mesh.streams.outbox import Outbox
from mesh.values import Published, check_domain, check_key, message_id, parse_message_id
from mesh.wire.commands import Answer
from mesh.wire.envelope import Envelope
from mesh.wire.limits import MAX_CONTENT

LINGER = 0.001  # s for which a message waits for company, at most, and only while others are under way


class Receipt(Struct, frozen=True, eq=False, gc=False):
    """A message on its way. Await it for its `Published`, or the error that refused it."""

    _publisher: Publisher
    domain: str
    number: int

    @property
    def id(self) -> str:
        return message_id(self._publisher.stream, self.domain, self.number)

    def __await__(self) -> Generator[object, None, Published]:
        return self._publisher.result(self).__await__()


class Publisher:
    """`send` puts an envelope on the wire; False while there is none, then it is sent after the reconnect.

    `refused_later(id, why)` hears what a master refused that had to wait, when nobody awaits its last word.
    """

    def __init__(
        self,
        stream: bytes,
        send: Callable[[Envelope], bool],
        look: Callable[[], None],
        refused_later: Callable[[str, PublishRefused], None],
    ) -> None:
        self.stream = stream
        self.max_content = MAX_CONTENT
        self.outbox = Outbox(4 << 20, 1024)
        self.loop: asyncio.AbstractEventLoop | None = None  # the one where the client was opened
        self._send = send
        self._look = look  # take answers that have arrived, without giving up the loop
        self.builder: Builder | None = None
        self._checked: set[str] = set()
        self._planned = False
        self._sealed = 0.0  # when the last one left
        self._timer: asyncio.TimerHandle | None = None  # until the next one has waited long enough
        self._verdicts = Verdicts(stream, self.outbox, refused_later)
        self._quiet: list[asyncio.Future[None]] = []  # wait until all is answered, or there is room

    def post(
        self, key: str, content: bytes, domain: str, flags: int, props: bytes, expires: int, to: str = ""
    ) -> int:
        """Append a message; returns its number. WouldBlock while the window is full."""
        self.check(key, content, to)
        builder = self._builder_of(domain, flags, to)
        number = builder.add(key, content, props, expires)
        self._added(builder)
        return number

    def row(self, builder: Builder, key: str) -> int:
        """The row of a key in an envelope that may not have it yet. BadKey."""
        self.check(key, b"")
        return builder.row(key)

    def post_many(
        self, key: str, contents: Sequence[bytes], domain: str, flags: int, props: bytes, expires: int
    ) -> int:
        """Append as many of these, one at least, as one envelope takes; returns how many. WouldBlock."""
        self.check(key, max(contents, key=len))
        builder = self._builder_of(domain, flags, "")
        taken = builder.add_many(key, contents, props, expires)
        self._added(builder)
        return taken

    def _added(self, builder: Builder) -> None:
        if builder.full:
            self._seal()
        elif not self._planned:
            self._plan()

    def _builder_of(self, domain: str, flags: int, to: str) -> Builder:
        builder = self.builder
        if (
            builder is None
            or builder.full
            or builder.domain != domain
            or builder.flags != flags
            or builder.to != to
        ):
            builder = self._open(domain, flags, to)
        return builder

    def _plan(self) -> None:
        self._planned = True
        (self.loop or asyncio.get_running_loop()).call_soon(self._flush_soon)

    def _open(self, domain: str, flags: int, to: str) -> Builder:
        if self.loop is not running_loop():
            check_loop(self.loop)
        self._seal()
        check_free(check_domain(domain))
        if not self.outbox.open:
            self._look()
            if not self.outbox.open:
                raise WouldBlock(
                    f"{self.outbox.flight} envelopes are unanswered: the window is full.",
                    hint="Await flush(), or use publish() or publish_many(), which wait by themselves.",
                )
        self.builder = Builder(domain, flags, to, self.outbox.next_number(domain), self.max_content)
        return self.builder

    def check(self, key: str, content: bytes, to: str = "") -> None:
        """BadKey or MessageTooLarge; in any thread. What is sent to somebody needs no key."""
        try:
            if key not in self._checked and (key != "" or not to):
                self._check_key(key)
        except (TypeError, ValueError):  # no str, nor anything else that could stand in a set
            check_key(key)
            raise
        if len(content) > self.max_content:
            hint = "Send it in parts, or raise limits.max_content on every node (up to 64 MiB)."
            raise MessageTooLarge(
                f"{to or key}: content of {len(content)} bytes, at most {self.max_content} allowed.",
                hint=hint,
            )

    def _check_key(self, key: str) -> None:
        check_free(check_key(key))
        if len(self._checked) > 100_000:
            self._checked.clear()
        self._checked.add(key)

    def _flush_soon(self) -> None:
        self._planned = False
        self._seal_if_due()

    def _seal_if_due(self) -> None:
        if self.builder is None:
            return
        # An envelope costs the nodes the same however much is in it: under load few large ones must go.
        loop = asyncio.get_running_loop()
        if not self.outbox.flight or self.builder.full or loop.time() - self._sealed >= LINGER:
            self._seal()
        elif self._timer is None:
            self._timer = loop.call_later(LINGER, self._time)

    def _time(self) -> None:
        self._timer = None
        self._seal_if_due()

    def _seal(self) -> None:
        if self.builder is not None and self.builder.slices:
            envelope = self.outbox.add(self.builder.seal(self.stream))
            self.builder = None
            self._sealed = asyncio.get_running_loop().time()
            self._send(envelope)

    def answered(self, answer: Answer) -> None:
        """What a master, or a node where it waits, said of some numbers."""
        self._verdicts.heard(answer)
        self._seal_if_due()
        self._wake()

    def is_answered(self, envelope: Envelope) -> bool:
        """Has each message of it any answer?"""
        return self.outbox.is_answered_below({envelope.domain: envelope.last + 1})

    async def result(self, receipt: Receipt) -> Published:
        """The answer to one message, when it comes. WrongLoop."""
        check_loop(self.loop)
        return await self._verdicts.first(receipt.domain, receipt.number)

    async def final(self, message: Published | Receipt) -> Published:
        """The last answer to one message, when it comes. BadQuery for one that is not of this session."""
        if not isinstance(message, Receipt | Published):
            what = f"{shown(message)} is neither a receipt nor an answer."
            raise BadArgument(what, hint="Give what post() or publish() returned.")
        if isinstance(message, Receipt):
            is_own, domain, number = message._publisher is self, message.domain, message.number
        else:
            is_own, domain, number = self._find(message.id)
        if not is_own:
            raise BadQuery(
                f"{message.id} was not published by this session.",
                hint="Only the session that published a message hears what becomes of it.",
            )
        if isinstance(message, Published) and message.ok:
            return message
        return await self._verdicts.last(domain, number)

    def _find(self, text: str) -> tuple[bool, str, int]:
        """(is it ours?, domain, number) of a message id."""
        try:
            stream, domain, number = parse_message_id(text)
        except BadName:
            return False, "", 0
        return stream == self.stream and number < self.outbox.marks().get(domain, 0), domain, number

    def waiting(self) -> tuple[int, str]:
        """(messages that wait for their master, what the last of them waits for)."""
        return self.outbox.warned, self._verdicts.note

    # --- waiting ----------------------------------------------------------------------------------------

    async def flush(self) -> None:
        """Until every message has an answer. Raises the first refusal that no receipt was asked for."""
        self._seal()
        while self.outbox.unanswered or self.builder is not None:
            await self._change()
            self._seal()
        self._verdicts.raise_first()

    async def answered_so_far(self) -> None:
        """Until what was posted by now has an answer, whatever it is."""
        self._seal()
        marks = self.outbox.marks()
        while not self.outbox.is_answered_below(marks):
            await self._change()

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
        """The client is closed for good: whoever waits learns it, and whoever posts."""
        self.builder = None
        self._verdicts.fail(error)
        for future in self._quiet:
            if not future.done():
                future.set_exception(error)
                future.exception()  # not everybody who waits looks at it
        self._quiet.clear()
