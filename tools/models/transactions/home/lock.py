"""The lock: requests, grants, renewals and releases."""

from __future__ import annotations

from collections.abc import Iterator

from mesh.features.spaces.model.locks import is_lock_free
from tools.models.search import Violation
from tools.models.transactions.home.state import (
    AWAY,
    CLIENTS,
    GRANTED,
    HOLDS,
    HOMES,
    NO_TOKEN,
    NOBODY,
    NOT_SENT,
    RENEWED,
    SENT,
    WAITS,
    Client,
    Limits,
    Pair,
    State,
    is_linked,
    serves,
    with_client,
    with_home,
)
from tools.models.transactions.rules import lease_at_client

Step = tuple[str, State | Violation]


def grants(limits: Limits, state: State, h: int) -> Iterator[Step]:
    """Yield the answers of a home to requests and renewals."""
    yield from commits(state, h)
    if not serves(limits, state, h):
        return
    home = state.homes[h]
    for c in CLIENTS:
        client = state.clients[c]
        if client.stage == WAITS and is_linked(state, c, h):
            yield from _request(limits, state, h, c)
        is_owner = client.stage == HOLDS and (home.owner, home.token) == (c, client.token)
        if is_owner and client.renewal == SENT and home.lease and is_linked(state, c, h):
            renewed = with_home(state, h, home._replace(lease=limits.lease))
            yield f"H{h} renews for {c}", with_client(renewed, c, client._replace(renewal=RENEWED))


def _request(limits: Limits, state: State, h: int, c: int) -> Iterator[Step]:
    """Yield the grant of the lock, or the token again to its owner, whose answer was lost."""
    home, age = state.homes[h], state.clients[c].age
    if home.owner == c:
        again = with_home(state, h, home._replace(lease=limits.lease))
        yield f"H{h} answers {c} again", with_client(again, c, Client(GRANTED, home.token, age))
    elif is_lock_free(home.owner != NOBODY, home.lease, home.quiet) and home.grants < limits.grants:
        token = (home.generation, home.grants + 1)
        text = f"H{h} grants {token} to {c}"
        if token <= state.top:
            yield text, Violation("K2", f"token {token} is not above {state.top}")
        else:
            after = with_client(state, c, Client(GRANTED, token, age))._replace(top=token)
            yield text, granted(limits, after, h, c, token)


def lock_client_steps(limits: Limits, state: State, c: int) -> Iterator[Step]:
    """Yield the steps of a client of the lock."""
    client = state.clients[c]
    if client.stage == AWAY:
        yield f"client {c} asks", with_client(state, c, Client(WAITS))
    elif client.stage == WAITS:
        if client.age:
            yield f"client {c} asks again", with_client(state, c, Client(WAITS))
    elif client.stage == GRANTED:
        left = lease_at_client(limits.lease, client.age)
        holder = Client(HOLDS, client.token, 0, left) if left else Client()
        yield f"client {c} receives the grant", with_client(state, c, holder)
        yield f"the answer to client {c} is lost", with_client(state, c, Client())
    elif c == 0:
        yield from _owner_steps(limits, state, c)


def _owner_steps(limits: Limits, state: State, c: int) -> Iterator[Step]:
    client = state.clients[c]
    if client.renewal == NOT_SENT:
        yield f"client {c} renews", with_client(state, c, client._replace(renewal=SENT, renewal_age=0))
    elif client.renewal == RENEWED:
        left = max(client.left, lease_at_client(limits.lease, client.renewal_age))
        yield f"client {c} receives the renewal", with_client(state, c, Client(HOLDS, client.token, 0, left))
    if limits.hands_over:
        yield f"client {c} crashes", with_client(state, c, Client())
    for h in HOMES:
        home = state.homes[h]
        is_owner = (home.owner, home.token) == (c, client.token)
        if is_owner and serves(limits, state, h) and is_linked(state, c, h):
            free = home._replace(owner=NOBODY, token=NO_TOKEN, lease=0)
            yield f"client {c} releases", with_client(with_home(state, h, free), c, Client())


# --- places for planted mistakes ----------------------------------------------------------------------------


def granted(limits: Limits, state: State, h: int, c: int, token: Pair) -> State:
    """Return the state after a grant was committed, which is before it is answered."""
    home = state.homes[h]._replace(grants=token[1], owner=c, token=token, lease=limits.lease)
    return with_home(state, h, home)


def commits(state: State, h: int) -> Iterator[Step]:
    """Yield the commit of an answered grant: none, since a grant is committed first."""
    yield from ()
