"""Patterns among destinations: what they stand for, by the replies of the client's node."""

import asyncio
from typing import Any

import pytest

from mesh.client.destinations import is_pattern, receivers
from mesh.errors import BadArgument, BadXPath, RemoteError

SITES = {"site": "LON", "sites": [{"site": name, "state": "up", "since": 1.0} for name in ("NYC", "ROM")]}


def found(pattern: str, **replies: Any) -> tuple[list[str], dict[str, str]]:
    """Return the receivers of a pattern, and the codes of the errors, for these replies of the node."""

    async def call(verb: str, **arguments: Any) -> Any:
        return replies[verb](**arguments) if callable(replies[verb]) else replies[verb]

    names, errors = asyncio.run(receivers(pattern, call))
    return names, {name: error.code for name, error in errors.items()}


def test_a_name_in_each_other_site() -> None:
    assert found("/site/*/calc/add", sites=SITES) == (["/site/NYC/calc/add", "/site/ROM/calc/add"], {})
    assert found("/site/*/client/ann/1", sites=SITES)[0][0] == "/site/NYC/client/ann/1"
    assert found("/site/*/calc/add", sites={"site": "", "sites": []}) == ([], {})


def test_an_xpath_is_sent_without_its_prefix_and_silent_nodes_are_errors() -> None:
    asked: list[str] = []

    def clients(xpath: str) -> Any:
        asked.append(xpath)
        return {"clients": ["/node/a/client/joe/session/1"], "missing": ["b"]}

    assert found("xpath://client", clients=clients) == (
        ["/node/a/client/joe/session/1"],
        {"/node/b": "NODE_AWAY"},
    )
    assert asked == ["//client"]


def test_a_reply_that_is_cut_or_cannot_be_read_sends_nothing() -> None:
    with pytest.raises(BadArgument, match="Nothing was sent"):
        found("xpath://client", clients={"clients": ["x"], "too_many": True})
    with pytest.raises(RemoteError, match="MALFORMED"):
        found("xpath://client", clients={"clients": 5})
    with pytest.raises(RemoteError, match="MALFORMED"):
        found("/site/*/x", sites=[])


def test_what_is_no_xpath_is_refused_before_any_node_is_asked() -> None:
    for xpath in ("", "//client[", "//client" * 100, "//client[system('x')]"):
        with pytest.raises(BadXPath):
            found(f"xpath:{xpath}")


def test_what_a_pattern_is() -> None:
    for text in ("xpath://client", "xpath:", "/site/*/calc", "/site/*/"):
        assert is_pattern(text)
    for other in ("client/joe", "/site/NYC/calc", "/site/*", "calc/xpath:", "", None, 5, b"xpath:"):
        assert not is_pattern(other)
