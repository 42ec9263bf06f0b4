"""Publishes values of the node itself to its own clients, under system topics."""

from __future__ import annotations

from collections.abc import Callable

from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.delivery.router import Router
from mesh.wire.envelope import LOCAL_ONLY, Envelope


class StateTopicStream:
    """A stream of values of this node for its own clients."""

    def __init__(self, context: NodeContext, router: Router) -> None:
        self._router = router
        self._stream = context.ids(16)
        self._number = 0

    def publish_value(self, key: str, node: str, content: Callable[[], bytes]) -> None:
        """Send the value to the subscribers of the key, and store it, if there are any subscribers.

        `content` is called only in that case.
        """
        if self._router.clients.match(key, ""):
            self._router.deliver_local(self._envelope(key, node, content()))

    def store_value(self, key: str, node: str, content: bytes) -> None:
        """Store the value for a client that is about to read it."""
        self._router.retain(self._envelope(key, node, content))

    def remove_value(self, key: str) -> None:
        self._router.log.retained.remove_value(key, "")

    def _envelope(self, key: str, node: str, content: bytes) -> Envelope:
        self._number += 1
        return Envelope(
            stream=self._stream,
            domain="",
            first=self._number,
            last=self._number,
            keys=(key,),
            count=1,
            sizes=len(content),
            body=content,
            flags=LOCAL_ONLY,
            low=self._number,
            sender=f"/node/{node}/client/__sys__",
        )
