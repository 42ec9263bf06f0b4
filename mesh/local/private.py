"""What on this disk is one user's alone? The state directory, the cookie, files nobody else may read."""

import os
import secrets
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path

from mesh.errors import DataDirRefused
from mesh.local.user import home_directory
from mesh.printable import typed
from mesh.regular import open_regular
from mesh.values import check_path

COOKIE_BYTES = 32
_LONGEST_SOCKET = 100  # bytes; the kernel takes a few more, but not on every system the same

_SHARED_WRITE = 0o022  # group and others may write
_SHARED = 0o077  # group and others may do anything at all
_OF_SYSTEM = ("boot", "dev", "etc", "proc", "sys", "usr")  # below them everything is there for others
_OTHER_STATE = "Or set MESH_STATE_DIR to a directory of your own."


def state_dir(environ: Mapping[str, str]) -> Path:
    """This user's directory for all nodes: $MESH_STATE_DIR, $XDG_STATE_HOME/mesh or ~/.local/state/mesh.

    It is made when missing. DataDirRefused when others may write there.
    """
    xdg = Path(environ.get("XDG_STATE_HOME", ""))
    if environ.get("MESH_STATE_DIR"):
        path = Path(environ["MESH_STATE_DIR"]).absolute()
    elif xdg.is_absolute():  # the XDG rules say that a relative one counts as unset
        path = xdg / "mesh"
    else:
        path = home_directory(environ) / ".local" / "state" / "mesh"
    check_path(f"the state directory {str(path)!r}", str(path), DataDirRefused)
    return _own_directory(path, _SHARED_WRITE, _OTHER_STATE)


def private_directory(path: Path, hint: str) -> Path:
    """The directory, which nobody else may enter; made when missing, else DataDirRefused with the hint."""
    return _own_directory(path, _SHARED, hint)


def _own_directory(path: Path, forbidden: int, hint: str) -> Path:
    try:
        # Not parents=True: by that they would be as open as the umask lets them be.
        for each in (*(parent for parent in reversed(path.parents) if not parent.exists()), path):
            each.mkdir(mode=0o700, exist_ok=True)
        found = path.stat()
    except OSError as error:
        raise refused(path, error, hint) from error
    _check_ours(path, found, forbidden, f"chmod 700 {typed(path)}", hint)
    return path


def cookie(state: Path) -> bytes:
    """The 32 secret bytes by which this user's programs know each other; made at the first call."""
    path = state / "cookie"
    try:
        if not path.exists():
            make_private(path, secrets.token_bytes(COOKIE_BYTES))
        return _read_cookie(path)
    except OSError as error:
        raise refused(path, error, _OTHER_STATE) from error


def make_private(path: Path, content: bytes) -> None:
    """A file of ours with this content, unless another process has made one. OSError as it comes."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")  # 0600, and new
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(handle)
        # Of two processes that come here at once, one links its file; a rename would let the other
        # replace one that somebody has read already.
        os.link(temporary, path)
        sync_directory(path.parent)
    except FileExistsError:
        pass
    finally:
        os.unlink(temporary)


def _read_cookie(path: Path) -> bytes:
    found = read_private(path, COOKIE_BYTES + 1, _OTHER_STATE)
    if len(found) != COOKIE_BYTES:
        raise DataDirRefused(
            f"{path} is damaged: it does not hold exactly {COOKIE_BYTES} bytes.",
            hint=f"To have a new one made, stop your nodes and type: rm {typed(path)}",
        )
    return found


def read_private(path: Path, most: int, hint: str) -> bytes:
    """The first `most` bytes of a file that is ours and that nobody else may read.

    DataDirRefused with the hint if others may, or it is another's; OSError as it comes.
    """
    with open_regular(path, os.O_NOFOLLOW) as file:
        _check_ours(path, os.fstat(file.fileno()), _SHARED, f"chmod 600 {typed(path)}", hint)
        return file.read(most)


def socket_path(data: Path, uuid: bytes) -> Path:
    """The path of a node's local socket: beside its data, or in a short private place if that is too long.

    DataDirRefused when that place is not ours alone.
    """
    path = data / "node.sock"
    if _fits(path):
        return path
    directory = Path(tempfile.gettempdir()) / f"mesh-{os.geteuid()}"
    path = directory / f"{uuid.hex()[:8]}.sock"
    if not _fits(path):
        raise DataDirRefused(
            f"No local socket can be made: {data} is too long a path, and so is {directory}.",
            hint="Use a shorter --data directory, or set TMPDIR=/tmp",
        )
    # Anybody may have put something of that name into a shared /tmp, even a link to a place of ours.
    if directory.is_symlink():
        raise DataDirRefused(
            f"{directory} is a symbolic link; it must be a directory of yours.",
            hint=f"Type: rm {typed(directory)}",
        )
    private_directory(directory, "Or set TMPDIR to a directory of your own, with a short path.")
    return path


def _fits(path: Path) -> bool:
    return len(os.fsencode(path)) <= _LONGEST_SOCKET


def write_private(path: Path, content: bytes, *, durable: bool) -> None:
    """Replace the file as a whole, mode 0600; one writer at a time. OSError as it comes.

    A reader sees the old content or the new. If `durable`, the new content outlives a power cut.
    """
    temporary = path.with_name(f".{path.name}.new")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        if durable:
            os.fsync(handle)
    os.replace(temporary, path)
    if durable:
        sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Make what was created or renamed in it durable."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def refused(path: Path, error: OSError, hint: str) -> DataDirRefused:
    """The operating system's no, in our words."""
    reasons = {
        FileExistsError: "there is a file in the place of the directory",
        NotADirectoryError: "there is a file in the place of a directory",
        PermissionError: "you may not write there",
    }
    why = reasons.get(type(error), error.strerror or str(error))
    return DataDirRefused(f"{path} cannot be used: {why}.", hint=hint)


def _check_ours(path: Path, found: os.stat_result, forbidden: int, mend: str, hint: str) -> None:
    if found.st_uid != os.geteuid():
        raise DataDirRefused(f"{path} belongs to user {found.st_uid}, you are {os.geteuid()}.", hint=hint)
    if stat.S_IMODE(found.st_mode) & forbidden:
        raise DataDirRefused(
            f"{path} is open to other users (mode {stat.S_IMODE(found.st_mode):o}).",
            hint=_unshared(hint) if _is_shared(path, found) else f"Type: {mend}. {hint}",
        )


def _is_shared(path: Path, found: os.stat_result) -> bool:
    """Is it there for others, such as /tmp, /srv or /proc/sys? Whoever closes that breaks what they do."""
    parts = path.absolute().parts
    return bool(found.st_mode & stat.S_ISVTX) or len(parts) <= 2 or _is_of_system(parts)


def _unshared(hint: str) -> str:
    alone = hint.removeprefix("Or ")
    return f"Do not close it, as others need it: {alone[:1].lower()}{alone[1:]}"


def _is_of_system(parts: tuple[str, ...]) -> bool:
    """Return whether a path lies below a directory of the system. Files in /dev/shm belong to their users."""
    return parts[1] in _OF_SYSTEM and parts[1:3] != ("dev", "shm")
