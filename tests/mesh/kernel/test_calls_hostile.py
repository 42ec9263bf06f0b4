"""Calls and subscriptions with missing or malformed arguments."""

from typing import Any

import pytest

from mesh.wire import commands as c
from tests.mesh.kernel.stranger import Stranger
from tests.simulated_client import client_of
from tests.simulation import SimNetwork


@pytest.mark.parametrize(
    ("verb", "arguments"),
    [
        ("get", {"kind": "pattern"}),
        ("get", {"text": "#"}),
        ("get", {"kind": "pattern", "text": ""}),
        ("get", {"kind": "pattern", "text": 5}),
        ("get", {"kind": "exact", "text": "k", "domain": None}),
        ("get", {"kind": "exact", "text": "k", "domain": "a\nb"}),
        ("get", {}),
        ("erase", {}),
        ("erase", {"key": None}),
        ("erase", {"key": 5}),
        ("erase", {"key": "k", "domain": 5}),
        ("erase", {"key": ""}),
        ("erase", {"key": "k", "mode": "loud"}),
        *(
            ("get", {"kind": "exact", "text": "k", "history": n})
            for n in (0, -1, 1001, 2**62, 1.0, "2", True)
        ),
        ("erase", {"key": "k", "mode": True}),
    ],
)
def test_trial_B3_a_call_that_lacks_something_is_no_call_for_everything(
    verb: str, arguments: dict[str, Any]
) -> None:
    a = SimNetwork().node("a")
    publisher = client_of(a)
    for key in ("None", "5"):
        publisher.publish(key)
    publisher.settled()
    stranger = Stranger(a)
    stranger.as_client()
    stranger.say(c.Call(1, verb, arguments))
    (reply,) = [command for command in stranger.heard if isinstance(command, c.Reply)]
    assert reply.code in ("BAD_QUERY", "BAD_KEY") and not stranger.is_gone
    assert a.metric("topics") == 2


@pytest.mark.parametrize(
    "query", [c.Query("pattern", ""), c.Query("exact", ""), c.Query("pattern", "#", "a\nb")]
)
def test_trial_B3_a_subscription_to_nothing_is_refused_on_the_wire(query: c.Query) -> None:
    a = SimNetwork().node("a")
    stranger = Stranger(a)
    stranger.as_client()
    stranger.say(c.Subscribe(1, 1, query))
    (reply,) = [command for command in stranger.heard if isinstance(command, c.Reply)]
    assert reply.code in ("BAD_QUERY", "BAD_KEY")
