"""Keyring of a node: it binds with the keys of the mesh, dials with its own, and shows no secret."""

from pathlib import Path

import pytest

from mesh.errors import BadConfig, KeysRefused, MeshError
from mesh.kernel.context.settings import Settings
from mesh.security.joining import join_site, new_mesh, token_of
from mesh.security.keyfiles import node_keys
from mesh.security.keyring import keyring
from mesh.wire.commands import Introduction
from tests.mesh.security.keyed import mesh_file, user


def test_a_node_without_keys_needs_no_ring_but_protects_nothing_with_a_password(tmp_path: Path) -> None:
    assert keyring(tmp_path, tmp_path, "prod") is None
    with pytest.raises(KeysRefused, match="protect nothing"):
        keyring(tmp_path, tmp_path, "prod", passwd="scrypt:00:00")
    assert not (tmp_path / "keys.json").exists()


def test_two_nodes_of_a_mesh_bind_with_the_same_keys_and_dial_with_their_own(tmp_path: Path) -> None:
    new_mesh(tmp_path, "prod")
    found = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir(mode=0o700)
        found.append(keyring(tmp_path, tmp_path / name, "prod"))
    a, b = found
    assert a is not None and b is not None
    assert (a.curve.server, a.curve.gossip, a.advert) == (b.curve.server, b.curve.gossip, b.advert)
    assert a.curve.mine != b.curve.mine
    assert a.ring.secrets == b.ring.secrets
    assert b.ring.verify(a.identity, a.ring.sign(b"text"), b"text")
    assert not b.ring.verify(b.identity, a.ring.sign(b"text"), b"text")
    assert "secret" not in repr(a.curve)


def test_no_secret_of_a_node_is_in_a_traceback(tmp_path: Path) -> None:
    new_mesh(tmp_path, "prod")
    (tmp_path / "a").mkdir(mode=0o700)
    stored = f"scrypt:{'73' * 16}:{'00' * 32}"
    found = keyring(tmp_path, tmp_path / "a", "prod", stored, {"b": "sesame"})
    assert found is not None
    seed, ring = node_keys(tmp_path / "a").seed, found.ring
    settings = Settings(me=Introduction(b"a" * 16, "a", 1, ""), secret=ring.secrets["node"], keyring=ring)
    shown = repr(settings) + repr(found)
    for secret in (repr(seed), repr(found.advert), stored, "sesame", *map(repr, ring.secrets.values())):
        assert secret not in shown
    assert ring.mine in shown  # the public key may be shown


def test_a_password_that_is_no_hash_stops_the_start(tmp_path: Path) -> None:
    new_mesh(tmp_path, "prod")
    with pytest.raises(BadConfig):
        keyring(tmp_path, tmp_path, "prod", passwd="sesame")


def test_a_gateway_has_what_is_given_to_its_own_site_and_nothing_of_another(tmp_path: Path) -> None:
    states = {name: tmp_path / name for name in ("LON", "NYC")}
    for state in states.values():
        state.mkdir(mode=0o700)
    files = {name: new_mesh(state, "default") for name, state in states.items()}
    rings = {}
    for name, other in (("LON", "NYC"), ("NYC", "LON")):
        join_site(states[name], other, token_of(files[other], "relay", 0, name))
        data = states[name] / "data"
        data.mkdir(mode=0o700)
        made = keyring(states[name], data, "default", sites=(other, "SFO"))
        assert made is not None
        assert made.sites.keys() == {other} and made.sites[other].server.public == files[other].server
        rings[name] = made.ring
    assert rings["LON"].sites["NYC"].secret == rings["NYC"].relays["LON"]
    assert len({*rings["NYC"].relays.values(), *rings["NYC"].secrets.values()}) == 5


def test_what_a_client_has_makes_no_keyring() -> None:
    with user(mesh_file("test", "client")) as (state, _):
        with pytest.raises(MeshError, match="only client keys"):
            keyring(state, state, "test")
