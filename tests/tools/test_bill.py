"""Does the bill of materials name all that we consist of, and has everything a lowest version?"""

import configparser
import re
from typing import Any

import pytest

from tests.pages import ROOT
from tools.bill import finished, flaw


def made() -> dict[str, Any]:
    """As cyclonedx-py makes one of a list of packages."""
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"properties": [{"name": "cdx:reproducible", "value": "true"}]},
        "components": [
            {
                "type": "library",
                "bom-ref": f"requirements-L{n}",
                "name": name,
                "version": "1.0",
                "purl": f"pkg:pypi/{name}@1.0",
                "description": f"line {n}",
            }
            for n, name in enumerate(("pyzmq", "click"))
        ],
        "dependencies": [{"ref": "requirements-L0"}, {"ref": "requirements-L1"}],
    }


def test_trial_A8_the_bill_is_of_us_and_names_every_package_and_libzmq() -> None:
    bill = finished(made(), "9.8.7", "4.3.5")
    assert flaw(bill) == ""
    us = bill["metadata"]["component"]
    assert (us["name"], us["version"]) == ("heronry", "9.8.7")
    parts = {part["name"]: part for part in bill["components"]}
    assert parts.keys() == {"pyzmq", "click", "libzmq", "plotly.js-cartesian-dist-min"}
    assert parts["libzmq"]["version"] == "4.3.5"
    refs = {part["bom-ref"] for part in parts.values()}
    depends = {each["ref"]: set(each["dependsOn"]) for each in bill["dependencies"]}
    assert depends == {"heronry": refs - {"libzmq"}, parts["pyzmq"]["bom-ref"]: {"libzmq"}}
    assert "line 1" not in str(bill)


def test_trial_A8_what_breaks_the_rules_of_cyclonedx_is_seen() -> None:
    bill = finished(made(), "9.8.7", "4.3.5")
    bill["components"][0]["type"] = "nonsense"
    assert flaw(bill)


def wanted() -> list[tuple[str, str]]:
    """(extra or "", requirement) of all that setup.cfg names."""
    file = configparser.ConfigParser()
    file.read(ROOT / "setup.cfg")
    texts = {"": file["options"]["install_requires"], **file["options.extras_require"]}
    return [(extra, line) for extra, text in texts.items() for line in text.split("\n") if line]


@pytest.mark.parametrize(("extra", "line"), wanted())
def test_trial_A8_everything_has_a_lowest_version(extra: str, line: str) -> None:
    assert re.fullmatch(r"[a-z0-9-]+(\[[a-z]+\])?>=\d+(\.\d+)*(,<\d+)?", line), line


def test_trial_A8_one_package_has_one_lowest_version() -> None:
    lowest: dict[str, set[str]] = {}
    for _, line in wanted():
        name, _, version = line.partition(">=")
        lowest.setdefault(name, set()).add(version)
    assert {name: versions for name, versions in lowest.items() if len(versions) > 1} == {}
    assert len(lowest) > 20
