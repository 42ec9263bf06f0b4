"""What may happen to a link, and what follows? All of it on one screen."""

# Rule 1: all that can change a link's state stands in LINK_TABLE; a cell that is absent is illegal.
# Rule 2: nothing here knows a socket, a clock or the peer; link.py alone looks into the table.
# Rule 3: DIAL in a cell means "dial if it is allowed now": link.py drops it while nobody needs the login,
#         a dial is in progress, the waiting time is not over, or we ourselves deny the peer.
# Rule 4: every other action of a cell is carried out always.

from collections.abc import Mapping
from enum import Enum
from typing import TypeVar

from mesh.errors import LocalError

S = TypeVar("S", bound=Enum)
E = TypeVar("E", bound=Enum)
A = TypeVar("A")


class State(Enum):
    """The ways to stand with a peer; the value is the word that people read."""

    LOGGED_IN = "logged in"
    POLLING = "polling"
    NOT_ALLOWED = "not allowed"


class Event(Enum):
    """The events of a link; the value is the explanation in the docs."""

    WANTED = "somebody here needs the login"
    UNWANTED = "nobody here needs the login any more"
    HELLO = "a data connection stands, and both sides accept each other"
    REFUSED = "the peer says no"
    DENIED = "we say no"
    ALLOWED = "our no is withdrawn"
    SILENCE = "nothing was heard of the peer for too long"
    BYE = "the peer says goodbye"
    DISCONNECTED = "the data connection, or the attempt at one, has ended"
    ADDRESS = "the peer is to be found at another address"
    RESTARTED = "the peer shows a higher boot"
    DUE = "the waiting time is over"


class Action(Enum):
    """The actions that follow from an event; the value is the explanation in the docs."""

    DIAL = "open a data connection to the peer"
    HANG_UP = "close the data connection that stands or is being dialled, if there is one"
    RESUME = "send on this connection what the peer has not answered yet"
    PROBE = "ask the peer over the control connection, now, whether it lives"
    NOTE = "log the refusal with its reason"
    BACK_OFF = "wait before the next dial, longer each time"
    RETRY_RARELY = "wait long before asking a peer that refused us again"
    FORGIVE = "forget all waiting: something changed, so the next dial may come at once"


Cell = tuple[State, tuple[Action, ...]]

# fmt: off
LINK_TABLE: dict[State, dict[Event, Cell]] = {
    #                       what happens           next state          what follows
    State.LOGGED_IN: {
        Event.WANTED:       (State.LOGGED_IN,   ()),
        # The peer may need this login though we do not: it stays until the connection ends.
        Event.UNWANTED:     (State.LOGGED_IN,   ()),
        # A second connection took the first one's place, so what went into the first may be lost.
        Event.HELLO:        (State.LOGGED_IN,   (Action.RESUME,)),
        Event.REFUSED:      (State.NOT_ALLOWED, (Action.HANG_UP, Action.RETRY_RARELY, Action.NOTE)),
        Event.DENIED:       (State.NOT_ALLOWED, (Action.HANG_UP, Action.NOTE)),
        Event.ALLOWED:      (State.LOGGED_IN,   ()),
        Event.SILENCE:      (State.POLLING,     (Action.HANG_UP, Action.BACK_OFF)),
        Event.BYE:          (State.POLLING,     (Action.HANG_UP, Action.BACK_OFF)),
        Event.DISCONNECTED: (State.POLLING,     (Action.HANG_UP, Action.PROBE, Action.BACK_OFF)),
        # The connection works, wherever the peer is to be found next time.
        Event.ADDRESS:      (State.LOGGED_IN,   ()),
        Event.RESTARTED:    (State.POLLING,     (Action.HANG_UP, Action.FORGIVE, Action.DIAL)),
    },
    State.POLLING: {
        Event.WANTED:       (State.POLLING,     (Action.DIAL,)),
        Event.UNWANTED:     (State.POLLING,     (Action.HANG_UP,)),
        Event.HELLO:        (State.LOGGED_IN,   (Action.RESUME,)),
        Event.REFUSED:      (State.NOT_ALLOWED, (Action.HANG_UP, Action.RETRY_RARELY, Action.NOTE)),
        Event.DENIED:       (State.NOT_ALLOWED, (Action.HANG_UP, Action.NOTE)),
        Event.ALLOWED:      (State.POLLING,     ()),
        Event.SILENCE:      (State.POLLING,     (Action.HANG_UP, Action.BACK_OFF)),
        Event.BYE:          (State.POLLING,     (Action.HANG_UP, Action.BACK_OFF)),
        Event.DISCONNECTED: (State.POLLING,     (Action.HANG_UP, Action.BACK_OFF)),
        Event.ADDRESS:      (State.POLLING,     (Action.HANG_UP, Action.FORGIVE, Action.DIAL)),
        # No HANG_UP: a dial in progress reaches the new process at the same address.
        Event.RESTARTED:    (State.POLLING,     (Action.FORGIVE, Action.DIAL)),
        Event.DUE:          (State.POLLING,     (Action.DIAL,)),
    },
    # A refused link stays refused while it asks again: only HELLO or ALLOWED lead out.
    State.NOT_ALLOWED: {
        Event.WANTED:       (State.NOT_ALLOWED, (Action.DIAL,)),
        Event.UNWANTED:     (State.NOT_ALLOWED, (Action.HANG_UP,)),
        Event.HELLO:        (State.LOGGED_IN,   (Action.RESUME,)),
        Event.REFUSED:      (State.NOT_ALLOWED, (Action.HANG_UP, Action.RETRY_RARELY)),
        Event.DENIED:       (State.NOT_ALLOWED, (Action.HANG_UP,)),
        # Also where the peer refused us as well: our list changed, so the peer is asked again.
        Event.ALLOWED:      (State.POLLING,     (Action.FORGIVE, Action.DIAL)),
        Event.SILENCE:      (State.NOT_ALLOWED, (Action.HANG_UP, Action.RETRY_RARELY)),
        Event.BYE:          (State.NOT_ALLOWED, (Action.HANG_UP, Action.RETRY_RARELY)),
        Event.DISCONNECTED: (State.NOT_ALLOWED, (Action.HANG_UP, Action.RETRY_RARELY)),
        Event.ADDRESS:      (State.NOT_ALLOWED, (Action.HANG_UP, Action.FORGIVE, Action.DIAL)),
        Event.RESTARTED:    (State.NOT_ALLOWED, (Action.FORGIVE, Action.DIAL)),
        Event.DUE:          (State.NOT_ALLOWED, (Action.DIAL,)),
    },
}
# fmt: on


def step(
    table: Mapping[S, Mapping[E, tuple[S, tuple[A, ...]]]], state: S, event: E, page: str, code: str
) -> tuple[S, tuple[A, ...]]:
    """The cell of a table: next state and actions. Raises LocalError, with that code, where there is none."""
    try:
        return table[state][event]
    except KeyError:
        raise LocalError(
            f"{event.name} while {state.name}: this cannot happen.",
            hint=f"This is a fault in the node; the legal cells are in {page}.",
            code=code,
        ) from None
