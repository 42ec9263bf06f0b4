"""`mesh reply`: serves an address by running a command for each request."""

import asyncio
import contextlib
import os
import shlex
import shutil
import signal
from collections.abc import Sequence
from typing import Any

import click

import mesh
from mesh.cli import options
from mesh.cli.options import count, print_message
from mesh.cli.running import CommandEnd, run
from mesh.client.arguments import seconds
from mesh.client.client import Client
from mesh.errors import LocalError
from mesh.features.services.client.request import Request
from mesh.features.services.client.service import Service


@click.command("reply")
@click.argument("address")
@click.option(
    "--exec", "typed", required=True, metavar="COMMAND", help="Run COMMAND, a program with its arguments."
)
@click.option("--shell", is_flag=True, help="Run COMMAND with /bin/sh: for pipes, wildcards and variables.")
@click.option(
    "--concurrency",
    type=click.IntRange(1, 1000),
    default=1,
    show_default=True,
    metavar="N",
    help="Run at most N commands at a time; other requests wait or go to other servers.",
)
@click.option(
    "--timeout",
    type=options.FiniteNumber(min=0, min_open=True),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="Kill a command that takes longer than SECONDS.",
)
@click.option("--local", is_flag=True, help="Serve only senders at the asked node.")
@options.client
@options.url
def command(
    address: str,
    typed: str,
    shell: bool,
    concurrency: int,
    timeout: float,
    local: bool,
    client: str | None,
    url: str | None,
) -> None:
    """Serve ADDRESS until Ctrl-C: run COMMAND for each message.

    The message is the stdin of the command, and the stdout of the command is the reply, byte for byte. If the
    command exits with a nonzero code, such as 3, the request fails with code EXIT_3 and the end of stderr as
    text. The code is SIGNAL_9 if the command was killed, and TIMED_OUT if it took too long. The environment
    of the command has MESH_ADDRESS and MESH_SENDER.

    Without --shell, COMMAND is split into words as by a shell, but nothing is expanded. After Ctrl-C, running
    commands may finish; a second Ctrl-C kills them. Stderr shows "serving" when clients can find the service.
    """
    answering = ReplyCommand(words(typed, shell), seconds("timeout", timeout))
    asyncio.run(_serve(url, client, address, local, concurrency, answering))


def words(typed: str, shell: bool) -> list[str]:
    """Return the program and its arguments. Raises: click.UsageError if the command is invalid."""
    if shell:
        return ["/bin/sh", "-c", typed]
    try:
        found = shlex.split(typed)
    except ValueError as error:
        raise click.UsageError(f"--exec {typed!r} cannot be read: {error}.") from None
    if not found:
        raise click.UsageError("--exec is empty: give a program with its arguments.")
    if shutil.which(found[0]) is None:
        what = f"--exec: {found[0]!r} is not an executable program here."
        raise click.UsageError(f"{what} For a shell command, add --shell.")
    return found


class ReplyCommand:
    """Runs a command for each request, with a time limit of `limit` seconds each."""

    def __init__(self, command: Sequence[str], limit: float) -> None:
        self._command, self._limit = command, limit
        self.running = 0

    async def work(self, service: Service[Any], ending: asyncio.Event) -> None:
        """Answer one request after the other, until `ending` is set."""
        requests = aiter(service)
        while (request := await _next(requests, ending)) is not None:
            self.running += 1
            try:
                await self._run_command(request)
            finally:
                self.running -= 1

    async def _run_command(self, request: Request[Any]) -> None:
        named = {"MESH_ADDRESS": request.to, "MESH_SENDER": request.sender}
        ended = await run(self._command, request.content, self._limit, {**os.environ, **named})
        if ended.code:
            print_message(f"{request.sender}: {ended.code}" + (f": {ended.text}" if ended.text else ""))
        if request.wants_reply:
            await _reply(request, ended)


async def _reply(request: Request[Any], ended: CommandEnd) -> None:
    """Send the reply. A reply that is too long becomes a failure."""
    if ended.code:
        await request.fail(ended.code, ended.text)
        return
    try:
        await request.reply(ended.content)
    except LocalError as error:
        print_message(f"{request.sender}: {error.what} [{error.code}]")
        await request.fail(error.code, error.what)


async def _next(requests: Any, ending: asyncio.Event) -> Request[Any] | None:
    """Return the next request, or `None` if `ending` is set or the service ends first."""
    end, coming = asyncio.ensure_future(ending.wait()), asyncio.ensure_future(anext(requests, None))
    try:
        await asyncio.wait((coming, end), return_when=asyncio.FIRST_COMPLETED)
        return coming.result() if coming.done() else None
    finally:
        end.cancel()
        coming.cancel()


async def _serve(
    url: str | None, client: str | None, address: str, local: bool, concurrency: int, answering: ReplyCommand
) -> None:
    ending = asyncio.Event()
    async with mesh.connect(url, client=client) as m:
        telling = asyncio.ensure_future(_tell(m))
        async with m.serve(address, local_only=local, prefetch=concurrency) as service:
            print_message(f"serving {address}")
            works = [asyncio.ensure_future(answering.work(service, ending)) for _ in range(concurrency)]
            _end_at_signals(ending, answering, works)
            try:
                await asyncio.gather(*works)
            except asyncio.CancelledError:
                if not ending.is_set():
                    raise
            finally:
                for work in works:
                    work.cancel()
                await asyncio.gather(*works, return_exceptions=True)
        telling.cancel()


def _end_at_signals(
    ending: asyncio.Event, answering: ReplyCommand, works: Sequence["asyncio.Future[None]"]
) -> None:
    """Install signal handlers: the first signal lets running commands finish, the second one kills them."""

    def end() -> None:
        if ending.is_set():
            for work in works:
                work.cancel()
        elif answering.running:
            print_message(f"waiting for {count(answering.running, 'command')}; Ctrl-C again kills")
        ending.set()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, end)


async def _tell(m: Client) -> None:
    """Report on stderr when the node disconnects or returns."""
    with contextlib.suppress(asyncio.CancelledError):
        async for event in m.events():
            if event.kind in options.EVENTS:
                print_message(options.EVENTS[event.kind].format(event.text))
