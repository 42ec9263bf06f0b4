"""Services and requests without an event loop, in any thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

import mesh.sync
from mesh.errors import BadArgument, BadType, Closed, LocalError, MeshTimeout, NoHandlers, RequestFailed
from tests.mesh.running import LIMIT, environment, state_directory


@pytest.fixture(scope="module")
def m() -> Iterator[mesh.sync.Client]:
    with (
        state_directory() as state,
        mesh.sync.node("heron", mdns=False, environ=environment(state), timeout=LIMIT) as m,
    ):
        yield m


class Beside:
    """A function that runs in a thread of its own during the block."""

    def __init__(self, function: Any) -> None:
        self.thread = threading.Thread(target=function)

    def __enter__(self) -> None:
        self.thread.start()

    def __exit__(self, *_: object) -> None:
        self.thread.join(LIMIT)
        assert not self.thread.is_alive()


def test_requests_are_answered_by_an_iterator_in_another_thread(m: mesh.sync.Client) -> None:
    service = m.serve("orders", type=int)

    def serve() -> None:
        for request in service:
            assert request.wants_reply and 0 < request.remaining <= 5.1 and request.sender == m.name
            if request.value < 0:
                assert request.fail("NEGATIVE", "below 0")
            else:
                assert request.reply(request.value * 2, headers={"k": "v"})
                with pytest.raises(LocalError, match="ANSWERED"):
                    request.reply(0)

    with service, Beside(serve):
        reply = m.request("orders", 21)
        assert (reply.value, reply.headers["k"]) == (42, "v")
        with pytest.raises(RequestFailed, match="below 0"):
            m.request("orders", -1)
        with m.gather("orders", 4) as answers:
            assert [answer.value for answer in answers] == [8] and answers.expected == 1
        service.close()
    with pytest.raises(NoHandlers):
        m.request("orders", 1)
    with pytest.raises(Closed), service:
        pass


def test_who_waits_for_a_request_need_not_wait_for_ever(m: mesh.sync.Client) -> None:
    with m.serve("quiet") as service:
        assert service.address == "quiet"
        with pytest.raises(MeshTimeout):
            service.next_request(timeout=0.05)
        for timeout in (-1, float("nan"), "5"):
            with pytest.raises(BadArgument):
                service.next_request(timeout=timeout)  # type: ignore[arg-type]
        assert m.send("quiet", b"x").matched == 1
        request = service.next_request(timeout=LIMIT)
        assert request is not None and request.content == b"x" and not request.reply(b"nobody hears")
        with pytest.raises(MeshTimeout):
            m.request("quiet", b"y", timeout=0.1)


def test_a_function_works_in_a_thread_where_it_may_wait_and_ask_itself(m: mesh.sync.Client) -> None:
    @m.service("calc/double")
    def double(number: int) -> int:
        return 2 * number

    @m.service("calc/quadruple")
    def quadruple(request: mesh.sync.Request[int]) -> None:
        twice = m.request("calc/double", request.value).value
        assert request.reply(m.request("calc/double", twice).value)

    with pytest.raises(BadType):

        @m.service("calc/async")
        async def nothing() -> None:
            """Need an event loop."""

    with m.running():
        assert m.request("calc/quadruple", 5).value == 20


def test_a_handler_that_raises_stop_iteration_gets_the_next_message(
    m: mesh.sync.Client, caplog: pytest.LogCaptureFixture
) -> None:
    seen = threading.Event()

    @m.on("topic")
    def handle(message: mesh.Message) -> None:
        if message.content == b"stop":
            raise StopIteration
        seen.set()

    with caplog.at_level("CRITICAL", "mesh.client"), m.running():
        m.publish("topic", b"stop")
        m.publish("topic", b"go")
        assert seen.wait(LIMIT)


def test_who_serves_it_is_an_iterator(m: mesh.sync.Client) -> None:
    with m.serve("watched"):
        looking = m.registrations("watched")
        first = next(looking)
        assert (first.node, first.consumers) == ("heron", 1)
        with pytest.raises(MeshTimeout):
            looking.next_registration(timeout=0.01)
    gone = looking.next_registration(timeout=LIMIT)
    assert gone is not None and gone.change == "removed"
    looking.close()
    assert list(looking) == []


def test_before_its_client_is_open_a_service_gives_nothing() -> None:
    m = mesh.sync.connect(environ={})
    service = m.serve("x")
    assert service.next_request() is None, "it is not open"
    with pytest.raises(Closed):
        service.__enter__()
