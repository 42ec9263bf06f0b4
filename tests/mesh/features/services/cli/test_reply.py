"""`mesh reply`: a command line is checked before its address is served."""

from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from mesh.cli.main import main
from mesh.client.reading import WHATEVER
from mesh.errors import MeshError
from mesh.features.services.cli.reply import words
from mesh.features.services.client.gathering import GatheredMessage
from tests.mesh.envelopes import envelope

SERVER = "/node/heron/client/ann/session/1"


def reply(content: bytes = b"HELLO", error: MeshError | None = None) -> GatheredMessage[Any]:
    e = replace(envelope("x", [content]), keys=("",), count=1, sender=SERVER)
    return GatheredMessage(e, 0, "calc/add", content, WHATEVER, UNSET, error)


@pytest.mark.parametrize("seconds", ["nan", "inf", "1e300", "0"])
def test_a_command_has_a_time_that_ends(seconds: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reply", "x", "--exec", "cat", "--timeout", seconds]) == 2
    assert "timeout" in capsys.readouterr().err


def test_words_are_no_shell_commands_unless_they_shall_be() -> None:
    assert words("cat 'a b' $HOME | rm", shell=False) == ["cat", "a b", "$HOME", "|", "rm"]
    assert words("cat | wc", shell=True) == ["/bin/sh", "-c", "cat | wc"]


@pytest.mark.parametrize(
    ("typed", "said"), [("", "is empty"), ("'", "cannot be read"), ("nosuch x", "'nosuch'")]
)
def test_what_cannot_be_run_is_said_before_it_is_served(
    typed: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reply", "x", "--exec", typed]) == 2
    assert said in capsys.readouterr().err
