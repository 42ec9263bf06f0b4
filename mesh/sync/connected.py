"""The calls that each blocking client has.

Generated from mesh/client/connected.py: change that, and type `tools/generate_sync`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mesh.client.events import Event
from mesh.sync.session import ThreadClient


class Connected(ThreadClient):
    """A session at a node."""

    def close(self, *, drain: bool = True) -> None:
        """Wait for outstanding answers, then end the session; the client is closed even after an error.

        In a forked process the call does nothing, because the session belongs to the parent process.

        Args:
            drain: Whether to wait for answers to published messages, for at most the client's `timeout`.

        Raises:
            MeshTimeout: Messages were still unsent or unanswered.
            PublishRefused: The first refusal for which no receipt was awaited.
        """
        super().close(drain=drain)

    @property
    def name(self) -> str:
        """The absolute name of the session, such as `/node/heron/client/joe/session/1`. Raises: Closed."""
        return super().name

    @property
    def cluster(self) -> str:
        """The mesh whose keys admitted the client; "" without keys, and over a local socket."""
        return super().cluster

    def events(self) -> Iterator[Event]:
        """Return an iterator over the events of this client, from this call until the client is closed.

        Example:
            for event in m.events():
                print(event.kind, event.text)
        """
        return super().events()

    def call(self, /, verb: str, **arguments: Any) -> Any:
        """Return the raw reply of the node to a verb of docs/wire.md, such as "peers" or "down".

        A long list is fetched page by page, unless `after` or `limit` select one page. Prefer `nodes` and
        `info`, which return typed objects.

        Args:
            verb: The name of the verb.
            arguments: The arguments of the verb, as docs/wire.md lists them.

        Raises:
            MeshError: The node refused the call; `code` says why.
            MeshTimeout: No reply within the client's patience, or within twice its `timeout`.

        Example:
            peers = m.call("peers")
        """
        return self._run(None, lambda: self._aio.call(verb, **arguments))
