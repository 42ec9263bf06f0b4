"""Are keys where only their user can read them, and noticed when they are not?"""

from pathlib import Path

import msgspec
import pytest

from mesh.core.desk.settings import Settings
from mesh.errors import BadConfig, BadName, DataDirRefused, KeysRefused
from mesh.local.localnodes import NodeFile
from mesh.password import hashed
from mesh.security.clientkeys import client_keys
from mesh.security.joining import join, join_site, new_mesh, token_of
from mesh.security.keyfiles import clusters, mesh_path, node_keys, read_mesh, read_site, site_path, write_mesh
from mesh.security.keyring import keyring
from mesh.security.token import Token
from mesh.wire.commands import Introduction
from tests.mesh.running import environment
from tests.mesh.security.keyed import mesh_file, user


def test_a_new_mesh_is_kept_in_a_file_of_this_user_alone(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    made = new_mesh(tmp_path, "prod")
    path = mesh_path(tmp_path, "prod")
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert read_mesh(tmp_path, "prod") == made
    assert clusters(tmp_path) == ["prod"]
    assert read_mesh(tmp_path, "other") is None


def test_it_is_made_once(tmp_path: Path) -> None:
    made = new_mesh(tmp_path, "prod")
    with pytest.raises(KeysRefused, match="mesh token") as refused:
        new_mesh(tmp_path, "prod")
    assert refused.value.code == "KEYS_EXIST"
    assert read_mesh(tmp_path, "prod") == made
    assert new_mesh(tmp_path, "test").secret != made.secret


def test_keys_that_others_may_read_are_refused_with_what_to_type(tmp_path: Path) -> None:
    new_mesh(tmp_path, "prod")
    path = mesh_path(tmp_path, "prod")
    path.chmod(0o640)
    with pytest.raises(DataDirRefused, match=f"chmod 600 {path}"):
        read_mesh(tmp_path, "prod")


@pytest.mark.parametrize("content", [b"", b"{}", b'{"cluster": "prod"}', b"\xff" * 100, b"[1]"])
def test_damaged_keys_are_refused_and_stay(tmp_path: Path, content: bytes) -> None:
    for read, path in (
        (lambda: read_mesh(tmp_path, "prod"), mesh_path(tmp_path, "prod")),
        (lambda: node_keys(tmp_path), tmp_path / "keys.json"),
    ):
        path.parent.mkdir(mode=0o700, exist_ok=True)
        path.write_bytes(content)
        path.chmod(0o600)
        with pytest.raises(KeysRefused, match="damaged"):
            read()
        assert path.read_bytes() == content


def test_trial_A7_keys_damaged_at_any_byte_are_refused_as_keys(tmp_path: Path) -> None:
    """Or still fit: a flaw in the secret itself shows at the door. Nothing but KEYS is ever raised."""
    new_mesh(tmp_path, "prod")
    node_keys(tmp_path)
    for read, path in (
        (lambda: read_mesh(tmp_path, "prod"), mesh_path(tmp_path, "prod")),
        (lambda: node_keys(tmp_path), tmp_path / "keys.json"),
    ):
        sound = path.read_bytes()
        for at in range(len(sound)):
            for letter in (0xFF, 0x00, 0x5C, sound[at] ^ 1):
                path.write_bytes(sound[:at] + bytes([letter]) + sound[at + 1 :])
                try:
                    read()
                except KeysRefused as refused:
                    assert refused.code == "KEYS"
        path.write_bytes(sound)
        read()


@pytest.mark.parametrize(
    "content",
    [b'{"cluster": "\xff"}', b'{"cluster": "\xed\xa0\x80"}', b"[" * 4000],
    ids=["utf", "half", "deep"],
)
def test_trial_A7_what_is_no_text_is_damaged_too(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "keys.json"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(KeysRefused, match="damaged"):
        node_keys(tmp_path)


@pytest.mark.parametrize("field", ["server", "public", "private"])
def test_trial_A7_a_key_that_is_none_is_damage_before_anybody_dials_with_it(
    tmp_path: Path, field: str
) -> None:
    made = new_mesh(tmp_path, "prod")
    another = new_mesh(tmp_path, "another")
    for wrong in ("~" * 40, "#" * 40, "é" * 40, getattr(another, field)):
        write_mesh(tmp_path, msgspec.structs.replace(made, **{field: wrong}))
        with pytest.raises(KeysRefused, match="damaged"):
            read_mesh(tmp_path, "prod")
    write_mesh(tmp_path, made)
    assert read_mesh(tmp_path, "prod") == made


def test_keys_of_another_mesh_in_the_place_of_these_are_refused(tmp_path: Path) -> None:
    new_mesh(tmp_path, "prod")
    mesh_path(tmp_path, "prod").rename(mesh_path(tmp_path, "test"))
    with pytest.raises(KeysRefused, match="damaged"):
        read_mesh(tmp_path, "test")


@pytest.mark.parametrize("name", ["..", ".", "a/b", "", "../x"])
def test_a_name_that_would_lead_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadName):
        mesh_path(tmp_path, name)


def test_a_nodes_own_keys_are_made_once_and_for_it_alone(tmp_path: Path) -> None:
    made = node_keys(tmp_path)
    assert (tmp_path / "keys.json").stat().st_mode & 0o777 == 0o600
    assert node_keys(tmp_path) == made
    assert len({made.curve, made.seed}) == 2
    assert made.seed.hex() not in repr(made)


def test_who_joins_has_the_keys_of_the_mesh_and_one_of_his_own(tmp_path: Path) -> None:
    made = new_mesh(tmp_path / "a", "prod")
    for role in ("node", "client", "monitor"):
        state = tmp_path / role
        joined, is_new, _ = join(state, token_of(made, role, 0), "sesame")
        assert (is_new, joined.role, joined.server, joined.passwd) == (True, role, made.server, "sesame")
        assert joined.public != made.public
        assert (joined.secret == made.secret) == (role == "node")
        assert read_mesh(state, "prod") == joined


def test_joining_again_changes_nothing_but_what_is_better(tmp_path: Path) -> None:
    made = new_mesh(tmp_path / "a", "prod")
    state = tmp_path / "b"
    first, *_ = join(state, token_of(made, "client", 0), "")
    assert join(state, token_of(made, "client", 5), "") == (first, False, None)
    better, is_new, _ = join(state, token_of(made, "node", 0), "")
    assert (is_new, better.role, better.private) == (True, "node", first.private)
    assert join(state, token_of(made, "monitor", 0), "") == (better, False, None)
    assert join(state, token_of(made, "node", 0), "new")[0].passwd == "new"


def test_the_keys_of_another_mesh_of_that_name_are_not_lost(tmp_path: Path) -> None:
    made = new_mesh(tmp_path, "prod")
    with pytest.raises(KeysRefused, match="mesh join --replace") as refused:
        join(tmp_path, Token("prod", "node", b"x" * 32), "")
    assert refused.value.code == "KEYS_EXIST"
    assert read_mesh(tmp_path, "prod") == made


def test_a_client_lets_nobody_else_in() -> None:
    with pytest.raises(KeysRefused, match="of a client"):
        token_of(mesh_file("prod", "client"), "client", 0)


# --- which keys for what --------------------------------------------------------------------------


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
    stored = hashed("sesame", b"s" * 16)
    found = keyring(tmp_path, tmp_path / "a", "prod", stored, {"b": "sesame"})
    assert found is not None
    seed, ring = node_keys(tmp_path / "a").seed, found.ring
    settings = Settings(me=Introduction(b"a" * 16, "a", 1, ""), secret=ring.secrets["node"], keyring=ring)
    shown = repr(settings) + repr(found)
    for secret in (repr(seed), repr(found.advert), stored, "sesame", *map(repr, ring.secrets.values())):
        assert secret not in shown
    assert ring.mine in shown  # what everybody may know


def test_a_password_that_is_no_hash_stops_the_start(tmp_path: Path) -> None:
    new_mesh(tmp_path, "prod")
    with pytest.raises(BadConfig):
        keyring(tmp_path, tmp_path, "prod", passwd="sesame")


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


@pytest.mark.parametrize("keyed", [False, True])
def test_a_node_of_this_machine_says_itself_whether_it_has_keys(
    keyed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with user(mesh_file("prod"), mesh_file("test", secret=b"t" * 32)) as (state, environ):
        file = NodeFile(
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
        monkeypatch.setattr("mesh.local.localnodes._runs", lambda told, path: True)
        file.write(state)
        found = client_keys(environ, None, "tcp://127.0.0.1:7710")
        assert (found is not None) == keyed
        with pytest.raises(KeysRefused):  # at another address it is not that node
            client_keys(environ, None, "tcp://192.0.2.1:7710")


def test_the_environment_of_tests_holds_no_keys(tmp_path: Path) -> None:
    assert "MESH_CLUSTER" not in environment(tmp_path)


def another_site(folder: Path, cluster: str = "default", role: str = "relay") -> Token:
    """A token of the mesh in that directory, which is made."""
    folder.mkdir(mode=0o700)
    return token_of(new_mesh(folder, cluster), role, 0, "LON")


def test_the_keys_of_another_site_are_kept_apart_from_those_of_a_mesh_of_the_same_name(
    tmp_path: Path,
) -> None:
    tmp_path.chmod(0o700)
    mine, token = new_mesh(tmp_path, "default"), another_site(tmp_path / "nyc")
    path, is_new = join_site(tmp_path, "NYC", token)
    assert (path, is_new) == (site_path(tmp_path, "NYC"), True)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    found = read_site(tmp_path, "NYC")
    assert found is not None
    assert (found.cluster, found.role, found.secret, found.server) == (
        "default", "relay", token.secret, token.server,
    )  # fmt: skip
    assert found.public != mine.public
    assert (read_mesh(tmp_path, "default"), clusters(tmp_path)) == (mine, ["default"])
    assert read_site(tmp_path, "SFO") is None


def test_a_site_is_joined_once_and_another_of_its_name_only_when_that_is_said(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    token, other = another_site(tmp_path / "a"), another_site(tmp_path / "b")
    join_site(tmp_path, "NYC", token)
    kept = read_site(tmp_path, "NYC")
    assert join_site(tmp_path, "NYC", token) == (site_path(tmp_path, "NYC"), False)
    assert read_site(tmp_path, "NYC") == kept
    with pytest.raises(
        KeysRefused, match=r"another token, or of .* mesh join --site NYC --replace"
    ) as refused:
        join_site(tmp_path, "NYC", other)
    assert refused.value.code == "KEYS_EXIST"
    assert read_site(tmp_path, "NYC") == kept
    assert join_site(tmp_path, "NYC", other, replace=True)[1]
    found = read_site(tmp_path, "NYC")
    assert found is not None
    assert found.secret == other.secret


@pytest.mark.parametrize("role", ["node", "client", "monitor"])
def test_only_the_token_of_a_gateway_lets_gateways_in(tmp_path: Path, role: str) -> None:
    tmp_path.chmod(0o700)
    with pytest.raises(KeysRefused, match="mesh token --role relay"):
        join_site(tmp_path, "NYC", another_site(tmp_path / "nyc", role=role))
    assert not (tmp_path / "keys").exists()


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


def test_the_token_of_a_gateway_makes_nobody_else(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    with pytest.raises(KeysRefused, match="mesh join --site NAME"):
        join(tmp_path, another_site(tmp_path / "nyc"), "")
    assert clusters(tmp_path) == []


def test_a_site_is_not_joined_with_the_token_of_the_own_mesh(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    with pytest.raises(KeysRefused, match="one of your own mesh"):
        join_site(tmp_path, "NYC", token_of(new_mesh(tmp_path, "default"), "relay", 0, "LON"))


def test_the_keys_of_a_site_in_the_place_of_those_of_a_mesh_are_damaged_and_the_other_way_round(
    tmp_path: Path,
) -> None:
    tmp_path.chmod(0o700)
    join_site(tmp_path, "NYC", another_site(tmp_path / "nyc"))
    site_path(tmp_path, "NYC").rename(mesh_path(tmp_path, "default"))
    with pytest.raises(KeysRefused, match="is damaged"):
        read_mesh(tmp_path, "default")
    mesh_path(tmp_path, "default").unlink()
    new_mesh(tmp_path, "default")
    mesh_path(tmp_path, "default").rename(site_path(tmp_path, "NYC"))
    with pytest.raises(KeysRefused, match="mesh join --site NYC"):
        read_site(tmp_path, "NYC")


@pytest.mark.parametrize("site", ["", ".", "..", "a/b", "../x", "a b"])
def test_no_site_is_kept_outside_its_directory(tmp_path: Path, site: str) -> None:
    with pytest.raises(BadName):
        site_path(tmp_path, site)
