"""Sessions at other nodes that read their inboxes at this node, their home."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from mesh.kernel.context.node_output import NodeOutput
from mesh.names import SessionName
from mesh.routing.collecting import SentItems
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.feed import Feed


class Reader(Protocol):
    """A session that reads an inbox of this node: one of its own, or one at another node."""

    name: SessionName
    text: str
    stream: bytes
    user: str | None
    is_named: bool
    feeds: dict[int, Feed]

    def push_slice(self, out: NodeOutput, feed: Feed, slice_: EnvelopeSlice) -> None:
        """Send a slice to the client."""

    def drop_slices(self, feed: Feed) -> None:
        """Remove the slices of `feed` that were not sent."""


class RemoteReader:
    """A session at another node, from the first question of that node until the session leaves it.

    `has_news` is called for a new message, unless the node knows already that there are some.
    """

    def __init__(
        self,
        name: SessionName,
        stream: bytes,
        user: str,
        is_named: bool,
        node: bytes,
        run: bytes,
        has_news: Callable[[RemoteReader], None],
    ) -> None:
        self.name, self.text, self.stream = name, str(name), stream
        self.user: str | None = user
        self.is_named = is_named
        self.node, self.run = node, run
        self.feeds: dict[int, Feed] = {}
        self.sent = SentItems()
        self.is_connected = False
        self.gone_since = 0.0
        self.asked_at = 0.0  # time of the last question
        self.is_relayed = False  # its node is not linked, and asks through others
        self.is_notified = True  # the node will ask again
        self._has_news = has_news

    def push_slice(self, out: NodeOutput, feed: Feed, slice_: EnvelopeSlice) -> None:
        self.sent.add_item(slice_)
        if not self.is_notified:
            self.is_notified = True
            self._has_news(self)

    def drop_slices(self, feed: Feed) -> None:
        self.sent = SentItems()


class RemoteReaders:
    """The remote readers of this node, by the name of the client and that of the session."""

    def __init__(self) -> None:
        self._of_client: dict[str, dict[str, RemoteReader]] = {}

    def __bool__(self) -> bool:
        return bool(self._of_client)

    def __len__(self) -> int:
        return sum(map(len, self._of_client.values()))

    def __iter__(self) -> Iterator[RemoteReader]:
        for readers in list(self._of_client.values()):
            yield from list(readers.values())

    def find(self, name: SessionName) -> RemoteReader | None:
        return self._of_client.get(name.client, {}).get(str(name))

    def connected(self, name: SessionName) -> list[RemoteReader]:
        """Return the connected reader of a session, or all connected ones of a client with a chosen name."""
        readers = self._of_client.get(name.client, {})
        if name.session is not None:
            return [
                reader for reader in [readers.get(str(name))] if reader is not None and reader.is_connected
            ]
        return [reader for reader in readers.values() if reader.is_connected and reader.is_named]

    def add_reader(self, reader: RemoteReader) -> None:
        self._of_client.setdefault(reader.name.client, {})[reader.text] = reader

    def remove_reader(self, reader: RemoteReader) -> None:
        readers = self._of_client[reader.name.client]
        del readers[reader.text]
        if not readers:
            del self._of_client[reader.name.client]
