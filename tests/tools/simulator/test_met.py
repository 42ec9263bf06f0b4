"""Coverage of simulation runs: the events that happened, and those that should have happened."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from mesh.features.queues.node.keeping.rows import MOVED
from mesh.features.queues.node.keeping.settlement_rows import PART
from mesh.kernel.context.effects import Commit
from mesh.names import PUTS, SUBS
from mesh.operations import Append, Delete, Op, Put
from tests.mesh.features.queues.model.making import queued
from tests.tools.queue_cases import ANN, FACTS, JOBS, S, comes, gives, goes
from tests.tools.simulator.checks.test_checks import history
from tools.simulator.checks import checked
from tools.simulator.checks.facts import Facts
from tools.simulator.counters import ENOUGH, GENERAL, OF, never, sometimes
from tools.simulator.history import Event
from tools.simulator.met import met_of_queues
from tools.simulator.parts import SERVER
from tools.simulator.profiles import PROFILES
from tools.simulator.scenario import facts_of
from tools.simulator.script import with_steps
from tools.simulator.stage.stage import Stage
from tools.simulator.steps import Step
from tools.simulator.world.crashes import BEGINS, COMES, ENDS, MovesWritten
from tools.simulator.writing import written

TWO = next(seed for seed in range(100) if len(written(seed, PROFILES["parts"]).nodes) == 2)  # nodes
A, B = FACTS.uuids["a"], FACTS.uuids["b"]
GOES = replace(goes(10.0, "a"), to=B)
WENT, BACK = (Event(20.0, kind, "a", 1, S, JOBS, 1, to=B) for kind in ("went", "came back"))
MEMORY = replace(FACTS, in_memory=frozenset({("b", JOBS)}))
CRASHES = {name: Event(15.0, "crash", name) for name in "ab"}


KEPT = Event(1.0, "durable", "boss", domain=PUTS + SUBS + "audit", keys=("a/#",))
COPY = replace(gives(), domain=KEPT.domain)
ENDED = Event(2.0, "fault", "boss", text="queue removed", to=KEPT.domain)
DECLARED = "a durable subscription declared"


@pytest.mark.parametrize(
    ("events", "facts", "met"),
    [
        ((GOES, WENT), FACTS, ["a move taken"]),
        ((GOES, BACK), FACTS, ["a move refused"]),
        ((GOES, WENT), MEMORY, ["a move taken", "a move to a part in memory"]),
        ((GOES, BACK), MEMORY, ["a move refused"]),
        ((GOES, CRASHES["b"], WENT), FACTS, ["a move taken", "a move over a crash of its target"]),
        (
            (GOES, CRASHES["a"], replace(WENT, boot=2)),
            FACTS,
            ["a move taken", "a move over a crash of its source"],
        ),
        ((WENT,), FACTS, []),
        (
            (GOES, comes(12.0, "a")),
            FACTS,
            ["the same message twice in one part", "a message back where it was"],
        ),
        ((GOES, WENT, comes(22.0, "a")), FACTS, ["a move taken", "a message back where it was"]),
        ((GOES, comes(12.0, "b")), FACTS, []),
        ((Event(1.0, "no room", "a", text="where a move begins"),), FACTS, ["no room where a move begins"]),
        ((Event(1.0, "went back", "a"),), FACTS, ["a store went back"]),
        (
            (GOES, Event(11.0, "fault", "joe", text="queue removed", to=JOBS)),
            FACTS,
            ["a queue removed while something of it moved"],
        ),
        ((GOES, WENT, Event(21.0, "fault", "joe", text="queue removed", to=JOBS)), FACTS, ["a move taken"]),
        (
            (GOES, Event(11.0, "fault", "b", text="forgotten", to="boss")),
            FACTS,
            ["a node forgotten with something on its way there"],
        ),
        ((GOES, Event(11.0, "fault", "a", text="forgotten", to="boss")), FACTS, []),
        (
            (gives(), Event(9.0, "opened", "ann", 2, keys=(ANN, f"{S} {JOBS} 1"))),
            FACTS,
            ["what somebody had kept over a restart"],
        ),
        ((gives(), Event(9.0, "opened", "ann", 1, keys=(ANN, f"{S} {JOBS} 1"))), FACTS, []),
        ((KEPT,), FACTS, [DECLARED]),
        ((KEPT, ENDED, replace(KEPT, at=3.0)), FACTS, [DECLARED, f"{DECLARED} anew"]),
        ((KEPT, replace(ENDED, to=JOBS), replace(KEPT, at=3.0)), FACTS, [DECLARED, DECLARED]),
        ((COPY,), FACTS, ["a copy given where it was kept"]),
        ((replace(COPY, flags="pm"),), FACTS, ["a copy given after it moved"]),
        ((replace(COPY, gap=2),), FACTS, ["a copy given where it was kept", "a copy given once more"]),
    ],
)
def test_what_becomes_of_a_message_that_moves_is_told_by_its_history(
    events: Sequence[Event], facts: Facts, met: list[str]
) -> None:
    found = met_of_queues(history(tuple(sorted(events, key=lambda e: e.at))), facts)
    assert sorted((+found).elements()) == sorted(met)


# --- events that should have happened -----------------------------------------------------------------------


def test_what_never_happened_in_many_scenarios_is_a_failure() -> None:
    counts = Counter(GENERAL[1:])
    assert never(counts, {"swarm": ENOUGH - 1}) == []
    assert never(counts, {"swarm": ENOUGH - 1, "disk": 1}) == [GENERAL[0]]


def test_of_queues_it_is_scenarios_of_queues_that_count() -> None:
    (parts,) = [names for profiles, names in OF.items() if "parts" in profiles]
    assert never(Counter(), {"swarm": ENOUGH - 1, "parts": ENOUGH}) == list(parts)
    assert "a move taken" not in sometimes({"swarm": ENOUGH}) and GENERAL[0] not in sometimes({"parts": 1})
    (durables,) = [names for profiles, names in OF.items() if "durables" in profiles]
    assert never(Counter(), {"swarm": ENOUGH - 1, "durables": ENOUGH}) == list(durables)
    both = sometimes({"queues": 200, "parts": 100})
    assert both["settled in vain: LEASE_OVER"] == ENOUGH and both["a move taken"] == 100


# --- the stages of a move -----------------------------------------------------------------------------------


def row(is_going: bool) -> bytes:
    it = queued(1, 2)
    it.moves = 1
    if is_going:
        it.start_transfer([(1, 2)], b"n" * 16, 7)
    return it.row()


def put(is_going: bool, place: int = 5) -> Put:
    return Put(PART, b"jobs\0" + place.to_bytes(8), row(is_going))


GONE = Delete(PART, b"jobs\0" + (5).to_bytes(8))
CAME = Put(MOVED, b"jobs\0" + b"n" * 16, b"row")


@pytest.mark.parametrize(
    ("commits", "stages"),
    [
        ([[put(True)], [put(True)], [put(False)]], [{BEGINS}, set(), {ENDS}]),
        ([[put(True)], [GONE]], [{BEGINS}, {ENDS}]),
        ([[put(True), put(True, 6)], [GONE]], [{BEGINS}, {ENDS}]),
        ([[put(False)], [GONE], [Put(PART, b"jobs\0", b"a mark")]], [set(), set(), set()]),
        ([[Append(5, b"", b""), CAME, put(False)], [CAME]], [{COMES}, set()]),
        ([[Append(6, b"", b""), put(False)], [Append(7, b"", b"")]], [set(), set()]),
    ],
)
def test_a_commit_shows_what_it_writes_of_a_move(commits: list[list[Op]], stages: list[set[str]]) -> None:
    moves = MovesWritten()
    assert [moves.of([Commit(1, tuple(ops))]) for ops in commits] == stages


# --- on the stage -------------------------------------------------------------------------------------------


def met(own: dict[str, Any], *more: tuple[float, str, tuple[Any, ...]]) -> tuple[Stage, Counter[str]]:
    """Run two nodes, one of which moves three messages of `mail` to the other one after 10 s."""
    script = replace(written(TWO, PROFILES["parts"]), seconds=14.0, own={"avalon": own, "heron": dict(own)})
    steps: list[tuple[float, str, tuple[Any, ...]]] = [
        (0.0, "client", ("boss-heron", "heron")),
        (1.0, "declare", ("boss-heron", "mail", "distribution=local redistribution=none")),
        (9.0, "put", ("boss-heron", "mail", 3, "p", 5, 0, "", "x", 0.0)),
        (10.0, "move by hand", ("boss-heron", "mail", "avalon", 5)),
        *more,
    ]
    stage = Stage(with_steps(script, tuple(Step(*step) for step in sorted(steps))))
    found, facts = stage.played(), facts_of(stage.script)
    assert [str(e) for e in found.of("problem")] == []
    assert checked(found, facts) == []
    return stage, found.counts + met_of_queues(found, facts)


@pytest.mark.parametrize(
    ("victim", "stage"),
    [("avalon", COMES), *(pytest.param("heron", stage, marks=pytest.mark.slow) for stage in (BEGINS, ENDS))],
)
def test_a_process_ends_at_that_stage_of_a_move_and_no_other(victim: str, stage: str) -> None:
    _, found = met({}, (8.5, "arm", (victim, "after the commit", 1.0, stage)))
    assert {what: n for what, n in found.items() if what.startswith("crash ")} == {
        "crash after the commit": 1,
        f"crash after the commit: a move {stage}": 1,
    }


@pytest.mark.parametrize(
    ("victim", "what"), [("avalon", "comes"), pytest.param("heron", "begins", marks=pytest.mark.slow)]
)
def test_a_disk_that_is_full_just_then_refuses_a_move(victim: str, what: str) -> None:
    _, found = met({}, (9.5, "fill", (victim, "")), (12.0, "make room", (victim,)))
    assert found[f"no room where a move {what}"] == 1 and found["a move taken"] == 0


def test_what_is_at_a_server_is_there_whatever_becomes_of_its_node() -> None:
    own = {"stores": (SERVER,)}
    stage, found = met(own, (12.0, "kill", ("avalon",)), (13.0, "start", ("avalon",)))
    assert found["a move taken"] == 3
    assert [len(node.others) for node in stage.nodes.values()] == [1, 1]
