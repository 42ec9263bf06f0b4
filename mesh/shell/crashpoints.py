"""Points at which a node kills itself, for crash tests only.

With `MESH_CRASHPOINT=answer.before:3` in its environment, the process ends as by kill -9 before it answers
clients for the third time. Without the variable there is no crash point.
"""

import os
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from mesh.errors import BadConfig
from mesh.operations import Append, Delete, Image, Op, Positions, Put, Stored, StoreReach
from mesh.store.base import Store
from mesh.wire.commands import Answers, Command, Forward, Items, Outcomes

VARIABLE = "MESH_CRASHPOINT"
KILLED = 137  # exit code of a process ended by kill -9
LEAVE = 0.2  # s for ZeroMQ's thread to send

# Each kind of step with its command. At `commit`, messages are written, and no answer is sent. At `branch`, a
# step of a transaction over several stores is written, and all stores are counted together.
SENT: dict[str, type[Command]] = {"answer": Answers, "forward": Forward, "outcome": Outcomes, "items": Items}
KINDS = ("commit", "branch", *SENT)
NAMES = tuple(f"{what}.{when}" for what in KINDS for when in ("before", "after"))

SendFrames = Callable[[Hashable, list[bytes]], None]


@dataclass(frozen=True, slots=True)
class CrashPoint:
    """A point at which the process dies: the `nth` execution of `what`.

    The process dies after it if `is_after`, else before.
    """

    what: str
    is_after: bool
    nth: int
    branches: "count[int]" = field(default_factory=lambda: count(1), compare=False)  # steps in all stores

    def store(self, store: Store) -> Store:
        return _CrashingStore(store, self) if self.what in ("commit", "branch") else store

    def sender(self, send: SendFrames) -> SendFrames:
        """Return `send`; if `what` is a command, wrapped to end the process when it sends the `nth` one."""
        return self._dying(send) if self.what in SENT else send

    def _dying(self, send: SendFrames) -> SendFrames:
        kind, passings = tag(SENT[self.what]), count(1)

        def sending(conn: Hashable, frames: list[bytes]) -> None:
            is_here = frames[0][1] == kind and next(passings) == self.nth
            if is_here and not self.is_after:
                die()
            send(conn, frames)
            if is_here:
                time.sleep(LEAVE)
                die()

        return sending


class _CrashingStore:
    """A store that ends its process at the nth commit that contains messages, or a step of a transaction."""

    def __init__(self, store: Store, point: CrashPoint) -> None:
        self._store, self._point = store, point
        self._passings = point.branches if point.what == "branch" else count(1)
        self.load: Callable[[], Image] = store.load
        self.read: Callable[[Positions], list[Stored]] = store.read
        self.close: Callable[[], None] = store.close

    @property
    def reach(self) -> StoreReach:
        return self._store.reach

    def commit(self, ops: Sequence[Op]) -> None:
        counts = _is_branch if self._point.what == "branch" else _is_message
        is_here = any(map(counts, ops)) and next(self._passings) == self._point.nth
        if is_here and not self._point.is_after:
            die()
        self._store.commit(ops)
        if is_here:
            die()


def _is_message(op: Op) -> bool:
    return isinstance(op, Append) or (isinstance(op, Put) and op.table == "retained")


def _is_branch(op: Op) -> bool:
    return isinstance(op, Put | Delete) and op.table == "branch"


def crashpoint(environ: Mapping[str, str]) -> CrashPoint | None:
    """Return the crash point that the environment names, or `None`. Raises: BadConfig for an invalid one."""
    text = environ.get(VARIABLE, "")
    if not text:
        return None
    name, _, nth = text.partition(":")
    if name not in NAMES or not (nth or "1").isdecimal() or int(nth or "1") < 1:
        raise BadConfig(
            f"Environment variable {VARIABLE}: {text[:80]!r} is not a crash point.",
            hint=f"Write NAME or NAME:N, with N from 1. Names: {', '.join(NAMES)}.",
        )
    what, _, when = name.partition(".")
    return CrashPoint(what, when == "after", int(nth or "1"))


def tag(command: type[Command]) -> int:
    """Return the byte that identifies a command in its frame: 1 to 127, the second byte."""
    kind = command.__struct_config__.tag
    assert isinstance(kind, int)
    return kind


def die() -> None:
    os._exit(KILLED)
