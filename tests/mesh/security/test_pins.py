"""Detection by a client that another node answers: real nodes with keys, in one loop."""

import asyncio
import os

import pytest

import mesh
from mesh.cli.main import main
from mesh.errors import Refused
from mesh.security import pins
from mesh.security.pins import Pins
from mesh.shell.node import NodeRuntime
from tests.mesh.running import state_directory
from tests.mesh.security.keyed import at, mesh_file, node, user

ONE, TWO = b"1" * 32, b"2" * 32


def test_trial_A5_the_first_key_of_a_node_is_kept_and_another_is_doubted() -> None:
    with state_directory() as state:
        assert Pins(state, "m").pin_key("heron", ONE) == ("", "")
        assert Pins(state, "m").pin_key("heron", ONE) == ("", "")
        what, hint = Pins(state, "m").pin_key("heron", TWO)
        assert "heron has another key" in what
        assert "mesh peer rm heron" in hint and "keys.json" in hint
        assert Pins(state, "m").pin_key("swift", TWO) == ("", ""), "each node has its own"
        assert Pins(state, "other").pin_key("heron", TWO) == ("", ""), "in each mesh"
        assert pins.forget(state, "heron") and not pins.forget(state, "heron")
        assert Pins(state, "m").pin_key("heron", TWO) == ("", "")


def test_trial_A5_names_that_look_like_paths_stay_in_the_directory() -> None:
    with state_directory() as state:
        for name in (".", "..", "a:b"):
            assert Pins(state, "m").pin_key(name, ONE) == ("", "")
            assert Pins(state, "m").pin_key(name, TWO)[0]
        assert len(list((state / "pins" / "m").iterdir())) == 3


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe", b"x" * 64, ONE.hex().encode()[:-1], ONE.hex().encode() * 2]
)
def test_trial_A5_a_damaged_pin_is_no_yes(content: bytes) -> None:
    with state_directory() as state:
        Pins(state, "m").pin_key("heron", ONE)
        (state / "pins" / "m" / "heron.key").write_bytes(content)
        assert Pins(state, "m").pin_key("heron", ONE)[0]


def test_trial_A5_a_client_without_a_disk_that_can_be_written_comes_in_all_the_same() -> None:
    with state_directory() as state:
        (state / "pins").write_text("in the way")
        assert Pins(state, "m").pin_key("heron", ONE) == ("", "")


async def _enters(one: NodeRuntime, environ: dict[str, str]) -> None:
    async with mesh.connect(at(one), environ=environ) as m:
        assert (await m.publish("k", b"v")).ok


@pytest.mark.parametrize("store", ["sqlite", "memory"])
def test_trial_A5_a_client_finds_out_that_another_node_answers_under_the_name(
    store: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def scenario() -> None:
        with user(mesh_file("test")) as (_, one), user(mesh_file("test")) as (_, two):
            with user(mesh_file("test", "client")) as (guest, environ):
                for _ in range(2):  # a restart keeps the key
                    async with node("a", one, "test", node__store=store) as a:
                        await _enters(a, environ)
                async with node("a", two, "test", node__store=store) as other:  # it has the keys of the mesh
                    with pytest.raises(Refused, match="another key") as refused:
                        await _enters(other, environ)
                    assert refused.value.code == "OTHER_KEY"
                    assert "mesh peer rm a" in refused.value.hint
                    monkeypatch.setenv("MESH_STATE_DIR", str(guest))
                    assert await asyncio.to_thread(main, ["peer", "rm", "a"]) == 0
                    await _enters(other, environ)

    asyncio.run(scenario())
    assert "the key of a was removed" in capsys.readouterr().err


def test_trial_A5_over_its_own_file_nothing_is_pinned() -> None:
    async def scenario() -> None:
        with user(mesh_file("test")) as (state, environ):
            async with node("a", environ, "test"), mesh.connect("a", environ=environ) as m:
                assert (await m.publish("k", b"v")).ok
            assert "pins" not in os.listdir(state)

    asyncio.run(scenario())
