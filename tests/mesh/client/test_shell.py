"""A client dials again after any error of the system."""

import asyncio
import errno
import random
from collections.abc import Callable
from typing import Any

import pytest

from mesh.client.access import Access
from mesh.client.core.client import ClientCore
from mesh.client.shell import PutCommand, Shell
from mesh.security.streamkey import StreamKey
from mesh.wire import commands as c
from tests.waiting import eventually

NUMBERS = (errno.EMFILE, errno.EIO, errno.ESTALE, errno.EACCES)


class Refusing:
    """A carrier and a path to its node. Each call at `where` fails once with each error before it works."""

    def __init__(self, where: str) -> None:
        self.left: dict[str, list[int]] = {where: list(NUMBERS)}
        self.hellos = 0

    def carriers(self, loop: asyncio.AbstractEventLoop, core: ClientCore, turn: Callable[[], None]) -> Any:
        return self

    def _refuse(self, where: str) -> None:
        if self.left.get(where):
            number = self.left[where].pop()
            raise OSError(number, f"error {number}")

    def find(self, home: str, place: str) -> Access:
        self._refuse("find")
        return Access("ipc:///nowhere")

    def dial(self, key: int, access: Access) -> PutCommand:
        self._refuse("dial")
        return self.put

    def put(self, command: c.Command, envelopes: Any) -> None:
        self._refuse("put")
        self.hellos += isinstance(command, c.Hello)

    def read_arrived(self) -> None: ...

    def hang_up(self, key: int) -> None:
        self._refuse("hang up")

    def close(self) -> None: ...


@pytest.mark.parametrize("where", ["find", "dial", "put"])
def test_a_client_dials_again_after_any_error_of_the_system(where: str) -> None:
    async def scenario() -> None:
        refusing = Refusing(where)
        key = StreamKey(random.randbytes(32))
        shell = Shell(("joe", 0, False), key, 5.0, refusing.find, lambda _: None, refusing.carriers)
        opening = asyncio.create_task(shell.connect(waits=True))
        await eventually(lambda: refusing.hellos)
        assert not refusing.left[where]
        opening.cancel()
        shell.close()

    asyncio.run(scenario())
