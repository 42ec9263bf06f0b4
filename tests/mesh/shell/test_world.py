"""The world of a core: each effect is carried out by one receiver."""

from types import SimpleNamespace
from typing import Any, cast, get_args
from unittest.mock import MagicMock

import pytest

from mesh.errors import MeshError
from mesh.kernel.context.effects import (
    Backup,
    Commit,
    Dial,
    Effect,
    Fetch,
    Gossip,
    HangUp,
    Listen,
    LogLine,
    Proven,
    Send,
    Stop,
)
from mesh.shell.world import World


class Parts:
    """The surroundings of a world, which record each call."""

    def __init__(self) -> None:
        self.all = MagicMock()
        self.world = World(
            self.all.sockets,
            cast(Any, SimpleNamespace()),
            self.all.put,
            {"": self.all.worker, "volatile": self.all.other},
            None,
            self.all.hears,
            self.all.backing,
        )

    def calls(self) -> list[tuple[str, tuple[object, ...]]]:
        return [(name, args) for name, args, _ in self.all.mock_calls]


@pytest.mark.parametrize(
    ("effect", "call"),
    [
        (Send("a", [b"x"]), ("put", ("a", [b"x"]))),
        (Commit(7, ()), ("worker.submit", (7, ()))),
        (Commit(8, (), "volatile"), ("other.submit", (8, ()))),
        (Fetch(9, (1, 2), "volatile"), ("other.fetch", (9, (1, 2)))),
        (Dial("a", "tcp://127.0.0.1:7"), ("sockets.dial", ("a", "tcp://127.0.0.1:7", None))),
        (HangUp("a"), ("sockets.hang_up", ("a",))),
        (Gossip([b"x"]), ("sockets.publish", ([b"x"],))),
        (Listen("tcp://b:1", True), ("sockets.listen", ("tcp://b:1",))),
        (Listen("tcp://b:1", False), ("sockets.unlisten", ("tcp://b:1",))),
        (Proven("a", "key", True), ("sockets.proven", ("a", "key", True))),
        (Backup(), ("backing.start_copy", ())),
        (Stop(), ("hears.stop", ())),
    ],
)
def test_an_effect_has_one_receiver(effect: Effect, call: tuple[str, tuple[object, ...]]) -> None:
    parts = Parts()
    parts.world.carry_out(effect)
    assert parts.calls() == [call]


def test_a_stop_with_an_error_gives_the_node_up() -> None:
    parts = Parts()
    parts.world.carry_out(Stop("the disk is full", "NO_ROOM"))
    (error,) = parts.all.hears.give_up.call_args.args
    assert isinstance(error, MeshError) and (error.what, error.code) == ("the disk is full", "NO_ROOM")


def test_every_effect_is_known_to_the_world() -> None:
    assert set(Parts().world._by_kind) == set(get_args(Effect))


def test_a_line_goes_to_its_logger(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "mesh.node"):
        Parts().world.carry_out(LogLine("warning", "it is 100 % full", "mesh.node"))
    assert [(r.name, r.levelname, r.getMessage()) for r in caplog.records] == [
        ("mesh.node", "WARNING", "it is 100 % full")
    ]
