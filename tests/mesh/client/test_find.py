"""Where a client looks for its node."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mesh.client import find
from mesh.client.find import find_node
from mesh.errors import NodeNotFound


@pytest.fixture
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """The environment of a user with one node, whose name is a host name."""
    node = {"name": "nas.example.com", "ipc": "ipc:///here", "tcp": "tcp://127.0.0.1:1"}
    monkeypatch.setattr(find, "running_nodes", lambda _: [node])
    yield {"MESH_STATE_DIR": str(tmp_path)}


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("10.99.0.1", "tcp://10.99.0.1:7710"),
        ("tcp://10.99.0.1", "tcp://10.99.0.1:7710"),
        ("10.99.0.1:7711", "tcp://10.99.0.1:7711"),
        ("tcp://nas", "tcp://nas:7710"),
        ("other.example.com", "tcp://other.example.com:7710"),
        ("::1", "tcp://[::1]:7710"),
        ("nas.example.com", "ipc:///here"),
        ("ipc:///there", "ipc:///there"),
        (None, "ipc:///here"),
    ],
)
def test_a_host_needs_no_port_and_a_node_here_is_found_by_its_name(
    environ: dict[str, str], given: str | None, address: str
) -> None:
    assert find_node(given, environ) == address


def test_a_word_is_the_name_of_a_node_and_it_is_said_how_a_host_is_written(environ: dict[str, str]) -> None:
    with pytest.raises(NodeNotFound) as missing:
        find_node("nas", environ)
    assert "--url tcp://nas" in missing.value.hint


def test_who_dialled_a_host_dials_it_again_also_where_its_node_has_that_name(environ: dict[str, str]) -> None:
    assert find_node("a.example", environ, home="a.example") == "tcp://a.example:7710"


def test_without_an_address_a_client_waits_for_its_own_node(environ: dict[str, str]) -> None:
    with pytest.raises(NodeNotFound):
        find_node(None, environ, home="a.example")
