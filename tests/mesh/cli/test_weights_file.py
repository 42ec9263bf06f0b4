"""Files of weights: read whole, or refused with the place of the mistake."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from mesh.cli import weights_file
from mesh.cli.main import main
from mesh.errors import LocalError
from mesh.weightset import NODES, PACKED, REASON

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
        (
            {"weights": {"heron": {**HERON, "weight": "1"}}},
            "The entry of 'heron' is not a weight: weight must be a number",
        ),
        ({"weights": {"heron": {**HERON, "weight": None}}}, "The entry of 'heron' is not a weight"),
        ({"weights": {"heron": {"reason": "none"}}}, "it lacks 'weight'"),
        ({"weights": {"heron": 1.0}}, "The entry of 'heron' is not a weight"),
        ({"weights": {"he ron": HERON}}, "'he ron' is not a name"),
        ({"weights": [1.0]}, "no valid weights: weights must be a table"),
        ({"weights": {f"n{i}": {"weight": 1.0} for i in range(NODES + 1)}}, "the limit of 4096"),
        ({"version": 2}, "Version 2 of the file"),
        ({"version": "1"}, "no valid weights"),
        ({"expires": "soon"}, "no valid weights"),
        ({"expires": None}, "no valid weights"),
        ({"made": "1969-07-20T20:17:40Z"}, "'made' cannot be 1969-07-20"),
        ({"expires": "9999-12-31T00:00:00Z"}, "'expires' cannot be 9999-12-31"),
        ({"cluster": 5}, "no valid weights"),
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
