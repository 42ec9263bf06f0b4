"""The rules in force at this node, and the two steps in which they change while messages flow."""

# Law 1: a decision uses one set of rules, never parts of two.
# Law 2: first the node subscribes by both the old and the new rules; then it sends by the new ones, and still
# subscribes by both, and by others of the recent past. So no message is missed if all nodes know the rules
# before any sends by them. For shared rules each node announces when it subscribes by them, and is awaited.
# For rules of its own file, and without an announcement, the wait is SWITCH.
# Law 3: waiting messages that were never forwarded are decided again. Forwarded ones keep their route until
# the final answer, as their master may have them.
# Law 4: while rules spread they may form a loop. An answer CIRCULAR_LOOP is not final during that time.

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from math import inf

from mesh.discovery.state import Summary
from mesh.errors import LocalError
from mesh.kernel.asking.interest_sync import InterestSync
from mesh.kernel.context.component import Beginning, Component, Reloaded, no_file
from mesh.kernel.context.facts import Hearing, SettingsRead, on_fact
from mesh.kernel.context.incoming_call import IncomingCall, Right, Verb, answer
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.pages import fitting
from mesh.kernel.delivery.router import Router
from mesh.kernel.peers.facts import PeerLost, RoutesChanged
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer_handshake import PeerHandshake
from mesh.kernel.routes.facts import RulesChanged
from mesh.kernel.routes.nodes import Nodes
from mesh.kernel.states.facts import StateReceived
from mesh.kernel.states.gossiping import Gossiping
from mesh.mapping.agreed import NONE, Agreed, RuleSet, counting
from mesh.mapping.changing import check_change
from mesh.mapping.checking import check_xpaths
from mesh.mapping.mapping import Mapping
from mesh.mapping.parents import Adopted, with_parents
from mesh.mapping.rules import Rule
from mesh.wire.calls import AskReload
from mesh.wire.replies import ReloadTold

SWITCH = 5.0  # s between the two steps, at most
ENDS = 60.0  # s until old rules are dropped
LOOK = 0.05  # s between two checks for confirmed subscriptions
ASKS_BY = "asksby"  # name, in a state, of the rules in use
BEFORE = 7  # older rules that are remembered
LINES = 1000  # changes listed in an answer


class Ruling(Component):
    """Component for the rules in force and the next ones.

    Both are the rules of the settings, overlaid by the shared rules.
    """

    def __init__(
        self,
        context: NodeContext,
        mapping: Mapping,
        meeting: PeerHandshake,
        neighbours: Neighbours,
        nodes: Nodes,
        router: Router,
        gossiping: Gossiping,
        demand: InterestSync,
    ) -> None:
        self._context = context
        self._mapping = mapping
        self._meeting = meeting
        self._neighbours = neighbours
        self._nodes = nodes
        self._router = router
        self._gossiping = gossiping
        self._demand = demand
        self._read: Callable[[], Reloaded] = no_file
        self.own = RuleSet(mapping.rules, context.settings.known)
        self.agreed = NONE
        self._summary: Summary | None = None  # of `agreed`
        self._parents: dict[str, Adopted] = {}
        self._next: RuleSet | None = None
        self._is_shared = False  # whether `_next` are shared rules
        self._before: list[tuple[float, tuple[Rule, ...]]] = []  # deadlines of older rules that may be in use
        self._waiting: list[Callable[[], None]] = []  # callbacks until `_next` is in force
        self._due = inf

    def client_verbs(self) -> Sequence[Verb]:
        return (answer(AskReload, self._on_reload, Right.RUN),)

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(StateReceived, lambda _: self._switch_if_due()),
            on_fact(PeerLost, lambda _: self._switch_if_due()),
        )

    def start(self, beginning: Beginning) -> None:
        self._read = beginning.reload

    # --- the settings -------------------------------------------------------------------------------------

    def _on_reload(self, asked: IncomingCall[AskReload]) -> None:
        found = self.reload(asked.who.text)
        asked.reply(ReloadTold(now=fitting(found.now, LINES), later=fitting(found.later, LINES)))

    def reload(self, by: str) -> Reloaded:
        """Read the configuration again, and apply the settings that need no restart.

        Raises: LocalError; everything then stays unchanged.
        """
        found = self._read()
        if found.ruleset is not None:
            self.set_rules(found.ruleset.rules, found.ruleset.known)
        self._context.settings = replace(self._context.settings, **found.settings)
        found.keep()
        self._context.facts.publish_fact(SettingsRead())
        self._context.event("settings", f"{by}: {found.text}", level="warning" if found.later else "info")
        return found

    def reload_and_tell(self, by: str) -> None:
        """Read and apply the configuration as `reload` does, but report an error as an event."""
        try:
            self.reload(by)
        except LocalError as error:
            self._context.event("settings", f"{by}: no setting was applied: {error}", level="warning")

    def set_rules(self, rules: Sequence[Rule], known: Sequence[str]) -> None:
        """Set the rules of the settings, which come into force after SWITCH seconds.

        A repeated call restarts the wait. Raises: LocalError; everything then stays unchanged.
        """
        own = RuleSet(tuple(rules), tuple(known))
        self.check_rules(own, self.agreed)
        self.own = own
        self._expect(is_shared=False)

    # --- shared rules -------------------------------------------------------------------------------------

    def share(self, agreed: Agreed, summary: Summary) -> None:
        """Set the shared rules, which come into force when all nodes have confirmed or SWITCH has passed.

        Before the node serves clients, they apply immediately. Raises: LocalError; nothing changes then.
        """
        self.check_rules(self.own, agreed)
        self.agreed, self._summary = agreed, summary
        self._neighbours.acquaintances.set_shared(agreed.addresses)
        if self._context.serves:
            self._expect(is_shared=True)
        else:  # no message has been accepted yet
            self._next = None
            self._apply_rules(self._counting())
            self._says_so()

    def check_rules(self, own: RuleSet, agreed: Agreed) -> None:
        """Raise LocalError for rules that cannot replace those in force and the next ones."""
        rules = counting(own, agreed).rules
        counted = self._mapping.rules if self._next is None else self._next.rules
        if rules == counted:
            return
        check_xpaths(rules)
        if self._context.serves:
            check_change((self._mapping.rules, counted), rules, self._context.me.name)
        Mapping(self._mapping.me, rules, self._mapping.scope)  # checks that all filters exist

    # --- adopted parents ----------------------------------------------------------------------------------

    def configured_rules(self) -> tuple[Rule, ...]:
        """Return the rules of the settings, overlaid by the shared rules, without adopted parents."""
        return counting(self.own, self.agreed).rules

    def set_parents(self, parents: dict[str, Adopted]) -> None:
        """Set the adopted parents by domain. They count at once, or with the next rules."""
        self._parents = parents
        found = self._counting()
        if self._next is not None:
            self._next = found
            return
        self._went_by(self._mapping.rules)
        self._mapping.set_rules(found.rules)
        self._mind_others()
        self._publish_rules(RulesChanged(is_now=True, rules=found.rules, is_parent=True))
        self._due = min(until for until, _ in self._before)
        self._context.clock.wake(self._due)

    def _counting(self) -> RuleSet:
        found = counting(self.own, self.agreed)
        rules = with_parents(self._mapping.me, found.rules, self._parents)
        return RuleSet(rules, found.known, found.denied)

    # --- two-step change ----------------------------------------------------------------------------------

    @property
    def is_changing(self) -> bool:
        """True if other rules are about to come into force."""
        return self._next is not None

    def when_counting(self, then: Callable[[], None]) -> None:
        """Call `then` when the next rules are in force or were replaced; immediately if there are none."""
        if self._next is None:
            then()
        else:
            self._waiting.append(then)

    def _settle(self) -> None:
        waiting, self._waiting = self._waiting, []
        for then in waiting:
            then()

    def _expect(self, is_shared: bool) -> None:
        """Subscribe by both sets of rules, and begin the wait for the switch to the next ones."""
        self._settle()
        if self._next is not None:  # other nodes may use these
            self._went_by(self._next.rules)
        found = self._next = self._counting()
        self._due, self._is_shared = self._context.clock.now + SWITCH, is_shared
        self._nodes.set_configured({*found.known, *self._nodes.named_ones})
        self._mind_others()
        self._publish_rules(RulesChanged(is_now=False, rules=found.rules))
        self._wake()

    def _wake(self) -> None:
        look = inf if self._next is None else self._context.clock.now + LOOK
        self._context.clock.wake(min(self._due, look))

    def tick(self) -> None:
        now = self._context.clock.now
        if self._next is not None:
            self._says_so()
            self._switch_if_due()
        elif now >= self._due:
            self._mind_others()
            self._due = min((until for until, _ in self._before), default=inf)
        if self._due < inf:
            self._wake()

    def _switch_if_due(self) -> None:
        """Put the next rules into force, if all nodes have confirmed them or the wait is over."""
        if self._next is None:
            return
        is_agreed = self._all_ask()
        if not is_agreed and self._context.clock.now < self._due:
            return
        found, self._next = self._next, None
        self._went_by(self._mapping.rules)  # other nodes may still use them
        self._apply_rules(found)
        self._mind_others()
        self._says_so()
        self._publish_rules(RulesChanged(is_now=True, is_agreed=is_agreed, rules=found.rules))
        self._due = min(until for until, _ in self._before)
        self._context.clock.wake(self._due)
        self._settle()

    def _apply_rules(self, found: RuleSet) -> None:
        self._mapping.set_rules(found.rules)
        self._demand.use_rules()
        self._nodes.set_configured(found.known)
        self._meeting.deny(found.denied)
        self._router.ruled(self._mapping.is_plain)
        self._router.log.histories.review_rules()
        self._gossiping.apply_rules(found.rules)

    def _went_by(self, rules: tuple[Rule, ...]) -> None:
        """Remember rules that messages in transit may follow for a while."""
        others = [(until, each) for until, each in self._before if each != rules]
        self._before = [*others[-BEFORE:], (self._context.clock.now + ENDS, rules)]

    def _mind_others(self) -> None:
        """Subscribe by all rules that messages may follow now or soon, and declare the next hops in them."""
        self._before = [(until, rules) for until, rules in self._before if until > self._context.clock.now]
        soon = [] if self._next is None else [self._next.rules]
        others = dict.fromkeys([*soon, *(rules for _, rules in reversed(self._before))])
        others.pop(self._mapping.rules, None)
        self._demand.use_rules(*others)
        self._gossiping.apply_rules([*chain(self._mapping.rules, *others)])

    def _says_so(self) -> None:
        """Announce that this node subscribes by the new rules, once all its subscriptions are confirmed."""
        mine = self._asks_by()
        if mine is None or self._gossiping.shared.get(ASKS_BY) == mine:
            return
        if self._next is None or self._demand.is_confirmed:
            self._gossiping.shared[ASKS_BY] = mine
            self._gossiping.hurry()

    def _asks_by(self) -> Summary | None:
        it = self._summary
        return Summary(ASKS_BY, it.stamp, it.digest) if it is not None else None

    def _all_ask(self) -> bool:
        """Return whether all live nodes, including this one, have announced the new shared rules."""
        mine = self._asks_by()
        if not self._is_shared or self._gossiping.shared.get(ASKS_BY) != mine:
            return False
        known = self._gossiping.gossip.known
        states = (known.get(peer.node.uuid) for peer in self._neighbours.living_peers())
        return all(one is not None and mine in one.state.shared for one in states)

    def _publish_rules(self, fact: RulesChanged) -> None:
        self._context.facts.publish_fact(fact)
        self._context.facts.publish_last(RoutesChanged())
