"""All nodes have the same weights in the end, the last applied ones, and use them."""

from __future__ import annotations

from typing import Any

import pytest

from mesh.balancers.weighted_round_robin import WeightedRoundRobin
from mesh.weightset import HIGH, LOW, NODES, REASON, YEAR, packed, weight_set
from mesh.wire.calls import AskWeights
from mesh.wire.replies import Applied, ReplyValue
from tests.balancers.candidates import chance
from tests.mesh.kernel.sharing.weighing import (
    GIVEN,
    HOUR,
    IDLE,
    applied,
    ask,
    asked,
    in_force,
    node,
    some,
    three,
    told,
    within,
)
from tests.simulated_client import client_of
from tests.simulation import SimNetwork

# --- distribution -----------------------------------------------------------------------------------------


def test_what_is_applied_at_one_node_is_soon_in_force_at_all(net: SimNetwork) -> None:
    nodes = three(net)
    stamp = applied(nodes[1])
    assert in_force(nodes[1]) == [2.0, 0.5, 1.0]
    net.until(lambda: all(in_force(one) == [2.0, 0.5, 1.0] for one in nodes), 5)
    net.run(5)
    for one in nodes:
        said = ask(one).value
        assert said["weights"] == GIVEN and said["stamp"] == stamp and not said["expired"]
        assert said["by"].startswith("/node/b/client/joe/session/-") and said["behind"] == []
    assert [len(told(one)) for one in nodes] == [1, 1, 1]
    assert (
        told(nodes[0])[0].endswith("according to b")
        and ("of 2 nodes were applied by /node/b/") in told(nodes[1])[0]
    )


def test_nodes_that_nobody_asked_for_anything_else_need_no_login_for_it(net: SimNetwork) -> None:
    nodes = three(net)
    applied(nodes[0])
    net.until(lambda: all(in_force(one) == [2.0, 0.5, 1.0] for one in nodes), 5)
    assert [one.metric("data_links") for one in nodes] == [0, 0, 0]


def test_one_that_comes_later_learns_them(net: SimNetwork) -> None:
    a, *_ = three(net)
    applied(a)
    late = node(net, "d", "b")
    net.until(lambda: in_force(late) == [2.0, 0.5, 1.0], 10)


def test_one_that_was_away_learns_them_when_it_is_back(net: SimNetwork) -> None:
    a, b, away = three(net)
    applied(a, {"a": [3.0, ""]})
    net.until(lambda: in_force(away)[0] == 3.0, 5)
    net.run(3)  # rows are stored when there is time
    away.kill()
    net.until(lambda: a.alive == {"b"})
    applied(b)
    net.run(30)
    away.start()
    assert in_force(away) == [3.0, 1.0, 1.0]  # the former weights
    net.until(lambda: in_force(away) == [2.0, 0.5, 1.0], 10)


def test_until_a_node_has_said_that_it_has_them_it_is_named(net: SimNetwork) -> None:
    a, b, _ = three(net)
    net.run(3)
    net.cut("a", "b")
    net.cut("b", "c")
    applied(a)
    assert ask(a).value["behind"] == ["b", "c"]
    assert within(6, a, ["b"])
    net.heal()
    assert within(20, a, [])
    assert in_force(b) == [2.0, 0.5, 1.0]


def test_of_two_that_are_applied_at_once_the_higher_stamp_is_in_force_everywhere(net: SimNetwork) -> None:
    nodes = three(net)
    net.run(3)
    clients = [client_of(one).connected() for one in nodes[:2]]
    calls = []
    for client, weight in zip(clients, (2.0, 3.0), strict=True):
        calls.append((weight, asked(client, {"set": some(net, weights={"a": [weight, ""]})})))
    net.until(lambda: all(call.reply for _, call in calls))
    _, last = max((call.reply.value["stamp"], weight) for weight, call in calls if call.reply is not None)
    net.run(10)
    assert [in_force(one)[0] for one in nodes] == [last] * 3


def stamp_of(said: ReplyValue) -> int:
    assert isinstance(said, Applied)
    return said.stamp


def test_no_two_nodes_ever_make_the_same_stamp_in_the_same_moment(net: SimNetwork) -> None:
    nodes = three(net)
    given = AskWeights(set=some(net))
    stamps: list[int] = []
    for one in nodes:
        one.core._at(net.now, net.wall)
        stamps += [stamp_of(one.core.parts.weights.called(given, "me")) for _ in range(50)]
    assert len(set(stamps)) == 150


def test_a_clock_that_was_hours_ahead_does_not_keep_others_from_applying_newer_ones(net: SimNetwork) -> None:
    nodes = three(net)
    core = nodes[0].core
    ahead = net.wall + 5 * HOUR
    core._at(net.now, ahead)
    core.parts.weights.called(
        AskWeights(set={"made": ahead, "expires": ahead + HOUR, "weights": GIVEN}), "me"
    )
    nodes[0]._carry_out_all()
    net.until(lambda: all(one.core.parts.weights.stamp >= ahead for one in nodes), 10)
    assert applied(nodes[2], {"c": [4.0, ""]}) > ahead
    net.until(lambda: all(in_force(one) == [1.0, 1.0, 4.0] for one in nodes), 10)


def test_cleared_ones_are_cleared_everywhere_and_stay_so(net: SimNetwork) -> None:
    nodes = three(net)
    applied(nodes[0])
    net.until(lambda: all(in_force(one) == [2.0, 0.5, 1.0] for one in nodes), 5)
    assert ask(nodes[2], clear=True).code == ""
    net.until(lambda: all(in_force(one) == [1.0, 1.0, 1.0] for one in nodes), 5)
    assert told(nodes[2])[-1].startswith("the weights were cleared by /node/c/")
    nodes[1].restart()
    late = node(net, "d", "a")
    net.run(10)
    assert all(in_force(one) == [1.0, 1.0, 1.0] for one in (*nodes, late))


@pytest.mark.slow
def test_in_a_crowd_they_reach_everybody_too() -> None:
    net = SimNetwork()
    nodes = [node(net, "n0", remember=False)]
    for i in range(1, 34):
        nodes.append(node(net, f"n{i}", "n0", remember=False))
        net.run(0.1)
    for _ in range(60):
        net.run(1)
        if all(len(one.alive) == 33 for one in nodes):
            break
    net.run(60)  # meanwhile most connections are closed
    assert min(one.metric("control_links") for one in nodes) < 33
    applied(nodes[17])
    net.run(5)  # a node without a connection to such a node makes one
    assert [one.core.parts.weights.weight_of("a") for one in nodes] == [2.0] * 34


# --- storage and expiry -----------------------------------------------------------------------------------


def test_a_restart_keeps_them(net: SimNetwork) -> None:
    a = node(net, "a")
    applied(a)
    net.run(3)  # rows are stored when there is time
    a.restart()
    assert in_force(a) == [2.0, 0.5, 1.0] and told(a) == []
    assert ask(a).value["weights"] == GIVEN


def test_what_is_stored_and_cannot_be_read_is_forgotten(net: SimNetwork) -> None:
    a = node(net, "a")
    applied(a)
    net.run(3)
    a.disk.store._tables["rule"][b"weights\0"] = b"\xc1"
    a.restart()
    assert in_force(a) == [1.0, 1.0, 1.0]
    assert any("a shared row is damaged" in note for note in a.notes)
    net.run(3)
    assert a.disk.store.load().tables["rule"] == {}


def test_what_an_earlier_release_has_stored_counts_and_becomes_a_row(net: SimNetwork) -> None:
    a, b = net.mesh("a", "b", sample=lambda: IDLE)
    stamp = net.wall
    old = weight_set([stamp, net.wall, net.wall + HOUR, "/node/a/client/x/session/1", GIVEN])
    a.disk.store._tables["weights"][b"set"] = packed(old)
    a.restart()
    net.until(lambda: in_force(b) == [2.0, 0.5, 1.0], 10)
    net.run(3)
    tables = a.disk.store.load().tables
    assert (tables["weights"], list(tables["rule"]), a.core.parts.weights.stamp) == (
        {},
        [b"weights\0"],
        stamp,
    )
    a.disk.store._tables["weights"][b"set"] = b"\xc1"
    a.restart()
    assert in_force(a)[0] == 2.0 and any("weights are damaged" in note for note in a.notes)


def test_what_has_expired_counts_no_more_and_that_is_told_once(net: SimNetwork) -> None:
    nodes = three(net)
    applied(nodes[0], seconds=30)
    net.until(lambda: all(in_force(one) == [2.0, 0.5, 1.0] for one in nodes), 5)
    net.run(20)
    assert in_force(nodes[1])[0] == 2.0
    net.run(20)
    for one in nodes:
        assert in_force(one) == [1.0, 1.0, 1.0]
        assert ask(one).value["expired"]
        assert [text.startswith("the weights of 2 nodes expired") for text in told(one)] == [False, True]
    nodes[1].restart()
    net.run(10)
    assert told(nodes[1]) == []


# --- arguments and rights ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ({"heron": [4.01, ""]}, "heron is 4.01"),
        ({"heron": [0.24, ""]}, "heron is 0.24"),
        ({"heron": [-1, ""]}, "heron is -1"),
        ({"heron": [float("nan"), ""]}, "heron is nan"),
        ({"heron": [float("inf"), ""]}, "heron is inf"),
        ({"heron": ["2", ""]}, "The weights are invalid"),
        ({"heron": [True, ""]}, "The weights are invalid"),
        ({"heron": 2.0}, "The weights are invalid"),
        ({"heron": [1.0, "x" * (REASON + 1)]}, "The weights are invalid"),
        ({"no name": [1.0, ""]}, "'no name' is not a name"),
        ([], "The weights are invalid"),
        (None, "The weights are invalid"),
        ({f"n{i}": [1.0, ""] for i in range(NODES + 1)}, "4097 nodes"),
        ({f"n{i}": [1.0, "y" * REASON] for i in range(1200)}, "shorter reasons"),
    ],
)
def test_what_is_no_weight_is_refused_by_name_and_nothing_changes(
    net: SimNetwork, weights: Any, said: str
) -> None:
    a = node(net, "a")
    stamp = applied(a)
    reply = ask(a, set=some(net, weights=weights))
    assert reply.code in ("BAD_WEIGHTS", "BAD_NAME", "TOO_LARGE") and said in reply.text
    assert a.core.parts.weights.stamp == stamp and in_force(a) == [2.0, 0.5, 1.0]


@pytest.mark.parametrize("fields", [{"expires": 1}, {"expires": -1}, {"made": "today"}, {"expires": None}])
def test_times_that_cannot_be_are_refused(net: SimNetwork, fields: dict[str, Any]) -> None:
    a = node(net, "a")
    assert ask(a, set=some(net, **fields)).code == "BAD_WEIGHTS"
    assert a.core.parts.weights.stamp == 0


@pytest.mark.parametrize("what", ["made", "expires"])
def test_nothing_is_made_or_holds_more_than_a_year_from_now(net: SimNetwork, what: str) -> None:
    a = node(net, "a")
    assert "A clock may be wrong." in ask(a, set=some(net, **{what: net.wall + YEAR + HOUR})).text
    assert ask(a, set=some(net, **{what: net.wall + YEAR})).code == ""


@pytest.mark.parametrize("arguments", [{"set": []}, {"set": {}}, {"set": 1}])
def test_a_set_that_is_none_is_refused(net: SimNetwork, arguments: dict[str, Any]) -> None:
    assert ask(node(net, "a"), **arguments).code == "BAD_WEIGHTS"


@pytest.mark.parametrize("arguments", [{"clear": False}, {"set": None}, {"sett": {}}])
def test_what_is_neither_a_set_nor_a_clear_word_only_reads(
    net: SimNetwork, arguments: dict[str, Any]
) -> None:
    a = node(net, "a")
    stamp = applied(a)
    assert ask(a, **arguments).value["weights"] == GIVEN and a.core.parts.weights.stamp == stamp


def test_a_clear_word_is_true_or_false(net: SimNetwork) -> None:
    a = node(net, "a")
    stamp = applied(a)
    assert ask(a, clear=1).code == "BAD_QUERY" and a.core.parts.weights.stamp == stamp


def test_what_was_learnt_in_another_mesh_is_refused(net: SimNetwork) -> None:
    a = node(net, "a")
    assert ask(a, set=some(net, cluster="elsewhere")).code == "CLUSTER"
    assert ask(a, set=some(net, cluster="default")).code == ""


def test_nodes_that_were_never_met_are_named(net: SimNetwork) -> None:
    a, *_ = three(net)
    known = {name: [1.0, ""] for name in ("a", "b", "c", "ghost", "shade")}
    assert ask(a, set=some(net, weights=known)).value["unknown"] == ["ghost", "shade"]


def test_the_lowest_and_the_highest_weight_are_weights(net: SimNetwork) -> None:
    a = node(net, "a")
    applied(a, {"a": [LOW, ""], "b": [HIGH, ""], "c": [1, ""]})
    assert in_force(a) == [0.25, 4.0, 1.0]


def test_as_many_nodes_as_there_may_be_fit_with_usual_names(net: SimNetwork) -> None:
    a, b = net.mesh("a", "b", sample=lambda: IDLE)
    applied(a, {f"station-{i:04}": [1.25, "answers in 1.2 ms, as the typ."] for i in range(NODES)})
    net.until(lambda: b.core.parts.weights.weight_of("station-4095") == 1.25, 5)


def test_whoever_may_read_may_read_them_and_only_who_runs_a_node_may_change_them(net: SimNetwork) -> None:
    a = node(net, "a")
    for grant in ("monitor", "client"):
        client = client_of(a).connected()
        for conn in a.core._conns.values():
            conn.grant = grant
        assert client.call("weights")["stamp"] == 0
        calls = [asked(client, {"clear": True}), asked(client, {"set": some(net)})]
        net.run(1)
        assert [call.reply and call.reply.code for call in calls] == ["NOT_ALLOWED"] * 2
        client.close()
    assert a.core.parts.weights.stamp == 0


# --- use --------------------------------------------------------------------------------------------------


def test_the_balancer_of_a_node_takes_them_into_account(net: SimNetwork) -> None:
    a = node(net, "a", balancer=WeightedRoundRobin(chance()))
    applied(a, {"x": [3.0, ""], "y": [1.0, ""]})
    chosen = [a.core.parts.nodes.choose(("x", "y"), None, "") for _ in range(400)]
    assert chosen.count("x") == 300
    assert ask(a).value["strategy"] == "WeightedRoundRobin"
    ask(a, clear=True)
    chosen = [a.core.parts.nodes.choose(("x", "y"), None, "") for _ in range(400)]
    assert chosen.count("x") == 200
