"""Promises of a simulated client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from typing import Any


class Outcome:
    """A promise that calls its callback with result and error, of which one is None."""

    def __init__(self) -> None:
        self.result: Any = None
        self.error: BaseException | None = None
        self._is_done = False
        self._heard: Callable[[Any, BaseException | None], None] | None = None

    def done(self) -> bool:
        return self._is_done

    def set_result(self, result: Any, /) -> None:
        self.result = result
        self._end()

    def set_exception(self, error: BaseException, /) -> None:
        self.error = error
        self._end()

    def _end(self) -> None:
        assert not self._is_done, "told twice"
        self._is_done = True
        if self._heard is not None:
            self._heard(self.result, self.error)

    def then(self, heard: Callable[[Any, BaseException | None], None]) -> None:
        self._heard = heard
        if self._is_done:
            heard(self.result, self.error)

    def __await__(self) -> Generator[Any, None, Any]:
        """Wait in a program of the simulated mesh."""
        future = asyncio.get_running_loop().create_future()

        def heard(result: Any, error: BaseException | None) -> None:
            if not future.done():
                future.set_result((result, error))

        self.then(heard)
        result, error = yield from future
        if error is not None:
            raise error
        return result
