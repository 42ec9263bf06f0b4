"""The publishing half of a client: gather messages into envelopes, keep them until they are answered."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mesh.client.core.builder import Builder
from mesh.client.core.deadlines import Deadlines
from mesh.client.core.desk import Alarm, ClientDesk, Promise
from mesh.client.core.verdicts import Verdicts
from mesh.errors import BadName, MeshError, MessageTooLarge, PublishRefused, WouldBlock
from mesh.names import SENDS
from mesh.reserved import check_domain_free, check_free
from mesh.streams.outbox import Outbox
from mesh.values import check_key, parse_message_id
from mesh.wire.commands import Answer
from mesh.wire.envelope import Envelope
from mesh.wire.limits import MAX_CONTENT

PutTerms = tuple[int, int, str] | tuple[()]  # how something is put into a queue, as an Envelope says it
TOGETHER = 500  # messages of a queue, in an envelope: it stays there until the last of them is done
LINGER = 0.001  # s for which a message waits for company, at most, and only while others are under way


class Publisher:
    """A session's messages on their way.

    `send` puts an envelope on the wire, if there is one: else it is sent after the reconnect.

    `refused_later(id, why)` hears what a master refused that had to wait, when nobody awaits its last word.
    """

    def __init__(
        self,
        desk: ClientDesk,
        stream: bytes,
        outbox: Outbox,
        send: Callable[[Envelope], None],
        refused_later: Callable[[str, PublishRefused], None],
    ) -> None:
        self.stream = stream
        self.max_content = MAX_CONTENT
        self.outbox = outbox
        self.builder: Builder | None = None
        self.verdicts: Verdicts = Verdicts(stream, outbox, desk.promise, refused_later)
        self._desk = desk
        self._send = send
        self._checked: set[str] = set()
        self._is_planned = False
        self._sealed = 0.0  # when the last one left
        self._alarm: Alarm | None = None  # rings when the next one has waited long enough
        self.deadlines: Deadlines = Deadlines()
        self.elsewhere: dict[str, int] = {}  # by domain: what has these numbers may be with another node, too
        self._quiet: dict[Promise, None] = {}  # of those who wait until all is answered, or there is room

    def moved(self) -> None:
        """Connected to another node, or process: what is not answered may have left for the last one."""
        self.deadlines.moved()
        self.elsewhere = self.outbox.numbered()

    def post(
        self,
        key: str,
        content: bytes,
        domain: str,
        flags: int,
        props: bytes,
        expires: int,
        to: str = "",
        xml: str = "",
    ) -> int:
        """Append a message; returns its number. WouldBlock while the window is full."""
        self.check(key, content, to)
        builder = self._builder_of(domain, flags, to, xml)
        number = builder.add(key, content, props, expires)
        self._added(builder)
        return number

    def post_to(
        self, address: str, key: str, content: bytes, flags: int, props: bytes, until: float = 0.0
    ) -> int:
        """Append a message to those who serve an address; returns its number. `until`: as of a Builder."""
        self.check(key, content, address)
        it = self.builder
        if (
            it is None
            or it.full
            or it.domain != SENDS
            or it.flags != flags
            or it.to != address
            or it.until != until
        ):
            it = self._open(SENDS, flags, address, until)
        number = it.add(key, content, props, 0)
        self._added(it)
        return number

    def put(
        self, to: str, how: PutTerms, key: str, content: bytes, flags: int, props: bytes, expires: int
    ) -> int:
        """Append a message that is put into the queue `to`; returns its number. WouldBlock."""
        self.check(key, content, to)
        builder = self._builder_for(to, flags, how)
        number = builder.add(key, content, props, expires)
        self._put(builder)
        return number

    def put_many(
        self,
        to: str,
        how: PutTerms,
        key: str,
        contents: Sequence[bytes],
        flags: int,
        props: bytes,
        expires: int,
    ) -> tuple[int, int]:
        """As many of these, one at least, as one envelope takes; returns the number of the first, and how
        many. WouldBlock."""
        self.check(key, max(contents, key=len), to)
        builder = self._builder_for(to, flags, how)
        count = len(builder.slices)
        taken = builder.add_many(key, contents[: TOGETHER - count], props, expires)
        self._put(builder)
        return builder.first + count, taken

    def _builder_for(self, to: str, flags: int, how: PutTerms) -> Builder:
        """For what is put into a queue in that way."""
        it = self.builder
        if it is None or it.full or it.domain != to or it.flags != flags or it.put != how:
            it = self._open(to, flags, to, 0.0)
            it.put = how
        return it

    def _put(self, builder: Builder) -> None:
        if len(builder.slices) >= TOGETHER:
            self.seal()
        else:
            self._added(builder)

    def row(self, builder: Builder, key: str) -> int:
        """The row of a key in an envelope that may not have it yet. BadKey."""
        self.check(key, b"")
        return builder.row(key)

    def post_many(
        self,
        key: str,
        contents: Sequence[bytes],
        domain: str,
        flags: int,
        props: bytes,
        expires: int,
        xml: str = "",
    ) -> int:
        """Append as many of these, one at least, as one envelope takes; returns how many. WouldBlock."""
        self.check(key, max(contents, key=len))
        builder = self._builder_of(domain, flags, "", xml)
        taken = builder.add_many(key, contents, props, expires)
        self._added(builder)
        return taken

    def _added(self, builder: Builder) -> None:
        if builder.full:
            self.seal()
        elif not self._is_planned:
            self._desk.soon(self._flush_soon)
            self._is_planned = True

    def _builder_of(self, domain: str, flags: int, to: str, xml: str) -> Builder:
        builder = self.builder
        if (
            builder is None
            or builder.full
            or builder.domain != domain
            or builder.flags != flags
            or builder.to != to
            or builder.xml != xml
        ):
            builder = self._open(domain, flags, to)
            builder.xml = xml
        return builder

    def _open(self, domain: str, flags: int, to: str, until: float | None = None) -> Builder:
        self._desk.wake()  # who may not publish here learns it before anything is begun
        self.seal()
        if until is None:
            check_domain_free(domain)
        if not self.outbox.open:
            raise WouldBlock(
                f"{self.outbox.flight} envelopes are unanswered: the window is full.",
                hint="Await flush(), or use publish() or publish_many(), which wait by themselves.",
            )
        self.builder = Builder(domain, flags, to, self.outbox.next_number(domain), self.max_content)
        if until:
            self.builder.until = until
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

    # --- leaving ----------------------------------------------------------------------------------------

    def _flush_soon(self) -> None:
        self._is_planned = False
        self._seal_if_due()

    def _seal_if_due(self) -> None:
        if self.builder is None:
            return
        # An envelope costs the nodes the same however much is in it: under load few large ones must go.
        if not self.outbox.flight or self.builder.full or self._desk.now - self._sealed >= LINGER:
            self.seal()
        elif self._alarm is None:
            self._alarm = self._desk.later(LINGER, self._time)

    def _time(self) -> None:
        self._alarm = None
        self._seal_if_due()

    def seal(self) -> None:
        """Send what was gathered."""
        builder = self.builder
        if builder is not None and builder.slices:
            envelope = self.outbox.add(builder.seal(self.stream))
            self.builder = None
            if builder.until:
                self.deadlines.add(envelope.first, builder.until, envelope.low)
            self._sealed = self._desk.now
            self._send(envelope)

    # --- answers ----------------------------------------------------------------------------------------

    def answered(self, answer: Answer) -> None:
        """Take what a master, or a node where it waits, said of some numbers."""
        self.verdicts.heard(answer)
        self._seal_if_due()
        self._wake()

    def is_answered(self, envelope: Envelope) -> bool:
        """Has each message of it any answer?"""
        return self.outbox.is_answered_below({envelope.domain: envelope.last + 1})

    @property
    def unanswered(self) -> int:
        """Messages without an answer, also those that have not left."""
        return self.outbox.unanswered + (0 if self.builder is None else len(self.builder.slices))

    @property
    def is_quiet(self) -> bool:
        """Has all that was posted an answer?"""
        return not self.outbox.unanswered and self.builder is None

    def is_ours(self, text: str) -> tuple[bool, str, int]:
        """(is it of this session?, domain, number) of a message id."""
        try:
            stream, domain, number = parse_message_id(text)
        except BadName:
            return False, "", 0
        it, end = self.builder, self.outbox.marks().get(domain, 0)
        if it is not None and it.domain == domain:
            end = it.first + len(it.slices)
        return stream == self.stream and number < end, domain, number

    def waiting(self) -> tuple[int, str]:
        """(messages that wait for their master, what the last of them waits for)."""
        return self.outbox.warned, self.verdicts.note

    def change(self) -> Promise:
        """Kept at the next answer, whatever it is."""
        promise = self._desk.promise()
        self._quiet[promise] = None
        return promise

    def change_no_more(self, promise: Promise) -> None:
        """Who waited for it gives up, or has it."""
        self._quiet.pop(promise, None)

    def _wake(self) -> None:
        quiet, self._quiet = self._quiet, {}
        for promise in quiet:
            if not promise.done():
                promise.set_result(None)

    def fail(self, error: MeshError) -> None:
        """The client is closed for good: whoever waits learns it, and whoever posts."""
        self.builder = None
        self.verdicts.fail(error)
        for promise in self._quiet:
            if not promise.done():
                promise.set_exception(error)
        self._quiet.clear()
