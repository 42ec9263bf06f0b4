"""Is there always a descriptor left, and is nobody cut but who came in?"""

import resource
import socket

import pytest

from mesh.transport.guests import SPARE, most_guests, turn_away


def test_there_is_room_for_what_is_free_less_a_share(monkeypatch: pytest.MonkeyPatch) -> None:
    for soft, kept in ((200, SPARE), (6400, 400)):
        monkeypatch.setattr(resource, "getrlimit", lambda what, soft=soft: (soft, soft))
        monkeypatch.setattr("os.listdir", lambda path: ["fd"] * 50)
        assert most_guests() == soft - 50 - kept
    monkeypatch.setattr(resource, "getrlimit", lambda what: (20, 20))
    assert most_guests() == 1


def test_only_a_connection_of_that_endpoint_is_ended() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_server(("127.0.0.1", 0)) as other:
        mine = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
        with socket.create_connection(listener.getsockname()) as ours, listener.accept()[0] as guest:
            turn_away(guest.fileno(), f"tcp://127.0.0.1:{other.getsockname()[1]}")
            ours.sendall(b"x")
            assert guest.recv(1) == b"x", "it is somebody else's number by now"
            turn_away(guest.fileno(), mine)
            ours.settimeout(5)
            assert ours.recv(1) == b""
            assert guest.fileno() >= 0, "it is ZeroMQ that closes it"
        turn_away(guest.fileno() + 1000, mine)
