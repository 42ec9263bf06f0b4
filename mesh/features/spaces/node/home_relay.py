"""Passes questions on to the homes of spaces."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from msgspec.structs import replace

from mesh.errors import LocalError
from mesh.features.spaces.node.spaces import Spaces
from mesh.kernel.context.incoming_call import IncomingCall
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.settings import CONFIRM
from mesh.kernel.routes.nodes import Nodes
from mesh.kernel.routes.peer_calls import PeerCalls, Replies
from mesh.wire.calls.ask import Carried
from mesh.wire.limits import HOPS
from mesh.wire.replies import R

A = TypeVar("A", bound=Carried)

REASONS = {
    "NO_LEASH": ("is not confirmed as the home by a majority of its voters.", "Try again in a moment."),
    "NOT_HOME": ("is not the home now, which is being moved.", "Try again in a moment."),
}


class HomeRelay:
    """Passes questions on to the homes of spaces, and their replies back."""

    def __init__(self, context: NodeContext, nodes: Nodes, questions: PeerCalls, spaces: Spaces) -> None:
        self._context = context
        self._nodes = nodes
        self._questions = questions
        self._spaces = spaces

    def pass_on(
        self,
        asked: IncomingCall[A],
        space: str,
        says: type[R],
        came: Callable[[R], None] = lambda value: None,
        failed: Callable[[LocalError], None] | None = None,
        within: float = CONFIRM,
    ) -> None:
        """Send a question on to the home of a space, and its reply back: see `send_to`."""
        known = self._spaces.find(space)
        assert known is not None
        fail = failed or asked.fail

        def on_failed(error: LocalError) -> None:
            if error.code == "NOT_HOME":
                self._spaces.write_again(space)
            fail(error)

        self.send_to(known.node, asked, says, came, on_failed, within)

    def send_to(
        self,
        node: str,
        asked: IncomingCall[A],
        says: type[R],
        came: Callable[[R], None] = lambda value: None,
        failed: Callable[[LocalError], None] | None = None,
        within: float = CONFIRM,
    ) -> None:
        """Send a question on to a node, and its reply back.

        `came` is called with the value of a reply. `failed`, if given, is called instead of an answer with an
        error. The reply is awaited for `within` s.
        """
        me, ask, fail = self._context.me.name, asked.ask, failed or asked.fail
        peer = self._nodes.next_hop(node) if len(ask.visited) < HOPS else None
        if peer is not None and peer.node.name in ask.visited:
            fail(LocalError(f"{me} knows another home.", hint="Try again.", code="NOT_HOME"))
            return
        if peer is None:
            fail(_away(node, me))
            return

        def on_replies(replies: Replies[R], _: list[str]) -> None:
            for reply in replies.values():
                if reply.code:
                    what, hint = REASONS.get(reply.code, ("refused the request.", ""))
                    fail(LocalError(f"{node} {what}", hint=hint, code=reply.code))
                else:
                    came(reply.value)
                    asked.reply(reply.value)
                return
            fail(_away(node, me))

        passed = replace(ask, visited=[*ask.visited, me])
        self._questions.ask_all([peer], passed, says, on_replies, min(within, ask.within), is_patient=True)


def _away(node: str, me: str) -> LocalError:
    what = f"The home {node} cannot be reached from {me}."
    return LocalError(what, hint=f"See `mesh why node {node}`.", code="NODE_AWAY")
