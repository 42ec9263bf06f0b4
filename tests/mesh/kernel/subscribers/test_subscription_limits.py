"""The limits of a client's subscriptions, by number and by cost."""

from typing import Any
from unittest.mock import Mock

import pytest

from mesh.errors import LocalError
from mesh.kernel.subscribers import subscription_limits
from mesh.kernel.subscribers.subscription_limits import SubscriptionLimits
from mesh.mapping.cost import MOST_TOGETHER
from mesh.wire.commands import Query
from mesh.wire.limits import XPATH


class Stage:
    """Limits of 3 subscriptions a session and 5 in all; an XPath costs as many visits as its text says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(subscription_limits, "MOST_TOGETHER", 10)
        monkeypatch.setattr(subscription_limits, "MOST_OF_ONE", 5)
        monkeypatch.setattr(subscription_limits, "visits_together", lambda texts: sum(map(int, texts)))
        self.clients: Any = Mock()
        self.clients.visits_with.return_value = 0
        context: Any = Mock()
        context.me.name = "heron"
        context.settings.max_subscriptions, context.settings.max_all_subscriptions = 3, 5
        self.sessions: Any = Mock()
        self.limits = SubscriptionLimits(context, self.clients, self.sessions)

    def refused(self, queries: tuple[str, ...], query: Query, further: tuple[str, ...] = ()) -> str:
        """Return the limit that is exceeded, if any; `further` are XPaths of the client's other session."""
        session, other = (
            Mock(feeds={n: Mock(queries={Query(XPATH, text): 0}) for n, text in enumerate(texts)})
            for texts in (queries, further)
        )
        session.name = "joe"
        self.sessions.of_same_client.return_value = [session, other]
        try:
            self.limits.check_room(session, query)
        except LocalError as error:
            assert error.code == "TOO_MANY"
            return error.what
        return ""


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(monkeypatch)


@pytest.mark.parametrize(
    ("own", "count", "text"),
    [
        (2, 4, ""),
        (3, 4, "The number of subscriptions of joe is 3"),
        (2, 5, "The number of subscriptions of all clients of heron is 5"),
        (0, 5, "The number of subscriptions of all clients of heron is 5"),
    ],
)
def test_a_session_and_a_node_have_a_limit(stage: Stage, own: int, count: int, text: str) -> None:
    stage.limits.count = count
    assert stage.refused(("0",) * own, Query("exact", "k")).startswith(text)
    assert bool(text) is bool(stage.refused(("0",) * own, Query("exact", "k")))


@pytest.mark.parametrize(
    ("own", "new", "together", "text"),
    [
        (("2",), "3", 10, ""), (("2",), "4", 0, "The XPath subscriptions of joe"),
        ((), "6", 0, "The XPath subscriptions of joe"),
        (("2",), "3", 11, "The XPath subscriptions of all clients"), (("5",), "5", 0, ""),
    ],
)  # fmt: skip
def test_xpaths_have_a_budget_of_visits(
    stage: Stage, own: tuple[str, ...], new: str, together: int, text: str
) -> None:
    stage.clients.visits_with.return_value = together
    refused = stage.refused(own, Query(XPATH, new))
    assert refused.startswith(text) and bool(refused) is bool(text)


def test_all_sessions_of_a_client_share_its_budget(stage: Stage) -> None:
    assert stage.refused(("2",), Query(XPATH, "1"), further=("1", "2")) == ""
    assert stage.refused(("2",), Query(XPATH, "1"), further=("3",)).startswith(
        "The XPath subscriptions of joe"
    )


def test_other_queries_cost_no_visits(stage: Stage) -> None:
    assert stage.refused(("5",), Query("exact", "99")) == ""
    assert not stage.clients.visits_with.called


def test_one_client_gets_half_of_the_visits() -> None:
    assert 2 * subscription_limits.MOST_OF_ONE == MOST_TOGETHER
