"""The trace of OpenTelemetry that a message belongs to: `connect(tracing=True)` carries it in the headers.

This file is imported, and OpenTelemetry with it, by those alone who ask for that.
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
        "tracing=True needs OpenTelemetry.", hint="pip install 'heronry[tracing]'", code="NO_OPENTELEMETRY"
    ) from None

from mesh.client.message import Message
from mesh.printable import harmless
from mesh.values import Headers


class Tracer:
    """The spans of one client: for each publish, each message that is received, and each handler's work."""

    def __init__(self) -> None:
        self._tracer = trace.get_tracer("mesh.client")

    def published(self, key: str, headers: Headers) -> Headers:
        """The headers with the trace; who has put one there is left alone."""
        if "traceparent" in headers or not isinstance(key, str):  # it is refused soon
            return headers
        carrier: dict[str, str] = {}
        with self._tracer.start_as_current_span(
            f"publish {harmless(key)}", kind=trace.SpanKind.PRODUCER
        ) as span:
            _describe(span, key)
            propagate.inject(carrier)
        return Headers([*headers.items(), *carrier.items()])

    def received(self, messages: Iterable[Message[Any]]) -> None:
        """They were taken: a span for each that has a trace."""
        for message in messages:
            if "traceparent" in message.headers:
                with self._span("receive", message):
                    pass

    @contextmanager
    def processing(self, message: Message[Any]) -> Iterator[None]:
        """A context: what a handler does with it, and what that publishes, belongs to the same trace."""
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
