"""Notifications to systemd: complete, and never waited for."""

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from threading import Thread

import pytest

from mesh.shell.systemd import ALIVE, READY, Notifier, beat, place
from tests.mesh.running import LIMIT, running, state_directory, until


@pytest.fixture
def heard() -> Iterator[socket.socket]:
    with state_directory() as place, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
        server.bind(str(place / "notify"))
        server.settimeout(LIMIT)
        yield server


@contextmanager
def drained(server: socket.socket) -> Iterator[SimpleQueue[bytes]]:
    """Yield a queue of all datagrams of the socket, in order.

    A thread reads them at once: the socket holds about ten, and a further one is lost. More would arrive
    during a slow command of this test.
    """
    words: SimpleQueue[bytes] = SimpleQueue()

    def drain() -> None:
        while word := server.recv(1000):
            words.put(word)

    server.settimeout(None)
    thread = Thread(target=drain, daemon=True)
    thread.start()
    try:
        yield words
    finally:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
            out.sendto(b"", server.getsockname())  # ends the thread
        thread.join(LIMIT)


def test_no_word_is_lost_while_nobody_reads(heard: socket.socket) -> None:
    notifier = Notifier({"NOTIFY_SOCKET": heard.getsockname()})
    with drained(heard) as words:
        for number in range(50):
            notifier.send_lines(f"STATUS={number}")
            until(partial(heard_so_many, words, number + 1))
    assert [words.get(timeout=LIMIT) for _ in range(50)] == [b"STATUS=%d" % n for n in range(50)]


def heard_so_many(words: "SimpleQueue[bytes]", number: int) -> bool:
    return words.qsize() >= number


def test_what_is_said_comes_as_one_word(heard: socket.socket) -> None:
    Notifier({"NOTIFY_SOCKET": heard.getsockname()}).send_lines(READY, "STATUS=node \ud800 serves")
    assert heard.recv(1000) == b"READY=1\nSTATUS=node \\ud800 serves"


def test_an_address_that_begins_with_at_is_in_no_file_system() -> None:
    assert place("@systemd") == "\0systemd" and place("/run/notify") == "/run/notify"


@pytest.mark.parametrize("address", ["", "/nowhere", "/" + "x" * 300, "\0", "relative"])
def test_nobody_suffers_where_nobody_hears(address: str) -> None:
    Notifier({"NOTIFY_SOCKET": address}).send_lines(READY)


def test_a_socket_that_is_full_is_not_waited_for(heard: socket.socket) -> None:
    notifier = Notifier({"NOTIFY_SOCKET": heard.getsockname()})
    for _ in range(5000):
        notifier.send_lines("STATUS=" + "x" * 200)
    assert heard.recv(1000)


@pytest.mark.parametrize(
    ("environ", "interval"),
    [
        ({}, None), ({"WATCHDOG_USEC": "30000000"}, 15), ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "-5"}, None), ({"WATCHDOG_USEC": "x"}, None), ({"WATCHDOG_USEC": "9" * 30}, None),
        ({"WATCHDOG_USEC": "2000000", "WATCHDOG_PID": "7"}, 1),
        ({"WATCHDOG_USEC": "2000000", "WATCHDOG_PID": "8"}, None),
        ({"WATCHDOG_USEC": "2000000", "WATCHDOG_PID": ""}, None),
    ],
)  # fmt: skip
def test_a_sign_of_life_comes_twice_as_often_as_is_wanted(environ: dict[str, str], interval: float) -> None:
    assert beat(environ, 7) == interval


@pytest.mark.slow
def test_a_service_says_that_it_is_ready_lives_reads_its_settings_and_ends(
    heard: socket.socket, tmp_path: Path
) -> None:
    config = tmp_path / "mesh.toml"
    config.write_text("")
    said = ("env", f"NOTIFY_SOCKET={heard.getsockname()}", "WATCHDOG_USEC=400000", "setsid", "--wait")

    def comes(word: str) -> None:
        until(lambda: word in words.get(timeout=LIMIT).decode())

    with drained(heard) as words, running("a", options=("--config", str(config)), inside=said) as a:
        for word in (READY, ALIVE, ALIVE, ALIVE):
            comes(word)
        config.write_text('[log]\nlevel = "debug"\n[node]\nbind = ["tcp://127.0.0.1:9"]\n')
        os.kill(a.it["pid"], signal.SIGHUP)
        for word in ("RELOADING=1\nMONOTONIC_USEC=", READY, ALIVE):
            comes(word)
        [event] = a.mesh("events", "--kind", "settings").stdout.splitlines()
        assert "applied: log.level: 'info' -> 'debug'. unchanged until a restart: node.bind" in event
        config.write_text("[limits]\nsessions = 0\n")
        os.kill(a.it["pid"], signal.SIGHUP)
        comes("RELOADING=1")
        comes(READY)
        assert "no setting was applied: " in a.mesh("events", "--kind", "settings").stdout
        a.mesh("down")
        comes("STOPPING=1")
        assert a.wait() == 0
