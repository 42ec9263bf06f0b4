"""The commands, settings, codes and times of docs/stores.md."""

import re
import tomllib
from pathlib import Path

import pytest

from mesh.config_store import check_store
from mesh.store.lease import LeaseTiming
from tests.pages import ROOT, STORES, blocks, commands, terminal
from tests.postgres import PostgresServer

PAGE = STORES.read_text()


@pytest.mark.slow
def test_the_commands_of_the_page_run_one_after_the_other(postgres: PostgresServer, tmp_path: Path) -> None:
    with terminal(tmp_path) as shell:
        # The page's "somebody who may" is the server's superuser, with PostgreSQL's own commands on the PATH.
        mesh, more = shell.environ["PATH"].split(":", 1)[0], postgres.environment()
        shell.environ.update(more | {"PATH": f"{mesh}:{more['PATH']}"})
        for command in commands(STORES):
            shell.type(command)
    assert postgres.sql("SELECT epoch FROM heronry.lease", postgres.url("mesh")) == [(1,)]


def test_the_settings_of_the_page_are_right() -> None:
    [example] = blocks("toml", [STORES])
    check_store(tomllib.loads(example.text)["node"]["store"])


def test_the_page_names_every_code_of_a_store_and_no_other() -> None:
    places = (ROOT / "mesh" / "store", ROOT / "mesh" / "features" / "postgres")
    sources = "".join(path.read_text() for place in places for path in place.glob("*.py"))
    raised = set(re.findall(r'(?:code=|= )"([A-Z_]+)"', sources)) - {"BAD_OPS"}  # BAD_OPS: a mistake of ours
    raised -= {"BUSY", "ENDED", "NOT_AVAILABLE"}  # of backups, on the page of errors
    told = set(re.findall(r"^\| `([A-Z_]+)` \|", PAGE, re.MULTILINE))
    assert told == raised | {"STORE", "STORE_FULL"}


def test_the_times_of_the_page_are_those_of_a_lease() -> None:
    lease, renewal = re.findall(r"(\d+) seconds by the database's clock, renewed every (\d+)", PAGE)[0]
    [useful] = re.findall(r"stops (\d+) seconds after", PAGE)
    lease_timing = LeaseTiming()
    assert (float(lease), float(renewal), float(useful)) == (
        lease_timing.ttl,
        lease_timing.interval,
        lease_timing.useful,
    )
