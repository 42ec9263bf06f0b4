"""A forked child closes the connections of its parent, and no other descriptors."""

import asyncio
import gc
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from unittest.mock import Mock

import pytest

from mesh.transport.forked import is_ours
from mesh.transport.options import UNANSWERED
from tests.children import in_a_child
from tests.mesh.transport.ends import End, eventually, node_keys

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists descriptors so")


def sockets() -> set[str]:
    """Return the sockets of this process, by their names in the kernel."""
    return set(_links())


def link_of(descriptor: int) -> str:
    return os.readlink(f"/proc/self/fd/{descriptor}")


def _links() -> Iterator[str]:
    for number in os.listdir("/proc/self/fd"):
        try:
            link = link_of(int(number))
        except FileNotFoundError:
            continue
        if link.startswith("socket:"):
            yield link


def test_a_child_has_none_of_our_connections_and_all_of_the_program(tmp_path: Path) -> None:
    async def scenario() -> None:
        gc.collect()  # closes sockets of earlier tests
        with ExitStack() as stack:
            server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            local = stack.enter_context(socket.socket(socket.AF_UNIX))
            local.bind(str(tmp_path / "theirs"))
            local.listen()
            mine = stack.enter_context(socket.create_connection(server.getsockname()))
            accepted = stack.enter_context(server.accept()[0])
            pair = [stack.enter_context(each) for each in socket.socketpair()]
            theirs = {link_of(each.fileno()) for each in (server, local, mine, accepted, *pair)}
            before = sockets()
            keyed, plain = [End(node_keys(n)) for n in (1, 2)], [End(), End()]
            for end in (*keyed, *plain):
                stack.callback(end.sockets.close)
            for (a, b), where in ((keyed, "tcp://127.0.0.1:0"), (plain, f"ipc://{tmp_path}/")):
                is_file = where.startswith("ipc")
                b.sockets.dial(1, a.sockets.bind(where + "a" * is_file, trusted=is_file))
                b.sockets.send(1, [b"in"])
                b.sockets.listen(a.sockets.bind_pub(where + "pub" * is_file))
                await eventually(lambda a=a: a.has(1))  # type: ignore[misc]
            # These are four listening sockets, and two ends of each of four connections.
            await eventually(lambda: len(sockets() - before) >= 12)
            ours = sockets() - before
            left = set(in_a_child(lambda: sorted(sockets())))
            assert (left & ours, theirs - left) == (set(), set())
            for a, b in (keyed, plain):
                b.sockets.send(1, [b"still here"])
                await eventually(lambda a=a: a.has(2))  # type: ignore[misc]
                a.sockets.close()
                b.sockets.close()
            assert theirs <= set(in_a_child(lambda: sorted(sockets())))

    asyncio.run(scenario())


def test_a_look_at_a_descriptor_changes_nothing_of_it() -> None:
    async def scenario() -> None:
        end = End()
        usual = socket.getdefaulttimeout()
        one, other = socket.socketpair()
        with closing(one), closing(other):
            socket.setdefaulttimeout(5.0)
            try:
                assert in_a_child(lambda: [os.get_blocking(one.fileno()), socket.getdefaulttimeout()]) == [
                    True,
                    5.0,
                ]
            finally:
                socket.setdefaulttimeout(usual)
        end.sockets.close()

    asyncio.run(scenario())


def test_what_is_only_alike_is_not_ours(tmp_path: Path) -> None:
    names = {"tcp://127.0.0.1:7700", f"ipc://{tmp_path}/ours"}
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as line,
    ):
        host, port = server.getsockname()
        assert not is_ours(server, names) and is_ours(server, {f"tcp://{host}:{port}"})
        assert not is_ours(line, {f"tcp://{host}:{port}"}), "it is connected to ours, and the program's own"
        for limit, expected in ((UNANSWERED - 7, False), (UNANSWERED, True)):
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, limit)
            assert is_ours(line, ()) is expected
    listens = Mock(family=socket.AF_INET6, type=socket.SOCK_STREAM)  # a mock, since a machine may lack IPv6
    listens.getsockopt.return_value, listens.getsockname.return_value = 1, ("::1", 7700, 0, 0)
    assert is_ours(listens, {"tcp://[::1]:7700"}) and not is_ours(listens, names)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams, socket.socket(socket.AF_UNIX) as unix:
        unix.bind(str(tmp_path / "theirs"))
        assert not is_ours(datagrams, names) and not is_ours(unix, names)
        assert is_ours(unix, {f"ipc://{tmp_path}/theirs"})
