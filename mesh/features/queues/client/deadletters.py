"""Dead letters: their contents, and the call that sends one again."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

from mesh.client.message import Message
from mesh.names import PUTS, QUEUE, SUBS, kind_of, queue_of
from mesh.reserved import DEAD_LETTERS, PRIVATE
from mesh.values import Headers

PATTERN = f"{DEAD_LETTERS}/#"
PREFIX = "dead-"
PRIORITY = 5  # the default


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """An accepted message that could not be delivered. `key` names the dead letter itself."""

    key: str  # of the dead letter, for `get` and `erase`
    id: str
    code: str
    reason: str
    topic: str
    domain: str
    sender: str
    to: str  # session, client, address, queue/NAME; "": subscribers
    died: int  # ns since 1970
    persistent: bool
    headers: Headers
    content: bytes
    priority: int = PRIORITY  # in its queue
    group: str = ""  # in its queue
    is_private: bool = False  # for one receiver: content and headers are withheld
    is_text: bool = False  # the content was published as a str

    @classmethod
    def of(cls, message: Message) -> Self:
        """Read a dead letter from the message that a node published about it."""
        own = [(name, value) for name, value in message.headers.items() if not name.startswith(PREFIX)]

        def said(name: str) -> str:
            return message.headers.get(PREFIX + name, "")

        code = said("code")
        reason = said("reason").removesuffix(f" [{code}]")  # nodes append the code to error texts
        return cls(
            message.key, said("id"), code, reason, said("key"), said("domain"),
            said("sender"), said("to"), message.sent, message.persistent, Headers(own), message.content,
            _priority(said("priority")), said("group"),
            PRIVATE in message.headers and not said("sender"), message._properties().is_text,
        )  # fmt: skip

    @property
    def addressee(self) -> str:
        """The original destination: a topic, session, client, address or queue."""
        return self.to or self.topic

    def again(self) -> tuple[str, dict[str, Any]]:
        """Return the call that sends the message again: its name and its arguments.

        The name is "publish" or "send" of the client, or "put" of the queue that the arguments name.
        """
        headers = Headers([*self.headers.items(), ("replayed-from", self.id)])
        how: dict[str, Any] = {
            "content": self._published(),
            "headers": headers,
            "persistent": self.persistent,
        }
        if kind_of(self.to) == QUEUE and not self.to.startswith(PUTS + SUBS):  # durable subscription
            how |= {"priority": self.priority, "group": self.group}
            return "put", {"queue": queue_of(self.to), "key": self.topic, **how}
        how["domain"] = self.domain or None
        if self.to and kind_of(self.to) != QUEUE:
            return "send", {"destination": self.to, **how}
        return "publish", {"key": self.topic, **how}

    def _published(self) -> str | bytes:
        with suppress(UnicodeDecodeError):  # the flag may be wrong
            return self.content.decode() if self.is_text else self.content
        return self.content


def _priority(said: str) -> int:
    return int(said) if said in tuple("0123456789") else PRIORITY
