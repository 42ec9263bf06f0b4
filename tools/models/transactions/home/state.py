"""The state of the model of a home, and changes of parts of it.

Nodes H0 and H1 can be the home of a lock and of a key. With voters, these two and V keep the home on a leash.
All times are ages or remaining times, in ticks, so no time is the last one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from mesh.flow.leash import may_serve
from tools.models.bits import replaced

H0, H1, V = NODES = (0, 1, 2)
HOMES = CLIENTS = (0, 1)  # client 0 is on the side of H0, client 1 on that of H1
NOBODY = -1
AWAY, WAITS, GRANTED, HOLDS = range(4)  # of the lock, at a client
NOT_SENT, SENT, RENEWED = range(3)  # renewals

Pair = tuple[int, int]  # a token or a version: generation and count
NO_TOKEN: Pair = (0, 0)


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a scenario.

    Without voters, a forced move is the operator's statement that the old home is stopped. `is_stopped` says
    whether it is.
    """

    has_voters: bool = True
    is_stopped: bool = True
    has_lock: bool = True
    has_key: bool = False
    hands_over: bool = True
    crashes: int = 1
    cuts: int = 1
    generations: int = 2
    grants: int = 2  # of each generation
    lease: int = 2  # of the lock
    silence: int = 2  # after which a voter votes against the home
    leash: int = 2  # from the sending of a heartbeat that a majority answers


class Beat(NamedTuple):
    """A heartbeat of a home."""

    age: int
    answers: int  # set of nodes


class Home(NamedTuple):
    """A node that is or can be the home."""

    # durable
    generation: int = 0
    grants: int = 0
    owner: int = NOBODY  # client with the lock
    token: Pair = NO_TOKEN  # of the owner
    is_moved: bool = False  # handed over
    version: Pair = (0, 0)  # of the key
    # in memory
    serves: bool = False
    lease: int = 0  # of the owner
    leash: int = 0
    quiet: int = 0  # until it grants
    beat: Beat | None = None
    uncommitted: tuple[int, int, Pair] | None = None  # state on the disk, only with a planted mistake


class Voter(NamedTuple):
    """A node as a voter."""

    is_up: bool
    promised: int  # highest generation, durable
    silence: int  # until it may vote for a claim


class Claim(NamedTuple):
    """The claim of H1 to be home."""

    generation: int
    votes: int  # set of nodes
    is_handed_over: bool


class Handover(NamedTuple):
    """A hand-over in transit to H1."""

    generation: int
    owner: int
    token: Pair
    version: Pair


class Client(NamedTuple):
    """A client of the lock. Client 1 neither renews nor releases it, and stands for all later ones."""

    stage: int = AWAY
    token: Pair = NO_TOKEN
    age: int = 0  # of its request, while it waits or is granted
    left: int = 0  # of its lease, by its own clock
    renewal: int = NOT_SENT
    renewal_age: int = 0


class State(NamedTuple):
    """A state of the model."""

    homes: tuple[Home, ...]
    voters: tuple[Voter, ...]
    claim: Claim | None
    handover: Handover | None
    is_cut: bool  # H0 from H1 and V
    clients: tuple[Client, ...]
    top: Pair  # highest token granted
    copy: Pair  # version of a cached copy of the key
    known: tuple[Pair, ...]  # version that each client has read
    used: frozenset[Pair]  # versions that a write has replaced
    crashes: int
    cuts: int


def first_state(limits: Limits) -> State:
    """Return the state in which H0 is home, and clients have done nothing."""
    return State(
        homes=(Home(generation=1, version=(1, 0), serves=True), Home()),
        voters=(Voter(True, 1, limits.silence),) * len(NODES),
        claim=None,
        handover=None,
        is_cut=False,
        clients=(Client(), Client()),
        top=NO_TOKEN,
        copy=(1, 0),
        known=((0, 0), (0, 0)),
        used=frozenset(),
        crashes=limits.crashes,
        cuts=limits.cuts,
    )


def is_linked(state: State, a: int, b: int) -> bool:
    return not state.is_cut or (a == H0) == (b == H0)


def serves(limits: Limits, state: State, h: int) -> bool:
    home = state.homes[h]
    is_home = state.voters[h].is_up and home.serves and not home.is_moved
    return may_serve(is_home, limits.has_voters, home.leash)


def with_home(state: State, h: int, home: Home) -> State:
    return state._replace(homes=replaced(state.homes, h, home))


def with_voter(state: State, i: int, voter: Voter) -> State:
    return state._replace(voters=replaced(state.voters, i, voter))


def with_client(state: State, c: int, client: Client) -> State:
    return state._replace(clients=replaced(state.clients, c, client))
