"""A real PostgreSQL server for tests: its own data, a socket in its own directory, no TCP.

    with PostgresServer() as server:
        PostgresStore(server.url(), ...)

The server that Debian's packages start by themselves is not involved.
"""

import glob
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest

LIMIT = 60.0  # s that the server may take to start or stop
PAUSE = 5.0  # s before the second attempt of initdb
USER = "tester"
SETTINGS = (
    "listen_addresses=''",
    "shared_buffers=16MB",
    "max_connections=60",
    "max_wal_size=64MB",
    "fsync=on",
    "autovacuum=off",
    "log_min_messages=warning",
)


def binaries() -> Path | None:
    """Return the directory of initdb, Debian's newest or the one on the PATH; `None` if there is none."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"), key=lambda path: float(path.split("/")[4]))
    initdb = found[-1] if found else shutil.which("initdb")
    return Path(initdb).parent if initdb else None


class PostgresServer:
    """A server that starts when the block begins. Its superuser `tester` needs no password."""

    def __init__(self) -> None:
        self._binaries = binaries()
        place = tempfile.gettempdir()
        # The path of a socket must be short.
        self.directory = Path(tempfile.mkdtemp(prefix="pg-", dir=place if len(place) < 20 else "/tmp"))
        self._databases = self._users = 0
        # PostgreSQL does not run as root.
        someone = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
        self._as = someone if os.geteuid() == 0 else []

    def __enter__(self) -> "PostgresServer":
        if self._as:
            shutil.chown(self.directory, "postgres")
        try:
            self._make()
            with (self.directory / "data" / "postgresql.conf").open("a") as settings:
                settings.writelines(f"{line}\n" for line in SETTINGS)
                settings.write(f"unix_socket_directories='{self.directory}'\n")
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self.pid is not None:
            self.stop()
        shutil.rmtree(self.directory)

    @property
    def pid(self) -> int | None:
        try:
            return int((self.directory / "data" / "postmaster.pid").read_text().split()[0])
        except FileNotFoundError:
            return None

    def start(self, *settings: str) -> None:
        """Start the server. `settings`, such as "fsync=off", hold until it is stopped."""
        options = " ".join(f"-c {setting}" for setting in settings)
        wait = ("-w", "-s", "-t", f"{LIMIT:.0f}")
        self._run("pg_ctl", "start", *wait, "-l", f"{self.directory}/log", "-o", options)

    def stop(self) -> None:
        """Stop at once, as in a crash: uncommitted changes are lost, and the next start recovers."""
        self._run("pg_ctl", "stop", "-w", "-s", "-m", "immediate", "-t", f"{LIMIT:.0f}")

    def freeze(self, sessions: list[int]) -> None:
        """Suspend the server and these sessions of it, until `thaw`."""
        self._signal(signal.SIGSTOP, sessions)

    def thaw(self, sessions: list[int]) -> None:
        self._signal(signal.SIGCONT, sessions)

    def url(self, database: str = "postgres", user: str = USER) -> str:
        return f"postgresql://{user}@/{database}?host={quote(str(self.directory), safe='')}"

    def database(self) -> str:
        """Create an empty database, and return its URL."""
        self._databases += 1
        self.sql(f"CREATE DATABASE test{self._databases}")
        return self.url(f"test{self._databases}")

    def user(self) -> str:
        """Create a user with default rights, and return its name."""
        self._users += 1
        self.sql(f"CREATE ROLE user{self._users} LOGIN")
        return f"user{self._users}"

    def sql(self, statement: str, url: str = "") -> list[tuple[Any, ...]]:
        """Execute a statement on a connection of its own, past the stores, and return its rows."""
        with psycopg.connect(url or self.url(), autocommit=True) as db:
            cursor = db.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def environment(self) -> dict[str, str]:
        """Return the environment of commands that use this server and PostgreSQL's programs by default."""
        return {
            "PGHOST": str(self.directory),
            "PGUSER": USER,
            "PATH": f"{self._binaries}:{os.environ['PATH']}",
        }

    def _make(self) -> None:
        options = ("-U", USER, "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C")
        try:
            self._run("initdb", *options)
        except RuntimeError as error:  # a disk may be full for a moment
            print(f"{error}Once more.")
            time.sleep(PAUSE)
            self._run("initdb", *options)

    def _signal(self, number: signal.Signals, sessions: list[int]) -> None:
        for pid in (self.pid, *sessions):
            assert pid is not None
            os.kill(pid, number)

    def _run(self, program: str, *arguments: str) -> None:
        assert self._binaries is not None
        command = [*self._as, str(self._binaries / program), "-D", str(self.directory / "data"), *arguments]
        # The output goes to a file, because the server would hold pipes open.
        with (self.directory / "said").open("a+") as said:
            result = subprocess.run(
                command, cwd="/", stdin=subprocess.DEVNULL, stdout=said, stderr=said, timeout=2 * LIMIT
            )
            said.seek(0)
            if result.returncode != 0:
                raise RuntimeError(f"{program} ended with {result.returncode} and said: {said.read()}")


def server_or_skip() -> Iterator[PostgresServer]:
    """Yield a running server, or skip the test. Fixtures use it."""
    if binaries() is None:
        pytest.skip("no PostgreSQL here: apt-get install postgresql")
    with PostgresServer() as server:
        yield server


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """Yield one server for all tests of this process, started on first use."""
    yield from server_or_skip()
