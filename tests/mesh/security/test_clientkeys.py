"""The keys with which a client dials, and the errors that mention keys."""

from pathlib import Path

import pytest

from mesh.errors import KeysRefused, NodeNotFound
from mesh.local.localnodes import NodeFile
from mesh.security.clientkeys import client_keys
from tests.mesh.security.keyed import mesh_file, user


def test_trial_C_of_a_node_here_that_has_just_ended_it_is_said_that_it_does_not_run() -> None:
    with user(mesh_file("lab"), mesh_file("home")) as (_, environ):
        with pytest.raises(
            NodeNotFound, match=r"No node of this user runs at tcp://127\.0\.0\.1:1\."
        ) as caught:
            client_keys(environ, None, "tcp://127.0.0.1:1")
        assert "set MESH_CLUSTER to one of home, lab" in caught.value.hint
        assert client_keys(environ, "lab", "tcp://127.0.0.1:1") is not None
        with pytest.raises(KeysRefused, match="for 2 meshes: home, lab"):
            client_keys(environ, None, "tcp://203.0.113.1:7710")


def test_who_has_keys_for_one_mesh_dials_anywhere_with_them() -> None:
    with user(mesh_file("lab")) as (_, environ):
        assert client_keys(environ, None, "tcp://127.0.0.1:1") is not None
        assert client_keys(environ, None, "ipc:///anywhere") is None


def test_a_client_takes_the_keys_of_the_mesh_that_is_named_or_the_only_one() -> None:
    prod, other = mesh_file("prod", "client"), mesh_file("test", "client", secret=b"t" * 32)
    there = "tcp://192.0.2.1:7710"
    with user(prod) as (_, environ):
        assert client_keys(environ, None, "ipc:///x") is None
        found = client_keys(environ, None, there)
        assert found is not None
        assert (found.curve.server.public, found.secret) == (prod.server, prod.secret)
        assert found.curve.server.secret == ""
        with pytest.raises(KeysRefused, match="mesh join"):
            client_keys(environ, "none", there)
    with user(prod, other) as (_, environ):
        with pytest.raises(KeysRefused, match="prod, test"):
            client_keys(environ, None, there)
        for chosen in (
            client_keys(environ, "test", there),
            client_keys({**environ, "MESH_CLUSTER": "test"}, None, there),
        ):
            assert chosen is not None
            assert chosen.secret == other.secret
    with user() as (_, environ):
        assert client_keys(environ, None, there) is None


def node_file(state: Path, keyed: bool) -> NodeFile:
    return NodeFile(
        name="a",
        uuid="00" * 16,
        boot=1,
        pid=1,
        ipc=None,
        tcp="tcp://0.0.0.0:7710",
        data=str(state),
        cluster="test",
        keyed=keyed,
    )


def test_of_a_mesh_without_keys_none_are_wanted_and_its_node_may_have_yet_to_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here, there = "tcp://127.0.0.1:7710", "tcp://192.0.2.1:7710"
    with user() as (state, environ):
        environ = {**environ, "MESH_CLUSTER": "test"}
        with pytest.raises(NodeNotFound, match="No node of this user runs at"):
            client_keys(environ, None, here)
        with pytest.raises(KeysRefused):
            client_keys(environ, None, there)
        monkeypatch.setattr("mesh.local.localnodes._runs", lambda told, path: True)
        node_file(state, False).write(state)
        assert client_keys(environ, None, here) is None
        for cluster, address in (("other", here), (None, there)):
            with pytest.raises(KeysRefused):
                client_keys(environ, cluster, address)
        node_file(state, True).write(state)
        with pytest.raises(KeysRefused):
            client_keys(environ, None, here)


@pytest.mark.parametrize("keyed", [False, True])
def test_a_node_of_this_machine_says_itself_whether_it_has_keys(
    keyed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with user(mesh_file("prod"), mesh_file("test", secret=b"t" * 32)) as (state, environ):
        file = node_file(state, keyed)
        monkeypatch.setattr("mesh.local.localnodes._runs", lambda told, path: True)
        file.write(state)
        found = client_keys(environ, None, "tcp://127.0.0.1:7710")
        assert (found is not None) == keyed
        with pytest.raises(KeysRefused):  # another address is another node
            client_keys(environ, None, "tcp://192.0.2.1:7710")
