"""What is put in front of a command to make its life hard? Each becomes the command, with its process id."""

from collections.abc import Sequence
from pathlib import Path


def on_core(core: int) -> list[str]:
    """A command's front that lets it run on this core only."""
    return ["taskset", "--cpu-list", str(core)]


def limited(*, descriptors: int = 0, memory: int = 0) -> list[str]:
    """A command's front that leaves it so many descriptors, or bytes of address space; 0: as many as ever."""
    limits = {"nofile": descriptors, "as": memory}
    return ["prlimit", *(f"--{name}={most}" for name, most in limits.items() if most)]


def on_small_disk(place: Path, size: str) -> list[str]:
    """A command's front that shows it an empty disk of that size, such as 2m, at `place`; needs root."""
    mount = 'mount -t tmpfs -o size="$1",mode=700 lab "$2" && shift 2 && exec "$@"'
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", mount, "sh", size, str(place)]


def failing(calls: Sequence[str], error: str, when: str = "1+") -> list[str]:
    """Its system calls of these names fail: `failing(["fsync", "fdatasync"], "EIO", "10..14")`."""
    names = ",".join(calls)
    inject = f"inject={names}:error={error}:when={when}"
    return ["strace", "--daemonize", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={names}", "-e", inject]


def slowed(calls: Sequence[str], seconds: float) -> list[str]:
    """Its system calls of these names take so long."""
    names = ",".join(calls)
    inject = f"inject={names}:delay_enter={round(seconds * 1e6)}"
    return ["strace", "--daemonize", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={names}", "-e", inject]
