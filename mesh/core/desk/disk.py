"""What is to be written, with what, and who hears when it is?"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager

from mesh.core.desk.desk import Desk
from mesh.core.desk.effects import Commit, Fetch
from mesh.errors import MeshError
from mesh.operations import Op, Stored
from mesh.routing.shelf import Shelf
from mesh.wire.envelope import Envelope, decode

Committed = Callable[[MeshError | None], None]
Fetched = Callable[[dict[int, Envelope] | MeshError], None]


class Disk:
    """Commits under way to one store, and what is being read from it. What nobody waits for rides along with
    the next commit.
    """

    def __init__(self, desk: Desk, shelf: Shelf) -> None:
        self.later = shelf.later
        self._desk = desk
        self.shelf = shelf
        self._token = 0
        # (what rides along, what is to be stored, who hears of it) of each commit, while they are gathered.
        self._together: list[tuple[Sequence[Op], Sequence[Op], Committed]] | None = None
        self._storing: dict[int, tuple[Sequence[Op], bool, Committed]] = {}  # what rides along; is it alone?
        self._fetching: dict[int, Fetched] = {}
        self._wishes: list[Fetch] = []  # to be read behind the commits that are gathered

    @property
    def storing(self) -> int:
        """Commits under way."""
        return len(self._storing)

    @property
    def fetching(self) -> int:
        """What is being read."""
        return len(self._fetching)

    def commit(self, ops: Sequence[Op], then: Committed) -> None:
        """Store these, and what has gathered; `then` is called when they and all before are on disk."""
        later = self.shelf.take_later()
        if self._together is None:
            self._emit(later, (*later, *ops), not ops, then)
        else:
            self._together.append((later, ops, then))

    def _emit(self, later: Sequence[Op], every: tuple[Op, ...], is_alone: bool, then: Committed) -> None:
        self._token += 1
        self._storing[self._token] = (later, is_alone, then)
        self._desk.emit(Commit(self._token, every, self.shelf.store))

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
                self._emit_all([*commits, (self.shelf.take_later(), (), lambda error: None)])
            wishes, self._wishes = self._wishes, []
            for wish in wishes:
                self._desk.emit(wish)

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
        if self.shelf.has_later:
            self.commit((), lambda error: None)

    def commit_if_any(self, then: Committed) -> None:
        """Store what has gathered; `then` is called when it is on disk, and all before it, which may have
        taken it along; or now if there is none.
        """
        if self.shelf.has_later or self._storing or self._together:
            self.commit((), then)
        else:
            then(None)

    def stored(self, token: int, error: MeshError | None) -> None:
        """A commit has ended."""
        later, is_alone, then = self._storing.pop(token)
        if error is not None:
            self.shelf.not_written(later)
        else:
            self.shelf.written(later)
        then(error)
        if error is not None and not is_alone:
            self.commit_later()  # what rode along and needs no room, or makes some, need not wait for it

    def fetch(self, positions: Collection[int], then: Fetched) -> None:
        """Read the envelopes at these positions, as they stand after all commits until now. `then` is called
        once: with those that stand there still, by position and in that order, or with the error of a store
        that is at its end, as the node is soon.
        """
        self._token += 1
        self._fetching[self._token] = then
        wish = Fetch(self._token, tuple(positions), self.shelf.store)
        if self._together is None:
            self._desk.emit(wish)
        else:
            self._wishes.append(wish)

    def fetched(self, token: int, found: Sequence[Stored] | MeshError) -> None:
        """What was to be read has come."""
        then = self._fetching.pop(token)
        if isinstance(found, MeshError):
            then(found)
            return
        try:
            envelopes = {position: decode(header, body) for position, header, body in found}
        except MeshError as error:  # whoever wrote it had another idea of an envelope
            then(error)
            return
        then(envelopes)
