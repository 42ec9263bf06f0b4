"""Model of a queued job with a client that moves.

The job is in the part of node 0. The client consumes there, and moves to nodes 1 and 2. Another consumer at
node 0 accepts every ready job. A visited node claims with HOLD the deliveries that the client still has,
and settles them for the client.

S7 a job whose ack was answered is not delivered again, and no job is lost
S8 a job that may have been delivered before is marked as redelivered
S9 a claim gets only a job of the session, and the newest node of the session has it
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from tools.models.bits import bit
from tools.models.search import Violation
from tools.models.sessions.job import (
    ACKED,
    ANSWERED,
    AWAITED,
    CLAIMED,
    DELIVERED,
    DONE,
    LEASE_OVER,
    NOBODY,
    NOTHING,
    OTHER,
    READY,
    REFUSED,
    UNCLAIMED,
    WORKING,
    Client,
    Guest,
    Part,
    State,
)
from tools.models.sessions.rules import is_outdated, is_redelivered, keeps_delivery

MARK = True  # written to the disk before a job is delivered

Change = tuple[str, State | Violation]


class DeliveryModel:
    """A job, a client that makes `visits` - 1 moves, and another consumer."""

    def __init__(self, visits: int = 4, crashes: int = 2, cuts: int = 1) -> None:
        self.visits = visits
        self._finishing: set[State] = set()  # states without faults from which the job is done in the end
        part = Part(True, READY, NOBODY, False, False, 1)
        client = Client(0, 1, NOTHING)
        self.first = State(part, (Guest(), Guest()), client, False, False, 0, crashes, cuts)

    def steps(self, state: State) -> Iterator[Change]:
        for i in (1, 2):
            yield from self._guest_steps(state, i)
        client = state.client
        if client.at > 0 and client.has == ACKED and answers_early():
            yield "the visited node answers", _answered(state)
        if client.has == WORKING:
            yield "client acks", state.with_client(Client(client.at, client.attach, ACKED))
        if state.part.is_up:
            yield from self._part_steps(state)
        else:
            yield "0 restarts", state._replace(part=state.part._replace(is_up=True))

    def _guest_steps(self, state: State, i: int) -> Iterator[Change]:
        guest, client = state.guests[i - 1], state.client
        if not guest.is_up:
            yield f"{i} restarts", state.with_guest(i, Guest())
        elif state.crashes:
            lost = _disconnected(client, i)
            after = state.with_guest(i, Guest(False))
            yield f"{i} crashes", after._replace(client=lost, crashes=state.crashes - 1)
        if state.cut & bit(i):
            yield f"0 and {i} are linked again", state._replace(cut=state.cut & ~bit(i))
        elif state.cuts:
            guests = _unclaimed(state.guests)
            after = state._replace(guests=guests, cut=state.cut | bit(i), cuts=state.cuts - 1)
            yield f"0 and {i} are cut", after
        if guest.is_up and client.at != i and client.attach < self.visits:
            attach = client.attach + 1
            after = state.with_guest(i, Guest(True, attach))
            yield f"client visits {i}", after.with_client(Client(i, attach, client.has))
        if state.part.is_up and guest.is_up and guest.attach and not state.cut & bit(i):
            yield from _hold(state, i)

    def _part_steps(self, state: State) -> Iterator[Change]:
        part, client = state.part, state.client
        if state.crashes:
            yield "0 crashes", _crashed(state)
        if client.at != 0 and client.attach < self.visits:
            attach = client.attach + 1
            yield "client visits 0", state.with_part(part.learned(attach), Client(0, attach, client.has))
        if part.job == READY:
            yield from _deliveries(state)
        if part.job == DELIVERED and part.owner == OTHER:
            yield "the other acks", state.with_part(part.done())
        if client.at == 0 and part.known == client.attach and client.has in (WORKING, ACKED):
            yield from _at_part(state)
        if part.is_claimable and not _has_consumer(state):
            flagged = flag_after_grace(part.is_redelivered)
            ready = Part(True, READY, NOBODY, flagged, part.is_marked, part.known)
            yield "the grace period ends", state.with_part(ready)

    def violation(self, state: State) -> Violation | None:
        if state.client.has == ANSWERED and state.part.job != DONE:
            return Violation("S7", "the ack was answered, and the job is not done")
        return None

    def violation_at_rest(self, state: State) -> Violation | None:
        """Return a violation if, without faults, the job cannot be done after two more moves."""
        guests = tuple(guest._replace(is_up=True) for guest in state.guests)
        part = state.part._replace(is_up=True)
        healed = state._replace(part=part, guests=guests, cut=0, crashes=0, cuts=0)
        if healed in self._finishing:
            return None
        violation = self._unfinished(healed)
        if not violation:
            self._finishing.add(healed)
        return violation

    def _unfinished(self, healed: State) -> Violation | None:
        calm = DeliveryModel(healed.client.attach + 2, 0, 0)
        seen, queue = {healed}, deque([healed])
        while queue:
            now = queue.popleft()
            if now.part.job == DONE and now.client.has in (NOTHING, ANSWERED, LEASE_OVER):
                return None
            for _, after in calm.steps(now):
                if isinstance(after, Violation):
                    return after
                if after not in seen:
                    seen.add(after)
                    queue.append(after)
        return Violation("S6", "the job is never done")


# --- parts of steps -----------------------------------------------------------------------------------------


def _disconnected(client: Client, i: int) -> Client:
    return client._replace(at=-1) if client.at == i else client


def _answered(state: State) -> State:
    part, guests, client, was_delivered, _, *rest = state
    return State(part, guests, Client(client.at, client.attach, ANSWERED), was_delivered, True, *rest)


def _unclaimed(guests: tuple[Guest, ...]) -> tuple[Guest, ...]:
    """Return the guests, each of which claims again at its next login."""
    return tuple(guest._replace(claim=UNCLAIMED) if guest.claim == CLAIMED else guest for guest in guests)


def _hold(state: State, i: int) -> Iterator[Change]:
    """Yield the claim of a visited node, and its settling for the client."""
    guest, client, part = state.guests[i - 1], state.client, state.part
    is_here = client.at == i and guest.attach == client.attach
    if guest.claim == UNCLAIMED:
        if is_outdated(guest.attach, part.known):
            yield f"0 refuses the claim of {i}", state.with_guest(i, Guest())
        elif is_here and client.has in (WORKING, ACKED):
            yield f"{i} claims the job", _claim(state, i, grants(part), is_here)
        elif not is_here:  # the client has left meanwhile
            yield f"{i} claims the job late", _claim(state, i, part.is_claimable, is_here)
    if guest.claim != CLAIMED or not is_here or client.has != ACKED:
        return
    if part.job == DELIVERED and part.owner == guest.attach:
        yield f"{i} settles", _answered(state).with_part(part.done())
    elif part.is_claimable:
        yield f"{i} settles too late", Violation("S9", "a former node of the session has the job")
    else:
        yield f"{i} settles too late", state.with_client(Client(client.at, client.attach, LEASE_OVER))


def _claim(state: State, i: int, is_granted: bool, is_here: bool) -> State | Violation:
    attach, part = state.guests[i - 1].attach, state.part
    if is_granted and part.owner == OTHER:
        return Violation("S9", "the job is taken from the consumer that has it")
    claimed = state.with_guest(i, Guest(True, attach, CLAIMED if is_granted else REFUSED))
    if is_granted:
        return claimed.with_part(part.delivered(attach).learned(attach))
    at, number, has = state.client
    return claimed.with_part(part.learned(attach), Client(at, number, LEASE_OVER if is_here else has))


def _crashed(state: State) -> State:
    """Return the state after a crash of node 0: the job is ready again, or awaits its consumer."""
    part = state.part
    job, flagged = part.job, part.is_redelivered
    if job == DELIVERED:
        job = AWAITED if keeps_delivery(part.is_marked, part.owner) else READY
        flagged = is_redelivered(flagged, part.is_marked)
    owner = part.owner if job == AWAITED else NOBODY
    down = Part(False, job, owner, flagged, part.is_marked, part.known)
    client, guests = _disconnected(state.client, 0), guests_after_crash(state.guests)
    return state._replace(part=down, guests=guests, client=client, crashes=state.crashes - 1)


def _deliveries(state: State) -> Iterator[Change]:
    part, client = Part(*state.part[:4], MARK, state.part.known), state.client
    if client.at == 0 and part.known == client.attach and client.has in (NOTHING, LEASE_OVER):
        after = state.with_part(part.delivered(client.attach), Client(0, client.attach, WORKING))
        yield "0 delivers to the client", _delivered(after)
    yield "0 delivers to the other", _delivered(state.with_part(part.delivered(OTHER)))


def _delivered(state: State) -> State | Violation:
    if state.was_answered:
        return Violation("S7", "delivered again after its ack was answered")
    if state.was_delivered and not state.part.is_redelivered:
        return Violation("S8", "a job that was delivered before is not marked")
    part, guests, client, _, was_answered, cut, crashes, cuts = state
    return State(part, guests, client, True, was_answered, cut, crashes, cuts)


def _at_part(state: State) -> Iterator[Change]:
    """Yield the claim or the settling of a client that is connected to node 0."""
    part, client = state.part, state.client
    is_older = part.is_claimable and part.owner < client.attach
    if is_older or (part.job == AWAITED and part.owner == client.attach):
        yield "client claims at 0", state.with_part(part.delivered(client.attach))
    elif part.owner != client.attach:
        yield "0 does not know the claim", state.with_client(Client(client.at, client.attach, LEASE_OVER))
    elif client.has == ACKED:
        yield "0 settles", _answered(state).with_part(part.done())


def _has_consumer(state: State) -> bool:
    """Return whether the owner of the job is connected, to node 0 or by a node that is linked to it."""
    part, at = state.part, state.client.at
    if at == 0:
        return part.owner == state.client.attach
    is_proxied = any(
        guest.is_up and guest.attach == part.owner and not state.cut & bit(i) and at == i
        for i, guest in enumerate(state.guests, 1)
    )
    return is_proxied and part.job == DELIVERED


# --- places for planted mistakes ----------------------------------------------------------------------------


def answers_early() -> bool:
    """Return whether a visited node answers an ack before the part has written it."""
    return False


def grants(part: Part) -> bool:
    """Return whether the part grants a claim of the client's present node."""
    return part.is_claimable


def guests_after_crash(guests: tuple[Guest, ...]) -> tuple[Guest, ...]:
    """Return the guests after a crash of node 0: they repeat their claims."""
    return _unclaimed(guests)


def flag_after_grace(was_redelivered: bool) -> bool:
    """Return whether a job is marked as redelivered when the grace period of its consumer ends."""
    return is_redelivered(was_redelivered, True)
