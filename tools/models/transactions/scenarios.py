"""The scenarios: a model with its limits."""

from __future__ import annotations

from typing import Any

from tools.models.command import Family, Scenario
from tools.models.transactions.branch.mistakes import BRANCH_MISTAKES
from tools.models.transactions.branch.model import BranchModel
from tools.models.transactions.branch.state import Limits as BranchLimits
from tools.models.transactions.home.mistakes import HOME_MISTAKES
from tools.models.transactions.home.model import HomeModel
from tools.models.transactions.home.state import Limits as HomeLimits
from tools.models.transactions.inbox.mistakes import INBOX_MISTAKES
from tools.models.transactions.inbox.model import InboxModel
from tools.models.transactions.outbox.mistakes import OUTBOX_MISTAKES
from tools.models.transactions.outbox.model import OutboxModel
from tools.models.transactions.outbox.state import Limits as OutboxLimits


def branch(**limits: Any) -> Scenario:
    """Return a scenario of a transaction at one node."""
    return Scenario(lambda: BranchModel(BranchLimits(**limits)))


def senders(is_large: bool = False, **limits: Any) -> Scenario:
    """Return a scenario of an outbox."""
    return Scenario(lambda: OutboxModel(OutboxLimits(**limits)), is_large=is_large)


def home(violates: str = "", **limits: Any) -> Scenario:
    """Return a scenario of a home without voters."""
    one = HomeLimits(has_voters=False, lease=1, silence=0, leash=0, **limits)
    return Scenario(lambda: HomeModel(one), violates=violates)


def leash(lease: int, silence: int, length: int, **limits: Any) -> Scenario:
    """Return a scenario of a home with three voters and a leash of `length` ticks."""
    one = HomeLimits(lease=lease, silence=silence, leash=length, **limits)
    return Scenario(lambda: HomeModel(one), is_large=True)


SCENARIOS = {
    "one store": branch(stores=1, crashes=3, breaks=2),
    "one store, asks": branch(stores=1, can_ask=True, crashes=3, breaks=2),
    "three stores": branch(),
    "three stores, asks": branch(can_ask=True),
    "prepared": branch(is_outer=True),
    "jobs": Scenario(InboxModel),
    "senders": senders(is_large=True),
    "senders, refusal": senders(rows=1, refusals=1, crashes=2),
    "senders, restore": senders(backups=1, senders=1, crashes=0),
    "two senders, restore": senders(is_large=True, backups=1, crashes=0, thefts=2, is_begun=True),
    "one home": home(),
    "one home, key": home(has_lock=False, has_key=True),
    "one home, forced while the old one runs": home(violates="K2", is_stopped=False),
    "leash, cut": leash(1, 2, 2, crashes=0, grants=1, hands_over=False),
    "leash, cut, long lease": leash(2, 1, 1, crashes=0, grants=1, hands_over=False),
    "leash, crash": leash(1, 2, 2, cuts=0, grants=1, hands_over=False),
    "leash, cut and crash": leash(1, 1, 1, grants=1),
    "leash, key": leash(1, 1, 1, has_lock=False, has_key=True, crashes=0),
}
MISTAKES = BRANCH_MISTAKES | INBOX_MISTAKES | OUTBOX_MISTAKES | HOME_MISTAKES
TRANSACTIONS = Family(SCENARIOS, MISTAKES)
