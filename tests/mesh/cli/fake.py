"""A fake client with prepared answers, for tests of a verb without a node."""

from collections.abc import Callable, Iterator
from typing import Any

from mesh.errors import MeshError

Given = Callable[..., "FakeClient"]


class FakeClient:
    """A client whose methods return prepared answers.

    An answer is a value, a MeshError to raise, or a callable that receives the same arguments.
    """

    name = "/node/heron/client/joe/session/1"
    cluster = ""

    def __init__(self, **answers: Any) -> None:
        self.asked: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        self.opened: dict[str, Any] = {}
        self._answers = answers

    def connect(self, url: str | None, **options: Any) -> "FakeClient":
        """Return this client in place of `sync.connect`, and keep the options."""
        self.opened = {"url": url, **options}
        return self

    def __enter__(self) -> "FakeClient":
        return self

    def __exit__(self, *_: object) -> None:
        """Close nothing, because nothing was opened."""

    def events(self) -> Iterator[Any]:
        return iter(())

    def __getattr__(self, name: str) -> Callable[..., Any]:
        answer = self._answers[name]

        def method(*arguments: Any, **options: Any) -> Any:
            self.asked.append((name, arguments, options))
            found = answer(*arguments, **options) if callable(answer) else answer
            if isinstance(found, MeshError):
                raise found
            return found

        return method
