"""What tests of verbs without a node share."""

import pytest

from mesh import sync
from tests.mesh.cli.fake import FakeClient, Given


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> Given:
    """Have the verbs talk to a client that answers so."""

    def use(**answers: object) -> FakeClient:
        fake = FakeClient(**answers)
        monkeypatch.setattr(sync, "connect", fake.connect)
        return fake

    return use
