"""`mesh weights`: the weights of a file are put in force, and those in force are shown."""

import json
import re
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from mesh.cli.main import main
from mesh.errors import Refused
from mesh.features.history.cli import spark_child
from tests.mesh.cli.fake import Given

NS = 1_767_268_800_000_000_000


HERON: dict[str, Any] = {
    "weight": 1.6,
    "answers": 1234,
    "latency_ms": 0.8,
    "capacity": None,
    "reason": "answers in 0.8 ms",
}


LEARNT: dict[str, Any] = {
    "version": 1,
    "cluster": "lab",
    "made": "2026-01-01T12:00:00Z",
    "expires": "2026-01-08T12:00:00+00:00",
    "since": "2025-12-01T12:00:00Z",
    "until": "2026-01-01T12:00:00Z",
    "weights": {"heron": HERON},
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "weights.json"
    path.write_text(json.dumps(LEARNT))
    return path


def written(path: Path, **changes: Any) -> Path:
    path.write_text(json.dumps({**LEARNT, **changes}))
    return path


def test_to_apply_a_file_is_one_call_and_says_until_when(
    given: Given, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    until = datetime.now(UTC) + timedelta(days=7, seconds=5)
    fake = given(call={"stamp": 5, "unknown": []})
    assert main(["weights", "apply", str(written(file, expires=until.isoformat())), "--url", "heron"]) == 0
    assert fake.opened == {"url": "heron"}
    [(_, _, asked)] = fake.asked
    assert asked["set"]["cluster"] == "lab" and asked["set"]["weights"] == {
        "heron": [1.6, "answers in 0.8 ms"]
    }
    local = until.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    assert capsys.readouterr() == (
        "",
        f"weights of 1 node are in force until {local} (in 7 d); the other nodes follow in a moment\n",
    )


def test_with_force_it_does_not_matter_where_they_were_learnt(given: Given, file: Path) -> None:
    fake = given(call={"stamp": 5, "unknown": []})
    assert main(["weights", "apply", str(file), "--force"]) == 0
    assert "cluster" not in fake.asked[0][2]["set"]


def test_nodes_that_nobody_knows_are_worth_a_word(
    given: Given, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given(call={"stamp": 5, "unknown": ["ghost", "heorn"]})
    assert main(["weights", "apply", str(file)]) == 0
    assert "unknown nodes: ghost, heorn.  To list the nodes:  mesh ls" in capsys.readouterr().err


def test_what_the_node_refuses_is_said_with_its_code(
    given: Given, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given(call=Refused("The weights were learned in the mesh 'lab'", code="CLUSTER"))
    assert main(["weights", "apply", str(file)]) == 2
    assert "[CLUSTER]" in capsys.readouterr().err


def in_force(**changes: Any) -> dict[str, Any]:
    now = time.time_ns()
    return {
        "stamp": 7,
        "made": now - 3 * 86_400 * 10**9 - 10**10,
        "expires": now + 4 * 86_400 * 10**9 + 10**10,
        "by": "/node/heron/client/joe/session/-1",
        "expired": False,
        "behind": [],
        "strategy": "LeastLoaded",
        "weights": {"heron": [1.6, "answers in 0.8 ms"], "frodo": [1.0, "too little history, so typical"]},
        **changes,
    }


def shown(given: Given, capsys: pytest.CaptureFixture[str], **changes: Any) -> list[str]:
    given(call=in_force(**changes))
    assert main(["weights", "show"]) == 0
    return capsys.readouterr().out.splitlines()


def test_the_weights_in_force_are_shown_with_their_reasons(
    given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    header, heron, frodo, empty, times, strategy = shown(given, capsys)
    assert header.split() == ["NODE", "WEIGHT", "REASON"]
    assert re.split(r"\s{2,}", heron.strip()) == ["heron", "1.6", "answers in 0.8 ms"]
    assert re.split(r"\s{2,}", frodo.strip()) == ["frodo", "1", "too little history, so typical"]
    assert empty == ""
    assert re.fullmatch(
        r"in force until \S+ \S+ \(in 4 d\); computed at \S+ \S+ \(3 d ago\), "
        r"applied by /node/heron/client/joe/session/-1",
        times,
    )
    assert strategy == "this node balances with LeastLoaded, which uses weights"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"strategy": "RoundRobin"}, "RoundRobin, which ignores weights"),
        ({"strategy": "OurOwn"}, "OurOwn, which receives weights"),
        ({"behind": ["bilbo", "frodo"]}, "not yet in force at: bilbo, frodo"),
        ({"expired": True, "expires": NS}, "ago): all nodes count equally; computed at"),
        ({"weights": {}}, "no weights: all nodes count equally, since they were cleared by /node/heron"),
        ({"by": "\x1b[2J"}, r"applied by \x1b[2J"),
    ],
)
def test_what_else_is_so_is_said_below(
    given: Given, capsys: pytest.CaptureFixture[str], changes: dict[str, Any], said: str
) -> None:
    assert any(said in line for line in shown(given, capsys, **changes))


def test_without_any_that_is_said(given: Given, capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(given, capsys, stamp=0, weights={}, by="")
    assert lines == [
        "no weights: all nodes count equally",
        "this node balances with LeastLoaded, which uses weights",
    ]


def test_a_program_reads_them_as_json(given: Given, capsys: pytest.CaptureFixture[str]) -> None:
    found = in_force()
    given(call=found)
    assert main(["weights", "show", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said.pop("weights")["heron"] == {"weight": 1.6, "reason": "answers in 0.8 ms"}
    assert said == {name: value for name, value in found.items() if name != "weights"}


def test_to_clear_them_is_one_call(given: Given, capsys: pytest.CaptureFixture[str]) -> None:
    fake = given(call={"stamp": 9})
    assert main(["weights", "clear", "--url", "heron"]) == 0
    assert (fake.opened, fake.asked) == ({"url": "heron"}, [("call", ("weights",), {"clear": True})])
    assert "all nodes count equally" in capsys.readouterr().err


def test_to_learn_them_is_a_program_of_its_own_with_whatever_was_typed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    typed: list[tuple[str, list[str]]] = []

    def run(verb: str, arguments: list[str]) -> int:
        typed.append((verb, arguments))
        return 3

    monkeypatch.setattr(spark_child, "run", run)
    assert main(["weights", "learn", "--to", "history", "--since", "7d", "--help", "-x"]) == 3
    assert typed == [("weights", ["--to", "history", "--since", "7d", "--help", "-x"])]


def test_without_a_place_they_are_learnt_from_the_history_of_this_user(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    typed: list[list[str]] = []

    def run(verb: str, arguments: list[str]) -> int:
        typed.append(arguments)
        return 0

    monkeypatch.setattr(spark_child, "run", run)
    monkeypatch.setenv("MESH_STATE_DIR", str(tmp_path))
    assert main(["weights", "learn", "--since", "7d"]) == 0
    assert typed == [["--to", str(tmp_path / "history"), "--since", "7d"]]


def test_without_pyspark_it_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(spark_child, "find_spec", lambda name: None)
    assert main(["weights", "learn"]) == 2
    said = capsys.readouterr().err
    assert "[NO_SPARK]" in said and "heronry[spark]" in said
