"""OpenTelemetry traces of messages: `connect(tracing=True)` carries them in the headers.

Only clients with tracing import this module, and OpenTelemetry with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

try:
    from opentelemetry import propagate, trace
except ImportError:
    from mesh.errors import LocalError

    raise LocalError(
        "tracing=True requires OpenTelemetry.",
        hint="Run:  pip install 'heronry[tracing]'",
        code="NO_OPENTELEMETRY",
    ) from None

from mesh.client.message import Message
from mesh.printable import harmless
from mesh.values import Headers


class Tracer:
    """The spans of one client: of publishes, of received messages with a trace, and of handler calls."""

    def __init__(self) -> None:
        self._tracer = trace.get_tracer("mesh.client")

    def published(self, key: str, headers: Headers) -> Headers:
        """Return the headers with the trace context. A context set by the caller is kept."""
        if "traceparent" in headers or not isinstance(key, str):  # refused later, if it is not a str
            return headers
        carrier: dict[str, str] = {}
        with self._tracer.start_as_current_span(
            f"publish {harmless(key)}", kind=trace.SpanKind.PRODUCER
        ) as span:
            _describe(span, key)
            propagate.inject(carrier)
        return Headers([*headers.items(), *carrier.items()])

    def trace_received(self, messages: Iterable[Message[Any]]) -> None:
        for message in messages:
            if "traceparent" in message.headers:
                with self._span("receive", message):
                    pass

    @contextmanager
    def processing(self, message: Message[Any]) -> Iterator[None]:
        """Run a block in the message's trace, which continues in messages that the block publishes."""
        with self._span("process", message):
            yield

    @contextmanager
    def _span(self, what: str, message: Message[Any]) -> Iterator[None]:
        before = propagate.extract(dict(message.headers.items()))
        kind = trace.SpanKind.CONSUMER
        with self._tracer.start_as_current_span(f"{what} {harmless(message.key)}", before, kind) as span:
            _describe(span, message.key)
            span.set_attribute("messaging.message.id", message.id)
            yield


def _describe(span: trace.Span, key: str) -> None:
    span.set_attributes({"messaging.system": "heronry", "messaging.destination.name": harmless(key)})
