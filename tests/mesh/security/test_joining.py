"""Creating, joining and leaving a mesh with tokens, without the loss of existing keys."""

from pathlib import Path

import pytest

from mesh.errors import KeysRefused
from mesh.security.clientkeys import site_keys
from mesh.security.joining import join, join_site, new_mesh, token_of
from mesh.security.keyfiles import clusters, mesh_path, read_mesh, read_site, site_path
from mesh.security.token import Token
from tests.mesh.security.keyed import mesh_file


def test_it_is_made_once(tmp_path: Path) -> None:
    made = new_mesh(tmp_path, "prod")
    with pytest.raises(KeysRefused, match="mesh token") as refused:
        new_mesh(tmp_path, "prod")
    assert refused.value.code == "KEYS_EXIST"
    assert read_mesh(tmp_path, "prod") == made
    assert new_mesh(tmp_path, "test").secret != made.secret


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
    with pytest.raises(KeysRefused, match="only client keys"):
        token_of(mesh_file("prod", "client"), "client", 0)


def another_site(folder: Path, cluster: str = "default", role: str = "relay") -> Token:
    """Create a mesh in `folder`, and return a token of it."""
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


@pytest.mark.parametrize("role", ["client", "monitor"])
def test_keys_of_clients_for_another_site_are_kept_beside_those_of_its_gateways(
    tmp_path: Path, role: str
) -> None:
    tmp_path.chmod(0o700)
    relay, token = another_site(tmp_path / "a"), another_site(tmp_path / "b", role=role)
    environ = {"MESH_STATE_DIR": str(tmp_path)}
    with pytest.raises(KeysRefused, match="mesh join --site NYC"):
        site_keys(environ, "NYC")
    join_site(tmp_path, "NYC", relay)
    path, is_new = join_site(tmp_path, "NYC", token)
    assert (path, is_new) == (site_path(tmp_path, "NYC", is_client=True), True)
    assert join_site(tmp_path, "NYC", token) == (path, False)
    kept, found = read_site(tmp_path, "NYC"), site_keys(environ, "NYC")
    assert kept is not None and kept.secret == relay.secret
    assert (found.secret, found.curve.server.public) == (token.secret, token.server)
    assert path.parent.stat().st_mode & 0o777 == 0o700 and clusters(tmp_path) == []


def test_a_site_is_joined_once_and_another_of_its_name_only_when_that_is_said(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    token, other = another_site(tmp_path / "a"), another_site(tmp_path / "b")
    join_site(tmp_path, "NYC", token)
    kept = read_site(tmp_path, "NYC")
    assert join_site(tmp_path, "NYC", token) == (site_path(tmp_path, "NYC"), False)
    assert read_site(tmp_path, "NYC") == kept
    with pytest.raises(
        KeysRefused, match=r"another token, or for .* mesh join --site NYC --replace"
    ) as refused:
        join_site(tmp_path, "NYC", other)
    assert refused.value.code == "KEYS_EXIST"
    assert read_site(tmp_path, "NYC") == kept
    before = site_path(tmp_path, "NYC").read_bytes()
    assert join_site(tmp_path, "NYC", other, replace=True)[1]
    found = read_site(tmp_path, "NYC")
    assert found is not None
    assert found.secret == other.secret
    assert site_path(tmp_path, "NYC").with_name("NYC.json.left").read_bytes() == before


@pytest.mark.parametrize("role", ["node", "admin"])
def test_only_the_token_of_a_gateway_lets_gateways_in(tmp_path: Path, role: str) -> None:
    tmp_path.chmod(0o700)
    with pytest.raises(KeysRefused, match="mesh token --role relay"):
        join_site(tmp_path, "NYC", another_site(tmp_path / "nyc", role=role))
    assert not (tmp_path / "keys").exists()


def test_the_token_of_a_gateway_makes_nobody_else(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    with pytest.raises(KeysRefused, match="mesh join --site NAME"):
        join(tmp_path, another_site(tmp_path / "nyc"), "")
    assert clusters(tmp_path) == []


def test_a_site_is_not_joined_with_the_token_of_the_own_mesh(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    with pytest.raises(KeysRefused, match="of which this user has keys"):
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
