"""The texts of refused direct messages."""

from __future__ import annotations

from typing import Any

import pytest

from mesh.errors import NotConnected
from mesh.kernel.subscribers.inbox_refusals import full, not_connected
from mesh.names import SessionName
from tests.mesh.kernel.subscribers.moves import CLIENT, Moves

JOE = SessionName("joe", None, "stork")


@pytest.mark.parametrize(("node", "to"), [("stork", ""), ("ibis", "/node/stork/")])
def test_at_a_visited_node_a_refusal_names_the_spelling_that_works(play: Any, node: str, to: str) -> None:
    async def scenario(it: Moves) -> None:
        it.visit("stork")
        await it.m.pass_time(5)
        for works in (CLIENT, it.joe.name):
            with pytest.raises(NotConnected, match=f"Send to {works}[.]"):
                await it.publishers[node].send(to + works.removeprefix("/node/heron/"), b"lost")
            await it.publishers[node].send(works, b"comes")
        await it.m.pass_time(1)
        assert it.direct == ["comes", "comes"]

    play(scenario)


def test_the_text_and_the_hint_say_why() -> None:
    plain = not_connected(JOE, None, "", False, False)
    assert plain.what == "/node/stork/client/joe is not connected."
    assert "key other than" in not_connected(JOE, None, "", True, False).what
    assert "persistent=True" in not_connected(JOE, None, "", False, True).hint
    assert "inbox of joe is full: 1,000 bytes" in full("joe", 1000, 1, 10, "").what
    assert "inboxes of stork are full" in full("joe", 1000, 1, 10, "stork").what
    assert "1,000 bytes do not fit" in full("joe", 0, 1000, 10, "").what
