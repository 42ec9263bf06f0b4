"""Requests as a service without an event loop gets them.

Generated from mesh/features/services/client/request.py: change that, and type
`tools/generate_sync`.
"""

from __future__ import annotations

from mesh.client.codecs import Codec
from mesh.client.content import Content, Headings
from mesh.client.message import T
from mesh.sync.items import ThreadRequest


class Request(ThreadRequest[T]):
    """A message to an address. Its sender may wait for a reply: see `wants_reply`.

    `headers`, `sender` and `value` are those of any message; `to` is the address.

    Example:
        for request in orders:
            request.reply({"accepted": True})
    """

    @property
    def remaining(self) -> float:
        """The seconds for which the sender still waits: `inf` without a time limit, 0 after the limit."""
        return super().remaining

    def reply(  # type: ignore[override]
        self, content: Content = b"", *, headers: Headings = None, codec: Codec | str | None = None
    ) -> bool:
        """Reply to the request, once. Replies made in one turn of the event loop are sent together.

        Args:
            content: The content, as for `publish`.
            headers: Names and values, as for `publish`.
            codec: As for `publish`.

        Returns:
            False if the sender no longer waits: its time limit is over, the connection was lost, the service
                was left, or the message was sent by `send`.

        Raises:
            LocalError: The request was answered before, with the code ANSWERED.
            BadType, BadArgument, MessageTooLarge: The content is invalid; another reply is still possible.

        Example:
            request.reply(b"done")
        """
        return self._loop_thread.run(super().reply, content, headers=headers, codec=codec)

    def fail(self, code: str, text: str = "") -> bool:  # type: ignore[override]
        """Fail the request: its sender receives RequestFailed.

        Args:
            code: The error's code, of up to 64 characters.
            text: The error's text.

        Returns:
            False if the sender no longer waits, as for `reply`.

        Raises:
            LocalError: The request was answered before, with the code ANSWERED.
            BadArgument: The code or text is invalid.

        Example:
            request.fail("NO_SUCH_USER", "There is no user 5.")
        """
        return self._loop_thread.run(super().fail, code, text)
