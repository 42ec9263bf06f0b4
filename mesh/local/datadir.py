"""The data directory of a node: locked by one process, with identity and boot counter."""

import contextlib
import fcntl
import json
import os
import secrets
import time
from pathlib import Path

from mesh.discovery.member import BOOTS
from mesh.errors import DataDirRefused
from mesh.forks import close_in_child
from mesh.local.private import private_directory, refused, write_private
from mesh.printable import typed
from mesh.store.room import is_full, make_room

SEAL = 32  # bytes
IN_USE = "DATA_DIR_IN_USE"
_OTHER_DATA = "Choose another directory with --data DIR"
_MAKE_ROOM = "Free space on that disk, then start the node again."  # on another disk it would be another node
# Listing the nodes takes a shared lock for a moment, which does not mean that the directory is in use.
_TRIES, _PAUSE = 5, 0.01  # number; s between two attempts

# Laws: the lock file is never removed (a second process could then lock a new one of that name). A uuid is
# made once. A boot number is on disk before this process sends or stores anything with it.


class DataDir:
    """The directory of one node, locked until `close` or the end of the process.

    `uuid` is 16 bytes, made once. `boot` is incremented by every `open`, and is on disk already. `seal` is a
    secret with which a node without keys signs its states and greetings; only that node can check it.
    """

    def __init__(self, path: Path, lock: int, uuid: bytes, boot: int, seal: bytes) -> None:
        self.path = path
        self.uuid = uuid
        self.boot = boot
        self.seal = seal
        self._lock: int | None = lock
        close_in_child(self, DataDir.close)

    @classmethod
    def open(cls, path: Path) -> "DataDir":
        """Lock the directory, and create it if it is missing.

        Raises: DataDirRefused: DATA_DIR_IN_USE if another process has locked it, else DATA_DIR.
        """
        path = private_directory(path.absolute(), _OTHER_DATA)
        try:
            lock = _take_lock(path)
            try:
                make_room(path)
                _sign(lock)
                uuid, boot, seal = _next_boot(path)
            except BaseException:
                os.close(lock)
                raise
        except OSError as error:
            raise _refused(path, error) from error
        return cls(path, lock, uuid, boot, seal)

    def be_another(self) -> None:
        """Use a new uuid until the next start, for a node that lost all data under its uuid.

        Raises: DataDirRefused.
        """
        old, self.uuid = self.uuid, secrets.token_bytes(16)
        try:
            _write_identity(self.path, old, self.boot, self.seal, {"now": self.uuid.hex()})
        except OSError as error:
            raise _refused(self.path, error) from error

    @property
    def port(self) -> int | None:
        """The TCP port of the last run, to be tried first, or `None` if unknown."""
        try:
            port = int((self.path / "port").read_bytes()[:16])
        except (OSError, ValueError):
            return None
        return port if 0 < port < 65536 else None

    @port.setter
    def port(self, port: int) -> None:
        # The file is a convenience: without it, the node takes another port next time.
        with contextlib.suppress(OSError):
            write_private(self.path / "port", b"%d\n" % port, durable=False)

    def close(self) -> None:
        """Release the directory. A second call does nothing."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def try_lock(path: Path, *, shared: bool = False) -> int | None:
    """Lock a data directory, and return its open lock file; `None` if it is locked. Raises: OSError."""
    lock = os.open(path / "lock", os.O_RDWR)
    try:
        fcntl.flock(lock, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    return lock


def read_identity(path: Path) -> tuple[bytes, int]:
    """Return uuid and boot of the last start. Raises: ValueError if damaged, OSError if missing."""
    _, boot, now, _ = _read_identity(path)
    return now, boot


def _read_identity(path: Path) -> tuple[bytes, int, bytes, bytes]:
    """Return the permanent uuid, the last boot, the uuid of that boot, and the seal or b""."""
    found = json.loads((path / "identity.json").read_bytes())
    match found:
        case {"uuid": str(text), "boot": int(boot)} if 0 < boot < BOOTS and not isinstance(boot, bool):
            uuid, now = bytes.fromhex(text), bytes.fromhex(str(found.get("now", text)))
            seal = bytes.fromhex(str(found.get("seal", "")))
            if len(uuid) == len(now) == 16 and len(seal) in (0, SEAL):
                return uuid, boot, now, seal
    raise ValueError("it has no valid uuid and boot number")


def write_identity(path: Path, uuid: bytes, boot: int, seal: bytes) -> None:
    """Set the identity for the next start, which increments the boot. Raises: OSError."""
    _write_identity(path, uuid, boot, seal, {})


def _write_identity(path: Path, uuid: bytes, boot: int, seal: bytes, more: dict[str, str]) -> None:
    content = json.dumps({"uuid": uuid.hex(), "boot": boot, "seal": seal.hex(), **more}).encode()
    write_private(path / "identity.json", content, durable=True)


def _take_lock(path: Path) -> int:
    os.close(os.open(path / "lock", os.O_RDWR | os.O_CREAT, 0o600))
    for _ in range(_TRIES):
        lock = try_lock(path)
        if lock is not None:
            return lock
        time.sleep(_PAUSE)
    holder = (path / "lock").read_bytes()[:20].strip().decode("ascii", "replace")
    by = f"process {holder}" if _runs(holder) else "another process"
    raise DataDirRefused(
        f"{path} is in use by {by}.",
        hint="If that is a node, stop it (`mesh down`), or start this one with --id NAME or --data DIR.",
        code=IN_USE,
    )


def _runs(pid: str) -> bool:
    """Return whether the text is the id of a process. A lock file may have that of an earlier node."""
    try:
        os.kill(int(pid), 0)
    except PermissionError:
        return True
    except (OSError, ValueError, OverflowError):
        return False
    return True


def _sign(lock: int) -> None:
    os.ftruncate(lock, 0)
    os.write(lock, b"%d\n" % os.getpid())


def kept_identity(path: Path) -> tuple[bytes, int, bytes] | None:
    """Return uuid, last boot and seal (b"" if there is none), or `None` before the first start.

    Raises: DataDirRefused if they are damaged or lost, or no boot number is left.
    """
    try:
        uuid, boot, _, seal = _read_identity(path)
    except FileNotFoundError:
        if (path / "store.sqlite").exists():
            raise _damaged(path, "is missing, although a store exists") from None
        return None
    except ValueError as error:
        raise _damaged(path, f"is damaged ({error})") from error
    if boot + 1 >= BOOTS:
        raise _damaged(path, f"says that the node was started {boot:,} times, and no boot number is left")
    return uuid, boot, seal


def _next_boot(path: Path) -> tuple[bytes, int, bytes]:
    uuid, boot, seal = kept_identity(path) or (secrets.token_bytes(16), 0, b"")
    seal = seal or secrets.token_bytes(SEAL)
    _write_identity(path, uuid, boot + 1, seal, {})
    return uuid, boot + 1, seal


def _refused(path: Path, error: OSError) -> DataDirRefused:
    return refused(path, error, _MAKE_ROOM if is_full(error) else _OTHER_DATA)


def _damaged(path: Path, what: str) -> DataDirRefused:
    # No new identity is made: other nodes hold data and sequence numbers for the old uuid and boot.
    return DataDirRefused(
        f"{path / 'identity.json'} {what}.",
        hint=f"Restore it from a copy, or start as a new node: mv {typed(path)} {typed(f'{path}.old')}",
    )
