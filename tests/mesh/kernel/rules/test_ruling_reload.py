"""A node that reads its configuration again reports the outcome, also of an invalid one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mesh.errors import BadConfig, LocalError, NotAvailable
from mesh.kernel.context.component import Reloaded
from mesh.kernel.rules.ruling import SWITCH
from mesh.mapping.agreed import RuleSet
from mesh.mapping.rules import Rule
from mesh.wire import commands as c
from tests.simulated_client import client_of
from tests.simulation import SimNetwork, SimNode

RULES = (Rule("b", domains=("D",)),)
FOUND = Reloaded(RuleSet(RULES, ("b",)), {"max_sessions": 7}, ("new rule: b",), ("limits.linger",))


def node(found: Reloaded | LocalError) -> SimNode:
    net = SimNetwork(1)
    a, _ = net.mesh("a", "b")

    def read() -> Reloaded:
        if isinstance(found, LocalError):
            raise found
        return found

    a.core.parts.ruling._read = read
    return a


def asked(a: SimNode, grant: str = "node") -> Any:
    client = client_of(a).connected()
    for conn in a.core._conns.values():
        conn.grant = grant
    call = client.ask(lambda request: c.Call(request, "reload", {}))
    a.net.until(lambda: call.reply)
    return call.reply


def events(a: SimNode, kind: str) -> list[str]:
    return [event.text for event in a.core.parts.context.events.events_after(0)[0] if event.kind == kind]


def test_it_says_what_counts_now_and_what_later_and_goes_by_it() -> None:
    a = node(FOUND)
    assert asked(a).value == {"now": ["new rule: b"], "later": ["limits.linger"]}
    [text] = events(a, "settings")
    assert text.startswith("/node/a/client/joe/")
    assert text.endswith(": applied: new rule: b. unchanged until a restart: limits.linger")
    assert a.core.parts.context.settings.max_sessions == 7
    assert a.core.parts.mapping.is_plain
    a.net.run(SWITCH + 1)
    assert a.core.parts.mapping.rules == RULES


def test_what_cannot_be_used_changes_nothing() -> None:
    a = node(BadConfig("mesh.toml line 3: no rule."))
    reply = asked(a)
    assert reply.code == "BAD_CONFIG" and "line 3" in reply.text
    a.net.run(SWITCH + 1)
    assert a.core.parts.mapping.rules == () and events(a, "settings") == []


@pytest.mark.parametrize("is_pending", [False, True])
def test_where_a_message_has_several_masters_nothing_is_taken_on(is_pending: bool) -> None:
    kept: list[int] = []
    several = (*RULES, Rule("a", domains=("D",)))
    found = replace(FOUND, ruleset=RuleSet(several, ("b",)), keep=lambda: kept.append(1))
    a = node(found)
    if is_pending:
        a.core.parts.ruling.set_rules(RULES, ())
    for _ in range(2):
        reply = asked(a)
        assert reply.code == "NOT_AVAILABLE" and "several masters" in reply.text
    assert kept == [] and a.core.parts.context.settings.max_sessions != 7
    a.net.run(SWITCH + 1)
    assert a.core.parts.mapping.rules == (RULES if is_pending else ())


def test_what_has_several_masters_stays_as_it_is_and_may_be_said_again() -> None:
    rules = (*RULES, Rule("a", domains=("D",)))
    net = SimNetwork(1)
    a = net.node("a", rules=rules)
    ruling = a.core.parts.ruling
    ruling.set_rules(rules, ())
    for other in ((), RULES):
        with pytest.raises(NotAvailable):
            ruling.set_rules(other, ())


def test_without_a_file_it_is_refused() -> None:
    net = SimNetwork(1)
    assert asked(net.node("a")).code == "NOT_AVAILABLE"


@pytest.mark.parametrize("grant", ["client", "monitor"])
def test_only_who_has_the_keys_of_a_node_may(grant: str) -> None:
    a = node(FOUND)
    assert asked(a, grant).code == "NOT_ALLOWED"
    a.net.run(SWITCH + 1)
    assert a.core.parts.mapping.rules == ()


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (FOUND, "applied: new rule: b. unchanged until a restart: limits.linger"),
        (Reloaded(None, {}, (), ()), "no setting has changed"),
        (
            Reloaded(None, {}, tuple(f"line {n}" for n in range(9)), ()),
            "applied: line 0; line 1; line 2; line 3; line 4; line 5; line 6; line 7; and 1 more",
        ),
        (BadConfig("line 3."), "no setting was applied: line 3. [BAD_CONFIG]"),
    ],
)
def test_by_a_signal_it_is_told_as_an_event(found: Any, text: str) -> None:
    a = node(found)
    a.core.reload(a.net.now, a.net.wall, "SIGHUP")
    a._carry_out_all()
    assert events(a, "settings") == [f"SIGHUP: {text}"]


def test_what_is_no_rule_begins_no_change_of_rules() -> None:
    a = node(Reloaded(None, {"max_sessions": 7}, ("limits.sessions: 5 -> 7",), ()))
    a.core.parts.ruling.set_rules(RULES, ("b",))
    asked(a)
    a.net.run(SWITCH + 1)
    assert a.core.parts.mapping.rules == RULES


def test_a_second_change_before_the_first_counts_takes_its_place() -> None:
    a = node(FOUND)
    asked(a)
    a.net.run(SWITCH / 2)
    a.core.parts.ruling.set_rules((), ())
    a._carry_out_all()
    a.net.run(SWITCH + 1)
    assert a.core.parts.mapping.rules == ()
    a.net.run(120)
    assert a.core.parts.demand.is_changing is False
