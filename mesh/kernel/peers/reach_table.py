"""State table of reach: all events of a known node, and their consequences."""

# Rule 1: REACH_TABLE has all changes of a node's reach state; an absent cell is illegal.
# Rule 2: nothing here knows a socket, a clock or the node; only reach.py reads the table.
# Rule 3: reach.py carries out actions about waiting, the caller all others, in order.

from enum import Enum


class ReachState(Enum):
    """Reach state of a node. The value is the term in the docs."""

    AWAY = "away"
    TOLD_OF = "reported"
    ALIVE = "alive"
    SUSPECT = "suspect"
    LEFT = "left"


class ReachEvent(Enum):
    """Event of a known node. The value is its explanation in the docs."""

    SIGHTED = "new facts about the peer arrived"
    DIALLED = "this node starts to dial the peer's addresses in turn"
    CONNECTED = "the control connection to the peer is up"
    ENDED = "a control connection to the peer, or a dial, ended, and no other exists"
    UNWELCOME = "one side denies the link"
    ASKED = "a query to the peer waits for the control connection"
    JOINED = "the peer became alive"
    RESTARTED = "the peer is a new process, and the earlier one has ended"
    MOVED = "the same process has another address"
    SUSPECTED = "the peer does not answer"
    TRUSTED = "the peer answers again"
    DIED = "the peer neither answered nor refuted its death"
    DOUBLED = "two processes answer for the peer"
    SAID_GOODBYE = "the peer leaves on purpose, in a boot that this node knows"
    SAID_TO_LEAVE = "other nodes report that the peer leaves, in a boot that this node never met"


class ReachAction(Enum):
    """Action that follows from an event. The value is its explanation in the docs."""

    SOON = "dial after a short delay, in which the peer may dial first"
    NOW = "dial immediately"
    FORGIVE = "reset the untried addresses and failed dials"
    BACK_OFF = "dial the next address, or all again after a growing delay"
    RETRY = "as BACK_OFF, but with a short maximum delay"
    RETRY_RARELY = "wait for the maximum delay before the next dial"
    AFRESH = "forget pending queries and attempts, and wait briefly before the next dial"
    HANG_UP = "close the control connection, or cancel its dials"
    LOG_IN = "notify the link that the peer restarted"
    FOLLOW = "notify the link of the new address"
    SILENCE = "notify the link that the peer is silent and not needed"
    BYE = "notify the link that the peer left and is not needed"
    LOSE = "report the peer as lost, in the boot that it had"
    JOIN = "report the peer as joined, and announce it to others"
    TELL_PLACE = "send the peer its new address, so that two processes with one identity notice it"


ReachCell = tuple[ReachState, tuple[ReachAction, ...]]
A = ReachAction

# A process that this node never met is reported as left. If two nodes believed false reports of each other,
# both would wait to be dialed. The node is therefore dialed like a dead one.
LOST = (A.AFRESH, A.SILENCE, A.HANG_UP, A.LOSE)
GONE = (A.AFRESH, A.BYE, A.HANG_UP, A.LOSE)
RENEWED = (A.HANG_UP, A.LOSE, A.LOG_IN, A.JOIN)

# fmt: off
REACH_TABLE: dict[ReachState, dict[ReachEvent, ReachCell]] = {
    #                        what happens    next state      what follows
    # Never connected, or dead: dialed again and again.
    ReachState.AWAY: {
        ReachEvent.SIGHTED:       (ReachState.TOLD_OF, (A.SOON,)),
        ReachEvent.DIALLED:       (ReachState.AWAY,    ()),
        ReachEvent.CONNECTED:     (ReachState.AWAY,    (A.FORGIVE,)),
        ReachEvent.ENDED:         (ReachState.AWAY,    (A.BACK_OFF,)),
        ReachEvent.UNWELCOME:     (ReachState.AWAY,    (A.RETRY_RARELY,)),
        ReachEvent.ASKED:         (ReachState.AWAY,    (A.NOW,)),
        ReachEvent.JOINED:        (ReachState.ALIVE,   (A.LOG_IN, A.JOIN)),
    },
    # Dialed before nodes that are away, as the news is fresh.
    ReachState.TOLD_OF: {
        ReachEvent.SIGHTED:       (ReachState.TOLD_OF, (A.SOON,)),
        ReachEvent.DIALLED:       (ReachState.AWAY,    ()),
        ReachEvent.CONNECTED:     (ReachState.TOLD_OF, (A.FORGIVE,)),
        # That dial began before the news: it must not delay the dial that the news causes.
        ReachEvent.ENDED:         (ReachState.TOLD_OF, ()),
        ReachEvent.UNWELCOME:     (ReachState.TOLD_OF, (A.RETRY_RARELY,)),
        ReachEvent.ASKED:         (ReachState.TOLD_OF, (A.NOW,)),
        ReachEvent.JOINED:        (ReachState.ALIVE,   (A.LOG_IN, A.JOIN)),
    },
    ReachState.ALIVE: {
        ReachEvent.DIALLED:       (ReachState.ALIVE,   ()),
        ReachEvent.CONNECTED:     (ReachState.ALIVE,   (A.FORGIVE,)),
        ReachEvent.ENDED:         (ReachState.ALIVE,   (A.RETRY,)),
        ReachEvent.UNWELCOME:     (ReachState.ALIVE,   (A.RETRY_RARELY,)),
        ReachEvent.ASKED:         (ReachState.ALIVE,   (A.NOW,)),
        # Of two processes with its identity the older one continues.
        ReachEvent.JOINED:        (ReachState.ALIVE,   (A.LOG_IN, A.JOIN)),
        ReachEvent.RESTARTED:     (ReachState.ALIVE,   RENEWED),
        ReachEvent.MOVED:         (ReachState.ALIVE,   (A.TELL_PLACE, A.FOLLOW)),
        ReachEvent.SUSPECTED:     (ReachState.SUSPECT, ()),
        ReachEvent.TRUSTED:       (ReachState.ALIVE,   ()),
        ReachEvent.DIED:          (ReachState.AWAY,    LOST),
        ReachEvent.DOUBLED:       (ReachState.AWAY,    LOST),
        ReachEvent.SAID_GOODBYE:  (ReachState.LEFT,    GONE),
        ReachEvent.SAID_TO_LEAVE: (ReachState.AWAY,    GONE),
    },
    # A suspect node still counts as alive.
    ReachState.SUSPECT: {
        ReachEvent.DIALLED:       (ReachState.SUSPECT, ()),
        ReachEvent.CONNECTED:     (ReachState.SUSPECT, (A.FORGIVE,)),
        ReachEvent.ENDED:         (ReachState.SUSPECT, (A.RETRY,)),
        ReachEvent.UNWELCOME:     (ReachState.SUSPECT, (A.RETRY_RARELY,)),
        ReachEvent.ASKED:         (ReachState.SUSPECT, (A.NOW,)),
        ReachEvent.JOINED:        (ReachState.ALIVE,   (A.LOG_IN, A.JOIN)),
        ReachEvent.RESTARTED:     (ReachState.ALIVE,   RENEWED),
        ReachEvent.MOVED:         (ReachState.SUSPECT, (A.TELL_PLACE, A.FOLLOW)),
        ReachEvent.SUSPECTED:     (ReachState.SUSPECT, ()),
        ReachEvent.TRUSTED:       (ReachState.ALIVE,   ()),
        ReachEvent.DIED:          (ReachState.AWAY,    LOST),
        ReachEvent.DOUBLED:       (ReachState.AWAY,    LOST),
        ReachEvent.SAID_GOODBYE:  (ReachState.LEFT,    GONE),
        ReachEvent.SAID_TO_LEAVE: (ReachState.AWAY,    GONE),
    },
    # The node dials us if it comes back; it is not dialed.
    ReachState.LEFT: {
        ReachEvent.SIGHTED:       (ReachState.TOLD_OF, (A.SOON,)),
        ReachEvent.CONNECTED:     (ReachState.LEFT,    (A.FORGIVE,)),
        ReachEvent.ENDED:         (ReachState.LEFT,    ()),
        ReachEvent.UNWELCOME:     (ReachState.LEFT,    (A.RETRY_RARELY,)),
        ReachEvent.ASKED:         (ReachState.LEFT,    (A.NOW,)),
        ReachEvent.JOINED:        (ReachState.ALIVE,   (A.LOG_IN, A.JOIN)),
    },
}
# fmt: on
