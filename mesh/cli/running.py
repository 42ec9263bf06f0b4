"""Runs a command with given stdin content and a time limit."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mesh.cli.options import plainly
from mesh.wire.limits import MAX_CONTENT_EVER

LAST = 1000  # last bytes of stderr to report
CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True)
class CommandEnd:
    """The result of a command: its stdout, or a code and a text for its failure."""

    content: bytes = b""
    code: str = ""
    text: str = ""


async def run(command: Sequence[str], content: bytes, limit: float, environ: Mapping[str, str]) -> CommandEnd:
    """Run `command` with `content` as stdin. After `limit` seconds, kill it and all its children."""
    pipe = asyncio.subprocess.PIPE
    try:
        # Its own group: Ctrl-C of the terminal does not reach it, and all its children can be killed.
        process = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, stderr=pipe, env=environ, start_new_session=True
        )
    except OSError as error:
        return CommandEnd(code="CANNOT_RUN", text=f"{command[0]}: {error.strerror}")
    try:
        async with asyncio.timeout(limit):
            _, said, complaint, code = await asyncio.gather(
                _write(process.stdin, content), _read(process), _last(process.stderr), process.wait()
            )
    except BaseException as error:  # cancelled, or too late
        _kill(process)
        await process.wait()
        if not isinstance(error, TimeoutError):
            raise
        return CommandEnd(code="TIMED_OUT", text=f"the time limit of {plainly(limit)} has passed")
    if len(said) > MAX_CONTENT_EVER:
        return CommandEnd(code="TOO_LARGE", text=f"the output exceeds {MAX_CONTENT_EVER:,} bytes")
    if code:
        return CommandEnd(code=f"EXIT_{code}" if code > 0 else f"SIGNAL_{-code}", text=complaint)
    return CommandEnd(said)


async def _write(stdin: asyncio.StreamWriter | None, content: bytes) -> None:
    """Write `content` to the command's stdin. The command may exit without reading it."""
    assert stdin is not None
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        stdin.write(content)
        await stdin.drain()
    stdin.close()


async def _read(process: asyncio.subprocess.Process) -> bytes:
    """Return all of stdout. Kill a command that exceeds the limit of a message."""
    assert process.stdout is not None
    said = bytearray()
    while chunk := await process.stdout.read(CHUNK):
        said += chunk
        if len(said) > MAX_CONTENT_EVER:
            _kill(process)
            break
    return bytes(said)


async def _last(stderr: asyncio.StreamReader | None) -> str:
    assert stderr is not None
    said = b""
    while chunk := await stderr.read(CHUNK):
        said = (said + chunk)[-LAST:]
    return said.decode(errors="replace").strip()


def _kill(process: asyncio.subprocess.Process) -> None:
    """Kill the command and all children in its process group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
