"""Crash points: a node ends at the configured point and passing, and nowhere without one."""

from collections.abc import Hashable

import pytest

from mesh.errors import BadConfig
from mesh.operations import Append, Put
from mesh.shell import crashpoints
from mesh.shell.crashpoints import NAMES, SENT, CrashPoint, crashpoint
from mesh.store.memory import MemoryStore
from mesh.wire.commands import Answers, Command, Forward, Items, Outcomes, Pong, encode
from tests.mesh.running import environment, run_mesh, state_directory
from tests.mesh.store.images import standing

SAID: dict[str, Command] = {
    "answer": Answers(()),
    "forward": Forward(()),
    "outcome": Outcomes(()),
    "items": Items(1, ()),
}


class Died(BaseException):
    """A stand-in for the end of the process."""


@pytest.fixture(autouse=True)
def raises_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    def die() -> None:
        raise Died

    monkeypatch.setattr(crashpoints, "die", die)
    monkeypatch.setattr(crashpoints, "LEAVE", 0.0)


def test_nothing_is_in_the_way_of_a_node_that_is_told_nothing() -> None:
    def send(conn: Hashable, frames: list[bytes]) -> None: ...

    store = MemoryStore()
    assert crashpoint({}) is None
    assert CrashPoint("commit", False, 1).sender(send) is send
    assert CrashPoint("answer", False, 1).store(store) is store


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("nth", [1, 2])
def test_a_point_is_read_with_its_number_which_is_one_if_none_is_given(name: str, nth: int) -> None:
    what, when = name.split(".")
    text = name if nth == 1 else f"{name}:{nth}"
    assert crashpoint({"MESH_CRASHPOINT": text}) == CrashPoint(what, when == "after", nth)


@pytest.mark.parametrize("text", ["commit", "commit.during", "answer.before:0", "answer.before:x", ":1"])
def test_a_point_that_is_none_is_refused_and_all_that_are_points_are_named(text: str) -> None:
    with pytest.raises(BadConfig) as refused:
        crashpoint({"MESH_CRASHPOINT": text})
    assert text in str(refused.value) and all(name in str(refused.value) for name in NAMES)


@pytest.mark.slow
def test_a_node_does_not_start_with_a_point_that_is_none() -> None:
    with state_directory() as state:
        environ = {**environment(state), "MESH_CRASHPOINT": "lunch.before"}
        said = run_mesh("up", "--id", "heron", environ=environ)
    assert said.returncode == 2 and "lunch.before" in said.stderr and "commit.before" in said.stderr


@pytest.mark.parametrize("what", SENT)
@pytest.mark.parametrize("is_after", [False, True])
def test_a_sender_dies_at_that_command_and_passing_only(what: str, is_after: bool) -> None:
    sent: list[bytes] = []
    send = CrashPoint(what, is_after, 2).sender(lambda conn, frames: sent.append(frames[0]))
    here, others = encode(SAID[what]), [encode(said) for name, said in SAID.items() if name != what]
    for frame in (encode(Pong(1)), here, *others):
        send("conn", [frame])
    with pytest.raises(Died):
        send("conn", [here])
    assert sent.count(here) == (2 if is_after else 1)
    assert len(sent) == 2 + len(others) + is_after


@pytest.mark.parametrize("is_after", [False, True])
def test_a_store_dies_at_a_commit_of_messages_and_no_other(is_after: bool) -> None:
    inner = MemoryStore()
    store = CrashPoint("commit", is_after, 2).store(inner)
    store.commit([Append(1, b"h", b"b")])
    for table in ("peer", "stream", "position"):
        store.commit([Put(table, b"k", b"v")])
    with pytest.raises(Died):
        store.commit([Append(2, b"h", b"b")])
    assert len(standing(store)) == (2 if is_after else 1)


@pytest.mark.parametrize("is_after", [False, True])
def test_stores_die_at_a_step_of_a_transaction_counted_over_all_of_them(is_after: bool) -> None:
    point, inner = CrashPoint("branch", is_after, 2), MemoryStore()
    one, other = point.store(MemoryStore()), point.store(inner)
    one.commit([Put("branch", b"k", b"v")])
    for store in (one, other):
        store.commit([Append(1, b"h", b"b")])
    with pytest.raises(Died):
        other.commit([Put("branch", b"k", b"v")])
    assert len(inner.load().tables["branch"]) == is_after
