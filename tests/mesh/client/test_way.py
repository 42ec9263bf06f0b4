"""Where a client looks for a node that has yet to start."""

import pytest

from mesh.client.way import NodeAddress, may_be_node
from mesh.errors import KeysRefused, NodeNotFound
from tests.mesh.security.keyed import user


def test_a_name_that_may_become_a_node_here_is_not_refused_for_the_lack_of_keys() -> None:
    with user() as (_, environ):
        for name in ("nas.example.com", "nas:2"):
            with pytest.raises(
                NodeNotFound,
                match=r"and nas\S+ cannot be dialed as a host: this user has no keys for mesh 'lab'",
            ):
                NodeAddress(name, "lab", environ).find_access("")
            with pytest.raises(NodeNotFound):
                NodeAddress(None, "lab", {**environ, "MESH_URL": name}).find_access("")
        with pytest.raises(KeysRefused):
            NodeAddress("tcp://nas.example.com", "lab", environ).find_access("")
        assert (
            NodeAddress("nas.example.com", None, environ).find_access("").address
            == "tcp://nas.example.com:7710"
        )


def test_addresses_are_told_from_names() -> None:
    for given, is_name in (
        ("a", True),
        ("a.b", True),
        ("tcp://a", False),
        ("ipc:///a", False),
        ("[::1]:1", False),
    ):
        assert may_be_node(given) == is_name, given
    assert not may_be_node("")
