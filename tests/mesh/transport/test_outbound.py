"""Failed dials: when they are reported, and with which reason."""

import asyncio
import errno
import socket

import pytest

from mesh.local.descriptors import CODE, of_system
from tests.mesh.transport.ends import End, eventually

pytestmark = pytest.mark.usefixtures("without_haste")


def unused_address() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"tcp://127.0.0.1:{probe.getsockname()[1]}"


def test_a_dial_that_nobody_takes_is_told_of_at_once() -> None:
    async def scenario() -> None:
        end = End()
        end.sockets.dial(1, unused_address())
        end.sockets.send(1, [b"hello"])
        await eventually(lambda: end.gone == [1])
        end.sockets.close()

    asyncio.run(scenario())


def test_a_dial_of_which_no_answer_comes_is_told_of_while_tcp_still_waits() -> None:
    async def scenario() -> None:
        # This is like an unplugged cable: Linux answers no further SYN when the queue of the socket is full.
        with socket.socket() as full, socket.socket() as first, socket.socket() as second:
            full.bind(("127.0.0.1", 0))
            full.listen(0)
            for one in (first, second):
                one.setblocking(False)
                one.connect_ex(full.getsockname())
            end = End()
            end.sockets.dial(1, f"tcp://127.0.0.1:{full.getsockname()[1]}")
            await eventually(lambda: end.gone == [1])
            end.sockets.close()

    asyncio.run(scenario())


@pytest.mark.parametrize("fails", ["check_descriptors", "new_socket"])
def test_a_dial_for_which_there_is_no_descriptor_is_told_of_with_its_reason(
    fails: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without descriptors for its threads, ZeroMQ would end the process."""

    def none_left(*_: object) -> None:
        error = OSError(errno.EMFILE, "Too many open files")
        raise of_system(error, "") if fails == "check_descriptors" else error

    async def scenario() -> None:
        told: list[tuple[object, str]] = []
        end = End(failed=lambda key, error: told.append((key, error.code)))
        monkeypatch.setattr(f"mesh.transport.outbound.{fails}", none_left)
        end.sockets.dial(1, "tcp://127.0.0.1:1")
        assert not told, "not from within what the core has done"
        await eventually(lambda: end.gone == [1])
        assert told == ([(1, CODE)] if fails == "check_descriptors" else [])
        end.sockets.close()

    asyncio.run(scenario())
