"""Fixtures for tests of verbs."""

import subprocess

import pytest

from mesh import sync
from tests.mesh.cli.fake import FakeClient, Given
from tests.mesh.running import RunningNode, run_mesh


@pytest.fixture(autouse=True)
def started_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start each command as a new process, as a shell does, because commands are under test here."""

    def mesh(
        self: RunningNode, *arguments: str, content: str | bytes = b""
    ) -> "subprocess.CompletedProcess[str]":
        return run_mesh(*arguments, environ=self.environ, content=content)

    monkeypatch.setattr(RunningNode, "mesh", mesh)


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> Given:
    """Let the verbs use a client with these answers."""

    def use(**answers: object) -> FakeClient:
        fake = FakeClient(**answers)
        monkeypatch.setattr(sync, "connect", fake.connect)
        return fake

    return use
