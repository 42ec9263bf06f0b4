"""The HTTP thread: it answers valid requests, whatever other connections do."""

import http.client
import socket
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

import pytest

from mesh.shell.http import serving
from mesh.shell.http.place import bound
from mesh.shell.http.serving import CONNECTIONS, SILENT, HttpThread
from mesh.shell.seen import SeenNode
from tests.mesh.metrics.infos import info
from tests.waiting import LIMIT, until

TOKEN = "0123456789abcdef"


class Node:
    """A stand-in for a node's loop.

    `why` is the reason that it does not serve yet; with `is_stuck` it answers only after a call of `answer`.
    """

    def __init__(self, why: str = "", is_stuck: bool = False) -> None:
        self.why, self.is_stuck, self.asked = why, is_stuck, 0
        self._waiting: list[Future[SeenNode]] = []

    def ask(self, answer: Future[SeenNode]) -> None:
        self.asked += 1
        self._waiting.append(answer)
        if not self.is_stuck:
            self.answer()

    def answer(self) -> None:
        """Answer all waiting requests and all later ones."""
        self.is_stuck = False
        while self._waiting:
            self._waiting.pop().set_result(SeenNode(info(client_published=5), why=self.why))


@contextmanager
def serving_for(node: Any) -> Iterator[HttpThread]:
    thread = HttpThread(bound("127.0.0.1:0"), TOKEN, node.ask)
    thread.start()
    try:
        yield thread
    finally:
        thread.close()
        assert not thread._thread.is_alive()


def get(thread: HttpThread, path: str, token: str = TOKEN) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", thread._port, timeout=LIMIT)
    connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def test_it_answers_and_asks_the_node_once_for_all_who_ask_within_a_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(serving, "FRESH", 60.0)
    node = Node()
    with serving_for(node) as thread:
        assert get(thread, "/healthz") == get(thread, "/readyz") == (200, "ok\n")
        status, text = get(thread, "/metrics")
        assert status == 200 and "mesh_client_published_total 5.0" in text and "process_cpu" in text
        assert get(thread, "/metrics", "wrong")[0] == 401
    assert node.asked == 1


def test_a_node_that_does_not_serve_yet_lives() -> None:
    with serving_for(Node(why="not yet")) as thread:
        assert get(thread, "/healthz")[0] == 200
        assert get(thread, "/readyz") == (503, "not yet\n")


def test_a_node_whose_loop_stands_still_does_not_live(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "PATIENCE", 0.05)
    with serving_for(Node(is_stuck=True)) as thread:
        assert get(thread, "/healthz")[0] == get(thread, "/metrics")[0] == 503


def test_who_says_half_a_request_is_ended_and_nobody_waits_for_him(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "TIME", 0.3)
    with serving_for(Node()) as thread:
        with socket.create_connection(("127.0.0.1", thread._port), timeout=LIMIT) as half:
            half.sendall(b"GET /healthz HTTP/1.1\r\nHost: ")
            assert get(thread, "/healthz")[0] == 200
            assert half.recv(1) == b""


def dialled(thread: HttpThread, many: int, said: bytes = b"") -> list[socket.socket]:
    connections = [socket.create_connection(("127.0.0.1", thread._port), timeout=LIMIT) for _ in range(many)]
    for each in connections:
        each.sendall(said)
    return connections


def test_too_many_at_once_are_refused_and_there_is_room_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "PATIENCE", 60.0)
    monkeypatch.setattr(serving, "TIME", 60.0)
    node = Node(is_stuck=True)
    with serving_for(node) as thread:
        head = f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{thread._port}\r\n\r\n"
        asked = dialled(thread, CONNECTIONS, head.encode())
        until(lambda: thread._open == CONNECTIONS)
        assert get(thread, "/healthz")[0] == 503
        node.answer()
        for each in asked:
            assert each.recv(12) == b"HTTP/1.1 200"
            each.close()
        until(lambda: not thread._open)
        assert get(thread, "/healthz")[0] == 200


def test_who_says_nothing_keeps_nobody_out_and_makes_way_for_who_comes() -> None:
    with serving_for(Node()) as thread:
        idle = dialled(thread, SILENT + 1)
        assert idle[0].recv(1) == b""  # the oldest connection was closed
        assert get(thread, "/healthz")[0] == 200
        for each in idle:
            each.close()


def test_a_head_without_end_is_refused() -> None:
    with serving_for(Node()) as thread:
        with socket.create_connection(("127.0.0.1", thread._port), timeout=LIMIT) as endless:
            endless.sendall(b"GET / HTTP/1.1\r\nX: " + b"x" * 50_000)
            assert endless.recv(100).startswith(b"HTTP/1.1 431")


def test_a_node_that_has_ended_is_told_as_one_that_does_not_answer() -> None:
    class Gone(Node):
        def ask(self, answer: Future[SeenNode]) -> None:
            raise RuntimeError("Event loop is closed")

    with serving_for(Gone()) as thread:
        assert get(thread, "/healthz")[0] == 503
