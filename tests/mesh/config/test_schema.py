"""Agreement of the JSON Schema of mesh.toml with the reader, as far as a schema can express it."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.config import load
from mesh.config.schema import schema
from mesh.config.source import parsed
from mesh.errors import BadConfig
from tests.mesh.config.tomls import KEYS, VALUES
from tests.mesh.scenarios.topology import A0

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

DOCS = Path(__file__).parents[3] / "docs"
RULE = "[[nodes.a.master]]\n"
SITE = "[site]\nname = 'LON'\n[sites.NYC]\n"


@cache
def check() -> Validator:
    # The import is late, as it takes a second of CPU, and each worker imports all test files.
    from jsonschema import Draft202012Validator

    return Draft202012Validator(schema())


def refused_by_reader(text: str) -> bool:
    try:
        load(parsed(Path("mesh.toml"), text), {}, {})
    except BadConfig:
        return True
    return False


def test_it_is_a_schema() -> None:
    check().check_schema(schema())


def examples() -> list[Any]:
    """Return the TOML examples of the pages that are valid files on their own."""
    found = []
    for page in sorted(DOCS.glob("*.md")):
        for number, text in enumerate(re.findall(r"```toml\n(.*?)```", page.read_text(), re.S)):
            if not refused_by_reader(text):
                found.append(pytest.param(text, id=f"{page.name}-{number}"))
    return found


@pytest.mark.parametrize("text", [*examples(), *A0.values()])
def test_what_the_pages_show_it_lets_through(text: str) -> None:
    assert [error.message for error in check().iter_errors(tomllib.loads(text))] == []


def test_the_pages_show_some() -> None:
    assert len(examples()) > 10


@pytest.mark.parametrize(
    "text",
    [
        "x = 1", "[nod]", "[node]\nname = 'heron'", "node = 5", "links = 'all'", "default_scope = 'here'",
        "[node]\nid = 'a heron'", "[node]\nid = ''", "[node]\ncluster = '#'", "[node]\nbind = 'tcp://*:1'",
        "[node]\nmetadata = { rack = 7 }", "[limits]\nsessions = 0", "[limits]\nsessions = '7'",
        "[limits]\nsessions = 7.5", "[limits]\nlinger = 0", "[limits]\nlinger = inf",
        "[timing]\nprobe = 0.01",
        "[log]\nlevel = 'all'", "[discovery]\nmdns = 1", "[balancing]\nthreshold = 1.5",
        "[[balancing.address]]\npattern = 'a/#'", "[[balancing.domain]]\nstrategy = 'RoundRobin'",
        "[[balancing.domain]]\nname = 'D'\nstrategy = 'RoundRobin'\npattern = 'x'",
        "[nodes]\naddress = 'x'", "[nodes.'a b']", "[nodes.a]\naddress = ''", "[nodes.a]\nping = 0",
        "[nodes.a]\nadress = 'x'", "[nodes.a.master]\nkeys = ['k']", RULE, RULE + "domains = []",
        RULE + "keys = 'k'",
        RULE + "stratum = 1", RULE + "domains = ['D']\nstratum = 16", RULE + "domains = ['D']\nrefId = 'b'",
        RULE + "filters = [{ text = '8' }]", RULE + "filters = [{ type = 'ContentLength', text = 8 }]",
        RULE + "[[nodes.a.master.given]]\nfilters = []",
        RULE + "[[nodes.a.master.given]]\nkey = 'k'\ndomain = 'D'",
        "[site]\nname = 'a b'", "[site]\nrelays = 17", "[sites.'a b']", "[sites]\nNYC = 5",
        SITE + "adresses = []", SITE + "max_bytes = 1", SITE + "when_full = 'drop'", SITE + "via = ''",
        SITE + "accepts = ['a']", SITE + "accepts = { topic = ['a'] }", SITE + "domains = 'STOCK'",
        "[[queues]]\nname = 'q'", "[queues]\nname = 'q'\nstore = 'memory'",
    ],
)  # fmt: skip
def test_what_is_wrong_in_itself_both_refuse(text: str) -> None:
    assert refused_by_reader(text)
    assert not check().is_valid(tomllib.loads(text))


@given(lines=st.lists(st.tuples(KEYS, VALUES), max_size=3))
def test_what_it_refuses_the_reader_refuses(lines: list[tuple[str, str]]) -> None:
    text = "\n".join(f"{key} = {value}" for key, value in lines)
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    assert check().is_valid(table) or refused_by_reader(text)
