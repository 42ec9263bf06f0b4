"""A client token cannot grow a node beyond the limits of docs/security.md, or keep out its operator.

python -m tests.mesh.scenarios.test_greedy SECONDS
"""

import os
import re
import secrets
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import mesh.sync
from mesh.security.joining import join, new_mesh, token_of
from tests.mesh.running import LIMIT, RunningNode, environment, state_directory, until

SECONDS = 60.0
EACH = 5.0  # s between two measurements
MIB = 1024 * 1024
# Limits that are reached within a minute: a sixteenth of the usual ones.
SMALL = f"""[limits]
sessions_bytes = {32 * MIB}
inboxes_bytes = {16 * MIB}
memory_bytes = {8 * MIB}
topics_bytes = {4 * MIB}
tailback_bytes = {4 * MIB}
"""
HELD = 72 * MIB  # the sum of these: docs/security.md, "What a node holds for others"
A_SECOND = 128 * MIB  # bytes that may arrive before the node checks again
RESIDENT = HELD + A_SECOND + 256 * MIB  # with unprocessed input and the node's own memory
DESCRIPTORS = 4096 + 300


def tried(seconds: float, config: str) -> dict[str, int]:
    """Let greedy clients try for `seconds`, and return the maxima of what the node held."""
    most = dict.fromkeys(("held", "resident", "rows", "descriptors"), 0)
    with state_directory(on_disk=True) as state, state_directory() as theirs:
        cluster = f"test-{secrets.token_hex(4)}"
        keys = new_mesh(state, cluster)
        join(theirs, token_of(keys, "client", expires=0), "")
        (state / "mesh.toml").write_text(config)
        options = ("--bind", "tcp://127.0.0.1:0", "--config", str(state / "mesh.toml"))
        node = RunningNode("heron", state, cluster, options)
        node.start()
        them = subprocess.Popen(
            [sys.executable, "-m", "tests.mesh.scenarios.greedy", node.tcp],
            env={**environment(theirs), "MESH_CLUSTER": cluster},
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert them.stdout is not None and them.stdout.readline(), "one is in"
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                time.sleep(EACH)
                for what, size in looked(node).items():
                    most[what] = max(most[what], size)
            assert them.poll() is None, "they try until they are killed"
            # The operator sees each client, once it has returned after its last disconnection.
            until(lambda: "/node/heron/client/greedy-letters/session/" in known(node))
        finally:
            them.kill()
            them.communicate()
        assert node.stop() == 0
        assert "Traceback" not in node.log, node.log
        most["rows"] = rows_of(Path(node.it["data"]) / "store.sqlite")
    return most


def looked(node: RunningNode) -> dict[str, int]:
    """Return the measures that the operator sees over the local file, and those of the system."""
    resident = re.search(r"^VmRSS:\s+(\d+) kB$", Path(f"/proc/{node.pid}/status").read_text(), re.M)
    assert resident is not None
    return {
        "held": asked(node, "info")["metrics"]["held_bytes"],
        "resident": 1024 * int(resident[1]),
        "descriptors": len(os.listdir(f"/proc/{node.pid}/fd")),
    }


def known(node: RunningNode) -> str:
    """Return what the operator is told of one of the greedy clients."""
    return str(asked(node, "why", kind="client", text="greedy-letters"))


def asked(node: RunningNode, verb: str, **arguments: Any) -> Any:
    with mesh.sync.connect(node.name, environ=node.environ, timeout=LIMIT) as m:
        return m.call(verb, **arguments)


def rows_of(store: Path) -> int:
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return sum(db.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables)


@pytest.mark.slow
def test_a_client_token_grows_a_node_no_further_than_stated() -> None:
    most = tried(SECONDS, SMALL)
    assert most["held"] < HELD + A_SECOND
    assert most["resident"] < RESIDENT
    assert most["descriptors"] < DESCRIPTORS


if __name__ == "__main__":
    print(tried(float(sys.argv[1]), ""))
