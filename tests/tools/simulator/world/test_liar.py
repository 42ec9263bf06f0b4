"""The simulated liar: its messages are well-formed and false, and they reach their receivers."""

from dataclasses import replace
from functools import cache
from random import Random

import pytest

from mesh.wire import commands as c
from mesh.wire.commands import decode
from mesh.wire.frames import read
from tests.seeds import scenarios
from tools.simulator.profiles import PROFILES
from tools.simulator.scenario import Outcome, facts_of, judged
from tools.simulator.script import Script
from tools.simulator.stage.stage import Stage
from tools.simulator.world.forging import LIES, Forger
from tools.simulator.writing import written


def lying(seed: int = 7) -> Script:
    script = written(seed, PROFILES["liar"])
    return replace(script, seconds=30.0)


@cache
def told_of(seed: int) -> tuple[Stage, Outcome]:
    """Run a scenario with a liar; return the stage and the outcome."""
    stage = Stage(lying(seed))
    return stage, judged(stage)


@pytest.mark.parametrize("seed", scenarios([7, 6, 9, 11]))
def test_trial_D_among_the_others_all_promises_hold(seed: int) -> None:
    assert [str(violation) for violation in told_of(seed)[1].violations] == []


def test_trial_D_with_keys_and_without_it_is_a_leaf_a_way_and_a_master() -> None:
    kinds = set[tuple[bool, bool, bool]]()
    for seed in range(40):
        script = lying(seed)
        facts = facts_of(script)
        kinds.add((script.is_keyed, bool(facts.apart), bool(facts.twisted)))
    assert kinds >= {(keyed, *role) for keyed in (False, True) for role in ((False, False), (True, False))}
    assert any(twisted for *_, twisted in kinds)


def test_trial_D_without_keys_what_it_forges_has_a_wrong_end() -> None:
    others = ["avalon", "frodo"]
    forger = Forger("egret", others, [""], ["a"], is_signed=False, dice=Random(1))
    said = [forger.said([b"s" * 16], n) for n in range(300)]
    calls = [command for frames in said if isinstance(command := decode(frames[0]), c.Call)]
    envelopes = [envelope for frames in said for envelope in read(frames)[1]]
    forged = [(e.sender, [hop.node for hop in e.route]) for e in envelopes if e.keys != (LIES,)]
    forged += [(call.arguments["sender"], call.arguments["route"]) for call in calls]
    assert len(calls) > 30 and len(forged) > 100
    for sender, route in forged:
        home = sender.split("/")[2]
        assert home in others and (route[:1], route[-1:]) != ([home], ["egret"])
    assert {e.sender.split("/")[2] for e in envelopes if e.keys == (LIES,)} == {"egret"}


def test_trial_D_it_is_heard_and_what_it_says_is_refused_or_does_not_count() -> None:
    stage, outcome = told_of(7)
    script, history = outcome.script, outcome.history
    assert history.counts["lied"] == 1
    facts = facts_of(script)
    liar = stage.nodes[facts.liar]
    assert liar.liar is None, "it is honest in the end"
    counted = [
        node.core.parts.context.counters.values for name, node in stage.nodes.items() if name != facts.liar
    ]
    assert sum(counters.get("malformed", 0) + counters.get("unasked", 0) for counters in counted) > 10
    assert {step.args for step in script.steps if step.kind == "lie"} == {(facts.liar,)}
    assert f"client pub-{facts.liar}" in facts.deceived
