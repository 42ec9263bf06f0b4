"""Batches of messages that traveled in one envelope.

A batch creates its messages when they are read, so a subscriber that reads only contents creates none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from mesh.client.message import Message, T, TypedMessage, state_of
from mesh.client.reading import ContentReader
from mesh.wire.envelope import Envelope


class Batch(Sequence[Message[T]]):
    """Messages that traveled together; cheaper to read than single messages.

    Example:
        async for batch in messages.batches():
            total += sum(map(len, batch.contents()))
    """

    def __init__(self, envelope: Envelope, indices: Sequence[int] | None = None, gap: int = 0) -> None:
        self._envelope = envelope
        self._indices = indices
        self.gap = gap  # messages dropped before this batch, as far as their number is known

    def __len__(self) -> int:
        return self._envelope.count if self._indices is None else len(self._indices)

    @property
    def state(self) -> str:
        """The state of each message in the batch."""
        return state_of(self._envelope)

    def of(self, messages: Sequence[Message[Any]]) -> Batch:
        """Return a batch of only `messages`, which must be in this batch, without the gap."""
        return Batch(self._envelope, [message._index for message in messages])

    def __getitem__(self, i: int) -> Message[T]:  # type: ignore[override]
        index = range(self._envelope.count)[i] if self._indices is None else self._indices[i]
        e = self._envelope
        return Message(e, index, e.keys[e.row(index)], e.message(index)[1])

    def __iter__(self) -> Iterator[Message[T]]:
        e = self._envelope
        if self._indices is not None:
            return (self[i] for i in range(len(self._indices)))
        contents = e.contents()
        if len(e.keys) == 1:
            key = e.keys[0]
            return (Message(e, i, key, content) for i, content in enumerate(contents))
        keys, rows = e.keys, e.rows()
        return (Message(e, i, keys[rows[i]], content) for i, content in enumerate(contents))

    def contents(self) -> list[bytes]:
        """Return the content of each message."""
        if self._indices is None:
            return self._envelope.contents()
        return [self._envelope.message(i)[1] for i in self._indices]


class TypedBatch(Batch[T]):
    """A batch whose messages are decoded as their subscription's type."""

    def __init__(self, batch: Batch[Any], reader: ContentReader) -> None:
        super().__init__(batch._envelope, batch._indices, batch.gap)
        self._reader = reader

    def __getitem__(self, i: int) -> Message[T]:  # type: ignore[override]
        return self._typed(super().__getitem__(i))

    def __iter__(self) -> Iterator[Message[T]]:
        return map(self._typed, super().__iter__())

    def of(self, messages: Sequence[Message[Any]]) -> TypedBatch[T]:
        """Return a batch of only `messages`, which must be in this batch, with the same gap."""
        return TypedBatch(Batch(self._envelope, [m._index for m in messages], self.gap), self._reader)

    def _typed(self, m: Message[T]) -> Message[T]:
        return TypedMessage(m._envelope, m._index, m.key, m.content, self._reader)
