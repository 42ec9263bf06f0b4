"""Does a person put the weights in force that a file holds, and nothing else, and see which those are?"""

import json
import re
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from mesh.cli import spark_child, weights_file
from mesh.cli.main import main
from mesh.errors import LocalError, Refused
from mesh.weightset import NODES, PACKED, REASON
from tests.mesh.cli.fake import Given

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
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


# --- the file ---------------------------------------------------------------------------------------------


def test_a_file_is_told_to_the_node_without_what_is_only_for_people(file: Path) -> None:
    assert weights_file.read(file) == (
        {
            "cluster": "lab",
            "made": NS,
            "expires": NS + 7 * 86_400 * 10**9,
            "weights": {"heron": [1.6, "answers in 0.8 ms"]},
        },
        True,
    )


@pytest.mark.parametrize(
    "when", ["2026-01-01T12:00:00", "2026-01-01T13:00:00+01:00", "2026-01-01T12:00:00.000000Z"]
)
def test_a_time_is_understood_in_any_zone_and_without_one_it_is_utc(file: Path, when: str) -> None:
    assert weights_file.read(written(file, made=when)).given["made"] == NS


def test_a_long_reason_is_cut(file: Path) -> None:
    long = {"heron": {**HERON, "reason": "because " * 100}}
    _, reason = weights_file.read(written(file, weights=long)).given["weights"]["heron"]
    assert len(reason) == REASON and reason.endswith("…")


def test_reasons_of_very_many_nodes_are_left_out_rather_than_their_weights(file: Path) -> None:
    many = {f"node-{i:04}.example.com": {"weight": 1.25, "reason": "y" * 60} for i in range(NODES)}
    found = weights_file.read(written(file, weights=many))
    assert not found.has_reasons and len(found.given["weights"]) == NODES
    assert found.given["weights"]["node-0000.example.com"] == [1.25, ""]
    assert len(json.dumps(found.given)) < PACKED


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"weights": {"heron": {**HERON, "weight": 4.01}}}, "weight of heron is 4.01"),
        ({"weights": {"heron": {**HERON, "weight": 0.2}}}, "weight of heron is 0.2"),
        ({"weights": {"heron": {**HERON, "weight": "1"}}}, "'heron' is no weight: Expected `float`"),
        ({"weights": {"heron": {**HERON, "weight": None}}}, "'heron' is no weight"),
        ({"weights": {"heron": {"reason": "none"}}}, "missing required field `weight`"),
        ({"weights": {"heron": 1.0}}, "'heron' is no weight"),
        ({"weights": {"he ron": HERON}}, "'he ron' is not a name"),
        ({"weights": [1.0]}, "no file of weights: Expected `object`"),
        ({"weights": {f"n{i}": {"weight": 1.0} for i in range(NODES + 1)}}, "4096 are the most"),
        ({"version": 2}, "version 2 of such files"),
        ({"version": "1"}, "no file of weights"),
        ({"expires": "soon"}, "no file of weights"),
        ({"expires": None}, "no file of weights"),
        ({"made": "1969-07-20T20:17:40Z"}, "'made' cannot be 1969-07-20"),
        ({"expires": "9999-12-31T00:00:00Z"}, "'expires' cannot be 9999-12-31"),
        ({"cluster": 5}, "no file of weights"),
    ],
)
def test_whatever_is_wrong_is_named_with_its_place(file: Path, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(LocalError) as error:
        weights_file.read(written(file, **changes))
    assert said in error.value.what and str(file) in error.value.what
    assert error.value.code in ("BAD_WEIGHTS", "BAD_NAME") and error.value.hint


@pytest.mark.parametrize(
    "content", [b"", b"{", b"null", b"\xff\xfe", b"[" * 100_000, b'{"version": 1}', bytes(5 << 20)]
)
def test_what_is_no_such_file_at_all_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "photo.jpeg"
    path.write_bytes(content)
    with pytest.raises(LocalError, match=r"BAD_WEIGHTS"):
        weights_file.read(path)


@pytest.mark.parametrize("path", ["nowhere.json", "."])
def test_a_file_that_cannot_be_read_is_named(
    path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["weights", "apply", str(tmp_path / path)]) == 2
    said = capsys.readouterr().err
    assert "cannot be read" in said and "[BAD_WEIGHTS]" in said and "mesh weights learn" in said


def test_the_file_on_the_page_of_balancing_is_one(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "balancing.md").read_text()
    [block] = re.findall(r"^```json\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "weights.json").write_text(block)
    assert weights_file.read(tmp_path / "weights.json").given["weights"]["bilbo"] == [0.5, ""]


# --- verbs ------------------------------------------------------------------------------------------------


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
        f"weights of 1 node are in force until {local} (in 7 d), and spread to all\n",
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
    assert "never met: ghost, heorn.  Who is there:  mesh ls" in capsys.readouterr().err


def test_what_the_node_refuses_is_said_with_its_code(
    given: Given, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given(call=Refused("these weights were learnt in the mesh 'lab'", code="CLUSTER"))
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
        r"in force until \S+ \S+ \(in 4 d\); reckoned at \S+ \S+ \(3 d ago\), "
        r"applied by /node/heron/client/joe/session/-1",
        times,
    )
    assert strategy == "this node balances by LeastLoaded, which looks at them"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"strategy": "RoundRobin"}, "RoundRobin, which looks at no weights"),
        ({"strategy": "OurOwn"}, "OurOwn, which is shown them"),
        ({"behind": ["bilbo", "frodo"]}, "not yet known to: bilbo, frodo"),
        ({"expired": True, "expires": NS}, "ago): all nodes count the same; reckoned at"),
        ({"weights": {}}, "none: all nodes count the same, since they were cleared by /node/heron"),
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
        "none: all nodes count the same",
        "this node balances by LeastLoaded, which looks at them",
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
    assert "all nodes count the same" in capsys.readouterr().err


# --- learning ---------------------------------------------------------------------------------------------


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
