"""The address and the token of a node's HTTP endpoint."""

import errno
import os
import re
import secrets
import socket
import stat
from pathlib import Path

from mesh.errors import BadConfig, BindRefused, DataDirRefused
from mesh.local.addresses import is_loopback
from mesh.local.private import make_private, read_private, refused
from mesh.printable import typed
from mesh.regular import open_regular

FILE = "http-token"  # in the state directory
LONGEST = 256  # characters of a token
_TOKEN = re.compile(rf"[!-~]{{16,{LONGEST}}}")
_HINT = "Name another file with http.token_file."
_OWN = "Set MESH_STATE_DIR to a directory that you own."


def check_listen(text: str) -> tuple[str, int]:
    """Return the host and port of `http.listen`. Raises: BadConfig for a bad or non-loopback address."""
    host, colon, port = text.rpartition(":")
    hint = 'Write, for example, "127.0.0.1:7780".'
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
        what = f"http.listen = {text!r:.80} is not an address with a port from 0 to 65535."
        raise BadConfig(what, hint=hint)
    host = "127.0.0.1" if host == "localhost" else host
    if not is_loopback(f"tcp://{text}") and host != "127.0.0.1":
        hint = (
            "HTTP is not encrypted, so only this machine may reach it: write 127.0.0.1:PORT or [::1]:PORT. "
            "For other machines, put a reverse proxy in front of it."
        )
        raise BadConfig(f"http.listen = {text!r:.80} is not a loopback address.", hint=hint)
    return host.strip("[]"), int(port)


def bound(text: str) -> socket.socket:
    """Return a socket that listens at the address. Raises: BadConfig, BindRefused."""
    host, port = check_listen(text)
    server: socket.socket | None = None
    try:
        server = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind((host, port))
        server.listen(64)
        server.setblocking(False)
    except OSError as error:  # also without IPv6, or without a file descriptor
        if server is not None:
            server.close()
        hint = 'Check the address, such as "127.0.0.1:7780".'
        if error.errno in (errno.EADDRINUSE, errno.EACCES):
            hint = "Choose another port in http.listen; 0 selects a free one."
        what = f"http.listen = {text!r} cannot be bound: {error.strerror or error}."
        raise BindRefused(what, hint=hint) from error
    return server


def token_of(state: Path, given: Path | None) -> str:
    """Return the token in the file `given`, or else the user's own token, which is created on first use.

    A group may read `given`, but must not write it. Raises: DataDirRefused.
    """
    path = given or state / FILE
    try:
        if given is None:
            if not path.exists():
                make_private(path, secrets.token_hex(32).encode())
            return _checked(path, read_private(path, LONGEST + 2, _OWN))
        with open_regular(path) as file:
            if (mode := stat.S_IMODE(os.fstat(file.fileno()).st_mode)) & 0o027:
                what = (
                    f"The mode {mode:o} of {path} is too open: besides the owner, only the group may read "
                    "it, and nobody may write it."
                )
                raise DataDirRefused(what, hint=f"Run: chmod 640 {typed(path)}")
            return _checked(path, file.read(LONGEST + 2))
    except OSError as error:
        raise refused(path, error, _HINT if given else _OWN) from error


def _checked(path: Path, found: bytes) -> str:
    text = found.decode("latin-1").strip()
    if not _TOKEN.fullmatch(text):
        what = f"{path} holds no token of 16 to {LONGEST} visible ASCII characters."
        hint = f"If this is the right file, run: openssl rand -hex 32 > {typed(path)}"
        raise DataDirRefused(what, hint=hint)
    return text
