"""The rows of this node in all tallies, and copies of the rows of other nodes."""

# Law 1: an addition is answered when it is on disk, with its outcome in the same commit. One commit of a
#        tally is under way at a time, so a failed one leaves nothing behind.
# Law 2: a store that was rolled back begins new rows. The former ones remain, as other nodes know them.

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from mesh.errors import LocalError, MeshError
from mesh.features.spaces.model.batch import Numbered
from mesh.features.spaces.model.space import LEAST, MOST, Outcome, Outcomes
from mesh.features.spaces.model.tally import ROWS, TALLIES, Row, merged, parts_of, row_name
from mesh.features.spaces.node import tally_rows as rows
from mesh.kernel.context.component import Beginning, Component
from mesh.kernel.context.disk import Disk
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.peer import Peer
from mesh.kernel.sharing.shared import RowKind, Shared
from mesh.operations import Op
from mesh.shared.row import SharedRow
from mesh.wire.limits import SPACES

TALLY = "tally"  # kind of shared rows
STORE = 8  # bytes of the number that is drawn with a store
SESSIONS = 1000  # sessions whose outcomes are remembered, of one tally
SHARE = 5.0  # s between two messages about the row of a tally; a question gets the present row

Answer = Callable[[Outcome | MeshError], None]


@dataclass(slots=True)
class Own:
    """The row of this node in one tally."""

    row: Row = field(default_factory=Row)
    outcomes: dict[bytes, Outcomes] = field(default_factory=dict)  # by stream
    waiting: deque[tuple[Numbered, Answer]] = field(default_factory=deque)
    is_writing: bool = False


class Tallies(Component):
    """Component with the rows of tallies."""

    def __init__(self, context: NodeContext, disk: Disk, shared: Shared) -> None:
        self._context = context
        self._disk = disk
        self._shared = shared
        self._store = b""
        self._is_stored = False  # whether that number is on disk
        self._own: dict[str, Own] = {}
        self._copies: dict[str, dict[str, Row]] = {}  # tally -> row -> newest shared copy
        self._next = 0.0  # when rows are shared again
        self._changed: set[str] = set()  # tallies whose own row was not shared yet
        shared.add(RowKind(TALLY, self._check, self._on_row_changed))

    def figures(self) -> dict[str, int | float]:
        return {"tallies": len(self._copies)}

    def start(self, beginning: Beginning) -> None:
        kept = beginning.rows(rows.TABLE)
        if self._context.settings.accept_rollback or rows.STORE not in kept:  # Law 2
            return
        self._store, self._is_stored = kept[rows.STORE], True
        own, outcomes = rows.OWN + self._store, rows.OUTCOMES
        for key, content in kept.items():
            try:
                if key.startswith(own):
                    tally = key[len(own) :].decode()
                    self._of(tally).row = rows.read_row(content)
                    self._changed.add(tally)
                elif key.startswith(outcomes):
                    stream, tally = key[len(outcomes) :][:16], key[len(outcomes) + 16 :].decode()
                    self._of(tally).outcomes[stream] = rows.read_outcomes(content)
            except (MeshError, UnicodeDecodeError) as error:
                self._context.out.log_line("warning", f"a row of a tally is damaged: {error}")

    def _of(self, tally: str) -> Own:
        return self._own.setdefault(tally, Own())

    # --- shared copies ----------------------------------------------------------------------------------

    def _check(self, row: SharedRow) -> None:
        uuid, name, tally = parts_of(row.name)
        if uuid != row.author:
            raise LocalError(f"The {row.title} is another node's.", code="BAD_ROW")
        rows.read_row(row.value)
        self._check_room(tally, name)

    def _check_room(self, tally: str, name: str) -> None:
        known = self._copies.get(tally)
        if known is None and len(self._copies) >= TALLIES:
            what = f"The mesh has {TALLIES:,} tallies, which is the limit."
            raise LocalError(what, hint="Use one of them.", code="TOO_MANY_SPACES")
        if known is not None and name not in known and len(known) >= ROWS:
            what = f"The tally {tally!r} has {ROWS:,} rows, which is the limit."
            raise LocalError(what, hint="Use another tally.", code="TOO_MANY_ROWS")

    def _on_row_changed(self, row: SharedRow, by: Peer | None) -> None:
        _, name, tally = parts_of(row.name)
        known = self._copies.setdefault(tally, {})
        known.update(merged([(name, known.get(name, Row())), (name, rows.read_row(row.value))]))

    def on_second(self) -> None:
        """Share the rows that have changed, each SHARE s."""
        now = self._context.clock.now
        if self._changed and self._context.serves and now >= self._next:
            self._next = now + SHARE
            for tally in sorted(self._changed):
                self._share(tally)
                name = row_name(tally, self._context.me.uuid, self._store)
                self._shared.spread(TALLY, name, SPACES, lambda: None)
            self._changed.clear()

    def _share(self, tally: str) -> None:
        name = row_name(tally, self._context.me.uuid, self._store)
        value = rows.packed(self._of(tally).row)
        known = self._shared.get_row(TALLY, name)
        if known is None or known.value != value:
            self._shared.write_row(TALLY, name, self._shared.stamp(TALLY, name), value)

    # --- reads ------------------------------------------------------------------------------------------

    def names(self) -> list[str]:
        return sorted(self._copies)

    def own(self, tally: str) -> tuple[str, Row]:
        """Return the name and content of this node's row; "" if it has none."""
        if tally not in self._own or not self._store:
            return "", Row()
        return parts_of(row_name(tally, self._context.me.uuid, self._store))[1], self._own[tally].row

    def copies(self, tally: str) -> Iterator[tuple[str, Row]]:
        """Yield all rows of a tally, the node's own included, as this node knows them."""
        yield from self._copies.get(tally, {}).items()
        name, row = self.own(tally)
        if name:
            yield name, row

    def learn(self, tally: str, copies: Iterator[tuple[str, Row]]) -> None:
        """Remember copies that other nodes have sent, until newer ones arrive."""
        if (known := self._copies.get(tally)) is not None:
            known.update(merged([*known.items(), *((name, row) for name, row in copies if name in known)]))

    # --- additions --------------------------------------------------------------------------------------

    def add(self, tally: str, numbered: Numbered, answer: Answer) -> None:
        """Add to the row of this node, and answer when it is on disk.

        Raises: LocalError if there is no room for the row.
        """
        self._store = self._store or self._context.ids(STORE)
        if tally not in self._own:
            self._share(tally)  # so that there is room for it at every node
        own = self._of(tally)
        own.waiting.append((numbered, answer))
        self._go_on(tally, own)

    def _go_on(self, tally: str, own: Own) -> None:
        if own.is_writing or not own.waiting:
            return
        taken, own.waiting = own.waiting, deque()
        row, outcomes = own.row, dict[bytes, Outcomes]()
        answers = list[tuple[Answer, Outcome]]()
        for numbered, answer in taken:
            known = outcomes.setdefault(numbered.stream, _copy(own.outcomes.get(numbered.stream)))
            row, outcome = added(row, known, numbered)
            answers.append((answer, outcome))
        own.is_writing = True
        others = [stream for stream in own.outcomes if stream not in outcomes]
        oldest = others[: max(0, len(others) + len(outcomes) - SESSIONS)]

        def landed(error: MeshError | None) -> None:
            own.is_writing = False
            if error is None:
                self._is_stored, own.row = True, row
                for stream in (*oldest, *outcomes):
                    own.outcomes.pop(stream, None)
                own.outcomes.update(outcomes)  # the latest at the end
                self._changed.add(tally)
            for answer, outcome in answers:
                answer(outcome if error is None else error)
            self._go_on(tally, own)

        ops = list[Op]() if self._is_stored else [rows.put_store(self._store)]
        kept = [rows.put_outcomes(tally, stream, each) for stream, each in outcomes.items()]
        gone = [rows.delete_outcomes(tally, stream) for stream in oldest]
        self._disk.commit([*ops, rows.put_row(tally, self._store, row), *kept, *gone], landed)


def _copy(known: Outcomes | None) -> Outcomes:
    return Outcomes(known.low, dict(known.rows)) if known is not None else Outcomes()


def added(row: Row, known: Outcomes, numbered: Numbered) -> tuple[Row, Outcome]:
    """Return the row after an addition and its outcome, which is that of the first time for a repeat."""
    found = known.find(numbered.number)
    if found is not None:
        return row, found
    total = row.total + numbered.write.amount
    outcome = Outcome() if LEAST <= total <= MOST else Outcome("OVERFLOW")
    known.record(numbered.number, numbered.low, outcome)
    return (row if outcome.code else Row(row.version + 1, total)), outcome
