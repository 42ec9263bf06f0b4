"""Origins of envelopes for tests, and a node that never answers other sites."""

from collections.abc import Collection, Hashable, Iterator
from contextlib import contextmanager
from typing import ClassVar

from msgspec import Struct

from mesh.features.sites.node.parts import SiteParts
from mesh.kernel.parts import Parts
from mesh.routing.origin import Local
from mesh.wire.commands import Answer


class Party(Struct, frozen=True):
    """An origin that is not a client. The origin is connected while its name is in `there`."""

    is_local: ClassVar[bool] = False
    there: ClassVar[set[bytes]] = set()
    name: bytes

    def answer(self, stream: bytes, answer: Answer) -> None:
        pass

    def is_there(self) -> bool:
        return self.name in self.there

    def pace(self, stream: bytes) -> Hashable:
        return self, stream

    def features(self) -> Collection[str]:
        return ()

    def link(self) -> object:
        return None


CLIENT = Local(answer=lambda stream, answer: None)


def silence(parts: Parts) -> None:
    """Stop a gateway from answering other sites."""
    parts[SiteParts].answering.send_answer = _ignored  # type: ignore[method-assign]


@contextmanager
def silenced(parts: Parts) -> Iterator[None]:
    """Stop a gateway from answering other sites during the block."""
    silence(parts)
    try:
        yield
    finally:
        del parts[SiteParts].answering.send_answer


def _ignored(origin: object, alias: bytes, answer: Answer, to: str = "") -> None:
    pass
