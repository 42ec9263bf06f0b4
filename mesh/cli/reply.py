"""`mesh reply`: serve an address by a command, which is run for each request."""

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
from mesh.cli.options import count, say
from mesh.cli.running import CommandEnd, run
from mesh.client.arguments import seconds
from mesh.client.client import Client
from mesh.client.request import Request
from mesh.client.service import Service
from mesh.errors import LocalError


@click.command("reply")
@click.argument("address")
@click.option("--exec", "typed", required=True, metavar="COMMAND", help="A program, and its arguments.")
@click.option("--shell", is_flag=True, help="Have /bin/sh run it: for pipes, wildcards and variables.")
@click.option(
    "--concurrency",
    type=click.IntRange(1, 1000),
    default=1,
    show_default=True,
    metavar="N",
    help="Requests at a time; others go to others, or wait.",
)
@click.option(
    "--timeout",
    type=options.FiniteNumber(min=0, min_open=True),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="A command that takes longer is killed.",
)
@click.option("--local", is_flag=True, help="Only for what is sent at the same node.")
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
    """Serve ADDRESS, until Ctrl-C: run COMMAND for each message.

    The message is its stdin, and what it writes to stdout is the reply, byte for byte. When it ends with
    another exit code than 0, say 3, the request fails with EXIT_3 and what it wrote to stderr; killed by
    a signal with SIGNAL_9, too late with TIMED_OUT. MESH_ADDRESS and MESH_SENDER are in its environment.

    Without --shell the words of COMMAND are taken as a shell would, but nothing in them is carried out.
    After Ctrl-C what runs may end; another one does not wait for that. On stderr it says "serving" when
    others can find it.
    """
    answering = ReplyCommand(words(typed, shell), seconds("timeout", timeout))
    asyncio.run(_serve(url, client, address, local, concurrency, answering))


def words(typed: str, shell: bool) -> list[str]:
    """Program and arguments. UsageError when there is no such program."""
    if shell:
        return ["/bin/sh", "-c", typed]
    try:
        found = shlex.split(typed)
    except ValueError as error:
        raise click.UsageError(f"--exec {typed!r} cannot be read: {error}.") from None
    if not found:
        raise click.UsageError("--exec is empty: give it a program, and its arguments.")
    if shutil.which(found[0]) is None:
        raise click.UsageError(f"--exec: there is no program {found[0]!r} here. For shell commands: --shell")
    return found


class ReplyCommand:
    """The command for each request, each within so many seconds."""

    def __init__(self, command: Sequence[str], limit: float) -> None:
        self._command, self._limit = command, limit
        self.running = 0

    async def work(self, service: Service[Any], ending: asyncio.Event) -> None:
        """One after the other, until it is to end."""
        requests = aiter(service)
        while (request := await _next(requests, ending)) is not None:
            self.running += 1
            try:
                await self._answer(request)
            finally:
                self.running -= 1

    async def _answer(self, request: Request[Any]) -> None:
        named = {"MESH_ADDRESS": request.to, "MESH_SENDER": request.sender}
        ended = await run(self._command, request.content, self._limit, {**os.environ, **named})
        if ended.code:
            say(f"{request.sender}: {ended.code}" + (f": {ended.text}" if ended.text else ""))
        if request.wants_reply:
            await _reply(request, ended)


async def _reply(request: Request[Any], ended: CommandEnd) -> None:
    """A reply that cannot be, as it is too long, is a failure."""
    if ended.code:
        await request.fail(ended.code, ended.text)
        return
    try:
        await request.reply(ended.content)
    except LocalError as error:
        say(f"{request.sender}: {error.what} [{error.code}]")
        await request.fail(error.code, error.what)


async def _next(requests: Any, ending: asyncio.Event) -> Request[Any] | None:
    """The next one; None when it is to end before."""
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
            say(f"serving {address}")
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
    """The first one lets what runs end, the second one does not."""

    def end() -> None:
        if ending.is_set():
            for work in works:
                work.cancel()
        elif answering.running:
            say(f"waiting for {count(answering.running, 'command')}; Ctrl-C again kills")
        ending.set()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, end)


async def _tell(m: Client) -> None:
    """Say when the node goes away and when it is back."""
    with contextlib.suppress(asyncio.CancelledError):
        async for event in m.events():
            if event.kind in options.EVENTS:
                say(options.EVENTS[event.kind].format(event.text))
