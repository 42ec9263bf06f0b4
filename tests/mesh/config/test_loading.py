"""Loading of a configuration: sources, defaults, and errors with their places."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mesh.config import Config, load, sections, settings
from mesh.config.source import Setting
from mesh.errors import BadConfig


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "mesh.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


NOTHING: Mapping[str, Any] = {}


def refusal(
    path: Path | None = None, environ: Mapping[str, str] = NOTHING, overrides: Mapping[str, object] = NOTHING
) -> str:
    with pytest.raises(BadConfig) as caught:
        load(path, environ, overrides)
    assert caught.value.code == "BAD_CONFIG"
    return str(caught.value)


def test_without_any_source_the_defaults_hold() -> None:
    assert load(None, {}, {}) == Config()


def test_every_default_would_be_accepted_if_it_were_written() -> None:
    overrides = {name: field.default for name, field in sections.FIELDS.items()}
    assert load(None, {}, overrides) == Config()


def test_later_sources_win(tmp_path: Path) -> None:
    path = written(tmp_path, "[timing]\nping = 1\nsilence = 5\nbackoff_min = 0.5\n")
    environ = {"MESH_TIMING__SILENCE": "6", "MESH_TIMING__BACKOFF_MIN": "0.6"}
    timing = load(path, environ, {"timing.backoff_min": 0.7}).timing
    assert (timing.ping, timing.silence, timing.backoff_min, timing.backoff_max) == (1.0, 6.0, 0.7, 30.0)


def test_each_value_knows_where_it_was_set(tmp_path: Path) -> None:
    path = written(tmp_path, '# who\n[node]\nid = "heron"\n\n[limits]\nlinger = 5\n')
    found = settings(path, {"MESH_NODE__PEERS": "a:1, b:2"}, {"limits.linger": 7.0, "node.data": None})
    assert [setting.name for setting in found] == list(sections.FIELDS)
    assert {
        Setting("node.id", "heron", f"{path}:3"),
        Setting("node.peers", ("a:1", "b:2"), "environment MESH_NODE__PEERS"),
        Setting("limits.linger", 7.0, "command line"),
        Setting("node.data", None, "default"),
    } <= set(found)


@pytest.mark.parametrize(
    ("text", "line", "unknown", "meant"),
    [
        ("[limits]\n\nmax_contnt = 5\n", 3, "unknown key 'max_contnt' in section [limits]", "'max_content'"),
        ("[limits]\nmax-content = 5\n", 2, "unknown key 'max-content' in section [limits]", "'max_content'"),
        ("\n[limit]\nlinger = 5\n", 2, "unknown section 'limit'", "'limits'"),
        ("# first\nmax_content = 5\n", 2, "unknown key 'max_content'", "'limits.max_content'"),
        ("default_scop = 'mesh'\n", 1, "unknown key 'default_scop'", "'default_scope'"),
        ("[node]\n[limits]\nlinger = 5\n'lingr' = 5\n", 4, "unknown key 'lingr' in section", "'linger'"),
        ("link = 'any'\n", 1, "unknown key 'link'", "'links'"),
        ("[limits]\n'max.content' = 1", 2, "unknown key 'max.content' in section [limits]", "'max_content'"),
        ("\nnode = { bnd = [] }\n", 2, "unknown key 'bnd' in section [node]", "'bind'"),
        ("[discovery]\nmnds = true", 2, "unknown key 'mnds' in section [discovery]", "'mdns'"),
        ("[discover]\nmdns = true", 1, "unknown section 'discover'", "'discovery'"),
        ("[balancing]\nstratgy = 'x'", 2, "unknown key 'stratgy' in section [balancing]", "'strategy'"),
        ("\r\n\r\n[timing]\r\npng = 1\r\n", 4, "unknown key 'png' in section [timing]", "'ping'"),
    ],
)
def test_an_unknown_key_is_named_with_its_line_and_the_likely_word(
    tmp_path: Path, text: str, line: int, unknown: str, meant: str
) -> None:
    path = written(tmp_path, text)
    message = refusal(path)
    assert message.startswith(f"{path}:{line}: {unknown}")
    assert f"Did you mean {meant}?" in message


def test_an_unknown_key_like_no_other_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    assert (
        "Known there: id, bind, advertise, peers, store, data, cluster, passwd, allow_network_disk, probe, "
        "nameservice, adopt_parents, max_connections, address_max_connections, metadata."
        in refusal(written(tmp_path, "[node]\nzzz = 1"))
    )
    sections = "node, limits, timing, discovery, balancing, snapshots, log, http, site"
    assert f"Known: default_scope, links, {sections}, nodes, queues, sites." in refusal(
        written(tmp_path, "zzz = 1")
    )


def test_a_default_is_offered_in_place_of_a_value_that_does_not_fit(tmp_path: Path) -> None:
    assert "Omit the setting to use the default, 2.0." in refusal(written(tmp_path, "[timing]\nping = 0"))


def test_the_environment_is_read_by_the_type_of_the_setting() -> None:
    environ = {
        "MESH_NODE__ID": "5",
        "MESH_NODE__BIND": "tcp://127.0.0.1:1,tcp://127.0.0.1:2",
        "MESH_NODE__PEERS": "",
        "MESH_LIMITS__MAX_CONTENT": "1000",
        "MESH_LIMITS__TAILBACK_TTL": "2592000",
        "MESH_DEFAULT_SCOPE": "local",
        "MESH_LINKS": "any",
        "MESH_DISCOVERY__MDNS": "false",
        "MESH_DISCOVERY__INTERFACES": "eth*, !wlan0",
        "MESH_TIMING__STATE": "0.5",
        "MESH_BALANCING__STRATEGY": "LeastLoaded",
    }
    found = load(None, environ, {})
    assert (found.default_scope, found.links, found.limits.tailback_ttl) == ("local", "any", 30 * 86_400)
    assert found.node == sections.NodeSettings(id="5", bind=("tcp://127.0.0.1:1", "tcp://127.0.0.1:2"))
    assert found.limits.max_content == 1000
    assert found.discovery == sections.Discovery(mdns=False, interfaces=("eth*", "!wlan0"))
    assert (found.timing.state, found.balancing.strategy) == (0.5, "LeastLoaded")


def test_variables_that_are_not_settings_are_left_alone() -> None:
    environ = {"MESH_URL": "tcp://127.0.0.1:1", "MESHED__ID": "x", "PATH": "/bin", "NODE__ID": "x"}
    assert load(None, environ, {}) == Config()


@pytest.mark.parametrize(
    ("variable", "text", "why"),
    [
        ("MESH_LIMITS__MAX_CONTNT", "5", "Did you mean 'MESH_LIMITS__MAX_CONTENT'?"),
        ("MESH_LIMITS__MAX_CONTENT", "many", "limits.max_content = 'many' is invalid"),
        ("MESH_TIMING__PING", "-1", "timing.ping = '-1' is invalid: it must be a number of more than 0"),
        ("MESH_DEFAULT_SCOPE", "everywhere", "default_scope = 'everywhere' is invalid"),
        ("MESH_LINKS", "configured", "no node would be linked"),
        ("MESH_DISCOVERY__MDNS", "perhaps", "mdns = 'perhaps' is invalid: it must be true or false"),
        ("MESH_TIMINGS__PING", "1", "'timings' is not a section. Did you mean 'MESH_TIMING__PING'?"),
        ("MESH_NODES__HERON__ADDRESS", "127.0.0.1:7710", "set only in a file. Write [nodes.NAME]"),
    ],
)
def test_a_wrong_variable_is_named(variable: str, text: str, why: str) -> None:
    message = refusal(environ={variable: text})
    assert message.startswith(f"environment {variable}: ")
    assert why in message


@pytest.mark.parametrize(
    ("overrides", "why"),
    [
        ({"node.idd": "heron"}, "unknown key 'idd' in section [node]. Did you mean 'id'?"),
        ({"node.links": "configured"}, "[node]. 'links' belongs at the top of the file, above all sections."),
        ({"limits.max_content": "5"}, "it must be a whole number, not a text"),
        ({"node": {}}, "'node' must be a section"),
        ({"nodes.heron.address": "127.0.0.1:7710"}, "set only in a file"),
    ],
)
def test_a_wrong_word_on_the_command_line_is_named(overrides: dict[str, object], why: str) -> None:
    message = refusal(overrides=overrides)
    assert message.startswith("command line: ")
    assert why in message


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "[timing]\nsilence = 2",
            "timing.silence = 2.0 ({path}:2) must be longer than timing.ping = 2.0 (default)",
        ),
        ("[timing]\nbackoff_min = 40", "must be longer than timing.backoff_min = 40.0 ({path}:2)"),
    ],
)
def test_times_that_contradict_each_other_are_both_named(tmp_path: Path, text: str, why: str) -> None:
    path = written(tmp_path, text)
    assert why.format(path=path) in refusal(path)


def test_reading_a_configuration_loads_no_socket_and_no_terminal_library() -> None:
    names = "{'zmq', 'zeroconf', 'rich', 'click', 'asyncio'}"
    code = f"import sys, mesh.config; print(sorted({names} & sys.modules.keys()))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_a_password_that_is_no_hash_is_refused_where_it_stands_and_not_repeated(tmp_path: Path) -> None:
    path = tmp_path / "mesh.toml"
    path.write_text('[node]\nid = "heron"\npasswd = "sesame"\n')
    by_environment = {"MESH_NODE__PASSWD": "sesame"}
    for file, environ, origin in ((path, NOTHING, f"{path}:3"), (None, by_environment, "environment")):
        with pytest.raises(BadConfig, match=r"node\.passwd: The value is not the hash") as refused:
            load(file, environ, {})
        assert refused.value.what.startswith(origin)
        assert "mesh passwd" in refused.value.hint
        assert "sesame" not in str(refused.value)


def test_no_password_is_shown_when_settings_are_printed(tmp_path: Path) -> None:
    path, stored = tmp_path / "mesh.toml", f"scrypt:{'73' * 16}:{'00' * 32}"
    path.write_text(f'[node]\npasswd = "{stored}"\n[nodes.stork]\npasswd = "opensesame"\n')
    config = load(path, {}, {})
    assert (config.node.passwd, config.nodes[0].passwd) == (stored, "opensesame")
    assert "stork" in repr(config)
    assert "scrypt" not in repr(config) and "opensesame" not in repr(config)
