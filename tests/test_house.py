"""Rules of this repository: import contracts, the list of allowed skips, and the contents of the package."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from configparser import ConfigParser
from pathlib import Path

import pytest

from tests import conftest, skips
from tests.seeds import scenarios
from tools.checking.changed import INSTALLED

ROOT = Path(__file__).parent.parent
PACKAGES = ("mesh", "balancers", "discovery", "spark")
HOUSE = ("mesh", "tools")
RULES = tomllib.loads((ROOT / "pyproject.toml").read_text())
CONTRACTS = {contract["id"]: contract["name"] for contract in RULES["tool"]["importlinter"]["contracts"]}

# For each contract: modules to add, each with what it imports, and how the contract refuses the first.
PLANTED = {
    "folders": ({"mesh.kernel.planted_tool": "tools.bill"},
                "mesh is not allowed to import tools: - mesh.kernel.planted_tool -> tools.bill"),
    "spark-alone": ({"mesh.cli.planted_history": "mesh.history"},
                    "Illegal imports of protected package mesh.history: - mesh.cli.planted_history"),
    "floors": ({"mesh.wire.planted": "mesh.streams"},
               "mesh.wire is not allowed to import mesh.streams: - mesh.wire.planted -> mesh.streams"),
    "no-circles": ({"mesh.balancers.planted": "mesh.balancers.mirror",
                    "mesh.balancers.mirror": "mesh.balancers.planted"},
                   "No cycles are allowed in mesh.balancers."),
    "rooms-of-the-core": ({"mesh.kernel.context.planted": "mesh.kernel.peers"},
                          "mesh.kernel.context is not allowed to import mesh.kernel.peers: - mesh.kernel"),
    "rooms-of-queues":
        ({"mesh.features.queues.model.envelopes.planted": "mesh.features.queues.model.part"},
         "mesh.features.queues.model.envelopes is not allowed to import mesh.features.queues.model.part: - "),
    "rooms-of-the-queues-of-a-node":
        ({"mesh.features.queues.node.keeping.planted": "mesh.features.queues.node.moves"},
         "mesh.features.queues.node.keeping is not allowed to import mesh.features.queues.node.moves: - "),
    # These modules replace existing ones, since each new module must be listed on a layer.
    "rooms-of-the-configuration":
        ({"mesh.config.source": "mesh.config.nodes"},
         "mesh.config.source is not allowed to import mesh.config.nodes: - mesh.config.source"),
    "rooms-of-the-client":
        ({"mesh.client.core.builder": "mesh.client.shell"},
         "mesh.client.core is not allowed to import mesh.client.shell: - mesh.client.core.builder"),
    "rooms-of-the-mesh-for-tests":
        ({"mesh.testing.arguments": "mesh.testing.network"},
         "mesh.testing.arguments is not allowed to import mesh.testing.network: - mesh.testing.arguments"),
    "rooms-of-the-client-core":
        ({"mesh.client.core.effects": "mesh.client.core.node_connection"},
         "mesh.client.core.effects is not allowed to import mesh.client.core.node_connection: - mesh.client"),
    "client-of-queues":
        ({"mesh.features.queues.client.delivery": "mesh.features.queues.client.deadletters"},
         "queues.client.delivery is not allowed to import mesh.features.queues.client.deadletters: - mesh"),
    "client-of-services":
        ({"mesh.features.services.client.gathering": "mesh.features.services.client.offering"},
         "services.client.gathering is not allowed to import mesh.features.services.client.offering: - "),
    "sans-io-client":
        ({"mesh.client.core.refusals": "multiprocessing"},
         "mesh.client.core is not allowed to import multiprocessing: - mesh.client.core.refusals"),
    "kernel-without-features":
        ({"mesh.kernel.planted_feature": "mesh.features.why"},
         "mesh.kernel is not allowed to import mesh.features: - mesh.kernel.planted_feature"),
    "features-apart":
        ({"mesh.features.why.planted": "mesh.features.rules"},
         "mesh.features.why is not allowed to import mesh.features.rules: - mesh.features.why.planted"),
    "features-sans-io":
        ({"mesh.features.sites.node.planted": "mesh.security"},
         "mesh.features.sites.node is not allowed to import mesh.security: - mesh.features.sites"),
    "rooms-of-xmlblaster":
        ({"mesh.features.xmlblaster.misprints": "mesh.features.xmlblaster.clusterxml"},
         "xmlblaster.misprints is not allowed to import mesh.features.xmlblaster.clusterxml: - mesh"),
    "core-known-to-the-shell": ({"mesh.sync.planted_rule": "mesh.kernel"},
                                "mesh.sync is not allowed to import mesh.kernel: - mesh.sync.planted_rule"),
    "floors-of-the-tools":
        ({"tools.lab_parts.planted": "tools.benchmarks"},
         "tools.lab_parts is not allowed to import tools.benchmarks: - tools.lab_parts.planted"),
    "rooms-of-the-benchmark":
        ({"tools.benchmarks.loads.planted": "tools.benchmarks.pages"},
         "tools.benchmarks.loads is not allowed to import tools.benchmarks.pages: - tools.benchmarks.loads"),
    "rooms-of-the-simulator":
        ({"tools.simulator.world.planted": "tools.simulator.clients"},
         "tools.simulator.world is not allowed to import tools.simulator.clients: - tools.simulator"),
    "tests-on-top": ({"tools.running.planted_test": "tests.seeds"},
                     "tools is not allowed to import tests: - tools.running.planted_test -> tests"),
    "no-circles-of-tools":
        ({"tools.costing.planted": "tools.costing.mirror", "tools.costing.mirror": "tools.costing.planted"},
         "No cycles are allowed in tools.costing."),
    "sans-io": ({"mesh.kernel.context.planted_io": "asyncio"},
                "mesh.kernel is not allowed to import asyncio: - mesh.kernel.context.planted_io -> asyncio"),
    "core-below-shells": ({"mesh.links.planted": "mesh.cli"},
                          "mesh.links is not allowed to import mesh.cli: - mesh.links.planted -> mesh.cli"),
    "door-zmq": ({"mesh.cli.planted": "zmq"},
                 "Illegal imports of protected package zmq: - mesh.cli.planted -> zmq"),
    "door-sqlite3": ({"mesh.shell.planted": "sqlite3"},
                     "Illegal imports of protected package sqlite3: - mesh.shell.planted -> sqlite3"),
    "door-psycopg": ({"mesh.store.planted_rows": "psycopg"},
                     "Illegal imports of protected package psycopg: - mesh.store.planted_rows -> psycopg"),
    "door-psutil": ({"mesh.sync.planted": "psutil"},
                    "Illegal imports of protected package psutil: - mesh.sync.planted -> psutil"),
    "door-prometheus": ({"mesh.shell.planted_metrics": "prometheus_client"},
                        "Illegal imports of protected package prometheus_client: - mesh.shell.planted"),
    "door-zeroconf": ({"mesh.local.planted": "zeroconf"},
                      "Illegal imports of protected package zeroconf: - mesh.local.planted -> zeroconf"),
    "door-lxml": ({"mesh.routing.planted": "lxml"},
                  "Illegal imports of protected package lxml: - mesh.routing.planted -> lxml"),
    "door-nacl": ({"mesh.transport.planted": "nacl"},
                  "Illegal imports of protected package nacl: - mesh.transport.planted -> nacl"),
    "door-msgpack": ({"mesh.store.planted": "msgpack"},
                     "Illegal imports of protected package msgpack: - mesh.store.planted -> msgpack"),
    "door-pyspark": ({"mesh.security.planted": "pyspark"},
                     "Illegal imports of protected package pyspark: - mesh.security.planted -> pyspark"),
    "door-plotly": ({"mesh.history.planted_chart": "plotly"},
                    "Illegal imports of protected package plotly: - mesh.history.planted_chart -> plotly"),
    "door-terminal": ({"mesh.streams.planted": "rich"},
                      "Illegal imports of protected package rich: - mesh.streams.planted -> rich"),
}  # fmt: skip


def run(*command: str | Path, folder: Path, environ: Mapping[str, str] | None = None) -> tuple[int, str]:
    """Return the exit code and the output of a command, without the environment of the running session."""
    outer = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "CI"))}
    result = subprocess.run(
        command,
        cwd=folder,
        env={**outer, **(environ or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
    )
    return result.returncode, result.stdout


def lint_imports(folder: Path) -> tuple[int, str]:
    command = Path(sys.executable).with_name("lint-imports")
    return run(command, "--no-logo", "--no-cache", folder=folder)


@pytest.fixture(scope="module")
def refusals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the refusal of each contract, in a copy of the packages that breaks each by its own import."""
    house = tmp_path_factory.mktemp("house")
    shutil.copy(ROOT / "pyproject.toml", house)
    for package in HOUSE:
        shutil.copytree(ROOT / package, house / package, ignore=shutil.ignore_patterns("__pycache__"))
    for modules, _ in PLANTED.values():
        for module, imported in modules.items():
            house.joinpath(*module.split(".")).with_suffix(".py").write_text(f"import {imported}\n")
    code, output = lint_imports(house)
    assert (code, "Contracts: 0 kept" in output) == (1, True), output
    found = {}
    for contract, name in reversed(CONTRACTS.items()):
        output, _, refusal = output.partition(f"\n{name}\n{'-' * len(name)}\n")
        found[contract] = " ".join(refusal.split())
    return found


def test_every_contract_is_broken_on_purpose_once() -> None:
    assert PLANTED.keys() == CONTRACTS.keys()


def test_all_of_discovery_but_multicast_dns_is_held_to_be_pure() -> None:
    contracts = {contract["id"]: contract for contract in RULES["tool"]["importlinter"]["contracts"]}
    held = {name for name in contracts["sans-io"]["source_modules"] if name.startswith("mesh.discovery.")}
    rooms = {f"mesh.discovery.{file.stem}" for file in (ROOT / "discovery").glob("[a-z]*.py")}
    shells = {f"mesh.discovery.{name}" for name in ("browsing", "mdns", "multicast")}
    assert rooms - held == shells and held <= rooms


@pytest.mark.parametrize("contract", PLANTED)
def test_a_forbidden_import_is_named_by_its_contract(refusals: dict[str, str], contract: str) -> None:
    assert PLANTED[contract][1] in refusals[contract]


SKIPS = """
import pytest

def test_that_runs():
    pass

@pytest.mark.parametrize("animal", ["heron", "stork"])
def test_that_is_skipped(animal):
    pytest.skip("no such animal here")

@pytest.mark.xfail
def test_that_is_known_to_fail():
    assert False
"""
MODULE_SKIP = "import pytest\npytest.importorskip('no_such_module')\n"


def copy_plugins(to: Path) -> None:
    """Copy our conftest and the modules that it imports."""
    for name in (
        "__init__.py",
        "conftest.py",
        "leftovers.py",
        "selection.py",
        "skips.py",
        "waiting.py",
        "workers.py",
        "allowed_skips.txt",
    ):
        shutil.copy(ROOT / "tests" / name, to)
    (to.parent / "tools" / "running").mkdir(parents=True)
    shutil.copy(ROOT / "tools" / "running" / "scratch.py", to.parent / "tools" / "running")


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """Return a project whose tests are partly skipped, with our conftest."""
    tests = tmp_path / "tests"
    tests.mkdir()
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    copy_plugins(tests)
    (tests / "allowed_skips.txt").write_text("# none\n")
    (tests / "test_single.py").write_text(SKIPS)
    (tests / "test_module.py").write_text(MODULE_SKIP)
    return tmp_path


def run_suite(folder: Path, *arguments: str, ci: str = "true") -> tuple[int, str]:
    command = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments)
    return run(*command, folder=folder, environ={"CI": ci})


@pytest.mark.parametrize("processes", scenarios(["--workers=0", "--workers=2"]))
def test_an_unlisted_skip_fails_the_session_and_is_named(suite: Path, processes: str) -> None:
    code, output = run_suite(suite, processes)
    assert code == 1
    _, _, named = output.partition("skipped, but not listed in allowed_skips.txt")
    assert sorted(line for line in named.splitlines() if line.startswith("tests/")) == [
        "tests/test_module.py",
        "tests/test_single.py::test_that_is_skipped[heron]",
        "tests/test_single.py::test_that_is_skipped[stork]",
    ]


@pytest.mark.slow  # for its length
def test_a_session_of_nothing_but_an_unlisted_skip_fails(suite: Path) -> None:
    assert run_suite(suite, "tests/test_module.py")[0] == 1


@pytest.mark.slow
def test_listed_skips_pass(suite: Path) -> None:
    listed = (
        "# allowed\n"
        "tests/test_mod*.py # a module that no machine has\n"
        "tests/test_single.py::test_that_is_skipped[heron] # rare\n"
        "tests/*stork* # rarer\n"
    )
    (suite / "tests" / "allowed_skips.txt").write_text(listed)
    code, output = run_suite(suite)
    assert (code, "not listed" in output) == (0, False)


def test_a_listed_skip_without_its_reason_is_refused(tmp_path: Path) -> None:
    (tmp_path / "allowed_skips.txt").write_text("tests/test_module.py\n")
    with pytest.raises(pytest.UsageError, match=r"allowed_skips\.txt:1: give the reason"):
        skips.allowed_skips(tmp_path / "allowed_skips.txt")


@pytest.mark.slow  # for its length
def test_outside_ci_a_skip_is_only_a_skip(suite: Path) -> None:
    assert run_suite(suite, ci="")[0] == 0


def test_a_venv_that_is_a_link_to_that_of_another_tree_is_left_as_it_is(tmp_path: Path) -> None:
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    theirs.mkdir()
    (theirs / "made-from").write_text(f"{tmp_path}\n[metadata]\n")
    (ours / "tools").mkdir(parents=True)
    (ours / "setup.cfg").write_text("[metadata]\n")
    for name in ("venv", "help.sh", "constraints.txt"):
        shutil.copy(ROOT / "tools" / name, ours / "tools")
    (ours / ".venv").symlink_to(theirs)
    code, output = run(ours / "tools" / "venv", folder=ours)
    assert (code, f".venv is a link to {theirs}" in output) == (1, True), output
    assert [path.name for path in theirs.iterdir()] == ["made-from"]


def test_one_package_ships_with_its_types_and_has_the_others_inside() -> None:
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg")
    include = setup["options.packages.find"]["include"].split()
    assert include == ["mesh", "mesh.*"]
    for folder, name in INSTALLED.items():
        assert ROOT.joinpath(*name.split(".")).samefile(ROOT / folder)
    assert all((ROOT / package / "py.typed").is_file() for package in PACKAGES)
    assert "project" not in RULES, "with a [project] table the dependencies of setup.cfg are lost"


def test_every_feature_is_apart_from_the_others() -> None:
    [apart] = [each for each in RULES["tool"]["importlinter"]["contracts"] if each["id"] == "features-apart"]
    folders = {file.parent.name for file in (ROOT / "mesh" / "features").glob("*/__init__.py")}
    assert set(apart["modules"]) == {f"mesh.features.{name}" for name in folders}


def mirrors_a_module(test: Path) -> bool:
    """Return whether `test_<module>[_<aspect>].py` has its module, or its package, at the same place."""
    folder = test.parent.relative_to(ROOT / "tests")
    words = test.stem.removeprefix("test_").split("_")
    names = ["_".join(words[:n]) for n in range(1, len(words) + 1)]
    files = [ROOT / folder / f"{name}.py" for name in [*names, *(f"__{name}__" for name in names)]]
    others = [ROOT / folder / name for each in names for name in (each, f"{each}.sh")]  # a package, a script
    return folder.name in names or any(place.exists() for place in (*files, *others))


def test_tests_mirror_the_packages() -> None:
    roots = [ROOT / "tests" / package for package in (*PACKAGES, "tools")]
    tests = [test for root in roots for test in root.rglob("test_*.py")]
    apart = [test for test in tests if test.parent.name not in ("scenarios", "rows")]
    assert [str(test.relative_to(ROOT)) for test in apart if not mirrors_a_module(test)] == []


def test_every_folder_of_code_is_a_package() -> None:
    roots = [ROOT / package for package in (*PACKAGES, "tools", "tests")]
    folders = {file.parent for root in roots for file in root.rglob("*.py")}
    assert [folder for folder in folders if not (folder / "__init__.py").is_file()] == []


def test_tests_of_spark_are_one_group_and_share_a_jvm() -> None:
    files = [str(path.relative_to(ROOT)) for path in (ROOT / conftest.SPARK).rglob("test_*.py")]
    assert {conftest.scope(f"{file}::test_it") for file in files} == {conftest.SPARK}
    assert conftest.scope("tests/test_house.py::test_it") == "tests/test_house.py"


def test_what_the_tests_begin_with_is_there() -> None:
    assert [place for place in conftest.FIRST if not (ROOT / place).exists()] == []


def test_functions_above_the_limits_of_lint_do_not_grow_in_number() -> None:
    sources = [path.read_text() for folder in (*PACKAGES, "tools") for path in (ROOT / folder).rglob("*.py")]
    marked = sum(len(re.findall(r"# noqa: (?:C901|PLR0913)\b", source)) for source in sources)
    assert marked <= 22, "divide the function: this number only falls"
