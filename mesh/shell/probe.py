"""Measures the load and the free memory of this machine."""

import hashlib
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import psutil
from msgspec import Meta

from mesh.discovery.state import CORES, Natural, Percent, Sample
from mesh.errors import BadConfig
from mesh.regular import open_regular

log = logging.getLogger("mesh.probe")
LONGEST = 1024 * 1024  # bytes of a file of figures
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")  # the same in all containers of a machine

# Limit of a container's memory, its usage, and the part that is inactive page cache, which is as good as
# free: cgroup version 2, then 1.
_CGROUPS = (
    ("", "memory.max", "memory.current", "inactive_file "),
    ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "),
)


class MachineProbe:
    """Probe of this machine.

    In a container with a lower memory limit, that limit counts.
    """

    def __init__(self, cgroup: Path = Path("/sys/fs/cgroup"), boot_id: Path = BOOT_ID) -> None:
        self._cgroup = cgroup
        self._machine = machine(boot_id)
        self._last = (0, 0)  # bytes free, and in total
        # The first call returns no figure: later ones measure from it.
        psutil.cpu_percent(percpu=True)

    def sample(self, lag: float = 0.0) -> Sample:
        """Return, without blocking, the idle % of each core since the last call, and the memory now.

        Without free descriptors there are no figures of cores, and the memory is that of the last call. `lag`
        (s) of the loop is passed through.
        """
        try:
            busy = psutil.cpu_percent(percpu=True)
            memory = psutil.virtual_memory()
        except OSError:  # out of descriptors: the last figures suffice
            return Sample((), self._last[0], self._last[1], lag, self._machine)
        self._last = self._within_limit(memory.available, memory.total)
        return Sample(_idle(busy), *self._last, lag, self._machine)

    def _within_limit(self, free: int, total: int) -> tuple[int, int]:
        for place, limit, used, files in _CGROUPS:
            folder = self._cgroup / place
            try:
                most = int((folder / limit).read_text())
                if most < total:  # usually there is no limit to apply
                    return min(free, max(0, most - _used(folder, used, files))), most
            except (OSError, ValueError):  # no such file, or "max" (no limit)
                continue
        return free, total


def machine(boot_id: Path) -> str:
    """Return 8 hexadecimal digits that all nodes of this machine share; "" if the system has no boot id.

    The digits are a hash: they do not identify the machine to others.
    """
    try:
        return hashlib.sha256(b"heronry machine " + boot_id.read_bytes().strip()).hexdigest()[:8]
    except OSError:
        return ""


def _used(folder: Path, used: str, files: str) -> int:
    """Return used bytes without the inactive page cache, which is the line `files` in memory.stat.

    `used` is the name of the file with the used bytes.
    """
    lines = (folder / "memory.stat").read_text().splitlines()
    kept = sum(int(line.removeprefix(files)) for line in lines if line.startswith(files))
    return int((folder / used).read_text()) - kept


def _idle(busy: Sequence[float]) -> tuple[float, ...]:
    # Whole percents take one byte each on the wire, and are precise enough.
    return tuple(min(100, max(0, 100 - round(core))) for core in busy[:CORES])


class _Figures(msgspec.Struct, forbid_unknown_fields=True):
    """The figures in the file: % of each core that is used, and bytes."""

    cpu: Annotated[tuple[Percent, ...], Meta(max_length=CORES)] = ()
    ram_free: Natural = 0
    ram_total: Natural = 0


class FileProbe:
    """Probe that returns the figures of a file, for tests.

    The file is JSON: `{"cpu": [10, 20], "ram_free": 4000000000, "ram_total": 8000000000}`, in % used of each
    core and in bytes. The file is read again when it changes; if it is then damaged or missing, the last good
    figures stay. Raises: BadConfig if the file cannot be read at first.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._is_broken = False
        try:
            self._stamp = _stamp(path)
            self._figures = _read(path)
        except (OSError, ValueError) as error:
            if isinstance(error, OSError):
                what = f"The probe file {path} cannot be read: {error.strerror}."
                raise BadConfig(
                    what, hint="Check the path in node.probe, and the permissions of the file."
                ) from error
            raise BadConfig(
                f"The probe file {path} does not have the figures of a machine: {error}.",
                hint='Write JSON: {"cpu": [10, 20], "ram_free": 4000000000, "ram_total": '
                "8000000000}, with the % used of each core, and bytes.",
            ) from error

    def sample(self, lag: float = 0.0) -> Sample:
        """Return the figures of the file; `lag` (s) of the loop is passed through."""
        try:
            self._read_if_changed()
            self._is_broken = False
        except (OSError, ValueError) as error:
            if not self._is_broken:
                log.warning("%s cannot be read; its last figures are kept: %s", self._path, error)
            self._is_broken = True
        figures = self._figures
        return Sample(_idle(figures.cpu), figures.ram_free, figures.ram_total, lag)

    def _read_if_changed(self) -> None:
        stamp = _stamp(self._path)
        if stamp != self._stamp:
            self._figures = _read(self._path)
            self._stamp = stamp


def _stamp(path: Path) -> tuple[int, int, int]:
    """Return a value that differs when the file has changed or was replaced."""
    status = path.stat()
    return status.st_mtime_ns, status.st_ino, status.st_size


def _read(path: Path) -> _Figures:
    with open_regular(path) as file:
        return msgspec.json.decode(file.read(LONGEST), type=_Figures)
