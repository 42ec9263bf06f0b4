"""Do connections tell when they end, and give all that came before?"""

import asyncio
import socket
from pathlib import Path
from typing import Any

from mesh.transport import Sockets
from tests.mesh.meshes import eventually


class End:
    """Sockets of one process, and what they told."""

    def __init__(self) -> None:
        self.came: list[Any] = []
        self.received: list[tuple[Any, list[bytes]]] = []
        self.gone: list[Any] = []
        self.sockets = Sockets(
            asyncio.get_running_loop(), lambda key, endpoint, trusted: self.came.append(key),
            lambda key, frames: self.received.append((key, frames)), self.gone.append, lambda: None,
        )  # fmt: skip


def unused_address() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"tcp://127.0.0.1:{probe.getsockname()[1]}"


def test_a_dial_that_nobody_takes_is_told_of_at_once() -> None:
    async def story() -> None:
        end = End()
        end.sockets.dial(1, unused_address())
        end.sockets.send(1, [b"hello"])
        await eventually(lambda: end.gone == [1])
        end.sockets.close()

    asyncio.run(story())


def test_the_last_words_are_heard_before_the_end(tmp_path: Path) -> None:
    async def story() -> None:
        listener, dialler = End(), End()
        address = listener.sockets.bind(f"ipc://{tmp_path}/s", trusted=True)
        dialler.sockets.dial(1, address)
        dialler.sockets.send(1, [b"hello"])
        await eventually(lambda: listener.received)
        words = [(1, [b"%d" % number]) for number in range(100)]
        for _, frames in words:
            listener.sockets.send(listener.came[0], frames)
        # All of it has left when this returns, so the other end finds words and end at the same time.
        listener.sockets.close()
        await eventually(lambda: dialler.gone == [1])
        assert dialler.received == words
        dialler.sockets.close()

    asyncio.run(story())
