"""How does a node speak to the program in whose own process it runs? By no socket."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A connection of that program: the name by which the core knows it, and what stands for a socket.

    `put` hands it the frames of a message; `hang_up` says that nothing more comes. Both at once, and they
    never call the core.
    """

    put: Callable[[list[bytes]], None]
    hang_up: Callable[[], None]
