"""XPath queries of clients: their limits, and other traffic meanwhile."""

from collections.abc import Iterable

import pytest

from mesh.client.core.intake import Terms
from mesh.kernel.asking.scans import AT_ONCE, Scans
from mesh.kernel.subscribers.subscription_limits import MOST_OF_ONE
from mesh.mapping.cost import MOST, MOST_TOGETHER
from mesh.mapping.keyxml import COMPILED, asked
from mesh.routing.querytrie import visits_of
from mesh.routing.retained_value import RetainedValue
from mesh.routing.scan import XPathScan
from mesh.wire.commands import Call, Query
from tests.mesh.routing.test_scan import LARGE, value
from tests.simulated_client import SimClient, client_of
from tests.simulation import SimNetwork

COSTLY = "//*[contains(., '{}')]"  # tens of thousands of visits each


def query(word: str) -> Query:
    return Query("xpath", COSTLY.format(word))


def refusal(client: SimClient, word: str) -> str:
    """Subscribe; return the reason of a refusal, or ""."""
    client._read(client.core.subscriptions.new_subscription(query(word), False, Terms()), None)
    *_, call = client.calls.values()
    client.net.until(lambda: call.reply)
    assert call.reply is not None and call.reply.code in ("", "TOO_MANY")
    return call.reply.text


# --- retained values ---------------------------------------------------------------------------------------


def scans(values: Iterable[RetainedValue]) -> tuple[Scans[RetainedValue], list[int]]:
    """Return scans of `values`, and a list that grows each time all values are listed."""
    lists: list[int] = []

    def listed() -> list[RetainedValue]:
        lists.append(1)
        return list(values)

    return Scans(lambda query: XPathScan(query, listed()), lambda: None), lists


def test_what_is_little_is_found_at_once_and_the_next_one_in_the_next_turn() -> None:
    one, _ = scans([value("k", "<a>xyz</a>")])
    found: list[list[str]] = []
    for _ in range(3):
        one.begin_scan(query("xyz"), lambda values: found.append([last.key for last in values]))
    assert found == [["k"]], "however many ask, the turn is as long"
    assert one
    one.tick()
    one.tick()
    assert found == [["k"]] * 3
    assert not one


def test_those_that_have_much_to_look_at_go_on_by_turns_and_a_few_hold_lists() -> None:
    one, lists = scans([value(f"k{i}", LARGE) for i in range(40)])
    done: list[int] = []
    for number in range(AT_ONCE + 2):
        one.begin_scan(query("xyz"), lambda _, number=number: done.append(number))  # type: ignore[misc]
    while not done:
        one.tick()
        assert len(lists) <= AT_ONCE + len(done)
    assert done == [0]
    while one:
        one.tick()
    assert sorted(done) == [*range(AT_ONCE + 2)] and len(lists) == AT_ONCE + 2


def test_a_node_looks_through_many_values_in_turns_and_says_what_it_found() -> None:
    net = SimNetwork(1)
    a = net.node("a")
    client, other = client_of(a, "joe"), client_of(a, "jim")
    values = [value(f"k{i}", LARGE if i % 30 else LARGE.replace("<a>", "<a>xyz")) for i in range(90)]
    a.core.parts.router.log.retained.put_all(values)
    arguments = {"kind": "xpath", "text": COSTLY.format("xyz"), "domain": ""}
    call = client.ask(lambda request: Call(request, "get", arguments))
    while not call.reply:
        assert [m.key for m in other.get("k1")] == ["k1"], "who asks for little is answered meanwhile"
    assert [e.keys[0] for e in call.found] == ["k0", "k30", "k60"]
    began = net.now
    client._called("get", arguments)
    assert net.now - began < 0.5, "where nobody else is, the next turn comes at once"


# --- subscriptions ------------------------------------------------------------------------------------------


def test_the_xpaths_of_a_client_have_a_bound_those_of_all_another_and_who_unsubscribes_makes_room() -> None:
    a = SimNetwork(1).node("a")
    count = MOST_OF_ONE // visits_of(COSTLY.format("joe10"))
    joe, jim, jack = (client_of(a, name) for name in ("joe", "jim", "jack"))
    assert [refusal(joe, f"joe{i}") for i in range(10, 10 + count)] == [""] * count
    assert refusal(joe, "joe99").startswith("The XPath subscriptions of /node/a/client/joe/session/")
    assert refusal(joe, "joe10") == "", "that one is asked already"
    assert [refusal(jim, f"jim{i}") for i in range(10, 10 + count)] == [""] * count
    assert refusal(jack, "jack").startswith("The XPath subscriptions of all clients of this node may")
    assert refusal(jack, "joe10") == ""
    joe.unsubscribe(joe.subscriptions[min(joe.subscriptions)])
    joe.unsubscribe(joe.subscriptions[max(joe.subscriptions)])
    joe.net.run(1)
    assert refusal(jack, "jack").startswith("The XPath subscriptions of all clients"), "jack asks joe10 still"
    joe.unsubscribe(joe.subscriptions[min(joe.subscriptions)])
    joe.net.run(1)
    assert refusal(jack, "jack1") == ""


@pytest.mark.parametrize("text", ["/key", "//STOCK"])
def test_however_cheap_they_are_no_more_count_than_are_kept_ready(text: str) -> None:
    assert visits_of(text) >= asked(text).price
    assert MOST_TOGETHER // visits_of(text) <= COMPILED
    assert MOST <= MOST_OF_ONE <= MOST_TOGETHER
