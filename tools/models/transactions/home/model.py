"""The model of a home: all steps from a state, and its invariants.

K2 each token is above all tokens before it
K3 no two writes replace one version of a key
K4 one client holds the lock, by the clocks of the clients
"""

from __future__ import annotations

from collections.abc import Iterator

from tools.models.bits import replaced
from tools.models.search import Violation
from tools.models.transactions.home.leash import heartbeats, moves
from tools.models.transactions.home.lock import grants, lock_client_steps
from tools.models.transactions.home.state import (
    AWAY,
    CLIENTS,
    H1,
    HOLDS,
    HOMES,
    NOBODY,
    NODES,
    NOT_SENT,
    Beat,
    Client,
    Home,
    Limits,
    State,
    V,
    Voter,
    first_state,
    is_linked,
    serves,
    with_home,
    with_voter,
)
from tools.models.transactions.rules import lease_at_start

Step = tuple[str, State | Violation]


class HomeModel:
    """A home with two clients, crashes, and a cut between H0 and the other nodes."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.first = first_state(limits)

    def steps(self, state: State) -> Iterator[Step]:
        limits = self.limits
        yield "tick", _tick(limits, state)
        for h in HOMES:
            if limits.has_voters:
                yield from heartbeats(limits, state, h)
            if limits.has_lock:
                yield from grants(limits, state, h)
        yield from moves(limits, state)
        for c in CLIENTS:
            if limits.has_lock:
                yield from lock_client_steps(limits, state, c)
            if limits.has_key:
                yield from _key_steps(limits, state, c)
        yield from _faults(limits, state)

    def violation(self, state: State) -> Violation | None:
        if all(client.stage == HOLDS for client in state.clients):
            return Violation("K4", "two clients hold the lock")
        return None

    def violation_at_rest(self, state: State) -> Violation | None:
        return None


def _faults(limits: Limits, state: State) -> Iterator[Step]:
    if state.cuts and not state.is_cut:
        yield "cut", state._replace(is_cut=True, cuts=state.cuts - 1)
    if state.is_cut:
        yield "the cut is healed", state._replace(is_cut=False)
    yield from clock_steps(state)
    for i in NODES if limits.has_voters else HOMES:
        if not state.voters[i].is_up:
            if limits.has_voters or not state.is_cut or not limits.is_stopped:
                yield f"start of {i}", _started(limits, state, i)
        elif state.crashes:
            yield f"crash of {i}", _crashed(state, i)


def _key_steps(limits: Limits, state: State, c: int) -> Iterator[Step]:
    """Yield reads and writes of the key, each of which replaces the version that the client has read."""
    known = state.known[c]
    for h in HOMES:
        home = state.homes[h]
        if not serves(limits, state, h) or not is_linked(state, c, h):
            continue
        if known != home.version:
            yield f"client {c} reads at H{h}", state._replace(known=replaced(state.known, c, home.version))
        elif home.version[1] < 2:
            if known in state.used:
                yield f"client {c} writes at H{h}", Violation("K3", f"two writes replace version {known}")
            else:
                written = with_home(state, h, home._replace(version=(home.generation, home.version[1] + 1)))
                yield f"client {c} writes at H{h}", written._replace(used=state.used | {known})
        if state.copy != home.version:
            yield "a copy is cached", state._replace(copy=home.version)


# --- time, crashes and starts -------------------------------------------------------------------------------


def _tick(limits: Limits, state: State) -> State:
    return state._replace(
        homes=tuple(_home_later(limits, home) for home in state.homes),
        voters=tuple(one._replace(silence=_less(one.silence)) for one in state.voters),
        clients=tuple(_client_later(limits, client) for client in state.clients),
    )


def _less(left: int) -> int:
    return max(0, left - 1)


def _home_later(limits: Limits, home: Home) -> Home:
    beat = home.beat
    return home._replace(
        lease=_less(home.lease),
        leash=_less(home.leash),
        quiet=_less(home.quiet),
        beat=Beat(beat.age + 1, beat.answers) if beat and beat.age < limits.leash else None,
    )


def _client_later(limits: Limits, client: Client) -> Client:
    """Return a client after a tick. One whose lease has ended knows it by its own clock."""
    if client.stage == AWAY:
        return client
    if client.stage != HOLDS:
        return client._replace(age=min(limits.lease, client.age + 1))
    left = _less(client.left)
    age = min(limits.lease, client.renewal_age + 1) if client.renewal != NOT_SENT else 0
    return Client(HOLDS, client.token, 0, left, client.renewal, age) if left else Client()


def _crashed(state: State, i: int) -> State:
    voter = state.voters[i]
    state = with_voter(state, i, voter._replace(is_up=False))._replace(crashes=state.crashes - 1)
    if i == V:
        return state
    home = durable(state.homes[i])
    gone = home._replace(serves=False, lease=0, leash=0, quiet=0, beat=None)
    return with_home(state, i, gone)._replace(claim=None if i == H1 else state.claim)


def _started(limits: Limits, state: State, i: int) -> State:
    """Return the state after a node has started. A home serves unless it knows of a newer one."""
    state = with_voter(state, i, voter_at_start(limits, state.voters[i]))
    if i == V:
        return state
    home = home_at_start(state.homes[i])
    if limits.has_voters:
        is_replaced = state.voters[i].promised > home.generation
    else:
        is_replaced = not state.is_cut and state.homes[1 - i].generation > home.generation
    if home.generation and not home.is_moved and not is_replaced:
        lease = lease_at_start(limits.lease) if home.owner != NOBODY else 0
        home = home._replace(serves=True, lease=lease)
    return with_home(state, i, home)


# --- places for planted mistakes ----------------------------------------------------------------------------


def durable(home: Home) -> Home:
    """Return the home as its disk has it: all grants are committed."""
    return home


def home_at_start(home: Home) -> Home:
    """Return the home as it is read from the disk."""
    return home


def voter_at_start(limits: Limits, voter: Voter) -> Voter:
    """Return a voter after its start: it keeps its promise, and may have answered a heartbeat just before."""
    return Voter(True, voter.promised, limits.silence)


def clock_steps(state: State) -> Iterator[Step]:
    """Yield the effects of a jump of the wall clock: none, as leases run by monotonic clocks."""
    yield from ()
