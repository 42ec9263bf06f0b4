"""The place of a name in a mesh of a thousand nodes, of which only one is simulated."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import pytest

from mesh.features.where.model import SERVERS
from mesh.features.where.node.parts import WhereParts
from mesh.kernel.context.pages import NAMES, ROWS
from mesh.kernel.context.settings import CONFIRM
from mesh.kernel.routes.peer_calls import PeerReply
from mesh.wire.calls import AskLocate
from mesh.wire.replies import Located, Sighting
from tests.mesh.features.where.asking import Asker
from tests.simulation import SimNetwork

MANY = 1000
REPLY = 0.02  # s until a node answers
Answer = Callable[[str], Located | None]


class Crowd:
    """A node that can ask MANY others, which answer as `answer(node)` says; `None` is no answer."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, answer: Answer, servers: tuple[str, ...] = ()
    ) -> None:
        self.net = SimNetwork(1)
        self.node = self.net.node("heron")
        self.net.run(10)  # so that the node counts as settled
        self.asker, self.asked, self.rounds = Asker(self.node), list[str](), list[int]()
        self._answer = answer
        peers = {
            f"n{n}": SimpleNamespace(node=SimpleNamespace(uuid=b"%d" % n, name=f"n{n}")) for n in range(MANY)
        }
        parts = self.node.core.parts
        locating: Any = parts[WhereParts].locating
        monkeypatch.setattr(parts.nodes, "askable", lambda visited=(): list(peers.values()))
        monkeypatch.setattr(locating._nodes, "named", peers.get)
        monkeypatch.setattr(locating._questions, "ask_all", self._ask_all)
        monkeypatch.setattr(type(parts[WhereParts].reports), "servers", servers)

    def _ask_all(self, peers: Iterable[Any], ask: AskLocate, says: Any, then: Any, within: float) -> None:
        names = {peer.node.name: peer.node.uuid for peer in peers}
        self.asked += names
        self.rounds.append(len(names))
        answers = {name: self._answer(name) for name in names}
        replies = {names[name]: PeerReply(it) for name, it in answers.items() if it is not None}
        missing = [name for name, it in answers.items() if it is None]
        self.net.after(within if missing else REPLY, lambda: self._came(then, replies, missing))

    def _came(self, then: Any, replies: Any, missing: list[str]) -> None:
        then(replies, missing)
        self.node._carry_out_all()


def joe(node: str) -> Located:
    row = Sighting(kind="client", name="client/joe", node="n500", by=node, state="connected", count=1)
    return Located(sightings=[row])


def test_with_nameservice_two_nodes_of_a_thousand_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    crowd = Crowd(monkeypatch, joe, ("n7",))
    assert crowd.asker.places("joe") == [("client/joe", "n500", "n500")]
    assert (crowd.asked, crowd.asker.seconds < 0.5) == (["n7", "n500"], True)


def test_with_nameservice_an_unknown_name_is_not_searched_at_a_thousand_nodes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    servers = tuple(f"n{n}" for n in range(16))
    crowd = Crowd(monkeypatch, lambda node: Located(), servers)
    assert crowd.asker.refused("jeo")[0] == "UNKNOWN_NAME"
    assert crowd.rounds == [SERVERS] and crowd.asker.seconds < 0.5


def test_nodes_that_no_server_follows_are_asked_too(monkeypatch: pytest.MonkeyPatch) -> None:
    crowd = Crowd(
        monkeypatch, lambda node: joe(node) if node == "n500" else Located(missing=["n500"]), ("n7",)
    )
    assert crowd.asker.places("joe") == [("client/joe", "n500", "n500")]


def test_without_it_all_are_asked_once_and_the_answer_comes_in_time_and_fits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def answer(node: str) -> Located | None:
        row = Sighting(kind="address", name="address/calc", node=node, by=node, state="served", count=1)
        return Located(sightings=[row] * 200) if int(node[1:]) % 2 else None

    crowd = Crowd(monkeypatch, answer)
    found = crowd.asker.located("address/calc")
    assert (len(found.sightings), len(found.missing)) == (MANY // 2, NAMES) and len(found.sightings) <= ROWS
    assert crowd.rounds == [MANY] and crowd.asker.seconds <= CONFIRM + 0.1
