"""The bill of materials with all that the product consists of, and the lowest version of each requirement."""

import configparser
import re
from typing import Any

import pytest

from tests.pages import ROOT
from tools.bill import finished, flaw
from tools.bundled import Bundled, bundled, in_folders


def made() -> dict[str, Any]:
    """Return a bill as cyclonedx-py makes one of a list of packages."""
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


@pytest.mark.slow  # for its length
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


def test_the_bill_names_the_libraries_in_wheels_and_who_brings_each_along() -> None:
    found = [
        Bundled("pyzmq", "libsodium", "1.0.22", "26.4.0"),
        Bundled("click", "libsodium"),
        Bundled("other", "libx"),
    ]
    bill = finished(made(), "9.8.7", "4.3.5", found)
    assert flaw(bill) == ""
    parts = {part["bom-ref"]: part for part in bill["components"]}
    assert (
        parts["pyzmq/libsodium@26.4.0"]["version"] == "1.0.22" and "version" not in parts["click/libsodium"]
    )
    assert "other/libx" not in parts  # the package is no part of the product
    depends = {each["ref"]: each["dependsOn"] for each in bill["dependencies"]}
    assert depends["pkg:pypi/pyzmq@1.0"] == ["libzmq", "pyzmq/libsodium@26.4.0"]
    assert depends["pkg:pypi/click@1.0"] == ["click/libsodium"]


def test_libraries_are_found_by_the_folders_of_wheels() -> None:
    files = [
        "p.libs/libquadmath-96973f99-934c22de.so.0.0.0", "p.libs/libzmq-2f02442c.so.5.2.5",
        "p.libs/libscipy_openblas64_-32a4b2a6.so", "p/libx-6c8f8377.so", "p.libs/libpq-e9b5c9ac.so.5.18",
    ]  # fmt: skip
    found = in_folders("p", dict.fromkeys(files, "nowhere"))
    assert [(each.name, each.number) for each in found] == [
        ("libquadmath", "0.0.0"), ("libscipy_openblas64", ""), ("libpq", "5.18"),
    ]  # fmt: skip


@pytest.mark.slow  # for its length
def test_what_is_installed_here_brings_its_libraries_along() -> None:
    names = {(each.package, each.name) for each in bundled()}
    assert {("lxml", name) for name in ("libxml2", "libxslt", "libexslt", "libiconv", "zlib")} <= names
    assert ("pynacl", "libsodium") in names
    assert all(each.version for each in bundled() if each.name in ("libxml2", "libxslt"))
    assert all(each.version for each in bundled() if each.package == "pyzmq")
    refs = [each.component()["bom-ref"] for each in bundled()]
    assert len(refs) == len(set(refs))


def test_trial_A8_what_breaks_the_rules_of_cyclonedx_is_seen() -> None:
    bill = finished(made(), "9.8.7", "4.3.5")
    bill["components"][0]["type"] = "nonsense"
    assert flaw(bill)


def wanted() -> list[tuple[str, str]]:
    """Return each requirement of setup.cfg with its extra, or with ""."""
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
