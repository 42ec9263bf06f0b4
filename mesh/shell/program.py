"""The connection between a node and the program that runs it in its own process, without a socket."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """The connection of the program, which the core uses as a key in place of a socket.

    `put` passes the frames of a message to the program; `hang_up` ends the connection. Both return
    immediately and never call the core.
    """

    put: Callable[[list[bytes]], None]
    hang_up: Callable[[], None]
