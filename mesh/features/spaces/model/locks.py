"""The locks of one space at its home: requests, grants, leases and waiting clients."""

# Law 1: a grant, and the end of one, is committed before the next step of its lock. Meanwhile no other client
#        has the lock, so a lock never has two owners.
# Law 2: a lease is longer at the home than at its client, which counts from the sending of its request. Here
#        a lease begins when the answer can be sent.
# Law 3: a free lock goes to the waiting client with the lowest ticket that has asked within its lease.
# Law 4: only a request of the owner's stream renews or ends its lease. A renewal that is not newer than the
#        last one changes nothing.

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import inf
from typing import NamedTuple

from mesh.flow.bounded import Bounded

WAITERS, ALL_WAITERS = 1000, 20_000  # waiting clients of a lock, and of all locks of a space
ENDED = 10_000  # ended requests that are remembered, so that no late copy of one is granted


class Request(NamedTuple):
    """A use of a lock by a client; a copy of the request means the same use."""

    stream: bytes
    number: int


@dataclass(slots=True)
class Claim:
    """A request with its terms, while it waits or owns the lock."""

    request: Request
    lease: float  # s
    client: str  # name, for people
    value: tuple[bytes, bytes] | None = None  # of an election: content, encoded properties
    since: int = 0  # ticket: when the client first asked
    until: float = 0.0  # forgotten then unless the client asks again


@dataclass(slots=True)
class Lock:
    """A lock that has an owner, a row on disk, or waiting clients."""

    owner: Claim | None = None
    token: int = 0
    ends: float = 0.0  # of the lease
    renewed: int = 0  # number of the last renewal
    waiting: list[Claim] = field(default_factory=list)  # by ticket
    has_row: bool = False
    is_watched: bool = False  # the row has a value
    next_owner: Claim | None = None  # its grant is being stored
    is_unwanted: bool = False  # the next owner has released meanwhile
    is_changing: bool = False  # a grant, or the end of one, is being stored


class Answer(NamedTuple):
    """The answer to a request: a token, or the code of a refusal."""

    token: int = 0
    waiting: int = 0  # number of waiting clients
    code: str = ""


class Change(NamedTuple):
    """A change of a lock to store: its new owner, or `None`."""

    name: str
    owner: Claim | None
    is_watched: bool  # the old or the new row has a value


def is_lock_free(has_owner: bool, lease: float, quiet: float) -> bool:
    """Return whether the home may grant a lock.

    `lease` is the rest of the owner's lease, `quiet` the rest of the time without grants.
    """
    return quiet <= 0 and (not has_owner or lease <= 0)


class Locks:
    """The locks of one space. The caller stores `changes` and reports each with `on_stored`."""

    def __init__(self, quiet_until: float = 0.0) -> None:
        """Create the table; nothing is granted before `quiet_until`."""
        self._quiet_until = quiet_until
        self._locks: dict[str, Lock] = {}
        self._ends: list[tuple[float, str]] = []  # heap of times to look at a lock
        self._looks: dict[str, float] = {}  # the earliest of them by lock
        self._open: set[str] = set()  # locks with waiting clients, or to be changed later
        self._ended: Bounded[tuple[str, Request], None] = Bounded(ENDED)
        self.waiting = 0
        self.changes: list[Change] = []

    def __len__(self) -> int:
        return len(self._locks)

    def find(self, name: str) -> Lock | None:
        return self._locks.get(name)

    def named(self) -> Iterator[tuple[str, Lock]]:
        """Yield the locks with an owner, by name."""
        return ((name, lock) for name, lock in sorted(self._locks.items()) if lock.owner is not None)

    def restore(self, name: str, owner: Claim, token: int, now: float) -> None:
        """Add the owner of a row, with a full lease."""
        lock = self._locks[name] = Lock(has_row=True, is_watched=owner.value is not None)
        self._begin_lease(name, lock, owner, token, now)

    # --- requests ---------------------------------------------------------------------------------------

    def ask(self, name: str, claim: Claim, count: int, may_wait: bool, now: float) -> Answer | None:
        """Return the answer to a request, or `None` while it waits for the lock or for a commit.

        `claim.since` is that of the ticket. It becomes that of the request if this already waits. `count`
        numbers the questions of the client.
        """
        if (name, claim.request) in self._ended:
            return Answer(code="LOCK_LOST")
        lock = self._locks.setdefault(name, Lock())
        if lock.owner is not None and lock.owner.request == claim.request:
            return self._renew(lock, count, now)
        if lock.next_owner is not None and lock.next_owner.request == claim.request:
            return None
        known = next((each for each in lock.waiting if each.request == claim.request), None)
        if known is not None:
            known.until, claim.since = now + known.lease, known.since
        elif refusal := self._refusal(lock, may_wait, now):
            self._drop_if_free(name, lock)
            return Answer(waiting=len(lock.waiting), code=refusal)
        else:
            claim.until = now + claim.lease
            lock.waiting.append(claim)
            lock.waiting.sort(key=lambda each: each.since)
            self.waiting += 1
            self._open.add(name)
        self._go_on(name, lock, now)
        return None

    def _refusal(self, lock: Lock, may_wait: bool, now: float) -> str:
        is_ending = lock.is_changing and lock.next_owner is None
        if (self._is_free(lock, now) or is_ending) and not lock.waiting:
            return ""
        is_full = len(lock.waiting) >= WAITERS or self.waiting >= ALL_WAITERS
        return ("TOO_MANY_LOCKS" if is_full else "") if may_wait else "LOCK_HELD"

    def _is_free(self, lock: Lock, now: float) -> bool:
        quiet = self._quiet_until - now
        return not lock.is_changing and is_lock_free(lock.owner is not None, lock.ends - now, quiet)

    def is_next(self, name: str, request: Request, now: float) -> bool:
        """Return whether only a commit is missing until a request has its lock."""
        lock = self._locks.get(name, Lock())
        if lock.owner is not None or now < self._quiet_until:
            return False
        following = lock.next_owner or next(iter(lock.waiting), None)
        return following is not None and following.request == request

    def waiting_for(self, name: str, request: Request | None = None) -> list[Claim]:
        """Return the claims that wait for a lock, in their order, or those before a request."""
        lock = self._locks.get(name, Lock())
        places = [each.request for each in lock.waiting]
        return lock.waiting[: places.index(request)] if request in places else list(lock.waiting)

    def renew(self, name: str, stream: bytes, token: int, count: int, now: float) -> Answer:
        """Extend the lease of an owner (Law 4)."""
        lock = self._locks.get(name)
        if lock is None or lock.owner is None or (lock.owner.request.stream, lock.token) != (stream, token):
            return Answer(code="LOCK_LOST")
        return self._renew(lock, count, now)

    def _renew(self, lock: Lock, count: int, now: float) -> Answer:
        assert lock.owner is not None
        if count > lock.renewed:
            lock.renewed, lock.ends = count, now + lock.owner.lease
        return Answer(lock.token, len(lock.waiting))

    def release(self, name: str, request: Request, now: float) -> bool:
        """End a request, whether it waits or owns the lock. Return whether that is being stored."""
        self._ended.keep((name, request), None)
        lock = self._locks.get(name)
        if lock is None:
            return False
        if lock.owner is not None and lock.owner.request == request:
            lock.owner = None
        elif lock.next_owner is not None and lock.next_owner.request == request:
            lock.is_unwanted = True
        else:
            self._keep_waiting(lock, [each for each in lock.waiting if each.request != request])
        self._go_on(name, lock, now)
        return lock.is_changing

    # --- changes ----------------------------------------------------------------------------------------

    def _go_on(self, name: str, lock: Lock, now: float) -> None:
        """Begin the next change of a lock, if it has no owner and no change is being stored (Law 1)."""
        if lock.is_changing or (lock.owner is not None and lock.ends > now):
            return
        lock.owner = None
        self._keep_waiting(lock, [each for each in lock.waiting if each.until > now])
        if lock.waiting and self._is_free(lock, now):
            lock.next_owner = lock.waiting[0]
            self._keep_waiting(lock, lock.waiting[1:])
        elif not lock.has_row:
            self._drop_if_free(name, lock)
            return
        lock.is_changing, lock.is_unwanted = True, False
        has_value = lock.next_owner is not None and lock.next_owner.value is not None
        self.changes.append(Change(name, lock.next_owner, has_value or lock.is_watched))

    def on_stored(self, name: str, token: int, now: float) -> Claim | None:
        """Finish a change, and return the new owner. `token` is 0 after the end of a grant."""
        lock = self._locks[name]
        assert lock.is_changing, "only a change is stored"
        new, lock.next_owner, lock.is_changing = lock.next_owner, None, False
        lock.has_row, lock.is_watched = new is not None, new is not None and new.value is not None
        if new is not None and not lock.is_unwanted:
            self._begin_lease(name, lock, new, token, now)
            return new
        self._go_on(name, lock, now)
        return None

    def on_failed(self, name: str) -> Claim | None:
        """Give up a change that could not be stored, and return the claim that is refused."""
        lock = self._locks[name]
        new, lock.next_owner = lock.next_owner, None
        lock.is_changing = lock.is_unwanted = False
        self._open.add(name)
        return new

    def _begin_lease(self, name: str, lock: Lock, owner: Claim, token: int, now: float) -> None:
        lock.owner, lock.token, lock.renewed = owner, token, 0
        lock.ends = now + owner.lease
        self._look_at(name, lock.ends)

    def _look_at(self, name: str, at: float) -> None:
        if at < self._looks.get(name, inf):
            self._looks[name] = at
            heappush(self._ends, (at, name))

    def _keep_waiting(self, lock: Lock, left: list[Claim]) -> None:
        self.waiting += len(left) - len(lock.waiting)
        lock.waiting = left

    def _drop_if_free(self, name: str, lock: Lock) -> None:
        is_used = lock.owner is not None or lock.is_changing or lock.waiting or lock.has_row
        if not is_used:
            del self._locks[name]

    # --- time -------------------------------------------------------------------------------------------

    def tick(self, now: float) -> float:
        """End the leases that are over, and return when the next one may end."""
        while self._ends and self._ends[0][0] <= now:
            at, name = heappop(self._ends)
            if self._looks.get(name) == at:
                del self._looks[name]
            lock = self._locks.get(name)
            if lock is None or lock.owner is None:
                continue
            if lock.ends > now:
                self._look_at(name, lock.ends)
            else:
                self._go_on(name, lock, now)
        return self._ends[0][0] if self._ends else inf

    def review(self, now: float) -> None:
        """Forget clients that no longer ask, and begin what could not begin earlier. Once a second."""
        for name in list(self._open):
            lock = self._locks.get(name)
            if lock is not None:
                self._keep_waiting(lock, [each for each in lock.waiting if each.until > now])
                self._go_on(name, lock, now)
            if lock is None or not (lock.waiting or lock.owner is None):
                self._open.discard(name)
