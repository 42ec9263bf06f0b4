"""The limit on connections, which leaves some descriptors free."""

import resource

import pytest

from mesh.transport.guests import SPARE, most_guests


def test_there_is_room_for_what_is_free_less_a_share(monkeypatch: pytest.MonkeyPatch) -> None:
    for soft, kept in ((200, SPARE), (6400, 400)):
        monkeypatch.setattr(resource, "getrlimit", lambda what, soft=soft: (soft, soft))
        monkeypatch.setattr("os.listdir", lambda path: ["fd"] * 50)
        assert most_guests() == soft - 50 - kept
    monkeypatch.setattr(resource, "getrlimit", lambda what: (20, 20))
    assert most_guests() == 1
