"""`mesh check`: exit codes as monitoring plugins use them, and equal metrics by HTTP and by command."""

import http.client
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mesh.cli.main import main
from mesh.errors import MeshError, MeshTimeout, NodeNotFound, RemoteError
from tests.mesh.cli.fake import Given
from tests.mesh.metrics.infos import info
from tests.mesh.running import LIMIT, running

Capture = pytest.CaptureFixture[str]


def told(**figures: float) -> dict[str, Any]:
    """Return the answers of a node whose queues come in two pages."""
    well = {
        "tailback_age": 0,
        "nodes_suspect": 0,
        "nodes_alive": 2,
        "queue_messages": 0,
        "clock_apart": 0,
        "sites_away": 0,
        **figures,
    }

    def call(verb: str, **arguments: Any) -> Any:
        if verb == "info":
            return {
                **msgspec.to_builtins(info()),
                "metrics": well,
                "disk": {"disk_free": 9e9, "disk_short": 0},
            }
        is_first = not arguments.get("after")
        return {
            "queues": [{"name": "a", "oldest": 3.0 if is_first else 700.0}],
            "more": "a" if is_first else "",
        }

    return {"call": call}


def test_the_exit_code_is_the_verdict_and_queues_on_all_pages_count(given: Given, capsys: Capture) -> None:
    given(**told())
    assert main(["check"]) == 1
    said = capsys.readouterr().out
    assert said.startswith("MESH WARNING - heron: queue-age 700s | ") and len(said.splitlines()) == 1
    assert main(["check", "--queue-age", "1000,2000"]) == 0
    capsys.readouterr()
    assert main(["check", "--queue-age", "1,2", "--json"]) == 2
    found = json.loads(capsys.readouterr().out)
    assert (
        found["verdict"] == "CRITICAL"
        and {"name": "queue-age", "value": 700.0, "grade": "CRITICAL"} in found["checks"]
    )


@pytest.mark.parametrize(
    ("error", "code", "word"),
    [
        (NodeNotFound("no node runs here"), 2, "CRITICAL"),
        (MeshTimeout("it did not answer"), 2, "CRITICAL"),
        (RemoteError("its reply is none", code="MALFORMED"), 3, "UNKNOWN"),
    ],
)
def test_a_node_that_is_gone_is_critical_and_one_that_is_not_understood_unknown(
    error: MeshError, code: int, word: str, given: Given, capsys: Capture
) -> None:
    given(call=error)
    assert main(["check"]) == code
    assert capsys.readouterr().out.startswith(f"MESH {word} - {error}"[:30])


def test_a_mistake_of_ours_is_not_told_as_one_of_the_node(given: Given, capsys: Capture) -> None:
    given(call=lambda verb, **_: 1 / 0)
    assert main(["check"]) == 3
    assert "[BUG]" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--lag", "x"], ["--lag"], ["--nope"], ["--lag", "2,1"], ["more"]])
def test_a_line_that_is_typed_wrong_is_unknown(arguments: list[str], given: Given) -> None:
    given(**told())
    assert main(["check", *arguments]) == 3


@pytest.mark.slow
def test_over_http_and_by_the_command_a_node_tells_the_same_metrics(tmp_path: Path) -> None:
    file = tmp_path / "mesh.toml"
    file.write_text('[http]\nlisten = "127.0.0.1:0"\n')
    with running("a", options=("--config", str(file))) as a:
        token = Path(a.mesh("metrics", "--token").stdout.strip()).read_text()
        connection = http.client.HTTPConnection(a.it["http"].removeprefix("http://"), timeout=LIMIT)
        connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {token}"})
        over_http = connection.getresponse().read().decode()
        connection.close()
        by_command = a.mesh("metrics").stdout
        names = [
            [line for line in text.splitlines() if line.startswith("# TYPE mesh_")]
            for text in (over_http, by_command)
        ]
        assert names[0] == names[1] and len(names[0]) > 50
        assert a.mesh("check", "--lag", "9,9", "--disk", "1,1").returncode == 0
        a.kill()
        assert a.mesh("check").returncode == 2
        a.start()
        assert a.mesh("config", "check", str(file)).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ['listen = "0.0.0.0:7780"', 'listen = "127.0.0.1:0"\ntoken_file = "/nowhere"']
)
def test_the_check_of_a_configuration_refuses_what_the_start_refuses(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "mesh.toml"
    file.write_text(f"[http]\n{text}\n")
    monkeypatch.setenv("MESH_STATE_DIR", str(tmp_path / "state"))
    assert main(["config", "check", str(file)]) == 2
    assert main(["up", "--config", str(file), "--no-mdns"]) == 2
