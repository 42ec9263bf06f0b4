"""The laws of the choice of nodes, under any sequence of failures, refusals and losses."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from mesh.client.core.known_nodes import KnownNode
from mesh.client.core.node_choice import FLAPPING, HERD, LATEST, OWN, NodeChoice
from mesh.client.core.places import Place, Source
from mesh.wire import commands as c
from tests.mesh.client.core.test_node_choice import ADDRESSES, DEAD, FULL, chosen, welcome


@dataclass
class Trial:
    """The rounds of one client, and the laws that hold in each of them."""

    choice: NodeChoice
    backoff: float = 0.5
    now: float = 0.0
    lost: float = float("-inf")
    is_bound: bool = False
    is_up: bool = False
    is_sent: bool = False  # by a drained node, in this round
    rounds: list[list[Place]] = field(default_factory=lambda: [[]])

    def step(self) -> None:
        is_own_time = self.choice._own is not None and self.now - self.lost < OWN
        is_new = not [p for p in self.choice._queue if p.text not in self.choice._tried]
        step = self.choice.next_step(self.now, self.backoff)
        assert 0 <= step.wait <= max(self.backoff, LATEST, HERD + FLAPPING)
        if is_own_time or self.is_bound:
            assert step.place.source is Source.OWN
            return
        if is_new:
            self.rounds.append([])
            self.is_sent = False
        places = self.rounds[-1]
        assert step.place.text not in [place.text for place in places]
        places.append(step.place)
        assert sum(place.source is Source.FORWARD for place in places) <= (1 + 3 * self.is_sent)
        self.now += step.wait


actions = st.lists(
    st.tuples(
        st.sampled_from(["fail", "final", "refuse", "busy", "welcome", "lose", "leave", "pass"]),
        st.integers(0, 11),
    ),
    max_size=40,
)


@given(
    actions,
    st.lists(st.sampled_from(["heron", "stork", ADDRESSES[0]]), max_size=3, unique=True),
    st.booleans(),
)
def test_the_laws_of_the_choice_hold_whatever_happens(
    events: list[tuple[str, int]], names: list[str], may_visit: bool
) -> None:
    allowed = [True]
    trial = Trial(chosen(*names, allowed=allowed))
    choice = trial.choice
    choice.saved = [KnownNode(f"s{n}", (ADDRESSES[n],)) for n in (0, 5, 7)]
    trial.rounds[-1].append(choice.begin(0.0).place)
    for what, n in events:
        forward = tuple(ADDRESSES[n : n + 3])
        is_of_connected = what in ("lose", "leave")
        if what == "pass" or is_of_connected is not trial.is_up:
            trial.now += n / 4
        elif what in ("fail", "final"):
            choice.on_failed(DEAD, what == "final")
            trial.step()
        elif what in ("refuse", "busy"):
            choice.on_refused(trial.now, c.Refuse("NODE_FULL", "", forward=forward, retry_ms=1000 * n))
            choice.on_failed(FULL)
            trial.step()
        elif what == "welcome":
            choice.on_welcome(trial.now, welcome(n + 1, n, (n + 4) % 12))
            allowed[0], trial.is_bound, trial.is_up = may_visit, not may_visit, True
        else:
            choice.on_lost(trial.now, what == "leave", forward)
            trial.lost = float("-inf") if what == "leave" else trial.now
            trial.rounds.append([])
            trial.is_up, trial.is_sent = False, what == "leave"
            trial.step()
        assert len(choice._reasons) <= 64
