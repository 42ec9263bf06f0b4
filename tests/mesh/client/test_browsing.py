"""The search of a client for nodes by multicast DNS: what it keeps of announcements, and its switch."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from mesh.client import browsing
from mesh.client.browsing import nodes_of, search_nodes
from mesh.client.core.known_nodes import TOLD, KnownNode
from mesh.discovery.adverts import Advert, Near

KEY = b"k" * 32


def test_nodes_with_a_proof_come_first_and_only_addresses_that_can_be_dialed() -> None:
    far = Near("0" * 16, "gull", "tcp://10.0.0.9:7710")
    heron = Advert(b"h" * 16, "heron", 1, 7710, ("10.0.0.5", "fd00::5"), KEY)
    assert nodes_of([far, Near("0" * 16, "bad", "tcp://host:1"), heron]) == [
        KnownNode("heron", ("tcp://10.0.0.5:7710", "tcp://[fd00::5]:7710"), KEY),
        KnownNode("gull", ("tcp://10.0.0.9:7710",)),
    ]
    many: list[Any] = [Near("0" * 16, f"n{n}", "tcp://10.0.0.9:7710") for n in range(20)]
    assert len(nodes_of(many)) == TOLD


@pytest.mark.parametrize("value", ["false", "False", "0", "no", "off"])
def test_the_setting_of_nodes_disables_it(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browsing, "browse", None)
    said: list[Any] = []
    search_nodes("lab", {"MESH_DISCOVERY__MDNS": value}, lambda nodes, why: said.append((nodes, why)))
    assert said == [([], "")]


def test_a_failure_is_reported_with_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> list[Any]:
        raise OSError("no network")

    monkeypatch.setattr(browsing, "browse", fails)
    tmp_path.chmod(0o700)
    said, came = list[Any](), threading.Event()

    def then(nodes: list[KnownNode], why: str) -> None:
        said.append((nodes, why))
        came.set()

    search_nodes("lab", {"MESH_STATE_DIR": str(tmp_path)}, then)
    assert came.wait(10) and said == [([], "OSError: no network")]
