"""Processes with work to do while the run waits for them."""

import time
from collections.abc import Callable

from tools.running.processes import LOOK, Processes


class Lively(Processes):
    """Processes; `meanwhile` is called repeatedly during each wait and pause."""

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
