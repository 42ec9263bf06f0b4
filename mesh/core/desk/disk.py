"""What is to be written, with what, and who hears when it is?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from mesh.core.desk.desk import Desk
from mesh.core.desk.effects import Commit
from mesh.core.desk.part import Part
from mesh.errors import MeshError
from mesh.operations import Op
from mesh.routing.shelf import Shelf

Committed = Callable[[MeshError | None], None]


class Disk(Part):
    """Commits under way to one store. What nobody waits for rides along with the next one."""

    def __init__(self, desk: Desk, shelf: Shelf) -> None:
        self.later = shelf.later
        self._desk = desk
        self._shelf = shelf
        self._token = 0
        # (what rides along, what is to be stored, who hears of it) of each commit, while they are gathered.
        self._together: list[tuple[Sequence[Op], Sequence[Op], Committed]] | None = None
        self._storing: dict[int, tuple[Sequence[Op], bool, Committed]] = {}  # what rides along; is it alone?

    @property
    def storing(self) -> int:
        """Commits under way."""
        return len(self._storing)

    def figures(self) -> dict[str, int | float]:
        return {"commits_under_way": self.storing}

    def commit(self, ops: Sequence[Op], then: Committed) -> None:
        """Store these, and what has gathered; `then` is called when they and all before are on disk."""
        later = self._shelf.take_later()
        if self._together is None:
            self._emit(later, (*later, *ops), not ops, then)
        else:
            self._together.append((later, ops, then))

    def _emit(self, later: Sequence[Op], every: tuple[Op, ...], is_alone: bool, then: Committed) -> None:
        self._token += 1
        self._storing[self._token] = (later, is_alone, then)
        self._desk.emit(Commit(self._token, every, self._shelf.store))

    @contextmanager
    def together(self) -> Iterator[None]:
        """Make one commit of what is stored meanwhile: after a crash all of it is there, or nothing."""
        if self._together is not None:
            yield
            return
        self._together = []
        try:
            yield
        finally:
            commits, self._together = self._together, None
            if commits:
                self._emit_all([*commits, (self._shelf.take_later(), (), lambda error: None)])

    def _emit_all(self, commits: list[tuple[Sequence[Op], Sequence[Op], Committed]]) -> None:
        """As they came: what rides along with one may undo what another one writes."""

        def stored(error: MeshError | None) -> None:
            for _, _, then in commits:
                then(error)

        every = tuple(op for later, ops, _ in commits for op in (*later, *ops))
        is_alone = not any(ops for _, ops, _ in commits)
        self._emit([op for later, _, _ in commits for op in later], every, is_alone, stored)

    def commit_later(self) -> None:
        """Store what has gathered, which nobody waits for."""
        if self._shelf.has_later:
            self.commit((), lambda error: None)

    def commit_if_any(self, then: Committed) -> None:
        """Store what has gathered; `then` is called when it is on disk, or now if there is none."""
        if self._shelf.has_later:
            self.commit((), then)
        else:
            then(None)

    def stored(self, token: int, error: MeshError | None) -> None:
        """A commit has ended."""
        later, is_alone, then = self._storing.pop(token)
        if error is not None:
            self._shelf.not_written(later)
        else:
            self._shelf.written(later)
        then(error)
        if error is not None and not is_alone:
            self.commit_later()  # what rode along and needs no room, or makes some, need not wait for it
