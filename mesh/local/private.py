"""Private files of one user: the state directory, the cookie, and how to read and write them safely."""

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
_LONGEST_SOCKET = 100  # bytes; the kernel's limit is a bit higher and varies

_SHARED_WRITE = 0o022  # write access for group or others
_SHARED = 0o077  # any access for group or others
_OF_SYSTEM = ("boot", "dev", "etc", "proc", "sys", "usr")  # directories that are meant for all users
_OTHER_STATE = "Set MESH_STATE_DIR to a directory that you own."


def state_dir(environ: Mapping[str, str]) -> Path:
    """Return this user's directory for all nodes, created if missing.

    It is $MESH_STATE_DIR, $XDG_STATE_HOME/mesh or ~/.local/state/mesh. Raises: DataDirRefused if the
    directory belongs to another user, or other users may write there.
    """
    xdg = Path(environ.get("XDG_STATE_HOME", ""))
    if environ.get("MESH_STATE_DIR"):
        path = Path(environ["MESH_STATE_DIR"]).absolute()
    elif xdg.is_absolute():  # the XDG rules ignore relative paths
        path = xdg / "mesh"
    else:
        path = home_directory(environ) / ".local" / "state" / "mesh"
    check_path(f"the state directory {str(path)!r}", str(path), DataDirRefused)
    return _own_directory(path, _SHARED_WRITE, _OTHER_STATE)


def private_directory(path: Path, hint: str) -> Path:
    """Return the directory, created if missing.

    Raises: DataDirRefused if it belongs to another user, or other users have any access.
    """
    return _own_directory(path, _SHARED, hint)


def _own_directory(path: Path, forbidden: int, hint: str) -> Path:
    try:
        # Not parents=True: their mode would depend on the umask.
        for each in (*(parent for parent in reversed(path.parents) if not parent.exists()), path):
            each.mkdir(mode=0o700, exist_ok=True)
        found = path.stat()
    except OSError as error:
        raise refused(path, error, hint) from error
    _check_ours(path, found, forbidden, f"chmod 700 {typed(path)}", hint)
    return path


def cookie(state: Path) -> bytes:
    """Return the 32 secret bytes that this user's programs share, created at the first call.

    Raises: DataDirRefused if they are damaged, or readable by other users.
    """
    path = state / "cookie"
    try:
        if not path.exists():
            make_private(path, secrets.token_bytes(COOKIE_BYTES))
        return _read_cookie(path)
    except OSError as error:
        raise refused(path, error, _OTHER_STATE) from error


def make_private(path: Path, content: bytes) -> None:
    """Create a private file with this content, unless it exists. Raises: OSError."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")  # mode 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(handle)
        # If two processes create the file, only one link succeeds. A rename could replace a file that
        # was already read.
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
            hint=f"To create a new one, stop your nodes and run: rm {typed(path)}",
        )
    return found


def read_private(path: Path, most: int, hint: str) -> bytes:
    """Return the first `most` bytes of a private file of this user.

    Raises: DataDirRefused with the hint if the file belongs to another user, or other users have any access;
    OSError.
    """
    with open_regular(path, os.O_NOFOLLOW) as file:
        _check_ours(path, os.fstat(file.fileno()), _SHARED, f"chmod 600 {typed(path)}", hint)
        return file.read(most)


def socket_path(data: Path, uuid: bytes) -> Path:
    """Return the path of a node's local socket: in `data`, or if too long, in a short private directory.

    Raises: DataDirRefused if that directory is not private, or its path is too long, too.
    """
    path = data / "node.sock"
    if _fits(path):
        return path
    directory = Path(tempfile.gettempdir()) / f"mesh-{os.geteuid()}"
    path = directory / f"{uuid.hex()[:8]}.sock"
    if not _fits(path):
        raise DataDirRefused(
            f"No local socket can be created: the paths {data} and {directory} are too long.",
            hint="Use a shorter --data directory, or set TMPDIR=/tmp",
        )
    # Any user may have created that name in a shared /tmp, even as a link to a directory of ours.
    if directory.is_symlink():
        raise DataDirRefused(
            f"{directory} is a symbolic link; it must be your own directory.",
            hint=f"Run: rm {typed(directory)}; or set TMPDIR to a directory that you own, with a short path.",
        )
    private_directory(directory, "Set TMPDIR to a directory that you own, with a short path.")
    return path


def _fits(path: Path) -> bool:
    return len(os.fsencode(path)) <= _LONGEST_SOCKET


def write_private(path: Path, content: bytes, *, durable: bool) -> None:
    """Replace a file atomically, with mode 0600. Raises: OSError.

    The caller ensures that there is only one writer at a time. A reader sees the old content or the new. If
    `durable`, the new content survives a power failure.
    """
    temporary = path.with_name(f".{path.name}.new")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        if durable:
            os.fsync(handle)
    try:
        os.replace(temporary, path)
    except OSError:  # such as a directory of that name
        temporary.unlink(missing_ok=True)
        raise
    if durable:
        sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Sync a directory, so that files created or renamed in it survive a power failure. Raises: OSError."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def refused(path: Path, error: OSError, hint: str) -> DataDirRefused:
    reasons = {
        FileExistsError: "a file has the name of the directory",
        NotADirectoryError: "a file has the name of a directory",
        PermissionError: "permission denied",
    }
    why = reasons.get(type(error), error.strerror or str(error))
    return DataDirRefused(f"{path} cannot be used: {why}.", hint=hint)


def _check_ours(path: Path, found: os.stat_result, forbidden: int, mend: str, hint: str) -> None:
    if found.st_uid != os.geteuid():
        raise DataDirRefused(
            f"{path} belongs to user {found.st_uid}, not to you ({os.geteuid()}).", hint=hint
        )
    if stat.S_IMODE(found.st_mode) & forbidden:
        raise DataDirRefused(
            f"{path} is open to other users (mode {stat.S_IMODE(found.st_mode):o}).",
            hint=_unshared(hint) if _is_shared(path, found) else _with(f"Run: {mend}.", hint),
        )


def _is_shared(path: Path, found: os.stat_result) -> bool:
    """Return whether a directory is meant for others, such as /tmp, /srv or /proc/sys.

    Closing it to other users would break their programs.
    """
    parts = path.absolute().parts
    return bool(found.st_mode & stat.S_ISVTX) or len(parts) <= 2 or _is_of_system(parts)


def _with(first: str, hint: str) -> str:
    """Return a hint whose second half is `hint`, if there is one."""
    return f"{first} Or {hint[:1].lower()}{hint[1:]}" if hint else first


def _unshared(hint: str) -> str:
    return f"Keep its mode, as other programs need it. {hint}".rstrip()


def _is_of_system(parts: tuple[str, ...]) -> bool:
    """Return whether a path is in a system directory. /dev/shm is not: its files belong to users."""
    return parts[1] in _OF_SYSTEM and parts[1:3] != ("dev", "shm")
