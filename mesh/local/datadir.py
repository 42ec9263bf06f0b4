"""Where does a node keep itself? Its directory: held by one process, with identity and boot counter."""

import contextlib
import fcntl
import json
import os
import secrets
import time
from pathlib import Path

from discovery.member import BOOTS
from mesh.errors import DataDirRefused
from mesh.forks import close_in_child
from mesh.local.private import private_directory, refused, write_private
from mesh.printable import typed
from mesh.store.room import is_full, make_room

SEAL = 32  # bytes
IN_USE = "DATA_DIR_IN_USE"
_OTHER_DATA = "Or choose another place with --data DIR"
_MAKE_ROOM = "Make room on that disk, then start the node again."  # elsewhere it would be another node
# Whoever lists the nodes shares a free lock for a moment, to see that it is free. That is no owner.
_TRIES, _PAUSE = 5, 0.01  # seconds

# Laws: the lock file is never removed (a second process could then lock a new one of that name);
#       a uuid is made once; a boot number is on disk before anything can leave this process with it.


class DataDir:
    """One node's directory, locked until `close` or the end of the process, however it ends.

    `uuid` is 16 bytes, made once. `boot` grows by one with every `open`, and is on disk already. `seal` is a
    secret by which a node without keys knows its own words again.
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
        """Take the directory, and make it when missing.

        DataDirRefused: DATA_DIR_IN_USE when another process holds it, else DATA_DIR.
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
        """Take a new uuid until the next start, for a node that keeps nothing of what its uuid stands for."""
        old, self.uuid = self.uuid, secrets.token_bytes(16)
        try:
            _write_identity(self.path, old, self.boot, self.seal, {"now": self.uuid.hex()})
        except OSError as error:
            raise _refused(self.path, error) from error

    @property
    def port(self) -> int | None:
        """The TCP port of the last time, to be tried again first; None when unknown."""
        try:
            port = int((self.path / "port").read_bytes()[:16])
        except (OSError, ValueError):
            return None
        return port if 0 < port < 65536 else None

    @port.setter
    def port(self, port: int) -> None:
        # Only a convenience: a node that cannot write it down takes another port next time.
        with contextlib.suppress(OSError):
            write_private(self.path / "port", b"%d\n" % port, durable=False)

    def close(self) -> None:
        """Let others have the directory; a second time does no harm."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def try_lock(path: Path, *, shared: bool = False) -> int | None:
    """A data directory's lock, open; None if somebody else has it. OSError if there is no directory."""
    lock = os.open(path / "lock", os.O_RDWR)
    try:
        fcntl.flock(lock, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    return lock


def read_identity(path: Path) -> tuple[bytes, int]:
    """(uuid, boot) under which the last start runs. ValueError when damaged, OSError when not there."""
    _, boot, now, _ = _read_identity(path)
    return now, boot


def _read_identity(path: Path) -> tuple[bytes, int, bytes, bytes]:
    """The uuid that is kept, the last boot, the uuid of that boot, and the seal: b"" where there is none."""
    found = json.loads((path / "identity.json").read_bytes())
    match found:
        case {"uuid": str(text), "boot": int(boot)} if 0 < boot < BOOTS and not isinstance(boot, bool):
            uuid, now = bytes.fromhex(text), bytes.fromhex(str(found.get("now", text)))
            seal = bytes.fromhex(str(found.get("seal", "")))
            if len(uuid) == len(now) == 16 and len(seal) in (0, SEAL):
                return uuid, boot, now, seal
    raise ValueError("no uuid and boot number in it")


def write_identity(path: Path, uuid: bytes, boot: int, seal: bytes) -> None:
    """Who will be started there next, with a higher boot. OSError as it comes."""
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
    by = f"process {holder}" if holder.isdigit() else "another process"
    raise DataDirRefused(
        f"{path} is in use by {by}.",
        hint="Stop that node (mesh down), or give this one another --id or --data DIR",
        code=IN_USE,
    )


def _sign(lock: int) -> None:
    """Say in it who has it."""
    os.ftruncate(lock, 0)
    os.write(lock, b"%d\n" % os.getpid())


def kept_identity(path: Path) -> tuple[bytes, int, bytes] | None:
    """Uuid, last boot and seal; None before the first start. DataDirRefused when they are damaged or lost."""
    try:
        uuid, boot, _, seal = _read_identity(path)
    except FileNotFoundError:
        if (path / "store.sqlite").exists():
            raise _damaged(path, "is missing, though there is a store") from None
        return None
    except ValueError as error:
        raise _damaged(path, f"is damaged ({error})") from error
    if boot + 1 >= BOOTS:
        raise _damaged(path, f"says that this node was started {boot:,} times, and more cannot be counted")
    return uuid, boot, seal


def _next_boot(path: Path) -> tuple[bytes, int, bytes]:
    """Count this start, durably: uuid, boot, seal. DataDirRefused as `kept_identity`."""
    uuid, boot, seal = kept_identity(path) or (secrets.token_bytes(16), 0, b"")
    seal = seal or secrets.token_bytes(SEAL)
    _write_identity(path, uuid, boot + 1, seal, {})
    return uuid, boot + 1, seal


def _refused(path: Path, error: OSError) -> DataDirRefused:
    return refused(path, error, _MAKE_ROOM if is_full(error) else _OTHER_DATA)


def _damaged(path: Path, what: str) -> DataDirRefused:
    # Not made anew: what others owe to this node, and what it has sent, hangs on its uuid and boot.
    return DataDirRefused(
        f"{path / 'identity.json'} {what}.",
        hint=f"Restore it from a copy, or start as a new node: mv {typed(path)} {typed(f'{path}.old')}",
    )
