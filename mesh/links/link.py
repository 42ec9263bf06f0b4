"""The relation with one peer, and the actions to take next."""

# Rule 1: a link's state changes in this file only, and only by LINK_TABLE.
# Rule 2: nothing here dials, hangs up or waits. Each event returns the actions for the caller, in order.
# Rule 3: whether the link waits, and for what, is never stored: it follows from the other fields.

from collections.abc import Callable
from dataclasses import dataclass

from mesh.errors import LocalError
from mesh.links.backoff import Timing, delay, rare_delay
from mesh.links.table import LINK_TABLE, LinkAction, LinkEvent, LinkState, step


@dataclass(frozen=True, slots=True)
class Refusal:
    """Reason why one side refuses the other: a stable code, and a text."""

    code: str
    reason: str


class Link:
    """The relation with one peer, in one of three states.

    Each event is a method that takes `now` (monotonic seconds) and returns the actions that the caller must
    perform. BACK_OFF, RETRY_RARELY, FORGIVE and HASTEN are handled here and never returned. `jitter` returns
    random numbers in [0, 1).

    The caller reports events of the connection in use only, not the end of a connection that lost the duel or
    was hung up on request.
    """

    def __init__(
        self, peer: bytes, now: float, jitter: Callable[[], float], timing: Timing | None = None
    ) -> None:
        self.peer = peer
        self._jitter = jitter
        self._timing = timing or Timing()
        self._state = LinkState.POLLING
        self._since = now
        self._is_wanted = False
        self._attempt = 1
        self._not_before = now
        self._dialled_at: float | None = None
        self._mine: Refusal | None = None
        self._theirs: Refusal | None = None

    @property
    def state(self) -> LinkState:
        return self._state

    @property
    def since(self) -> float:
        return self._since

    @property
    def is_wanted(self) -> bool:
        return self._is_wanted

    @property
    def is_dialling(self) -> bool:
        """Whether a dial waits for its answer."""
        return self._dialled_at is not None

    @property
    def attempt(self) -> int:
        """The number of the current or next dial since the last reset, from 1."""
        return self._attempt

    @property
    def by(self) -> str:
        """The side that refuses: "me", "peer" or "both"; "" unless the state is NOT_ALLOWED."""
        if self._mine and self._theirs:
            return "both"
        return "me" if self._mine else "peer" if self._theirs else ""

    @property
    def code(self) -> str:
        """The code of the refusal, this node's first if both refuse; "" unless the state is NOT_ALLOWED."""
        return ", ".join(no.code for no in (self._mine, self._theirs) if no)

    @property
    def reason(self) -> str:
        """The reason of the refusal, this node's first if both refuse; "" unless the state is NOT_ALLOWED."""
        return "; ".join(no.reason for no in (self._mine, self._theirs) if no)

    @property
    def next_try(self) -> float | None:
        """The time of the next dial, or None.

        None means that no login is needed, a dial or a login exists, or this node denies the peer.
        """
        is_waiting = self._is_wanted and self._dialled_at is None and self._state is not LinkState.LOGGED_IN
        return self._not_before if is_waiting and self._mine is None else None

    def deadline(self) -> float | None:
        """Return when `tick` is next needed, or None if only an event can change anything."""
        if self._dialled_at is not None:
            return self._dialled_at + self._timing.connect_limit
        return self.next_try

    def describe(self, now: float) -> str:
        word: str = self._state.value
        if self._state is LinkState.NOT_ALLOWED:
            return f"{word} by {self.by}: {self.code}"
        if self._state is LinkState.POLLING:
            return f"{word} ({self._polling_detail(now)})"
        return word

    def wanted(self, now: float) -> tuple[LinkAction, ...]:
        """Record that this node needs the login. A repeated call can only start a dial that is due."""
        self._is_wanted = True
        return self._step(LinkEvent.WANTED, now)

    def unwanted(self, now: float) -> tuple[LinkAction, ...]:
        self._is_wanted = False
        return self._step(LinkEvent.UNWANTED, now)

    def hello(self, now: float) -> tuple[LinkAction, ...]:
        """Record that a data connection exists and both sides accept each other.

        Raises LocalError while the peer is denied.
        """
        if self._mine:
            raise LocalError(
                f"A HELLO was accepted from a peer that this node denies ({self._mine.code}).",
                hint="This is a bug in the node: it must refuse the HELLO, or allow the peer first.",
                code="LINK_EVENT",
            )
        return self._step(LinkEvent.HELLO, now)

    def on_refused(self, now: float, code: str, reason: str) -> tuple[LinkAction, ...]:
        """Record that the peer refuses, with a code and a reason."""
        self._theirs = Refusal(code, reason)
        return self._step(LinkEvent.REFUSED, now)

    def denied(self, now: float, code: str, reason: str) -> tuple[LinkAction, ...]:
        """Record that this node refuses, with a code and a reason."""
        self._mine = Refusal(code, reason)
        return self._step(LinkEvent.DENIED, now)

    def allowed(self, now: float) -> tuple[LinkAction, ...]:
        """Record that this node's refusal is withdrawn."""
        return self._step(LinkEvent.ALLOWED, now)

    def silence(self, now: float) -> tuple[LinkAction, ...]:
        return self._step(LinkEvent.SILENCE, now)

    def bye(self, now: float) -> tuple[LinkAction, ...]:
        return self._step(LinkEvent.BYE, now)

    def disconnected(self, now: float) -> tuple[LinkAction, ...]:
        """Record that the data connection, or the dial, has ended."""
        return self._step(LinkEvent.DISCONNECTED, now)

    def address(self, now: float) -> tuple[LinkAction, ...]:
        """Record that the address of the peer has changed."""
        return self._step(LinkEvent.ADDRESS, now)

    def restarted(self, now: float) -> tuple[LinkAction, ...]:
        """Record that the peer has a higher boot. Call before `hello` if one message reports both."""
        return self._step(LinkEvent.RESTARTED, now)

    def reached(self, now: float) -> tuple[LinkAction, ...]:
        """Record that a control connection to the peer is established again."""
        return self._step(LinkEvent.REACHED, now)

    def tick(self, now: float) -> tuple[LinkAction, ...]:
        """Give up a dial without an answer, or dial again, if it is time."""
        deadline = self.deadline()
        if deadline is None or now < deadline:
            return ()
        return self._step(LinkEvent.DISCONNECTED if self.is_dialling else LinkEvent.DUE, now)

    def _step(self, event: LinkEvent, now: float) -> tuple[LinkAction, ...]:
        state, actions = step(LINK_TABLE, self._state, event, "docs/links.md", "LINK_EVENT")
        if state is not self._state:
            self._enter(state, now)
        return tuple(action for action in actions if self._is_for_caller(action, now))

    def _enter(self, state: LinkState, now: float) -> None:
        # A login that breaks immediately, again and again, must not cause a loop without backoff.
        has_settled = self._state is LinkState.LOGGED_IN and now - self._since >= self._timing.settled
        if has_settled or state is LinkState.NOT_ALLOWED:
            self._attempt = 1
        if state is not LinkState.NOT_ALLOWED:
            self._mine = self._theirs = None
        if state is LinkState.LOGGED_IN:
            self._dialled_at = None
        self._state, self._since, self._not_before = state, now, now

    def _is_for_caller(self, action: LinkAction, now: float) -> bool:
        """Carry out the link's own part of an action, and return whether the caller must act, too."""
        match action:
            case LinkAction.DIAL:
                return self._dial(now)
            case LinkAction.HANG_UP:
                self._dialled_at = None
            case LinkAction.BACK_OFF:
                timing = self._timing
                wait = delay(self._attempt, self._jitter(), low=timing.low, high=timing.high)
                return self._wait(wait, now)
            case LinkAction.RETRY_RARELY:
                timing = self._timing
                return self._wait(rare_delay(self._attempt, rare=timing.rare, rarest=timing.rarest), now)
            case LinkAction.FORGIVE:
                self._attempt, self._not_before = 1, now
                return False
            case LinkAction.HASTEN:
                self._not_before = now
                return False
        return True

    def _dial(self, now: float) -> bool:
        if self.next_try is None or now < self.next_try:
            return False
        self._dialled_at = now
        return True

    def _wait(self, seconds: float, now: float) -> bool:
        # A failure that is reported twice (silence, then the transport's notice) counts once.
        if now >= self._not_before:
            self._attempt += 1
            self._not_before = now + seconds
        return False

    def _polling_detail(self, now: float) -> str:
        if self._dialled_at is not None:
            return f"dialing, attempt {self._attempt}"
        if self.next_try is None:
            return "idle"
        return f"next try in {max(0.0, self.next_try - now):.1f} s, attempt {self._attempt}"
