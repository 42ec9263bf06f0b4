"""`mesh log`: the levels and the format of a running node's log are changed."""

import asyncio
import json
import os

import msgspec
import pytest

import mesh
from mesh.cli.main import main
from mesh.loglevels import LOGGERS
from tests.mesh.cli.fake import Given
from tests.mesh.running import running, until


@pytest.mark.parametrize(
    "arguments",
    [["mesh.rutes", "debug"], ["mesh.routes"], ["mesh.routes", "loud"], ["DEBUG"], ["", "debug"], [""]],
)
def test_what_is_no_logger_or_level_is_refused_before_a_node_is_asked(
    arguments: list[str], given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = given()
    assert main(["log", "level", *arguments]) == 2
    said = capsys.readouterr().err
    assert any(text in said for text in ("use one of", "Give a level for ", "is neither a level "))
    assert fake.asked == []


def test_a_level_alone_is_for_all_loggers(given: Given, capsys: pytest.CaptureFixture[str]) -> None:
    fake = given(call={})
    assert main(["log", "level", "debug"]) == 0
    assert fake.asked[0] == ("call", ("log",), {"logger": "", "level": "debug"})
    assert "all loggers: debug" in capsys.readouterr().err


@pytest.mark.slow
def test_a_logger_says_more_from_now_on_and_lines_are_json() -> None:
    with running("a", options=("--log-format", "json", "--log-level", "warning")) as a:
        assert json.loads(a.mesh("log", "level", "--json").stdout) == dict.fromkeys(LOGGERS, "warning")
        assert a.mesh("log", "level", "mesh.events", "info").returncode == 0
        a.mesh("peer", "add", "127.0.0.1:1")
        until(lambda: "127.0.0.1:1" in a.log)
        assert "mesh.node" not in a.log  # this logger is still quiet
        assert a.mesh("log", "level", "info").returncode == 0
        assert a.stop() == 0
        lines = [msgspec.json.decode(line) for line in a.log.encode().splitlines()]
        assert {line["node"] for line in lines} == {"a"} and "ends after" in lines[-1]["message"]


async def _set(environ: dict[str, str], **said: str) -> None:
    async with mesh.connect(environ=environ) as m:
        await m.call("log", **said)


@pytest.mark.slow
@pytest.mark.parametrize("said", [{"logger": "root", "level": "debug"}, {"logger": "", "level": "loud"}, {}])
def test_a_node_itself_refuses_what_is_none(said: dict[str, str]) -> None:
    with running("a") as a:
        with pytest.raises(mesh.MeshError) as caught:
            asyncio.run(_set({**os.environ, **a.environ}, **said))
        assert caught.value.code in ("BAD_ARGUMENT", "BAD_QUERY")
        assert a.is_running
