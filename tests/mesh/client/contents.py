"""Types, a codec and messages for tests of contents."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

import msgspec

from mesh.client.batch import Batch, TypedBatch
from mesh.client.codecs import JSON
from mesh.client.message import Message
from mesh.client.reading import ContentReader
from mesh.values import Headers
from mesh.wire.envelope import Envelope
from mesh.wire.properties import Properties, encode_properties
from tests.mesh.client.wired import Wired
from tests.mesh.envelopes import envelope


@dataclass
class Reading:
    t: float
    room: str = "hall"


class Struct(msgspec.Struct):
    at: datetime
    readings: list[Reading]


class Invalid(ValueError):
    """An error with the method of pydantic's ValidationError."""

    def errors(self) -> list[dict[str, Any]]:
        return [{"loc": ("rooms", 2, "t"), "msg": "Input should be a valid number"}]


class Model:
    """A stand-in for a pydantic model, because pydantic need not be installed."""

    def __init__(self, t: float) -> None:
        self.t = t

    def model_dump(self, *, mode: str, by_alias: bool) -> dict[str, Any]:
        assert (mode, by_alias) == ("json", True)
        return {"t": self.t}

    @classmethod
    def model_validate(cls, value: Any) -> Self:
        if not isinstance(value, dict) or not isinstance(value.get("t"), float):
            raise Invalid
        return cls(value["t"])


class Reversed:
    """A custom codec: reversed text."""

    content_type = "text/x-reversed"

    def encode(self, value: Any, /) -> bytes:
        return str(value)[::-1].encode()

    def decode(self, content: bytes, type: Any, /) -> Any:
        if not content:
            raise ZeroDivisionError
        return content.decode()[::-1]


def message(
    content: bytes, content_type: str | None = None, flags: int = 0, is_text: bool = False
) -> Message:
    headers = Headers() if content_type is None else Headers([("Content-Type", content_type)])
    props = encode_properties(Properties(headers, is_text=is_text))
    whole = msgspec.structs.replace(
        envelope("a/1", [props + content], flags=flags), props=len(props), sender="/node/heron/client/joe"
    )
    return Batch(whole)[0]


def read(
    content: bytes, content_type: str | None, wanted: Any, codec: Any = JSON, is_text: bool = False
) -> Any:
    batch = Batch(message(content, content_type, is_text=is_text)._envelope)
    return TypedBatch[Any](batch, ContentReader(codec, wanted))[0].value


def sent(it: Wired) -> list[Envelope]:
    it.client._core.publisher.accumulator.seal()
    it.client._shell.hurry()
    return it.sent
