"""State table of links: all events and their consequences."""

# Rule 1: LINK_TABLE has all changes of a link's state. A cell that is absent is illegal.
# Rule 2: nothing here knows a socket, a clock or the peer. Only link.py reads the table.
# Rule 3: DIAL in a cell means "dial if allowed now": link.py drops it if the login is not needed, a dial is
# in progress, the waiting time is not over, or this node denies the peer.
# Rule 4: all other actions of a cell are carried out, except that BACK_OFF and RETRY_RARELY do not extend a
# wait that is not over.

from collections.abc import Mapping
from enum import Enum
from typing import TypeVar

from mesh.errors import LocalError

AnyState = TypeVar("AnyState", bound=Enum)
AnyEvent = TypeVar("AnyEvent", bound=Enum)
AnyAction = TypeVar("AnyAction")


class LinkState(Enum):
    """State of a link. The value is the text shown to users."""

    LOGGED_IN = "logged in"
    POLLING = "polling"
    NOT_ALLOWED = "not allowed"


class LinkEvent(Enum):
    """Event of a link. The value is its explanation in the docs."""

    WANTED = "a client or peer of this node needs the login"
    UNWANTED = "the login is no longer needed"
    HELLO = "a data connection is up, and both sides accept each other"
    REFUSED = "the peer denies the link"
    DENIED = "this node denies the link"
    ALLOWED = "this node allows the link again"
    SILENCE = "the peer has been silent for too long"
    BYE = "the peer leaves"
    DISCONNECTED = "the data connection, or the attempt at one, ended"
    ADDRESS = "the peer has another address"
    RESTARTED = "the peer has a higher boot"
    REACHED = "a control connection to the peer was opened"
    DUE = "the delay is over"


class LinkAction(Enum):
    """Action that follows from an event. The value is its explanation in the docs."""

    DIAL = "open a data connection to the peer"
    HANG_UP = "close the data connection, or cancel its dial"
    RESUME = "resend on this connection all that the peer has not answered"
    PROBE = "ping the peer over the control connection immediately"
    NOTE = "log the refusal with its reason"
    BACK_OFF = "wait before the next dial, longer each time"
    RETRY_RARELY = "wait for a long time before the next dial"
    FORGIVE = "reset all delays, so the next dial may follow immediately"
    HASTEN = "end the delay before the next dial; if that fails, the following delay is longer"


LinkCell = tuple[LinkState, tuple[LinkAction, ...]]
A = LinkAction

# fmt: off
LINK_TABLE: dict[LinkState, dict[LinkEvent, LinkCell]] = {
    # event                      next state              actions
    LinkState.LOGGED_IN: {
        LinkEvent.WANTED:       (LinkState.LOGGED_IN,   ()),
        # The peer may need this login, so it stays until the connection ends.
        LinkEvent.UNWANTED:     (LinkState.LOGGED_IN,   ()),
        # A second connection replaced the first one, whose last messages may be lost.
        LinkEvent.HELLO:        (LinkState.LOGGED_IN,   (A.RESUME,)),
        LinkEvent.REFUSED:      (LinkState.NOT_ALLOWED, (A.HANG_UP, A.RETRY_RARELY, A.NOTE)),
        LinkEvent.DENIED:       (LinkState.NOT_ALLOWED, (A.HANG_UP, A.NOTE)),
        LinkEvent.ALLOWED:      (LinkState.LOGGED_IN,   ()),
        LinkEvent.SILENCE:      (LinkState.POLLING,     (A.HANG_UP, A.BACK_OFF)),
        LinkEvent.BYE:          (LinkState.POLLING,     (A.HANG_UP, A.BACK_OFF)),
        LinkEvent.DISCONNECTED: (LinkState.POLLING,     (A.HANG_UP, A.PROBE, A.BACK_OFF)),
        # The connection works, whatever address the peer has next time.
        LinkEvent.ADDRESS:      (LinkState.LOGGED_IN,   ()),
        LinkEvent.RESTARTED:    (LinkState.POLLING,     (A.HANG_UP, A.FORGIVE, A.DIAL)),
        # If the control connection was lost, the login is lost, too, though its end may show later.
        # FORGIVE lets the next dial follow immediately.
        LinkEvent.REACHED:      (LinkState.LOGGED_IN,   (A.FORGIVE,)),
    },
    LinkState.POLLING: {
        LinkEvent.WANTED:       (LinkState.POLLING,     (A.DIAL,)),
        LinkEvent.UNWANTED:     (LinkState.POLLING,     (A.HANG_UP,)),
        LinkEvent.HELLO:        (LinkState.LOGGED_IN,   (A.RESUME,)),
        LinkEvent.REFUSED:      (LinkState.NOT_ALLOWED, (A.HANG_UP, A.RETRY_RARELY, A.NOTE)),
        LinkEvent.DENIED:       (LinkState.NOT_ALLOWED, (A.HANG_UP, A.NOTE)),
        LinkEvent.ALLOWED:      (LinkState.POLLING,     ()),
        LinkEvent.SILENCE:      (LinkState.POLLING,     (A.HANG_UP, A.BACK_OFF)),
        LinkEvent.BYE:          (LinkState.POLLING,     (A.HANG_UP, A.BACK_OFF)),
        LinkEvent.DISCONNECTED: (LinkState.POLLING,     (A.HANG_UP, A.BACK_OFF)),
        LinkEvent.ADDRESS:      (LinkState.POLLING,     (A.HANG_UP, A.FORGIVE, A.DIAL)),
        # No HANG_UP: a dial in progress reaches the new process at the same address.
        LinkEvent.RESTARTED:    (LinkState.POLLING,     (A.FORGIVE, A.DIAL)),
        # The partition is over. After a cut only one side may have considered the other dead.
        LinkEvent.REACHED:      (LinkState.POLLING,     (A.HASTEN, A.DIAL)),
        LinkEvent.DUE:          (LinkState.POLLING,     (A.DIAL,)),
    },
    # A refused link stays refused while the node dials again: only HELLO or ALLOWED leaves this state.
    LinkState.NOT_ALLOWED: {
        LinkEvent.WANTED:       (LinkState.NOT_ALLOWED, (A.DIAL,)),
        LinkEvent.UNWANTED:     (LinkState.NOT_ALLOWED, (A.HANG_UP,)),
        LinkEvent.HELLO:        (LinkState.LOGGED_IN,   (A.RESUME,)),
        LinkEvent.REFUSED:      (LinkState.NOT_ALLOWED, (A.HANG_UP, A.RETRY_RARELY)),
        LinkEvent.DENIED:       (LinkState.NOT_ALLOWED, (A.HANG_UP,)),
        # The peer is dialed even if it refused, too, because the list here has changed.
        LinkEvent.ALLOWED:      (LinkState.POLLING,     (A.FORGIVE, A.DIAL)),
        LinkEvent.SILENCE:      (LinkState.NOT_ALLOWED, (A.HANG_UP, A.RETRY_RARELY)),
        LinkEvent.BYE:          (LinkState.NOT_ALLOWED, (A.HANG_UP, A.RETRY_RARELY)),
        LinkEvent.DISCONNECTED: (LinkState.NOT_ALLOWED, (A.HANG_UP, A.RETRY_RARELY)),
        LinkEvent.ADDRESS:      (LinkState.NOT_ALLOWED, (A.HANG_UP, A.FORGIVE, A.DIAL)),
        LinkEvent.RESTARTED:    (LinkState.NOT_ALLOWED, (A.FORGIVE, A.DIAL)),
        LinkEvent.REACHED:      (LinkState.NOT_ALLOWED, ()),
        LinkEvent.DUE:          (LinkState.NOT_ALLOWED, (A.DIAL,)),
    },
}
# fmt: on


def step(
    table: Mapping[AnyState, Mapping[AnyEvent, tuple[AnyState, tuple[AnyAction, ...]]]],
    state: AnyState,
    event: AnyEvent,
    page: str,
    code: str,
) -> tuple[AnyState, tuple[AnyAction, ...]]:
    """Return the next state and the actions.

    Raises LocalError with `code` if `table` has no cell for the event in this state. The hint of the error
    names the documentation page `page`.
    """
    try:
        return table[state][event]
    except KeyError:
        raise LocalError(
            f"The event {event.name} is impossible in the state {state.name}.",
            hint=f"This is a bug in the node; the legal transitions are in {page}.",
            code=code,
        ) from None
