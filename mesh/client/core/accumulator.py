"""Accumulates messages into envelopes, and decides when an envelope is sent."""

# Law 1: all messages of an envelope have the same domain, flags, receiver, deadline, queue terms and XML.
# Law 2: a message waits for others at most LINGER, and only while an envelope is in flight.

from __future__ import annotations

from collections.abc import Callable

from mesh.client.core.builder import Builder
from mesh.client.core.client_context import Alarm, ClientContext
from mesh.errors import WouldBlock
from mesh.reserved import check_domain_free
from mesh.streams.outbox import Outbox
from mesh.wire.envelope import Envelope
from mesh.wire.limits import MAX_CONTENT

PutTerms = tuple[int, int, str] | tuple[()]  # priority, delay, group of a queued message
TOGETHER = 500  # messages in an envelope for a queue
LINGER = 0.001  # s of accumulation while others are in flight


class EnvelopeAccumulator:
    """The open envelope of a session, and the time at which it is sent.

    A caller takes a builder, adds messages to it, and then calls `on_added` or `on_put`.
    `send(envelope, until)` sends an envelope; `until` is its deadline, or 0 for none.
    """

    def __init__(
        self, context: ClientContext, stream: bytes, outbox: Outbox, send: Callable[[Envelope, float], None]
    ) -> None:
        self.max_content: int = MAX_CONTENT
        self.builder: Builder | None = None  # None: no open envelope
        self._context, self._stream, self._outbox, self._send = context, stream, outbox, send
        self._is_planned = False
        self._sealed = 0.0  # when the last envelope was sent
        self._alarm: Alarm | None = None  # fires when the next envelope is due

    def adopt_limits(self, max_content: int, window: tuple[int, int]) -> None:
        """Set the largest content and the window of unanswered envelopes that the node accepts."""
        self.max_content = max_content
        self._outbox.window = window

    # --- builders -----------------------------------------------------------------------------------------

    def publish_builder(self, domain: str, flags: int, to: str, xml: str) -> Builder:
        """Return the builder for a published message. Raises: WouldBlock, PublishRefused."""
        builder = self.builder
        if (
            builder is None
            or builder.full
            or builder.domain != domain
            or builder.flags != flags
            or builder.to != to
            or builder.xml != xml
        ):
            builder = self.open_builder(domain, flags, to)
            builder.xml = xml
        return builder

    def put_builder(self, to: str, flags: int, how: PutTerms) -> Builder:
        """Return the builder for a message of the queue `to`. Raises: WouldBlock."""
        builder = self.builder
        if (
            builder is None
            or builder.full
            or builder.domain != to
            or builder.flags != flags
            or builder.put != how
        ):
            builder = self.open_builder(to, flags, to, 0.0)
            builder.put = how
        return builder

    def open_builder(self, domain: str, flags: int, to: str, until: float | None = None) -> Builder:
        """Send the open envelope, and open another one with the deadline `until`; 0: none.

        None means that the domain is the user's choice, so it must not be reserved.
        Raises: WouldBlock, PublishRefused.
        """
        self._context.wake()  # raises if not allowed here
        self.seal()
        if until is None:
            check_domain_free(domain)
        if not self._outbox.open:
            raise WouldBlock(
                f"The window is full; unanswered envelopes: {self._outbox.flight}.",
                hint="Await room() or flush(), or use publish(), send() or put(), which wait.",
            )
        self.builder = Builder(domain, flags, to, self._outbox.next_number(domain), self.max_content)
        if until:
            self.builder.until = until
        return self.builder

    # --- sending ------------------------------------------------------------------------------------------

    def on_added(self, builder: Builder) -> None:
        """Send the envelope if it is full; otherwise plan to send it in this turn of the event loop."""
        if builder.full:
            self.seal()
        elif not self._is_planned:
            self._context.soon(self._flush_soon)
            self._is_planned = True

    def on_put(self, builder: Builder) -> None:
        """Do as `on_added`. An envelope for a queue is full at TOGETHER messages."""
        if len(builder.slices) >= TOGETHER:
            self.seal()
        else:
            self.on_added(builder)

    def seal_if_due(self) -> None:
        """Send the open envelope if it is due; otherwise after LINGER."""
        if self.builder is None:
            return
        # An envelope costs the nodes the same at any size, so under load fewer and larger ones are sent.
        if not self._outbox.flight or self.builder.full or self._context.now - self._sealed >= LINGER:
            self.seal()
        elif self._alarm is None:
            self._alarm = self._context.later(LINGER, self._ring)

    def seal(self) -> None:
        """Send the open envelope, if it has messages."""
        builder = self.builder
        if builder is not None and builder.slices:
            envelope = self._outbox.add(builder.seal(self._stream))
            self.builder = None
            self._sealed = self._context.now
            self._send(envelope, builder.until)

    def drop(self) -> None:
        """Drop the open envelope, because the client is closed."""
        self.builder = None

    def _flush_soon(self) -> None:
        self._is_planned = False
        self.seal_if_due()

    def _ring(self) -> None:
        self._alarm = None
        self.seal_if_due()
