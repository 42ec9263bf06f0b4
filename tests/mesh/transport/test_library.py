"""Refusal of a libzmq that is too old, or that cannot encrypt."""

import asyncio

import pytest
import zmq

from mesh.errors import LocalError
from mesh.transport.library import LOWEST, check_library
from tests.mesh.transport.ends import End
from tests.pages import ROOT


@pytest.mark.parametrize("version", [(4, 3, 4), (4, 2, 99), (3, 9, 9), (4, 3)])
def test_trial_A8_an_older_libzmq_is_refused_with_what_to_type(version: tuple[int, ...]) -> None:
    with pytest.raises(LocalError, match="pip install") as refused:
        check_library(version, True)
    assert refused.value.code == "LIBZMQ"
    assert ".".join(map(str, version)) in refused.value.what


def test_trial_A8_one_without_curve_is_refused() -> None:
    with pytest.raises(LocalError, match="without CURVE") as refused:
        check_library(LOWEST, False)
    assert refused.value.code == "LIBZMQ"


@pytest.mark.parametrize("version", [(4, 3, 5), (4, 3, 6), (4, 4, 0), (5, 0, 0)])
def test_trial_A8_a_newer_one_is_taken(version: tuple[int, ...]) -> None:
    check_library(version, True)


@pytest.mark.parametrize(
    ("name", "instead"), [("zmq_version_info", lambda: (4, 3, 4)), ("has", lambda what: what != "curve")]
)
def test_trial_A8_no_process_opens_a_socket_on_such_a_one(
    monkeypatch: pytest.MonkeyPatch, name: str, instead: object
) -> None:
    monkeypatch.setattr(zmq, name, instead)

    async def scenario() -> None:
        with pytest.raises(LocalError):
            End()

    asyncio.run(scenario())


def test_trial_A8_the_page_names_the_same_version() -> None:
    oldest = ".".join(map(str, LOWEST))
    assert f"libzmq {oldest}" in (ROOT / "SECURITY.md").read_text()
    assert f"libzmq {oldest}" in (ROOT / "docs/security.md").read_text()
