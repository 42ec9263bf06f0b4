"""OpenTelemetry traces, from publisher to handler, only if they are asked for."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import mesh
from mesh import sync
from mesh.client.client import Client
from mesh.errors import BadKey, BadType, LocalError
from tests.mesh.client.wired import Wired, scenario, wired
from tests.mesh.meshes import LIMIT, mesh_of, take


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    """The spans that end during the test."""
    kept, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    with patch.object(trace, "get_tracer", provider.get_tracer):
        yield kept


def named(spans: InMemorySpanExporter, name: str) -> ReadableSpan:
    [span] = [span for span in spans.get_finished_spans() if span.name == name]
    return span


def trace_of(span: ReadableSpan) -> int:
    assert span.context is not None
    return int(span.context.trace_id)


def parent_of(span: ReadableSpan) -> int:
    assert span.parent is not None
    return int(span.parent.span_id)


def id_of(span: ReadableSpan) -> int:
    assert span.context is not None
    return int(span.context.span_id)


def test_a_trace_goes_from_who_publishes_to_who_handles_and_on(spans: InMemorySpanExporter) -> None:
    async def told() -> None:
        async with mesh_of("a") as made, made.connect("a", tracing=True) as m, made.connect("a") as plain:
            tracer = trace.get_tracer("test")
            handled = asyncio.Event()

            @m.on("jobs/#")
            async def work(message: mesh.Message) -> None:
                await m.publish("done", message.content)
                handled.set()

            async with plain.subscribe("done") as done:
                async with m.running():
                    with tracer.start_as_current_span("request"):
                        await m.publish("jobs/1", b"x", headers={"a": "b"})
                    async with asyncio.timeout(LIMIT):
                        await handled.wait()
                [message] = await take(done, 1)
                assert "traceparent" in message.headers, "who traces nothing sees it, too"

    asyncio.run(told())
    request, publish = named(spans, "request"), named(spans, "publish jobs/1")
    receive, process, then = (
        named(spans, name) for name in ("receive jobs/1", "process jobs/1", "publish done")
    )
    assert {trace_of(span) for span in (publish, receive, process, then)} == {trace_of(request)}
    assert parent_of(publish) == id_of(request)
    assert parent_of(receive) == parent_of(process) == id_of(publish)
    assert parent_of(then) == id_of(process)
    assert process.attributes is not None
    assert process.attributes["messaging.destination.name"] == "jobs/1"
    assert process.attributes["messaging.message.id"]


def test_each_post_has_a_trace_of_its_own_beside_its_headers(spans: InMemorySpanExporter) -> None:
    async def told() -> None:
        async with mesh_of("a") as made, made.connect("a", tracing=True) as m, m.subscribe("k") as sub:
            for n in range(3):
                m.post("k", b"x", headers={"n": str(n)})
                m.post("k", b"x")
            messages = await take(sub, 6)
            traces = [message.headers["traceparent"] for message in messages]
            assert len(set(traces)) == 6
            assert [message.headers.get("n") for message in messages[::2]] == ["0", "1", "2"]

    asyncio.run(told())


def test_a_trace_that_is_there_is_left_alone_and_a_broken_one_stops_nobody(
    spans: InMemorySpanExporter,
) -> None:
    odd = ["00-zz", "", "00-" + "0" * 32 + "-" + "0" * 16 + "-01", "\n", "x" * 1000]

    async def told() -> None:
        async with mesh_of("a") as made, made.connect("a", tracing=True) as m, m.subscribe("k") as sub:
            for text in odd:
                await m.publish("k", b"x", headers={"traceparent": text})
            assert [message.headers["traceparent"] for message in await take(sub, len(odd))] == odd

    asyncio.run(told())
    assert not [span for span in spans.get_finished_spans() if span.name == "publish k"]


def test_what_is_refused_untraced_is_refused_traced(spans: InMemorySpanExporter) -> None:
    async def told() -> None:
        async with wired(client=Client("ipc:///run/heron", client="joe", tracing=True)) as it:
            keys: list[Any] = ["", 5, "a\ud800", None, ["k"]]
            for key in keys:
                with pytest.raises(BadKey):
                    it.client.post(key, b"x")
            headers: list[Any] = [5, "ab", {"a": 5}]
            for each in headers:
                with pytest.raises(BadType):
                    it.client.post("k", b"x", headers=each)

    asyncio.run(told())


def test_a_blocking_client_publishes_in_the_trace_of_its_thread(spans: InMemorySpanExporter) -> None:
    m = sync.Client("ipc:///run/heron", tracing=True)
    tracer = trace.get_tracer("test")
    with tracer.start_as_current_span("request") as span:
        message = m._aio._prepared("k", b"x")
        name = f"{span.get_span_context().trace_id:032x}"
    assert name.encode() in message[4]


def test_without_it_nothing_is_carried_and_nothing_imported() -> None:
    @scenario
    async def told(it: Wired) -> None:
        it.post()
        builder = it.client._core.publisher.accumulator.builder
        assert builder is not None and not builder.props

    told()
    code = "import sys, mesh.sync; mesh.sync.connect('a'); print('opentelemetry' in sys.modules)"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output == "False\n"


def test_where_opentelemetry_is_missing_it_is_said_what_to_install() -> None:
    missing: dict[str, Any] = {
        "opentelemetry": None,
        "opentelemetry.trace": None,
        "opentelemetry.propagate": None,
    }
    with patch.dict(sys.modules, missing):
        sys.modules.pop("mesh.client.tracing", None)
        with pytest.raises(LocalError, match=r"heronry\[tracing\]") as caught:
            mesh.connect("a", tracing=True)
    assert caught.value.code == "NO_OPENTELEMETRY"
