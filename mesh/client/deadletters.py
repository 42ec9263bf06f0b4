"""What is a dead letter about, and how does it come to life again?"""

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
PRIORITY = 5  # of what has none of its own


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A message that was taken, and that nobody got. `key` names the letter, the rest is what died."""

    key: str  # under which the letter itself can be got and erased
    id: str
    code: str
    reason: str
    topic: str
    domain: str
    sender: str
    to: str  # a session, client or address, or queue/NAME; "" for whoever subscribed
    died: int  # ns since 1970
    persistent: bool
    headers: Headers
    content: bytes
    priority: int = PRIORITY  # in its queue,
    group: str = ""  # and its group there
    is_private: bool = False  # it was for one receiver: no more than that it is there, and why, is shown here
    is_text: bool = False  # the content was published as a str

    @classmethod
    def of(cls, message: Message) -> Self:
        """From the message that a node published about it."""
        own = [(name, value) for name, value in message.headers.items() if not name.startswith(PREFIX)]

        def said(name: str) -> str:
            return message.headers.get(PREFIX + name, "")

        code = said("code")
        reason = said("reason").removesuffix(f" [{code}]")  # as a node writes its errors
        return cls(
            message.key, said("id"), code, reason, said("key"), said("domain"),
            said("sender"), said("to"), message.sent, message.persistent, Headers(own), message.content,
            _priority(said("priority")), said("group"),
            PRIVATE in message.headers and not said("sender"), message._properties().is_text,
        )  # fmt: skip

    @property
    def addressee(self) -> str:
        """The place where it was to go: a topic or a session."""
        return self.to or self.topic

    def again(self) -> tuple[str, dict[str, Any]]:
        """The client's method, "publish" or "send", and its arguments, with which it is said once more; or
        "put", of the queue that is named beside them."""
        headers = Headers([*self.headers.items(), ("replayed-from", self.id)])
        how: dict[str, Any] = {
            "content": self._published(),
            "headers": headers,
            "persistent": self.persistent,
        }
        if kind_of(self.to) == QUEUE and not self.to.startswith(PUTS + SUBS):  # into that nobody puts
            how |= {"priority": self.priority, "group": self.group}
            return "put", {"queue": queue_of(self.to), "key": self.topic, **how}
        how["domain"] = self.domain or None
        if self.to and kind_of(self.to) != QUEUE:
            return "send", {"destination": self.to, **how}
        return "publish", {"key": self.topic, **how}

    def _published(self) -> str | bytes:
        with suppress(UnicodeDecodeError):  # anybody may call anything a text
            return self.content.decode() if self.is_text else self.content
        return self.content


def _priority(said: str) -> int:
    return int(said) if said in tuple("0123456789") else PRIORITY
