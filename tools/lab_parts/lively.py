"""Processes that are not only waited for: something is looked after meanwhile."""

import time
from collections.abc import Callable

from tools.running.processes import LOOK, Processes


class Lively(Processes):
    """Processes; while anybody waits for one of them, `meanwhile` is called again and again."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: Callable[[], None] = lambda: None

    def pause(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while True:
            self.meanwhile()
            super().pause(min(LOOK, max(0.0, end - time.monotonic())))
            if time.monotonic() >= end:
                return
