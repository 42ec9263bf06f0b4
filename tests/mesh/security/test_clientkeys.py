"""With which keys does a client dial, and is it told of keys only where they are what is wrong?"""

import pytest

from mesh.errors import KeysRefused, NodeNotFound
from mesh.security.clientkeys import client_keys
from tests.mesh.security.keyed import mesh_file, user


def test_trial_C_of_a_node_here_that_has_just_ended_it_is_said_that_it_does_not_run() -> None:
    with user(mesh_file("lab"), mesh_file("home")) as (_, environ):
        with pytest.raises(
            NodeNotFound, match=r"no node of this user runs at tcp://127\.0\.0\.1:1\."
        ) as caught:
            client_keys(environ, None, "tcp://127.0.0.1:1")
        assert "MESH_CLUSTER=NAME, one of home, lab" in caught.value.hint
        assert client_keys(environ, "lab", "tcp://127.0.0.1:1") is not None
        with pytest.raises(KeysRefused, match="for 2 meshes: home, lab"):
            client_keys(environ, None, "tcp://203.0.113.1:7710")


def test_who_has_keys_for_one_mesh_dials_anywhere_with_them() -> None:
    with user(mesh_file("lab")) as (_, environ):
        assert client_keys(environ, None, "tcp://127.0.0.1:1") is not None
        assert client_keys(environ, None, "ipc:///anywhere") is None
