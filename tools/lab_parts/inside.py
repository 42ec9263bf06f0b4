"""Command prefixes that limit or disturb a program.

The prefix is replaced by the command, which thus has the process id of the prefix.
"""

from collections.abc import Sequence
from pathlib import Path


def on_core(core: int) -> list[str]:
    return ["taskset", "--cpu-list", str(core)]


def limited(*, descriptors: int = 0, memory: int = 0) -> list[str]:
    """Return a prefix that limits descriptors, or bytes of address space; 0 means no limit."""
    limits = {"nofile": descriptors, "as": memory}
    return ["prlimit", *(f"--{name}={most}" for name, most in limits.items() if most)]


def on_small_disk(place: Path, size: str) -> list[str]:
    """Return a prefix that mounts an empty disk of a size such as 2m at `place`; needs root."""
    mount = 'mount -t tmpfs -o size="$1",mode=700 lab "$2" && shift 2 && exec "$@"'
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", mount, "sh", size, str(place)]


def failing(calls: Sequence[str], error: str, when: str = "1+") -> list[str]:
    """Return a prefix that fails system calls: `failing(["fsync", "fdatasync"], "EIO", "10..14")`."""
    names = ",".join(calls)
    inject = f"inject={names}:error={error}:when={when}"
    return ["strace", "--daemonize", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={names}", "-e", inject]


def slowed(calls: Sequence[str], seconds: float) -> list[str]:
    """Return a prefix that delays system calls by `seconds`."""
    names = ",".join(calls)
    inject = f"inject={names}:delay_enter={round(seconds * 1e6)}"
    return ["strace", "--daemonize", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={names}", "-e", inject]
