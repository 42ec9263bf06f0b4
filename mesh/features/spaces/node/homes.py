"""The spaces whose home is this node: writes, reads, expiry, and the messages about changes."""

# Law 1: a write is answered when it is on disk, with its outcome, the counts and the message about it in
#        the same commit. Reads see only what is on disk.
# Law 2: one batch of a space is written at a time. Writes that arrive meanwhile form the next one.

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Iterator
from heapq import heappop, heappush

from mesh.errors import MeshError
from mesh.features.spaces.model.batch import Batch, Changed, Numbered, SpaceState, with_generation
from mesh.features.spaces.model.definition import Definition
from mesh.features.spaces.model.space import Limits, Outcome, Value
from mesh.features.spaces.node import rows
from mesh.features.spaces.node.spaces import Spaces
from mesh.kernel.context.component import Beginning, Component
from mesh.kernel.context.disk import Disk
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.delivery.router import Router
from mesh.operations import Op
from mesh.reserved import OF_MESH
from mesh.values import Headers
from mesh.wire.envelope import PERSISTENT, Envelope
from mesh.wire.properties import NO_PROPERTIES, Properties, decode_properties, encode_properties

AT_ONCE = 256  # writes of a batch
SESSIONS = 10_000  # sessions with outcomes, of one space
KEPT = 24 * 3600 * 10**9  # ns that outcomes are kept
TOMBSTONE = 3600 * 10**9  # ns that the message about a removal is kept
VERSION, REMOVED, EXPIRED = "space-version", "space-removed", "space-expired"  # headers of changes

Answer = Callable[[Outcome | MeshError], None]


class Home:
    """A space whose home is this node."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.state = SpaceState()
        self.used: dict[bytes, int] = {}  # stream -> wall time of its last outcome, oldest first
        self.waiting: deque[tuple[Numbered, Answer]] = deque()
        self.expired: set[str] = set()  # keys to remove with the next batch
        self.is_writing = False


class Homes(Component):
    """Component with the spaces whose home is this node."""

    def __init__(self, context: NodeContext, disk: Disk, router: Router, spaces: Spaces) -> None:
        self._context = context
        self._disk = disk
        self._router = router
        self._spaces = spaces
        self._homes: dict[str, Home] = {}
        self._ends: list[tuple[int, str, str]] = []  # heap of (end, space, key)
        self._stream = b""  # of messages about changes; random, from the first one on
        self._number = 0

    def figures(self) -> dict[str, int | float]:
        return {
            "space_keys": sum(home.state.head.keys for home in self._homes.values()),
            "space_bytes": self.holds(),
        }

    def holds(self) -> int:
        return sum(home.state.head.size for home in self._homes.values())

    def start(self, beginning: Beginning) -> None:
        for kind, space, rest, row in rows.rows_of(beginning.rows(rows.TABLE)):
            if kind == rows.PROMISE:
                continue
            home = self._home(space)
            try:
                self._restore(home, kind, rest, row)
            except (MeshError, UnicodeDecodeError) as error:
                self._context.out.log_line("warning", f"a row of {space} is damaged: {error}")

    def _restore(self, home: Home, kind: bytes, rest: bytes, row: bytes) -> None:
        if kind == rows.HEAD:
            home.state.head = rows.read_head(row)
        elif kind == rows.VALUE:
            key = rest.decode()
            home.state.values[key] = value = rows.read_value(row)
            self._await_end(home, key, value)
        elif kind == rows.OUTCOMES:
            home.state.outcomes[rest], home.used[rest] = rows.read_outcomes(row)

    def on_restored(self) -> None:
        for home in self._homes.values():
            home.used = dict(sorted(home.used.items(), key=lambda item: item[1]))

    def _home(self, name: str) -> Home:
        return self._homes.setdefault(name, Home(name))

    # --- reads ------------------------------------------------------------------------------------------

    def state(self, name: str) -> SpaceState:
        """Return the committed state of a space whose home is this node."""
        return self._home(name).state

    def find(self, name: str, key: str) -> Value | None:
        """Return a value that has not expired."""
        value = self._home(name).state.values.get(key)
        return value if value is not None and value.is_present(self._context.clock.believed) else None

    # --- writes -----------------------------------------------------------------------------------------

    def write(self, name: str, numbered: Numbered, answer: Answer) -> None:
        """Decide a write, and answer with its outcome once that is on disk, or with the error of the disk."""
        home = self._home(name)
        home.waiting.append((numbered, answer))
        self._go_on(home)

    def _go_on(self, home: Home) -> None:
        definition = self._spaces.find(home.name)
        if home.is_writing or definition is None or not (home.waiting or home.expired):
            return
        batch = self._batch(home, definition)
        taken = [home.waiting.popleft() for _ in range(min(AT_ONCE, len(home.waiting)))]
        answers = [(answer, batch.add_write(numbered)) for numbered, answer in taken]
        for key in home.expired:
            batch.add_expiry(key)
        home.expired.clear()
        home.is_writing = True

        def landed(error: MeshError | None) -> None:
            home.is_writing = False
            if error is None:
                self._landed(home, batch)
            for answer, outcome in answers:
                answer(outcome if error is None else error)
            self._go_on(home)

        with self._disk.together():
            for change in batch.changes:
                self._publish(home.name, change)
            self._disk.commit(list(self._ops(home, batch)), landed)

    def _batch(self, home: Home, definition: Definition) -> Batch:
        home.state.head = with_generation(home.state.head, definition.generation)
        limits = Limits(definition.max_keys, definition.max_bytes)
        return Batch(home.state, limits, self._context.clock.believed)

    def _ops(self, home: Home, batch: Batch) -> Iterator[Op]:
        wall = self._context.clock.believed
        yield rows.put_head(home.name, batch.head)
        for key, value in batch.values():
            yield rows.put_value(home.name, key, value)
        for stream, outcomes in batch.outcomes.items():
            yield rows.put_outcomes(home.name, stream, outcomes, wall)
        yield from self._outdated(home, batch, wall)

    def _outdated(self, home: Home, batch: Batch, wall: int) -> Iterator[Op]:
        """Forget the outcomes of sessions that have not written for a day, or of the oldest of too many."""
        for stream in batch.outcomes:
            home.used.pop(stream, None)
            home.used[stream] = wall
        for stream, last in list(home.used.items()):
            if last + KEPT > wall and len(home.used) <= SESSIONS:
                break
            del home.used[stream]
            home.state.outcomes.pop(stream, None)
            yield rows.delete_outcomes(home.name, stream)

    def _landed(self, home: Home, batch: Batch) -> None:
        batch.apply()
        for key, value in batch.values():
            if value is not None:
                self._await_end(home, key, value)

    # --- expiry -----------------------------------------------------------------------------------------

    def _await_end(self, home: Home, key: str, value: Value) -> None:
        if value.expires:
            heappush(self._ends, (value.expires, home.name, key))

    def tick(self) -> None:
        now = self._context.clock.believed
        due = set[str]()
        while self._ends and self._ends[0][0] <= now:
            _, name, key = heappop(self._ends)
            if self._spaces.is_home(name):
                self._home(name).expired.add(key)
                due.add(name)
        for name in sorted(due):
            self._go_on(self._home(name))
        if self._ends:
            self._context.clock.wake(self._context.clock.now + (self._ends[0][0] - now) / 1e9 + 0.001)

    # --- messages about changes -------------------------------------------------------------------------

    def _publish(self, space: str, change: Changed) -> None:
        """Publish a change to the watches of the space."""
        props, content, expires = self._described(change)
        self._stream = self._stream or self._context.ids(16)
        self._number += 1
        envelope = Envelope(
            stream=self._stream,
            domain=space,
            first=self._number,
            last=self._number,
            keys=(change.key,),
            count=1,
            sizes=len(props) + len(content),
            body=props + content,
            props=array("I", [len(props)]).tobytes(),
            flags=PERSISTENT,
            low=self._number,
            sender=f"/node/{self._context.me.name}{OF_MESH}",
            expires=expires,
        )
        self._router.publish_here(self._stream, envelope, lambda answer: None)

    def _described(self, change: Changed) -> tuple[bytes, bytes, int]:
        """Return the properties, content and expiry of the message about a change."""
        if (value := change.value) is None:
            header, own, content = EXPIRED if change.is_expiry else REMOVED, NO_PROPERTIES, b""
            expires = self._context.clock.believed + TOMBSTONE
        else:
            header, own, content = VERSION, decode_properties(value.props), value.content
            expires = value.expires
        headers = Headers([(header, str(change.version)), *own.headers.items()])
        return encode_properties(Properties(headers, expires, is_text=own.is_text)), content, expires
