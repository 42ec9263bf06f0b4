"""Model of a slave that changes its parent, and whose client leaves.

Parent A forwards the log of master M to slave S. When A is lost, S takes parent B. Later, the client of S
visits node T, which M serves directly, and S is released. A may come back.

S1 a message leaves the log of M only after the application has it
S2 the application receives the messages in order
S6 at rest: each message was received
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tools.models.bits import between, bit, highest, lowest, up_to
from tools.models.search import Violation
from tools.models.sessions.rules import remaining_range, slave_position

MESSAGES = 3
REST = 100  # steps within which a state must come to rest
ASKING, RESUMING, COMPLETE = range(3)

Range = tuple[int, int]  # first and last position


class Master(NamedTuple):
    """Master M with its log."""

    length: int = 0
    deleted: int = 0
    settled_a: int = 0
    feed_b: Range | None = None  # position above which it counts, and the one that B settled
    resume_s: Range | None = None
    resume_session: Range | None = None


class Parent(NamedTuple):
    """Parent A."""

    is_up: bool
    received: int


class Slave(NamedTuple):
    """Slave S, with its queue for the client, and the messages that it holds back."""

    has_parent_a: bool = True
    received_a: int = 0
    received_b: int = 0
    phase: int = COMPLETE
    end: int = 0
    resumed: int = 0
    queue: int = 0
    held: int = 0
    is_released: bool = False


class Client(NamedTuple):
    """The client, which is at S first and at T later."""

    is_at_s: bool = True
    received: int = 0
    cursor: int = 0


class Visited(NamedTuple):
    """Node T."""

    phase: int = ASKING
    end: int = 0


class State(NamedTuple):
    """A state of the model."""

    m: Master
    a: Parent
    s: Slave
    client: Client
    t: Visited
    crashes: int  # of A, left


Change = tuple[str, State | Violation]


class ReparentModel:
    """Master M, parents A and B, slave S with a client, and node T."""

    def __init__(self, crashes: int = 2) -> None:
        self.first = State(Master(), Parent(True, 0), Slave(), Client(), Visited(), crashes)

    def steps(self, state: State) -> Iterator[Change]:
        for text, after in self._steps(state):
            yield text, after if isinstance(after, Violation) else _settled(after)

    def _steps(self, state: State) -> Iterator[Change]:
        m, s, client = state.m, state.s, state.client
        if m.length < MESSAGES:
            yield f"M accepts {m.length + 1}", state._replace(m=m._replace(length=m.length + 1))
        yield from _relay(state)
        if not state.a.is_up and s.has_parent_a:
            yield "S takes parent B", state._replace(s=s._replace(has_parent_a=False, phase=ASKING))
        yield from _by_parent_b(state)
        if client.is_at_s:
            yield from _at_slave(state)
            yield "client visits T", state._replace(client=client._replace(is_at_s=False))
        else:
            yield from _at_visited(state)

    def violation(self, state: State) -> Violation | None:
        if lost := state.m.deleted & ~state.client.received:
            return Violation("S1", f"M deleted {lowest(lost)}, which the application does not have")
        return None

    def violation_at_rest(self, state: State) -> Violation | None:
        """Return a violation if a message is missing once A runs and no step is left."""
        state = _settled(state._replace(crashes=0))
        for _ in range(REST):
            _, after = next(_progress(state), ("", None))
            if after is None:
                break
            if isinstance(after, Violation):
                return after
            state = _settled(after)
        if missed := up_to(state.m.length) & ~state.client.received:
            return Violation("S6", f"{lowest(missed)} was not received")
        return None


# --- parts of steps -----------------------------------------------------------------------------------------


def _progress(state: State) -> Iterator[Change]:
    """Yield the steps that need neither a message, a change of the parent nor a visit."""
    yield from _relay(state)
    yield from _by_parent_b(state)
    yield from _at_slave(state) if state.client.is_at_s else _at_visited(state)


def _with_slave(state: State, s: Slave, client: Client | None = None) -> State:
    return State(state.m, state.a, s, client or state.client, state.t, state.crashes)


def _relay(state: State) -> Iterator[Change]:
    """Yield the steps of parent A: it receives and forwards messages, crashes and restarts."""
    m, a, s = state.m, state.a, state.s
    if not a.is_up:
        yield "A restarts", state._replace(a=Parent(True, m.settled_a))
        return
    if left := ~m.deleted & up_to(m.length) & ~up_to(max(a.received, m.settled_a)):
        yield f"M sends {lowest(left)} to A", state._replace(a=Parent(True, lowest(left)))
    if state.crashes:
        yield "A crashes", state._replace(a=Parent(False, 0), crashes=state.crashes - 1)
    left = ~m.deleted & up_to(a.received) & ~up_to(max(s.received_a, m.settled_a))
    if left and not s.is_released:
        position = lowest(left)
        after = s._replace(received_a=position)
        if s.has_parent_a or not resumes_at_change():
            after = after._replace(queue=s.queue | bit(position))
        elif s.phase == ASKING:
            after = after._replace(held=s.held | bit(position))
        yield f"A forwards {position}", _with_slave(state, after)


def _by_parent_b(state: State) -> Iterator[Change]:
    """Yield the RESUME through parent B, the items of its feed, and those of the ordinary feed through B."""
    m, s = state.m, state.s
    if s.has_parent_a or s.is_released:
        return
    if s.phase == ASKING:
        first = max(1, _since(s, state.client))
        resume = (first, m.length) if first <= m.length and resumes_at_change() else None
        phase = RESUMING if resume else COMPLETE
        slave = s._replace(received_b=m.length, phase=phase, end=m.length, resumed=0)
        master = m._replace(feed_b=(m.length, m.length), resume_s=resume)
        yield "S resumes through B", state._replace(m=master, s=slave)
    if not m.feed_b:
        return
    if s.phase == RESUMING and (left := _left_to_resume(s, m.deleted, m.resume_s)):
        position = lowest(left)
        queue = s.queue | bit(position) & ~state.client.received
        yield f"M resumes {position} at S", _with_slave(state, s._replace(resumed=position, queue=queue))
    left = ~m.deleted & up_to(m.length) & ~up_to(max(s.received_b, *m.feed_b))
    if left and s.phase == COMPLETE:
        position = lowest(left)
        slave = s._replace(received_b=position, queue=s.queue | bit(position))
        yield f"B forwards {position}", _with_slave(state, slave)


def _left_to_resume(s: Slave, deleted: int, resume: Range | None) -> int:
    return ~deleted & between(max(s.resumed + 1, resume[0]), resume[1]) if resume else 0


def _since(s: Slave, client: Client) -> int:
    """Return the position from which S resumes."""
    received = max(s.received_a, highest(client.received)) if client.is_at_s else s.received_a
    return slave_position(received, (s.queue | s.held) & ~client.received)


def _at_slave(state: State) -> Iterator[Change]:
    s, received = state.s, state.client.received
    if ready := s.queue & ~received:
        position = lowest(ready)
        if position < highest(received) and resumes_at_change():
            yield f"S delivers {position}", Violation("S2", f"{position} after {highest(received)}")
        slave = s._replace(queue=s.queue & ~bit(position))
        yield f"S delivers {position}", _with_slave(state, slave, _reads(state.client, position))


def _at_visited(state: State) -> Iterator[Change]:
    """Yield the steps at node T: its RESUME, its deliveries, and the release of S."""
    m, client, received = state.m, state.client, state.client.received
    if state.t.phase == ASKING:
        first = max(1, client.cursor)
        resume = (first, m.length) if first <= m.length else None
        t = Visited(RESUMING, m.length)
        yield "T resumes at M", state._replace(m=m._replace(resume_session=resume), t=t)
        return
    # The resume feed up to its end, and then the ordinary feed.
    if ready := ~received & ~m.deleted & up_to(m.length) & ~up_to(max(client.cursor - 1, 0)):
        position = lowest(ready)
        if position < highest(received):
            yield f"T delivers {position}", Violation("S2", f"{position} after {highest(received)}")
        yield f"T delivers {position}", _with_slave(state, state.s, _reads(client, position))
    if not state.s.is_released:
        yield "T releases S", state._replace(s=state.s._replace(queue=0, held=0, is_released=True))


def _reads(client: Client, position: int) -> Client:
    return Client(client.is_at_s, client.received | bit(position), max(client.cursor, position))


# --- settling -----------------------------------------------------------------------------------------------


def _settled(state: State) -> State:
    """Return the state after A, B, S and T have reported settled positions to M."""
    m, s = state.m, state.s
    received = state.client.received
    held = 0 if s.is_released else (s.queue | s.held) & ~received
    of_a, of_b, of_s, of_session = m.settled_a, m.feed_b, m.resume_s, m.resume_session
    if state.a.is_up:
        is_resumed = s.phase != ASKING and not s.has_parent_a and resumes_at_change()
        done = s.received_a if is_resumed else _before(s.received_a, held)
        of_a = max(of_a, min(m.length if s.is_released else done, m.length))
    if of_b:
        of_b = of_b[0], max(of_b[1], m.length if s.is_released else _before(s.received_b, held))
    if of_s and (s.phase != ASKING or s.is_released):
        of_s = remaining_range(*of_s, up_to(m.length) if s.is_released else received | m.deleted)
    if of_session:
        of_session = remaining_range(*of_session, received | m.deleted)
    deleted = m.deleted | up_to(m.length) & ~_owed(state, of_a, of_b, of_s, of_session)
    if s.phase == RESUMING and not _left_to_resume(s, deleted, of_s):
        s = s._replace(phase=COMPLETE)
    m = Master(m.length, deleted, of_a, of_b, of_s, of_session)
    return State(m, state.a, s, state.client, state.t, state.crashes)


def _owed(state: State, of_a: int, of_b: Range | None, *resumes: Range | None) -> int:
    """Return the positions that M owes: above what the parents settled, in resume feeds, and to node T."""
    owed = ~up_to(of_a)
    if of_b:
        owed |= ~up_to(max(of_b))
    for resume in resumes:
        if resume:
            owed |= between(*resume)
    if state.t.phase != ASKING:
        owed |= ~up_to(state.t.end) & ~state.client.received
    return owed


def _before(received: int, held: int) -> int:
    return min(received, lowest(held) - 1) if held else received


# --- place for planted mistakes -----------------------------------------------------------------------------


def resumes_at_change() -> bool:
    """Return whether a change of route sends RESUME.

    If not, messages that A forwards late are delivered as they arrive.
    """
    return True
