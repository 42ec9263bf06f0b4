"""Sources of settings: TOML files with the line of each value, and errors with their places."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.config import Config, load
from mesh.errors import BadConfig
from tests.mesh.config.tomls import KEYS, VALUES


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


@pytest.mark.parametrize(
    "text",
    [
        '[limits]\nmax_content = 5\n[node]\npeers = ["a", "b"]\n',
        'node.peers = ["a", "b"]\nlimits.max_content = 5\n',
        'node = { peers = ["a", "b"] }\n[ "limits" ] # all of it\n"max_content" = 5\n',
        '\ufeff[limits]\r\nmax_content = 5\r\n[node]\r\npeers = [\r\n  "a",\r\n  "b",\r\n]\r\n',
    ],
    ids=["sections", "dotted", "inline", "BOM and CRLF"],
)
def test_every_spelling_of_toml_means_the_same(tmp_path: Path, text: str) -> None:
    found = load(written(tmp_path, text), {}, {})
    assert (found.limits.max_content, found.node.peers) == (5, ("a", "b"))


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        (
            "[limits]\nmax_content = '1 MiB'",
            2,
            "limits.max_content = '1 MiB' is invalid: it must be a whole number",
        ),
        (
            "[limits]\n\nmax_content = 0",
            3,
            "limits.max_content = 0 is invalid: it must be a whole number of at least 1",
        ),
        ("[limits]\nmax_content = 67108865", 2, "must be a whole number of at most 67108864"),
        ("[limits]\nwindow_count = true", 2, "must be a whole number, not true or false"),
        ("[limits]\nwindow_count = 0x" + "f" * 5000, 2, "a huge number"),
        ("[timing]\nping = nan", 2, "timing.ping = nan is invalid"),
        ("[timing]\nsilence = inf", 2, "timing.silence = inf is invalid"),
        ("[node]\nid = 2026-01-01", 2, "node.id = datetime.date(2026, 1, 1) is invalid"),
        ("[node]\nbind = 'tcp://127.0.0.1:1'", 2, "must be a list, not a text"),
        ("[node]\npeers = ['a', 7]", 2, "entry [1] must be a text, not a whole number"),
        ("[node]\nid = 'a heron'", 2, "node.id: 'a heron' is not a name. A name has 1 to 64"),
        ("[node]\ncluster = ''", 2, "node.cluster: '' is not a name"),
        ("default_scope = 'global'", 1, "default_scope = 'global' is invalid"),
        ("\nlinks = 'some'", 2, "links = 'some' is invalid"),
        ("[limits]\ntailback_ttl = 2_592_001", 2, "must be a number of at most 2592000.0"),
        ("[limits]\nlinger = 86_401", 2, "must be a number of at most 86400.0"),
        ("limits = 5", 1, "'limits' must be a section. Write [limits]"),
        ("[[node]]\nid = 'a'", 1, "'node' must be a section"),
        ("[timing]\nprobe = 0.01", 2, "timing.probe = 0.01 is invalid: it must be a number of at least 0.05"),
        ("[timing]\nstate = 601", 2, "must be a number of at most 600"),
        ("[discovery]\nmdns = 'no'", 2, "discovery.mdns = 'no' is invalid: it must be true or false"),
        ("[discovery]\ninterfaces = 'eth0'", 2, "must be a list, not a text"),
        ("[balancing]\nstrategy = 5", 2, "must be a text, not a whole number"),
    ],
)
def test_a_value_that_does_not_fit_is_named_with_its_line(
    tmp_path: Path, text: str, line: int, why: str
) -> None:
    path = written(tmp_path, text)
    message = refusal(path)
    assert message.startswith(f"{path}:{line}: ")
    assert why in message


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"[node\nid = 1", "line 1, column 6"),
        (b"[node]\nid = 'a'\nid = 'b'\n", "line 3, column 9"),
        (b"[node]\nid =\n", "line 2, column 5"),
        (b"x = " + b"[" * 5000, "the text cannot be read as TOML"),
        (b"x = " + b"9" * 5000, "the text cannot be read as TOML: a number is too long"),
        (b"# fine\n\xff\xfe", ":2: the text is not UTF-8. Save the file as UTF-8."),
        ("[node]\nid = 'a'".encode("utf-16"), ":1: the text is not UTF-8"),
        (b"#" * (1024 * 1024 + 1), "larger than 1 MiB"),
    ],
    ids=["bracket", "twice", "no value", "too deep", "too many digits", "bytes", "UTF-16", "too large"],
)
def test_a_file_that_is_not_toml_is_refused_with_its_place(tmp_path: Path, content: bytes, why: str) -> None:
    path = written(tmp_path, content)
    message = refusal(path)
    assert message.startswith(str(path))
    assert why in message


def test_a_file_of_exactly_one_mebibyte_is_read(tmp_path: Path) -> None:
    assert load(written(tmp_path, b"#" * 1024 * 1024), {}, {}) == Config()


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    missing = tmp_path / "missing.toml"
    assert refusal(missing).startswith(f"{missing}: the file does not exist.")
    assert refusal(tmp_path).startswith(
        f"{tmp_path}: the path is a directory. Name a file in that directory."
    )
    below = written(tmp_path, "") / "mesh.toml"
    assert refusal(below).startswith(f"{below}: the file cannot be read: Not a directory.")


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("config")


def loads_or_is_refused(folder: Path, content: bytes) -> None:
    try:
        load(written(folder, content), {}, {})
    except BadConfig as error:
        assert str(folder) in str(error)


@given(content=st.binary(max_size=200))
def test_any_bytes_are_a_configuration_or_refused_by_name(scratch: Path, content: bytes) -> None:
    loads_or_is_refused(scratch, content)


@given(lines=st.lists(st.tuples(KEYS, VALUES), max_size=3))
def test_any_toml_is_a_configuration_or_refused_by_name(scratch: Path, lines: list[tuple[str, str]]) -> None:
    loads_or_is_refused(scratch, "\n".join(f"{key} = {value}" for key, value in lines).encode())


@pytest.mark.parametrize("text", ['[node]\npasswd = ["hunter2x"]', '[nodes.x]\npasswd = ["hunter2x"]'])
def test_a_password_that_does_not_fit_is_not_shown(text: str, tmp_path: Path) -> None:
    file = tmp_path / "mesh.toml"
    file.write_text(text)
    with pytest.raises(BadConfig, match=r"passwd = \(hidden\) is invalid") as refused:
        load(file, {}, {})
    assert "hunter2x" not in str(refused.value)
