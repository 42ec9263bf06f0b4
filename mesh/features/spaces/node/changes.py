"""Messages about the changes of spaces, which watches receive."""

from __future__ import annotations

from array import array

from mesh.features.spaces.model.batch import Changed
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.delivery.router import Router
from mesh.reserved import OF_MESH
from mesh.values import Headers
from mesh.wire.envelope import PERSISTENT, Envelope
from mesh.wire.properties import NO_PROPERTIES, Properties, decode_properties, encode_properties

TOMBSTONE = 3600 * 10**9  # ns that the message about a removal is kept
VERSION, REMOVED, EXPIRED = "space-version", "space-removed", "space-expired"  # headers of changes


class Changes:
    """Publishes the changes of the spaces of this node, each in the domain of its space."""

    def __init__(self, context: NodeContext, router: Router) -> None:
        self._context = context
        self._router = router
        self._stream = b""  # random, from the first message on
        self._number = 0

    def publish(self, space: str, change: Changed) -> None:
        """Publish a change to the watches of the space."""
        props, content, expires = self._described(change)
        self._stream = self._stream or self._context.ids(16)
        self._number += 1
        envelope = Envelope(
            stream=self._stream,
            domain=space,
            first=self._number,
            last=self._number,
            keys=(change.key,),
            count=1,
            sizes=len(props) + len(content),
            body=props + content,
            props=array("I", [len(props)]).tobytes(),
            flags=PERSISTENT,
            low=self._number,
            sender=f"/node/{self._context.me.name}{OF_MESH}",
            expires=expires,
        )
        self._router.publish_here(self._stream, envelope, lambda answer: None)

    def _described(self, change: Changed) -> tuple[bytes, bytes, int]:
        """Return the properties, content and expiry of the message about a change."""
        if (value := change.value) is None:
            header, own, content = EXPIRED if change.is_expiry else REMOVED, NO_PROPERTIES, b""
            expires = self._context.clock.believed + TOMBSTONE
        else:
            header, own, content = VERSION, decode_properties(value.props), value.content
            expires = value.expires
        headers = Headers([(header, str(change.version)), *own.headers.items()])
        return encode_properties(Properties(headers, expires, is_text=own.is_text)), content, expires
