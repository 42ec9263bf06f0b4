"""Commits to a store and reads from it, with the callbacks for their results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from mesh.errors import MeshError
from mesh.kernel.context.effects import Commit, Fetch
from mesh.kernel.context.node_context import NodeContext
from mesh.operations import Op, Positions, Span, Stored
from mesh.routing.store_handle import StoreHandle
from mesh.wire.envelope import Envelope, decode

Committed = Callable[[MeshError | None], None]
Fetched = Callable[[dict[int, Envelope] | MeshError], None]


class Disk:
    """The commits and reads in flight at one store.

    Deferred operations, which have no callback, wait for the next commit.
    """

    def __init__(self, context: NodeContext, shelf: StoreHandle) -> None:
        self.later = shelf.later
        self._context = context
        self.shelf = shelf
        self._token = 0
        # (deferred operations, own operations, callback) of each commit, while they are gathered.
        self._together: list[tuple[Sequence[Op], Sequence[Op], Committed]] | None = None
        # By token: (deferred operations, whether the commit has no others, callback).
        self._storing: dict[int, tuple[Sequence[Op], bool, Committed]] = {}
        self._fetching: dict[int, Fetched] = {}
        self._wishes: list[Fetch] = []  # reads to emit after the gathered commits

    @property
    def storing(self) -> int:
        return len(self._storing)

    @property
    def fetching(self) -> int:
        return len(self._fetching)

    def commit(self, ops: Sequence[Op], then: Committed) -> None:
        """Commit `ops` and all deferred operations.

        `then` is called when these and all earlier operations are on disk, or with the error.
        """
        later = self.shelf.take_later()
        if self._together is None:
            self._emit(later, (*later, *ops), not ops, then)
        else:
            self._together.append((later, ops, then))

    def _emit(self, later: Sequence[Op], every: tuple[Op, ...], is_alone: bool, then: Committed) -> None:
        self._token += 1
        self._storing[self._token] = (later, is_alone, then)
        self._context.out.emit(Commit(self._token, every, self.shelf.store))

    @contextmanager
    def together(self) -> Iterator[None]:
        """Join all commits within the block into one, so that a crash keeps all of them or none."""
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
                self._context.out.emit(wish)

    def _emit_all(self, commits: list[tuple[Sequence[Op], Sequence[Op], Committed]]) -> None:
        """Emit the commits as one, in their order.

        The order matters, as deferred operations of one commit may undo what another one writes.
        """

        def stored(error: MeshError | None) -> None:
            for _, _, then in commits:
                then(error)

        every = tuple(op for later, ops, _ in commits for op in (*later, *ops))
        is_alone = not any(ops for _, ops, _ in commits)
        self._emit([op for later, _, _ in commits for op in later], every, is_alone, stored)

    def commit_later(self) -> None:
        if self.shelf.has_later:
            self.commit((), lambda error: None)

    def commit_if_any(self, then: Committed) -> None:
        """Commit the deferred operations, and call `then` as for `commit`.

        `then` is called immediately if nothing is deferred or in flight.
        """
        if self.shelf.has_later or self._storing or self._together:
            self.commit((), then)
        else:
            then(None)

    def stored(self, token: int, error: MeshError | None) -> None:
        """Handle the end of a commit; after an error, queue its deferred operations again."""
        later, is_alone, then = self._storing.pop(token)
        if error is not None:
            self.shelf.not_written(later)
        else:
            self.shelf.written(later)
        then(error)
        if error is not None and not is_alone:
            self.commit_later()  # deferred operations may fit without the others

    def fetch(self, positions: Positions, then: Fetched) -> None:
        """Read the envelopes at `positions`, after all commits that were emitted before.

        `then` is called once: with the envelopes that still exist, by position and in that order, or with the
        error of an unreadable envelope or a failed store. The node stops soon after a failure of its store.
        """
        self._token += 1
        self._fetching[self._token] = then
        wanted = positions if isinstance(positions, Span) else tuple(positions)
        wish = Fetch(self._token, wanted, self.shelf.store)
        if self._together is None:
            self._context.out.emit(wish)
        else:
            self._wishes.append(wish)

    def fetched(self, token: int, found: Sequence[Stored] | MeshError) -> None:
        then = self._fetching.pop(token)
        if isinstance(found, MeshError):
            then(found)
            return
        try:
            envelopes = {position: decode(header, body) for position, header, body in found}
        except MeshError as error:  # another release may have written it
            then(error)
            return
        then(envelopes)
