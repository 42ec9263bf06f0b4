"""The laws of rules that change, and the rules that the steps of a scenario set."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from random import Random

import pytest

from mesh.mapping.agreed import NONE, AgreedNode, packed
from mesh.mapping.rules import Rule
from tests.tools.rule_cases import (
    AT_A,
    BY,
    CUT,
    END,
    FACTS,
    GIVEN,
    HAVE,
    LAST,
    OK,
    OLD,
    OVER,
    PUB,
    PUT,
    READY,
    SAID,
    SUB,
)
from tests.tools.simulator.checks.test_checks import history
from tools.simulator import rules
from tools.simulator.checks import CHECKS
from tools.simulator.history import Event
from tools.simulator.profiles import PROFILES
from tools.simulator.script import with_steps
from tools.simulator.stage.stage import Stage
from tools.simulator.steps import Step
from tools.simulator.wording import agreed_of, master_of, own_of
from tools.simulator.writing import written

KILLED = Event(101.5, "crash", "a")  # perhaps before the commit
BACK = Event(110.0, "has rules", "a", stamp=3, text="old")
UNHEARD = Event(103.0, "rules put", "b", stamp=9, text="unheard", keys=("b=D",))
HEARD = Event(104.0, "has rules", "b", stamp=9, text="unheard")
STOOD = (Event(101.1, "fault", "a", text="pause"), Event(104.6, "over", "a", text="pause"))
NOTHING = Event(123.0, "rules said", "b", stamp=9, text="nothing")


def broken(law: str, *events: Event) -> int:
    return len(CHECKS[law](history(tuple(sorted(events, key=lambda e: e.at))), FACTS))


@pytest.mark.parametrize(
    ("law", "events", "found"),
    [
        ("R-signed", (PUT, *HAVE), 0),
        ("R-signed", (PUT, *HAVE, Event(103.0, "has rules", "a", stamp=8, text="new")), 1),  # other timestamp
        ("R-signed", (PUT, *HAVE, Event(103.0, "has rules", "a", stamp=7, text="forged")), 1),
        ("R-newest", (OLD, PUT, *HAVE, *BY, END), 0),
        ("R-newest", (OLD, PUT, *HAVE, *BY[1:], END), 1),
        ("R-newest", (OLD, PUT, *HAVE[1:], *BY, END), 1),
        ("R-newest", (OLD, PUT, *HAVE, *BY, Event(103.0, "goes by", "a", text="old"), END), 1),
        ("R-newest", (OLD, PUT), 0),  # the scenario ended earlier
        ("R-newest", (END,), 0),
        ("R-newest", (PUT, *HAVE, *BY, UNHEARD, NOTHING, END), 0),  # its node perhaps ended
        ("R-newest", (PUT, *HAVE, *BY, UNHEARD, replace(NOTHING, text="OK"), END), 6),
        ("R-newest", (PUT, *HAVE, *BY, UNHEARD, NOTHING, HEARD, END), 5),  # one node has it
        ("R-back", (OLD, PUT, *HAVE, replace(HAVE[0], at=110.0)), 0),  # after a restart
        ("R-back", (OLD, PUT, *HAVE, BACK), 1),
        ("R-back", (OLD, PUT, *HAVE, KILLED, BACK), 0),
        ("R-back", (OLD, PUT, *HAVE, KILLED, BACK, Event(110.1, "goes by", "a", text="new")), 0),
        ("R-back", (OLD, PUT, *HAVE, replace(KILLED, at=102.5), BACK), 1),
        ("R-back", (OLD, PUT, *HAVE, *STOOD, replace(KILLED, at=105.0), BACK), 0),
        ("R-back", (OLD, PUT, *HAVE, *STOOD, replace(KILLED, at=106.0), BACK), 1),
        ("R-admin", (PUT, SAID), 0),
        ("R-admin", (PUT, replace(SAID, text="WRONG_SIGNATURE")), 1),
        ("R-admin", (PUT, replace(SAID, text="STALE")), 1),
        ("R-admin", (replace(OLD, at=99.0), PUT, replace(SAID, text="STALE")), 0),
        ("R-admin", (PUT, replace(SAID, text="nothing")), 1),
        ("R-admin", (PUT, Event(100.5, "crash", "a"), replace(SAID, text="nothing")), 0),
        ("R-admin", (PUT, Event(100.5, "crash", "b"), replace(SAID, text="nothing")), 1),
        ("R-once", (SUB, READY, PUB, OK, GIVEN), 0),
        ("R-once", (SUB, READY, PUB, OK, GIVEN, replace(GIVEN, at=106.0)), 1),
        ("R-once", (SUB, READY, PUB, OK, GIVEN, Event(105.5, "crash", "a"), replace(GIVEN, at=106.0)), 1),
        ("R-arrives", (SUB, READY, PUB, OK, GIVEN), 0),
        ("R-arrives", (SUB, READY, PUB, OK), 1),
        ("R-arrives", (SUB, READY, replace(PUB, flags=""), OK), 0),
        ("R-arrives", (SUB, READY, PUB, replace(OK, text="STORE_FULL")), 0),
        ("R-arrives", (SUB, READY, PUT, PUB, OK), 1),
        ("R-arrives", (SUB, READY, CUT, OVER, PUT, PUB, OK), 0),  # that node could not be asked
        ("R-arrives", (SUB, READY, CUT, OVER, PUB, OK), 1),  # no rule has changed
        ("R-arrives", (SUB, READY, CUT, OVER, PUT, replace(PUB, at=180.0), replace(OK, at=181.0)), 1),
        ("R-arrives", (SUB, READY, PUB, OK, Event(106.0, "gap", "client ear", sub=1, gap=1)), 0),
        ("R-master", (PUT, LAST, PUB, OK, AT_A), 0),
        ("R-master", (PUT, LAST, PUB, OK, replace(AT_A, who="b")), 1),
        ("R-master", (PUT, LAST, PUB, OK, AT_A, replace(AT_A, who="b")), 1),
        ("R-master", (PUT, LAST, PUB, AT_A), 1),
        ("R-master", (LAST, PUB, OK, replace(AT_A, who="b")), 0),  # no rules are set
        ("R-master", (Event(60.0, "rules read", "a", keys=("c=D",)), LAST, PUB, OK, AT_A), 1),
    ],
)
def test_each_law_of_rules_finds_what_breaks_it_and_knows_its_excuses(
    law: str, events: tuple[Event, ...], found: int
) -> None:
    assert broken(law, *events) == found


def test_words_of_a_step_say_rules() -> None:
    found = agreed_of("heron=D avalon:a heron:b golan!")
    assert found.nodes["heron"] == AgreedNode((Rule("heron", domains=("D",)), Rule("heron", keys=("b",))))
    assert found.nodes["golan"] == AgreedNode(allowed=False) and list(found.nodes) == sorted(found.nodes)
    assert packed(agreed_of("")) == packed(NONE)
    assert own_of("heron=D") == (Rule("heron", domains=("D",)),)


@pytest.mark.parametrize(
    ("own", "shared", "domain", "key", "master"),
    [
        ("", "heron=D avalon:a", "D", "a", "avalon"),
        ("", "heron=D avalon:a", "D", "b", "heron"),
        ("", "heron=D", "E", "b", ""),
        ("golan=E", "heron=D", "E", "b", "golan"),
        ("heron=E", "heron=D", "E", "b", ""),  # rules of the mesh replace all rules of a node
    ],
)
def test_the_master_is_who_both_name(own: str, shared: str, domain: str, key: str, master: str) -> None:
    assert master_of(own, shared, domain, key) == master


def test_scenarios_of_rules_set_read_and_forge_them_in_meshes_with_keys() -> None:
    kinds = set()
    for seed in range(10):
        script = written(seed, PROFILES["rules"])
        kinds |= {step.kind for step in script.steps}
        sets = [step for step in script.steps if step.kind == "set rules"]
        assert script.is_keyed and all(step.at < script.seconds - rules.LAST for step in sets)
        assert all({*agreed_of(str(step.args[1])).nodes} <= {*script.nodes[:3]} for step in sets)
    assert kinds >= {"set rules", "reload", "forge rules", "kill", "cut", "publish"}


def test_what_is_set_comes_from_the_dice_alone() -> None:
    script = written(0, PROFILES["rules"])
    one, other = (list(rules.planned(script, Random(seed))) for seed in (1, 2))
    assert one == list(rules.planned(script, Random(1))) and one != other


def test_a_file_is_read_when_a_process_goes_on_and_none_of_before_takes_its_place() -> None:
    """The judge once expected files that paused nodes had not read, and the first of two files."""
    script = written(0, PROFILES["rules"])
    first, other = script.nodes[:2]
    steps = (
        Step(1.0, "pause", (first, 5.0)),
        Step(2.0, "reload", (first, "heron=E", 2)),
        Step(2.0, "reload", (other, "heron=E", 2)),
        Step(3.0, "reload", (other, "avalon=E", 1)),
    )
    stage = Stage(with_steps(script, ()))
    for node in stage.nodes.values():
        node.start()
    for step in steps:
        stage.net.at(step.at, partial(stage.do, step))
    stage.net.run(8.0)
    stage.close()
    for name in (first, other):
        assert stage.nodes[name].core.parts.ruling.own.rules == own_of("heron=E"), name
