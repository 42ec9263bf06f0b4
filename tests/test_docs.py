"""Commands and programs of the README and the pages, which run as they are shown. See tests/pages.py."""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.mesh.running import LIMIT, RunningNode, running
from tests.pages import PAGES, ROOT, SPARK, STORES, TESTING, Block, blocks, commands, terminal

LAB = ROOT / "docs" / "lab.md"  # it needs root
ELSEWHERE = {
    "tools/demo --seconds 20": "tests/test_demo.py runs it",
    "tools/check": "it runs this test",
    **dict.fromkeys(commands(ROOT / "README.md")[:3], "tests/test_first_minutes.py runs it, in a clone"),
    "tools/costs": "tests/tools/costing/test_baseline.py runs it",
    **{
        command: "tests/tools/lab_parts/test_lab_parts.py runs it"
        for command in commands(LAB)
        if "tools/lab" in command
    },
    "mesh report --html report.html": "tests/spark/test_spark_page_runs.py runs it with the page of Spark",
}
EXAMPLE = ROOT / "examples" / "node"
DOCS = ROOT / "docs"
EXPLAINING = [
    DOCS / "architecture.md",
    DOCS / "adding.md",
    *sorted((DOCS / "journeys").glob("*.md")),
    *sorted((DOCS / "decisions").glob("*.md")),
]
HERE = [page for page in PAGES if page not in (SPARK, STORES, TESTING)]


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in HERE if commands(page)], ids=lambda page: page.name)
def test_the_commands_of_a_page_run_one_after_the_other(page: Path, tmp_path: Path) -> None:
    with terminal(tmp_path) as shell:
        for command in commands(page):
            if command not in ELSEWHERE:
                shell.type(command)


@pytest.fixture(scope="module")
def node() -> Iterator[RunningNode]:
    with running("heron") as node:
        yield node


@pytest.mark.slow
@pytest.mark.parametrize("block", blocks("python", HERE), ids=str)
def test_a_program_on_a_page_runs(block: Block, node: RunningNode) -> None:
    result = subprocess.run(
        [sys.executable, "-c", block.text], env=node.environ, capture_output=True, text=True, timeout=LIMIT
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout


@pytest.mark.slow
@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_an_example_runs(example: Path, node: RunningNode) -> None:
    result = subprocess.run(
        [sys.executable, example], env=node.environ, capture_output=True, text=True, timeout=LIMIT
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout


def test_the_first_page_points_to_what_is_there() -> None:
    text = (ROOT / "README.md").read_text()
    inside = re.findall(r"\]\((?!https://)([^)#]+)", text)
    assert len(inside) > 10 and [target for target in inside if not (ROOT / target).exists()] == []


def test_every_page_stands_in_the_site_once() -> None:
    """The site has no other page."""
    site = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]
    pages = re.findall(r"'([\w/-]+\.md)'", str(site["nav"]))
    assert sorted(pages) == sorted([*(str(page.relative_to(DOCS)) for page in PAGES[1:]), "index.md"])
    assert "repo_url" not in site, "tools/make_site.py puts it in, by setup.cfg"


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_what_a_page_points_to_is_there(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#:]+)\)", page.read_text())
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_a_page_points_to_headings_that_are_there(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#:]*)#([^)]+)\)", page.read_text())
    wanted = [(page.parent / target if target else page, anchor) for target, anchor in targets]
    assert [anchor for target, anchor in wanted if anchor not in anchors(target)] == []


@cache
def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a page."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_what_runs_elsewhere_stands_on_a_page_and_can_be_run() -> None:
    written = {command for page in HERE for command in commands(page)}
    assert written >= ELSEWHERE.keys()
    tools = [command.split()[0] for command in ELSEWHERE if command.startswith("tools/")]
    assert all(os.access(ROOT / tool, os.X_OK) for tool in tools)


@pytest.mark.parametrize("page", EXPLAINING, ids=lambda page: page.name)
def test_every_file_that_a_page_about_the_code_names_is_there(page: Path) -> None:
    named = re.findall(r"`((?:mesh|discovery|balancers|spark|tools|tests)/[\w/.]+)`", page.read_text())
    new = {"mesh/cli/hello.py", "tests/mesh/cli/test_hello.py"}  # from the example in adding.md
    assert [path for path in named if path not in new and not (ROOT / path).exists()] == []


def test_every_room_of_the_house_stands_in_the_drawing_of_its_floors() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    [floors] = [contract["layers"] for contract in contracts if contract["id"] == "floors"]
    rooms = {room for floor in floors for room in re.findall(r"\w+", floor)} - {"__main__"}
    [drawing] = re.findall(r"```mermaid\nflowchart(.*?)```", EXPLAINING[0].read_text(), re.S)
    drawn = {word for bold in re.findall(r"<b>(.*?)</b>", drawing) for word in bold.split(", ")}
    assert drawn == rooms | {"features"}


def test_the_rooms_of_the_core_stand_in_the_page_as_their_floors_do() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    [floors] = [contract["layers"] for contract in contracts if contract["id"] == "rooms-of-the-core"]
    page = EXPLAINING[0].read_text()
    table = page[page.index("| package of `mesh/kernel`") :].partition("\n\n")[0]
    rows = [re.findall(r"`(\w+)`", row.split("|")[1]) for row in table.splitlines()[2:]]
    assert rows == [re.findall(r"\w+", floor) for floor in floors]


def test_the_page_of_the_node_example_names_its_files_and_verbs() -> None:
    readme, demo_js = (EXAMPLE / "README.md").read_text(), (EXAMPLE / "demo.js").read_text()
    offered = set(re.findall(r"^  async (\w+)\(", demo_js, re.MULTILINE))
    usage = re.findall(r"const USAGE = `(.*?)`", demo_js, re.DOTALL)[0]
    assert offered == set(re.findall(r"node demo.js (\w+)", readme))
    assert offered == set(re.findall(r"^  (\w+)", usage, re.MULTILINE)) - {"for"}
    assert set(re.findall(r"^\| `(\w+\.js)`", readme, re.MULTILINE)) == {
        path.name for path in EXAMPLE.glob("*.js") if path.name != "demo.js"
    }
    assert (EXAMPLE / re.findall(r"\]\((.*?)\)", readme)[0]).is_file()
