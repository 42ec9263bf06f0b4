"""The databases of a run: SQLite, whose server is each program, and PostgreSQL, which can be killed."""

from __future__ import annotations

import glob
import os
import shutil
import signal
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

from tools.running.processes import Failed

LIMIT = 60  # s for a start or a stop
SETTINGS = (
    "listen_addresses=''",
    "shared_buffers=16MB",
    "max_connections=40",
    "fsync=on",
    "recovery_init_sync_method=syncfs",
)


class Database(Protocol):
    """A database of a run; `url` is as for `mesh.outbox`."""

    url: str

    def connect(self) -> Any:
        """Open a connection. Raises: the driver's error."""

    def kill(self) -> None:
        """Kill the server, and start it again. It recovers."""

    def dump(self) -> None:
        """Copy the database."""

    def restore(self) -> None:
        """Replace the database by its copy, while programs use it."""

    def close(self) -> None: ...


class Sqlite:
    """A file; there is no server to be killed."""

    def __init__(self, place: Path, name: str) -> None:
        self._file, self._dump = place / f"{name}.db", place / f"{name}.dump"
        self.url = f"sqlite:///{self._file}"

    def connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self._file, timeout=LIMIT)

    def kill(self) -> None:
        pass

    def dump(self) -> None:
        with closing(self.connect()) as a, closing(sqlite3.connect(self._dump)) as b:
            a.backup(b)

    def restore(self) -> None:
        with closing(sqlite3.connect(self._dump)) as a, closing(self.connect()) as b:
            a.backup(b)

    def close(self) -> None:
        pass


def initdb() -> str | None:
    """Return the path of PostgreSQL's initdb, Debian's newest or the one on the PATH."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"), key=lambda path: float(path.split("/")[4]))
    return found[-1] if found else shutil.which("initdb")


class PostgresCluster:
    """A server of PostgreSQL with its own data, and a socket in its own directory."""

    def __init__(self) -> None:
        found = initdb()
        if found is None:
            raise Failed("There is no PostgreSQL here: apt-get install postgresql")
        self.binaries = Path(found).parent
        self.place = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
        self._as = (
            ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"] if not os.geteuid() else []
        )
        if self._as:
            shutil.chown(self.place, "postgres")
        self._run("initdb", "-U", "lab", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C")
        with (self.place / "data" / "postgresql.conf").open("a") as settings:
            settings.writelines(f"{line}\n" for line in SETTINGS)
            settings.write(f"unix_socket_directories='{self.place}'\n")
        self.start()

    def start(self) -> None:
        self._run("pg_ctl", "start", "-w", "-s", "-t", str(LIMIT), "-l", f"{self.place}/log")

    def kill(self) -> None:
        """Kill all processes of the server with SIGKILL, and start it again."""
        pid = int((self.place / "data" / "postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        for each in (pid, *map(int, children)):
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        while any(Path(f"/proc/{each}").exists() for each in (pid, *children)):
            os.sched_yield()
        self.start()

    def url(self, name: str) -> str:
        return f"postgresql://lab@/{name}?host={quote(str(self.place), safe='')}"

    def close(self) -> None:
        with suppress(Failed):
            self._run("pg_ctl", "stop", "-w", "-s", "-m", "immediate")
        shutil.rmtree(self.place)

    def _run(self, program: str, *arguments: str) -> None:
        command = [*self._as, str(self.binaries / program), "-D", str(self.place / "data"), *arguments]
        with (self.place / "said").open("a+") as said:
            ran = subprocess.run(command, cwd="/", stdin=subprocess.DEVNULL, stdout=said, stderr=said)
            if ran.returncode:
                said.seek(0)
                raise Failed(f"{program} ended with {ran.returncode}: {said.read()[-500:]}")


class Postgres:
    """A database of a server, which the databases of a run share."""

    def __init__(self, cluster: PostgresCluster, name: str) -> None:
        self._cluster, self._name = cluster, name
        self._sql(f"CREATE DATABASE {name}")
        self.url = cluster.url(name)
        self.kill = cluster.kill

    def connect(self) -> Any:
        import psycopg

        return psycopg.connect(self.url)

    def _sql(self, statement: str) -> None:
        import psycopg

        with psycopg.connect(self._cluster.url("postgres"), autocommit=True) as db:
            db.execute(statement.encode())

    def dump(self) -> None:
        self._tool("pg_dump", "-Fc", "-f", f"{self._cluster.place}/{self._name}.dump", self.url)

    def restore(self) -> None:
        self._sql(f"DROP DATABASE {self._name} WITH (FORCE)")
        self._sql(f"CREATE DATABASE {self._name}")
        self._tool("pg_restore", "-1", "-d", self.url, f"{self._cluster.place}/{self._name}.dump")

    def _tool(self, program: str, *arguments: str) -> None:
        command = [str(self._cluster.binaries / program), *arguments]
        ran = subprocess.run(command, capture_output=True, text=True)
        if ran.returncode:
            raise Failed(f"{program} ended with {ran.returncode}: {ran.stderr[-500:]}")

    def close(self) -> None:
        pass


def opener(url: str) -> Callable[[], Any]:
    """Return a function that opens a connection for each job: of psycopg, an asynchronous one."""
    if url.startswith("sqlite:///"):
        return partial(sqlite3.connect, url.removeprefix("sqlite:///"), timeout=LIMIT)
    import psycopg

    return partial(psycopg.AsyncConnection.connect, url)
