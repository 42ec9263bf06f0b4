"""Strategies for addresses and domains in a configuration, and the refusal of invalid ones."""

from pathlib import Path
from random import random

import pytest

from mesh.config import Config, load, settings
from mesh.errors import BadConfig
from mesh.shell.preparing import prepared
from mesh.shell.settings import balancers_of
from mesh.shell.watchdog import WatchedStrategy


def read(place: Path, text: str, **environ: str) -> Config:
    file = place / "mesh.toml"
    file.write_text(text)
    return load(file, environ, {})


def refusal(place: Path, text: str, **environ: str) -> str:
    """Return the error of the check, without the path. The start refuses the file with the same text."""
    with pytest.raises(BadConfig) as caught:
        prepared(read(place, text, **environ), place)
    said = str(caught.value).removeprefix(str(place / "mesh.toml"))
    with pytest.raises(BadConfig) as again:
        balancers_of(read(place, text, **environ), random, print)
    assert str(again.value) == str(caught.value)
    return said


RULES = """
[balancing]
strategy = "rack-affinity"
metadata = "zone"
[[balancing.address]]
pattern = "calc/#"
strategy = "sticky"
header = "customer"
[[balancing.address]]
pattern = "calc/add"
strategy = "ThresholdLoaded"
threshold = 0.5
[[balancing.domain]]
name = "NEWS"
strategy = "LeastMemory"
"""


def test_the_strategies_that_are_set_are_made(tmp_path: Path) -> None:
    made = balancers_of(read(tmp_path, RULES), random, print)
    names = [type(it).__name__ for it in (made.usual, *made.domains.values(), *dict(made.addresses).values())]
    assert names == ["RackAffinity", "LeastMemory", "Sticky", "ThresholdLoaded"]
    assert list(dict(made.addresses)) == ["calc/#", "calc/add"] and list(made.domains) == ["NEWS"]


def test_each_knows_where_it_was_set(tmp_path: Path) -> None:
    read(tmp_path, RULES)
    found = [s for s in settings(tmp_path / "mesh.toml", {}, {}) if s.name.startswith("balancing.")]
    lines = {s.name + str(number): s.origin.rpartition(":")[2] for number, s in enumerate(found)}
    assert list(lines.values()) == ["3", "default", "default", "4", "5", "9", "13"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            'strategy = "LeastLoded"',
            "balancing.strategy: The balancer 'LeastLoded' is not installed. Did you mean",
        ),
        (
            'header = "x"',
            "balancing.strategy: RoundRobin has no option header. The option header belongs to Sticky.",
        ),
        ("threshold = 0", ":2: balancing.threshold = 0 is invalid"),
        ("threshold = 1.1", ":2: balancing.threshold = 1.1 is invalid"),
        ("threshold = nan", ":2: balancing.threshold = nan is invalid"),
        ('metadata = ""', ":2: balancing.metadata = '' is invalid"),
        ('strategi = "Sticky"', ":2: unknown key 'strategi' in section [balancing]. Did"),
        (
            'address = "x"',
            ":2: 'address' in [balancing] must be a list of sections. Write [[balancing.address]]",
        ),
        ("address = [1]", ":2: 'address' in [balancing] must be a list of sections."),
        (
            "[balancing.domain]",
            ":2: 'domain' in [balancing] must be a list of sections. Write [[balancing.domain]]",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, text: str, said: str) -> None:
    assert refusal(tmp_path, f"[balancing]\n{text}\n").startswith(said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ":1: [[balancing.address]] has no pattern. Write, for example, pattern"),
        ('pattern = "a"', ":1: [[balancing.address]] has no strategy. Write, for example, strategy"),
        ('patern = "a"', ":2: unknown key 'patern' in section [[balancing.address]]. Did"),
        ("pattern = 1", ":2: [[balancing.address]] pattern = 1 is invalid"),
        (
            'pattern = "a/#/b"\nstrategy = "Sticky"',
            ":2: [[balancing.address]] pattern: The pattern 'a/#/b' con",
        ),
        ('pattern = "a"\nstrategy = "stickey"', ":1: [[balancing.address]]: The balancer 'stickey' is"),
        (
            'pattern = "a"\nstrategy = "Sticky"\nthreshold = 0.5',
            ":1: [[balancing.address]]: Sticky has no option threshold. The option threshold belongs "
            "to ThresholdLoaded.",
        ),
        (
            'pattern = "a"\nstrategy = "Sticky"\n[[balancing.address]]\npattern = "a"\nstrategy = "Sticky"',
            ":4: [[balancing.address]] pattern = 'a' is a duplicate of",
        ),
    ],
)
def test_so_it_is_for_an_address(tmp_path: Path, text: str, said: str) -> None:
    assert refusal(tmp_path, f"[[balancing.address]]\n{text}\n").startswith(said)


def test_duplicates_in_a_line_are_refused_too(tmp_path: Path) -> None:
    entry = '{pattern = "a", strategy = "Sticky"}'
    told = refusal(tmp_path, f"[balancing]\naddress = [{entry}, {entry}]\n")
    assert "pattern = 'a' is a duplicate of an earlier entry." in told


def test_a_domain_is_one_that_can_be(tmp_path: Path) -> None:
    text = '[[balancing.domain]]\nname = "{}"\nstrategy = "Sticky"\n'
    assert read(tmp_path, text.format("")).strategies[0].of == ""
    assert refusal(tmp_path, text.format("a" * 5000)).startswith(":2: [[balancing.domain]] ")


def test_the_environment_sets_what_is_for_all(tmp_path: Path) -> None:
    environ = {"MESH_BALANCING__STRATEGY": "threshold-loaded", "MESH_BALANCING__THRESHOLD": "0.4"}
    assert load(None, environ, {}).balancing.threshold == 0.4
    balancers_of(load(None, environ, {}), random, print)
    with pytest.raises(BadConfig, match="unknown key 'address'"):
        load(None, {"MESH_BALANCING__ADDRESS": "x"}, {})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rack = 5", "node.metadata = {'rack': 5} is invalid"),
        (f'rack = "{"x" * 600}"', "node.metadata: The metadata has 609 bytes; the limit is 512."),
        ('"" = "x"', "node.metadata: The name of an entry is empty."),
        ('inner = {a = "b"}', "node.metadata = {'inner': {'a': 'b'}} is invalid"),
    ],
)
def test_metadata_that_nobody_would_hear_are_refused(tmp_path: Path, text: str, said: str) -> None:
    assert refusal(tmp_path, f"[node.metadata]\n{text}\n").startswith(f":1: {said}")


def test_metadata_come_from_a_file_or_the_environment(tmp_path: Path) -> None:
    assert read(tmp_path, '[node.metadata]\nrack = "r7"\n').node.metadata == {"rack": "r7"}
    config = load(None, {"MESH_NODE__METADATA": "rack=r7, zone=b=c"}, {})
    assert config.node.metadata == {"rack": "r7", "zone": "b=c"}
    with pytest.raises(BadConfig, match=r"MESH_NODE__METADATA: node\.metadata = 'r7' is invalid"):
        load(None, {"MESH_NODE__METADATA": "r7"}, {})


def test_ours_are_not_watched(tmp_path: Path) -> None:
    made = balancers_of(read(tmp_path, RULES), random, print)
    assert not any(isinstance(it, WatchedStrategy) for it in (made.usual, *made.domains.values()))
