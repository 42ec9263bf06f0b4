"""`mesh lock` and `mesh why lock` with a fake client, and with real nodes."""

from __future__ import annotations

import json
from typing import Any

import pytest

import mesh
from mesh.cli.main import main
from tests.mesh.cli.fake import Given
from tests.mesh.features.spaces.cli.test_map import at
from tests.mesh.running import running

Capture = pytest.CaptureFixture[str]

ROW = {
    "key": "nightly", "client": "joe\x1b[1m", "stream": b"\x01", "token": 7, "lease": 30_000, "left": 12_340,
    "waiting": 9, "next": ["ann", "bob"],
}  # fmt: skip


def test_held_locks_are_listed_page_by_page(given: Given, capsys: Capture) -> None:
    pages = {"": {"locks": [ROW], "next": "nightly", "home": "b"}, "nightly": {"locks": [], "home": "b"}}

    def call(verb: str, *, space: str, after: str) -> Any:
        assert (verb, space) == ("lock_ls", "lock/default")
        return pages[after]

    given(call=call)
    assert main(["lock", "ls"]) == 0
    header, row = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert header == ["LOCK", "CLIENT", "TOKEN", "LEASE", "LEFT", "WAITING"]
    assert row[0] == "nightly" and row[2:] == ["7", "30", "s", "12.3", "s", "9"] and "\x1b" not in row[1]
    assert main(["lock", "ls", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["stream"] == "01"


def test_the_holder_of_a_lock_is_shown_with_those_that_wait(given: Given, capsys: Capture) -> None:
    given(call=lambda verb, **how: {"locks": [ROW], "home": "b"})
    assert main(["lock", "who", "nightly"]) == 0
    assert "9: ann, bob …" in capsys.readouterr().out
    given(call=lambda verb, **how: {"locks": [], "home": "b"})
    assert main(["lock", "who", "nightly"]) == 1
    assert capsys.readouterr().err == "mesh: no client holds the lock nightly; its home is b.\n"


def test_locks_of_a_lost_home_are_moved_without_counting_copies(given: Given, capsys: Capture) -> None:
    client = given(call={"spaces": []})
    assert main(["lock", "move", "--group", "g", "--to", "b", "--force", "--stopped", "a"]) == 0
    wanted = {"space": "lock/g", "to": "b", "force": True, "stopped": ["a"], "accept_loss": True}
    assert client.asked == [("call", ("space_move",), wanted)]
    assert "the home of the locks of group g is b" in capsys.readouterr().err


@pytest.mark.slow
def test_a_running_node_shows_its_locks_and_explains_them() -> None:
    with running("a") as a, running("b", beside=a) as b:
        assert at(b, "lock", "ls").returncode == 1
        with mesh.sync.connect("a", environ=a.environ, client="joe") as m:
            with m.lock("nightly") as lock, m.elect("leader", "heron:80") as term:
                assert str(lock.token) in at(b, "lock", "who", "nightly").stdout
                assert "joe" in at(a, "lock", "ls", "--group", "elections").stdout
                leader = m.leader("leader", type=str)
                assert leader is not None and (leader.value, leader.token) == ("heron:80", term.token)
                why = at(a, "why", "lock", "nightly")
                assert why.returncode == 0 and f"with token {lock.token}" in why.stdout
                assert not lock.lost and lock.waiting == 0
                with pytest.raises(mesh.LocalError, match="LOCK_HELD"), m.lock("nightly", wait=0):
                    pass
            assert m.leader("leader") is None
            with pytest.raises(mesh.BadArgument, match="cancel=True cannot end"), m.lock("l", cancel=True):
                pass
        assert "the lock is free" in at(a, "why", "lock", "nightly").stdout
        assert at(b, "lock", "move", "--to", "b").returncode == 0
        assert at(a, "lock", "who", "nightly").stderr.endswith("its home is b.\n")
