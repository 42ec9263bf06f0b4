"""Fixtures for tests of examples/node: its packages, a node, and a Python client."""

import fcntl
import re
import shutil
import subprocess
from collections.abc import Iterator

import pytest

import mesh.sync
from mesh.wire.limits import MIB
from tests.examples.nodejs import EXAMPLE, OLDEST
from tests.mesh.running import RunningNode, running


@pytest.fixture(scope="module", autouse=True)
def dependencies() -> None:
    """Install the packages of package-lock.json, once for all test processes. Skip without Node.js."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if not node or not npm:
        pytest.skip("needs Node.js and npm: apt-get install nodejs npm")
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    if int(re.findall(r"\d+", version)[0]) < OLDEST:
        pytest.skip(f"needs Node.js {OLDEST} or newer, this is {version}")
    lock, installed = EXAMPLE / "package-lock.json", EXAMPLE / "node_modules" / ".package-lock.json"
    with lock.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if not installed.exists() or installed.stat().st_mtime < lock.stat().st_mtime:
            command = [npm, "ci", "--no-audit", "--no-fund"]
            result = subprocess.run(command, cwd=EXAMPLE, capture_output=True, text=True)
            assert result.returncode == 0, result.stdout + result.stderr


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningNode]:
    """Run a node that accepts contents of up to 8 MiB."""
    config = tmp_path_factory.mktemp("node") / "mesh.toml"
    config.write_text(f"[limits]\nmax_content = {8 * MIB}\n")
    with running("heron", options=("--config", str(config))) as node:
        yield node


@pytest.fixture
def m(node: RunningNode) -> Iterator[mesh.sync.Client]:
    with mesh.sync.connect(environ=node.environ) as m:
        yield m
