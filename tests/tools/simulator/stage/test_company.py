"""The clients of a scenario, as its steps name them."""

from typing import Any
from unittest.mock import Mock

import pytest

from tools.simulator.stage.company import Company

MEANT = "/node/a/client/reader-a/session/1"


@pytest.mark.parametrize(
    ("named", "to", "found"),
    [
        ("/node/b/client/reader-a/session/1", MEANT, "/node/b/client/reader-a/session/1"),
        ("", MEANT, MEANT),
        ("/node/b/client/reader-a/session/1", "/node/a/client/later", "/node/a/client/later"),
        ("/node/b/client/reader-a/session/1", "site/paris/node/a/client/x", "site/paris/node/a/client/x"),
    ],
    ids=("opened elsewhere", "not connected yet", "another client", "another site"),
)
def test_a_direct_message_goes_to_the_session_that_its_reader_has(named: str, to: str, found: str) -> None:
    reader = Mock(session_name=named)
    scene: Any = Mock(net=Mock(now=1.0), clients={"reader-a": reader, "pub-b": Mock()})
    Company(scene)._send("pub-b", to, "persistent", "force", "")
    assert scene.clients["pub-b"].send.call_args.args[0] == found
