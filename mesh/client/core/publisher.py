"""The publishing half of a client: checks and appends messages, and records their answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mesh.client.core.accumulator import TOGETHER, EnvelopeAccumulator, PutTerms
from mesh.client.core.builder import Builder
from mesh.client.core.client_context import ClientContext, Promise
from mesh.client.core.verdicts import Verdicts
from mesh.errors import BadName, MeshError, MessageTooLarge, PublishRefused
from mesh.names import SENDS
from mesh.reserved import check_free
from mesh.streams.outbox import Outbox
from mesh.values import check_key, parse_message_id
from mesh.wire.commands import Answer
from mesh.wire.envelope import Envelope


class Publisher:
    """The messages of a session that are not answered yet.

    `send(envelope, until)` sends an envelope if there is a connection; otherwise the envelope is sent after
    the reconnect. `until` is its deadline; 0: none. `refused_later(id, why)` is called if a message that had
    to wait is refused and no call awaits its final answer.
    """

    def __init__(
        self,
        context: ClientContext,
        stream: bytes,
        outbox: Outbox,
        send: Callable[[Envelope, float], None],
        refused_later: Callable[[str, PublishRefused], None],
    ) -> None:
        self.stream = stream
        self.outbox = outbox
        self.accumulator: EnvelopeAccumulator = EnvelopeAccumulator(context, stream, outbox, send)
        self.verdicts: Verdicts = Verdicts(stream, outbox, context.promise, refused_later)
        self._context = context
        self._checked: set[str] = set()
        self._quiet: dict[Promise, None] = {}  # promises of `change`

    def append_message(
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
        """Append a message, and return its number.

        Raises: WouldBlock, PublishRefused for a reserved domain, and the errors of `check_message`.
        """
        self.check_message(key, content, to)
        accumulator = self.accumulator
        builder = accumulator.publish_builder(domain, flags, to, xml)
        number = builder.add(key, content, props, expires)
        accumulator.on_added(builder)
        return number

    def post_to(
        self, address: str, key: str, content: bytes, flags: int, props: bytes, until: float = 0.0
    ) -> int:
        """Append a message for an address, and return its number. `until` is its deadline; 0: none."""
        self.check_message(key, content, address)
        accumulator = self.accumulator
        it = accumulator.builder
        if (
            it is None
            or it.full
            or it.domain != SENDS
            or it.flags != flags
            or it.to != address
            or it.until != until
        ):
            it = accumulator.open_builder(SENDS, flags, address, until)
        number = it.add(key, content, props, 0)
        accumulator.on_added(it)
        return number

    def append_put(
        self, to: str, how: PutTerms, key: str, content: bytes, flags: int, props: bytes, expires: int
    ) -> int:
        """Append a message for the queue `to`, and return its number.

        Raises: WouldBlock, and the errors of `check_message`.
        """
        self.check_message(key, content, to)
        builder = self.accumulator.put_builder(to, flags, how)
        number = builder.add(key, content, props, expires)
        self.accumulator.on_put(builder)
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
        """Append as many messages for a queue as fit into one envelope, at least one.

        Return the number of the first message, and how many were appended. Raises: WouldBlock, and the errors
        of `check_message`.
        """
        self.check_message(key, max(contents, key=len), to)
        builder = self.accumulator.put_builder(to, flags, how)
        count = len(builder.slices)
        taken = builder.add_many(key, contents[: TOGETHER - count], props, expires)
        self.accumulator.on_put(builder)
        return builder.first + count, taken

    def add_key(self, builder: Builder, key: str) -> int:
        self.check_message(key, b"")
        return builder.add_key(key)

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
        """Append as many messages as fit into one envelope, at least one.

        Return how many were appended. Raises: as `append_message`.
        """
        self.check_message(key, max(contents, key=len))
        builder = self.accumulator.publish_builder(domain, flags, "", xml)
        taken = builder.add_many(key, contents, props, expires)
        self.accumulator.on_added(builder)
        return taken

    def check_message(self, key: str, content: bytes, to: str = "") -> None:
        """Raise BadKey, PublishRefused for a reserved key, or MessageTooLarge; callable in any thread.

        A message with a receiver (`to`) needs no key.
        """
        try:
            if key not in self._checked and (key != "" or not to):
                self._check_key(key)
        except (TypeError, ValueError):  # not hashable, or not a str
            check_key(key)
            raise
        if len(content) > self.accumulator.max_content:
            most = self.accumulator.max_content
            raise MessageTooLarge(
                f"The content for {to or key} has {len(content)} bytes; the limit is {most}.",
                hint="Send the content in parts, or raise limits.max_content on every node (up to 64 MiB).",
            )

    def _check_key(self, key: str) -> None:
        check_free(check_key(key))
        if len(self._checked) > 100_000:
            self._checked.clear()
        self._checked.add(key)

    # --- answers ----------------------------------------------------------------------------------------

    def on_answer(self, answer: Answer) -> None:
        """Record an answer of a master, or of a node where messages wait.

        An envelope that is due is sent, and the promises of `change` resolve.
        """
        self.verdicts.record_answer(answer)
        self.accumulator.seal_if_due()
        self._wake()

    @property
    def unanswered(self) -> int:
        """The number of unanswered messages, including unsent ones."""
        builder = self.accumulator.builder
        return self.outbox.unanswered + (0 if builder is None else len(builder.slices))

    @property
    def is_quiet(self) -> bool:
        return not self.outbox.unanswered and self.accumulator.builder is None

    def is_ours(self, text: str) -> tuple[bool, str, int]:
        """Return whether this session published the message with the id `text`, its domain and its number.

        The domain is "" and the number 0 if `text` is not an id.
        """
        try:
            stream, domain, number = parse_message_id(text)
        except BadName:
            return False, "", 0
        it, end = self.accumulator.builder, self.outbox.marks().get(domain, 0)
        if it is not None and it.domain == domain:
            end = it.first + len(it.slices)
        return stream == self.stream and number < end, domain, number

    def waiting_count(self) -> tuple[int, str]:
        """Return how many messages wait for their master, and why the latest one had to wait.

        The reason is "" if none waits.
        """
        waiting = self.outbox.warned
        return waiting, self.verdicts.note if waiting else ""

    def change(self) -> Promise:
        promise = self._context.promise()
        self._quiet[promise] = None
        return promise

    def change_no_more(self, promise: Promise) -> None:
        self._quiet.pop(promise, None)

    def _wake(self) -> None:
        quiet, self._quiet = self._quiet, {}
        for promise in quiet:
            if not promise.done():
                promise.set_result(None)

    def fail_all(self, error: MeshError) -> None:
        """Drop the open envelope and fail all waiting promises, because the client is closed."""
        self.accumulator.drop()
        self.verdicts.fail_all(error)
        for promise in self._quiet:
            if not promise.done():
                promise.set_exception(error)
        self._quiet.clear()
