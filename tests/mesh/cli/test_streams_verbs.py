"""Each verb with a standard stream closed, and in 40 columns of ASCII."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.mesh.cli import forked_verbs
from tests.mesh.cli.test_examples import paths
from tests.mesh.running import RunningNode, running

LIMIT = 120.0  # s until a command that should have ended is stopped
TIMED_OUT = 124  # `mesh req` without a reply in time
ENDLESS = 4.0  # s until a command without an end is stopped
# The arguments of each verb. Those in SIGNALLED continue until they are stopped.
TYPED = {
    "up": "--id stork --no-mdns --log-level warning",
    "down": "--url ghost",
    "drain": "--look",
    "upgrade": "--check",
    "ls": "--all",
    "top": "--once",
    "info": "",
    "events": "--count 20",
    "log level": "mesh.client info",
    "check": "",
    "metrics": "",
    "service install": "--id heron --dry-run",
    "service show": "--id heron",
    "backup create": "heron.backup",
    "backup check": "heron.backup",
    "backup restore": "heron.backup",
    "peer add": "127.0.0.1:1",
    "peer rm": "127.0.0.1:1",
    "peer ls": "",
    "node allow": "bilbo",
    "node deny": "bilbo",
    "node reset": "bilbo",
    "rule set": "bilbo --domain KÜCHE",
    "rule rm": "bilbo",
    "rule ls": "",
    "relay ls": "",
    "relay add": "NYC --topic sensors/#",
    "relay rm": "NYC",
    "relay pause": "NYC",
    "relay sync": "NYC",
    "relay resume": "NYC",
    "pub": "küche/ofen heiß",
    "sub": "küche/# --count 1",
    "unsub": "prüfer",
    "get": "küche/#",
    "erase": "küche/herd",
    "queue create": "jobs",
    "queue ls": "--parts",
    "queue info": "jobs",
    "queue put": "jobs spülen 🧽",
    "queue take": "jobs --count 1 --timeout 0",
    "queue peek": "jobs",
    "queue purge": "jobs",
    "queue move": "jobs --to ghost",
    "queue rm": "jobs --force",
    "map create": "öfen",
    "map ls": "",
    "map get": "öfen küche",
    "map put": "öfen küche heiß",
    "map rm": "öfen küche",
    "map move": "öfen --to ghost",
    "map watch": "öfen --count 1 --wait 1",
    "counter ls": "",
    "counter get": "störche",
    "counter add": "störche 2",
    "counter rm": "störche",
    "counter move": "--to ghost",
    "tx init-db": "sqlite:///störche.db",
    "tx send": "sqlite:///störche.db --once",
    "tx ls-db": "sqlite:///störche.db",
    "tx retry": "sqlite:///störche.db",
    "lock ls": "",
    "lock who": "öfen",
    "lock move": "--to ghost",
    "tx ls": "",
    "tx show": "heron/störche",
    "tx commit": "heron/störche",
    "tx rollback": "heron/störche",
    "tally ls": "",
    "tally get": "störche",
    "why tx": "heron/störche",
    "req": "calc/add 1 --timeout 0.1",
    "reply": "küche/alle --exec cat",
    "send": "/node/heron/client/joerg heim --force-queuing",
    "inbox": "--client joerg --count 1 --wait 20",
    "inbox release": "joerg",
    "route": "küche/ofen",
    "wait node": "heron",
    "wait queue": "jobs --timeout 1",
    "wait subscriber": "küche/ofen --timeout 1",
    "where": "node/heron",
    "why node": "ghost",
    "why topic": "küche/ofen",
    "why message": "8f14e45fceea167a5a36dedd4bea2543/NEWS:7",
    "why address": "calc/add",
    "why client": "joerg",
    "why queue": "jobs",
    "why site": "NYC",
    "why map": "öfen",
    "why counter": "",
    "why lock": "öfen",
    "dlq ls": "",
    "dlq replay": "--all",
    "dlq purge": "--all",
    "config check": "",
    "config show": "--origin",
    "config schema": "",
    "config reload": "",
    "init": "--cluster lab",
    "join": "",
    "leave": "--cluster lab",
    "token": "--cluster lab --role client",
    "passwd": "",
    "snapshots ls": "",
    "snapshots sync": "--to copies",
    "weights show": "",
    "weights apply": "weights.json",
    "weights clear": "",
    "context ls": "",
    "context use": "--none",
    "context add": "werk --url tcp://127.0.0.1:1",
    "context rm": "werk",
    "context show": "",
    "completion": "bash",
}
SIGNALLED = ("up", "reply")
LEFT_OUT = {
    "service uninstall": "it takes away what is installed on this machine",
    "report": "it starts Spark",
    "ingest": "it starts Spark",
    "weights learn": "it starts Spark",
}
CRASHES = (None, 70, 71)  # it hung, is a bug, or failed without a message
KINDS: dict[str, dict[str, Any]] = {
    "as ever": {},
    "without stdin": {"closed": [0]},
    "without stdout": {"closed": [1]},
    "without stderr": {"closed": [2]},
    "without any": {"closed": [0, 1, 2]},
    "narrow, in ASCII": {"encoding": "ascii", "environ": {"COLUMNS": "40", "LC_ALL": "C"}},
}


def test_each_command_is_in_the_table() -> None:
    assert {*TYPED, *LEFT_OUT} == set(paths())


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, dict[str, dict[str, Any]]]]:
    """The end of each command, for each kind of broken stream."""
    with running("heron") as heron:
        cwd = tmp_path_factory.mktemp("work")
        environ = {
            **heron.environ,
            "XDG_CONFIG_HOME": str(cwd / "config"),
            "MESH_NODE__CLUSTER": heron.cluster,
        }
        tried = [(path, kind) for path in TYPED for kind in KINDS]
        cases = [_case(path, kind, cwd) for path, kind in tried]
        said = subprocess.run(
            [sys.executable, forked_verbs.__file__],
            input=json.dumps(cases),
            capture_output=True,
            text=True,
            env=environ,
            check=True,
        )
        found: dict[str, dict[str, dict[str, Any]]] = {path: {} for path in TYPED}
        for (path, kind), end in zip(tried, json.loads(said.stdout), strict=True):
            found[path][kind] = end
        _node_lives(heron)
        yield found


def _case(path: str, kind: str, cwd: Path) -> dict[str, Any]:
    words = [*path.split(), *TYPED[path].split()]
    limit = ENDLESS if path in SIGNALLED else LIMIT
    plain = {"closed": [], "encoding": "utf-8", "environ": {"COLUMNS": "100"}}
    return {"words": words, "cwd": str(cwd), "limit": limit, **plain, **KINDS[kind]}


def _node_lives(heron: RunningNode) -> None:
    assert heron.is_running and os.path.exists(heron.state)


def _complaints(path: str, ends: dict[str, dict[str, Any]]) -> Iterator[str]:
    usual = ends["as ever"]["status"]
    for kind, end in ends.items():
        status, err = end["status"], end["err"]
        what = f"mesh {path} {kind}: status {status} in place of {usual}: {err[-300:]}"
        is_bug = status in CRASHES or "Traceback" in end["out"] + err or "[BUG]" in end["out"] + err
        if is_bug or status not in (usual, 0, 1, 2, TIMED_OUT):
            yield what
        elif status == 2 and not err and 2 not in KINDS[kind].get("closed", ()):
            yield f"{what} (without a word)"


@pytest.mark.slow
def test_no_verb_ends_as_a_bug_for_what_the_streams_are(ends: dict[str, dict[str, dict[str, Any]]]) -> None:
    found = [complaint for path, each in ends.items() for complaint in _complaints(path, each)]
    assert not found, "\n".join(found)


@pytest.mark.slow
def test_what_most_verbs_do_was_done(ends: dict[str, dict[str, dict[str, Any]]]) -> None:
    """Otherwise all could have failed alike, and the test above would prove nothing."""
    done = [path for path, each in ends.items() if each["as ever"]["status"] == 0]
    assert len(done) > 0.6 * len(ends), {p: e["as ever"] for p, e in ends.items() if p not in done}
