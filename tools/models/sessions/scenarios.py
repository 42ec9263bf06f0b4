"""The scenarios: a model with its limits, and the bounds of its search."""

from __future__ import annotations

from typing import Any

from tools.models.command import Family, Scenario
from tools.models.search import Bounds
from tools.models.sessions.deliveries import DeliveryModel
from tools.models.sessions.mistakes import MISTAKES
from tools.models.sessions.publishing import PublishModel
from tools.models.sessions.reparenting import ReparentModel
from tools.models.sessions.visits.model import VisitModel
from tools.models.sessions.visits.state import Limits

VISITS = Bounds(every=50)
EVERYWHERE = 0b111


def visits(is_large: bool = False, **limits: Any) -> Scenario:
    """Return a scenario of the model of visits."""
    return Scenario(lambda: VisitModel(Limits(**limits)), VISITS, is_large)


SCENARIOS = {
    "one master": visits(crashes=1, cuts=0),
    "one master, a cut": visits(is_large=True, crashes=0, cuts=1),
    "one master, a crash and a cut": visits(messages=(1,), crashes=1, cuts=1),
    "one master, four moves": visits(is_large=True, messages=(1,), visits=5, crashes=0, cuts=0),
    "the home is master": visits(masters=(0,), crashes=1, cuts=0),
    "two masters": visits(masters=(0, 2), messages=(2, 1), visits=2, crashes=1, cuts=0),
    "other subscribers": visits(messages=(1,), others=EVERYWHERE, crashes=1, cuts=0),
    "other subscribers, one move": visits(visits=2, others=EVERYWHERE, crashes=1, cuts=0),
    "given up": visits(is_large=True, messages=(1,), crashes=1, cuts=1, has_linger=True),
    "queue": Scenario(DeliveryModel, Bounds(2_000_000, every=5)),
    "route": Scenario(ReparentModel, Bounds(2_000_000)),
    "publish": Scenario(PublishModel, Bounds(2_000_000, every=3)),
    "publish without a rule": Scenario(lambda: PublishModel(has_rule=False), Bounds(2_000_000, every=3)),
}

SESSIONS = Family(SCENARIOS, MISTAKES)
