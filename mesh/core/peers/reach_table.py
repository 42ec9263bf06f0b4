"""The table of reach: what may happen to another node's control connection, and what follows? All of it."""

# Rule 1: all that can change how a node is reached stands in REACH_TABLE; a cell that is absent is illegal.
# Rule 2: nothing here knows a socket, a clock or the node; reach.py alone looks into the table.
# Rule 3: reach.py carries out what is about waiting, the caller what is about anything else, in order.

from enum import Enum

from mesh.errors import LocalError


class State(Enum):
    """How far a node is reached; the value is the word in the docs."""

    AWAY = "away"
    TOLD_OF = "told of"
    ALIVE = "alive"
    SUSPECT = "suspect"
    LEFT = "left"


class Event(Enum):
    """What can happen to a node that is known; the value is the explanation in the docs."""

    SIGHTED = "somebody tells something new of it"
    DIALLED = "we begin to dial its addresses, one after the other"
    CONNECTED = "its control connection stands"
    ENDED = "the control connection, or a dial of it, has ended, and no other is there"
    UNWELCOME = "one side does not want the other"
    ASKED = "a question for it waits for its control connection"
    JOINED = "it is alive, and was not"
    RESTARTED = "it is another process now, and the one before is gone"
    MOVED = "the same process is to be found elsewhere"
    SUSPECTED = "it does not answer"
    TRUSTED = "it answers after all"
    DIED = "it did not answer, nor deny it"
    DOUBLED = "two processes answer for it"
    SAID_GOODBYE = "a process of it that we have met leaves on purpose"
    SAID_TO_LEAVE = "others say that it leaves, in a boot that we have never met"


class Action(Enum):
    """What follows from an event; the value is the explanation in the docs."""

    SOON = "dial after a short while, in which the other may dial first"
    NOW = "dial at once"
    FORGIVE = "forget addresses that were not tried, and all dials in vain"
    BACK_OFF = "dial the next address, or all again after a wait, longer each time"
    RETRY = "likewise, but never wait for long"
    RETRY_RARELY = "wait as long as ever before the next dial"
    AFRESH = "forget what was to be asked and tried, and begin to dial as one that was just lost"
    HANG_UP = "close its control connection, or the dials of it"
    LOG_IN = "tell the link that the peer restarted"
    FOLLOW = "tell the link that the peer has another address"
    SILENCE = "tell the link that nothing was heard of the peer, and that nobody needs it"
    BYE = "tell the link that the peer said goodbye, and that nobody needs it"
    LOSE = "say that the peer is lost, in the boot that it had"
    JOIN = "say that the peer joined, and tell the others of it"
    TELL_PLACE = "tell the peer where it was: if that is another process, both learn of it so"


Cell = tuple[State, tuple[Action, ...]]
A = Action

# Of a process that we never met others say that it left. Two who believed a liar that of each other would
# both wait to be dialled: so it is dialled, as the dead are.
LOST = (A.AFRESH, A.SILENCE, A.HANG_UP, A.LOSE)
GONE = (A.AFRESH, A.BYE, A.HANG_UP, A.LOSE)
RENEWED = (A.HANG_UP, A.LOSE, A.LOG_IN, A.JOIN)

# fmt: off
REACH_TABLE: dict[State, dict[Event, Cell]] = {
    #                        what happens    next state      what follows
    # Nobody heard from it yet, or it is dead: dialled again and again.
    State.AWAY: {
        Event.SIGHTED:       (State.TOLD_OF, (A.SOON,)),
        Event.DIALLED:       (State.AWAY,    ()),
        Event.CONNECTED:     (State.AWAY,    (A.FORGIVE,)),
        Event.ENDED:         (State.AWAY,    (A.BACK_OFF,)),
        Event.UNWELCOME:     (State.AWAY,    (A.RETRY_RARELY,)),
        Event.ASKED:         (State.AWAY,    (A.NOW,)),
        Event.JOINED:        (State.ALIVE,   (A.LOG_IN, A.JOIN)),
    },
    # Dialled before those that are away, as there may be news.
    State.TOLD_OF: {
        Event.SIGHTED:       (State.TOLD_OF, (A.SOON,)),
        Event.DIALLED:       (State.AWAY,    ()),
        Event.CONNECTED:     (State.TOLD_OF, (A.FORGIVE,)),
        Event.ENDED:         (State.TOLD_OF, (A.BACK_OFF,)),
        Event.UNWELCOME:     (State.TOLD_OF, (A.RETRY_RARELY,)),
        Event.ASKED:         (State.TOLD_OF, (A.NOW,)),
        Event.JOINED:        (State.ALIVE,   (A.LOG_IN, A.JOIN)),
    },
    State.ALIVE: {
        Event.DIALLED:       (State.ALIVE,   ()),
        Event.CONNECTED:     (State.ALIVE,   (A.FORGIVE,)),
        Event.ENDED:         (State.ALIVE,   (A.RETRY,)),
        Event.UNWELCOME:     (State.ALIVE,   (A.RETRY_RARELY,)),
        Event.ASKED:         (State.ALIVE,   (A.NOW,)),
        # Of two processes that answered for it the older one goes on.
        Event.JOINED:        (State.ALIVE,   (A.LOG_IN, A.JOIN)),
        Event.RESTARTED:     (State.ALIVE,   RENEWED),
        Event.MOVED:         (State.ALIVE,   (A.TELL_PLACE, A.FOLLOW)),
        Event.SUSPECTED:     (State.SUSPECT, ()),
        Event.TRUSTED:       (State.ALIVE,   ()),
        Event.DIED:          (State.AWAY,    LOST),
        Event.DOUBLED:       (State.AWAY,    LOST),
        Event.SAID_GOODBYE:  (State.LEFT,    GONE),
        Event.SAID_TO_LEAVE: (State.AWAY,    GONE),
    },
    # It counts as alive still.
    State.SUSPECT: {
        Event.DIALLED:       (State.SUSPECT, ()),
        Event.CONNECTED:     (State.SUSPECT, (A.FORGIVE,)),
        Event.ENDED:         (State.SUSPECT, (A.RETRY,)),
        Event.UNWELCOME:     (State.SUSPECT, (A.RETRY_RARELY,)),
        Event.ASKED:         (State.SUSPECT, (A.NOW,)),
        Event.JOINED:        (State.ALIVE,   (A.LOG_IN, A.JOIN)),
        Event.RESTARTED:     (State.ALIVE,   RENEWED),
        Event.MOVED:         (State.SUSPECT, (A.TELL_PLACE, A.FOLLOW)),
        Event.SUSPECTED:     (State.SUSPECT, ()),
        Event.TRUSTED:       (State.ALIVE,   ()),
        Event.DIED:          (State.AWAY,    LOST),
        Event.DOUBLED:       (State.AWAY,    LOST),
        Event.SAID_GOODBYE:  (State.LEFT,    GONE),
        Event.SAID_TO_LEAVE: (State.AWAY,    GONE),
    },
    # It comes back by itself, if at all: nobody dials it.
    State.LEFT: {
        Event.SIGHTED:       (State.TOLD_OF, (A.SOON,)),
        Event.CONNECTED:     (State.LEFT,    (A.FORGIVE,)),
        Event.ENDED:         (State.LEFT,    ()),
        Event.UNWELCOME:     (State.LEFT,    (A.RETRY_RARELY,)),
        Event.ASKED:         (State.LEFT,    (A.NOW,)),
        Event.JOINED:        (State.ALIVE,   (A.LOG_IN, A.JOIN)),
    },
}
# fmt: on


def step(state: State, event: Event) -> Cell:
    """The cell of the table: next state and actions. Raises LocalError where there is none."""
    try:
        return REACH_TABLE[state][event]
    except KeyError:
        raise LocalError(
            f"{event.name} while {state.name}: this cannot happen to a node.",
            hint="This is a fault in the node; the legal cells are in docs/design.md.",
            code="REACH_EVENT",
        ) from None
