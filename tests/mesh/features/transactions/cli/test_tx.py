"""`mesh tx` with a database."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import mesh
from mesh.cli.main import main
from tests.mesh.features.transactions.database.drivers import rows_of, sqlite_url
from tests.mesh.running import running
from tests.postgres import PostgresServer

Capture = pytest.CaptureFixture[str]


def write(file: Path, *queues: str) -> None:
    async def scenario() -> None:
        with closing(sqlite3.connect(file)) as db:
            async with mesh.transaction(db=db) as tx:
                for queue in queues:
                    tx.put(queue, "x")

    asyncio.run(scenario())


def refuse(file: Path) -> None:
    with closing(sqlite3.connect(file)) as db:
        db.execute("UPDATE heronry_outbox SET error = 'no \x1b queue'")
        db.commit()


def test_tables_are_created_once(tmp_path: Path, capsys: Capture) -> None:
    url = sqlite_url(tmp_path)
    assert main(["tx", "ls-db", url]) == 2
    assert "mesh tx init-db" in capsys.readouterr().err
    assert main(["tx", "init-db", url, "--print"]) == 0
    assert "CREATE TABLE heronry_outbox" in capsys.readouterr().out
    assert main(["tx", "init-db", url]) == 0
    assert "created the tables" in capsys.readouterr().err
    assert main(["tx", "init-db", url]) == 0
    assert "already" in capsys.readouterr().err
    assert len(rows_of(url, "SELECT DISTINCT seed FROM heronry_stream")) == 8


def test_tables_of_a_later_release_are_left_alone(tmp_path: Path, capsys: Capture) -> None:
    url = sqlite_url(tmp_path)
    assert main(["tx", "init-db", url]) == 0
    with closing(sqlite3.connect(tmp_path / "shop.db")) as db:
        db.execute("UPDATE heronry_meta SET value = '7' WHERE name = 'version'")
        db.commit()
    for verb in ("init-db", "ls-db", "retry", "send"):
        assert main(["tx", verb, url]) == 2
        assert "[DB_VERSION]" in capsys.readouterr().err


def test_postgresql_has_the_same_tables(postgres: PostgresServer, capsys: Capture) -> None:
    url = postgres.database()
    assert main(["tx", "init-db", url]) == 0
    assert main(["tx", "ls-db", url]) == 1
    assert "0 rows to be sent" in capsys.readouterr().err
    assert main(["tx", "init-db", url.replace("@/test", "@/none")]) == 2
    assert "[DB_FAILED]" in capsys.readouterr().err


def test_refused_rows_are_listed_and_sent_again(tmp_path: Path, capsys: Capture) -> None:
    url, file = sqlite_url(tmp_path), tmp_path / "shop.db"
    assert main(["tx", "init-db", url]) == 0
    write(file, "mail", "fax")
    refuse(file)
    assert main(["tx", "ls-db", url]) == 0
    out = capsys.readouterr().out
    assert "mail" in out and "\x1b" not in out
    assert main(["tx", "ls-db", url, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["waiting"], [each["target"] for each in said["dead"]]) == (0, ["mail", "fax"])
    assert main(["tx", "retry", url, str(said["dead"][0]["id"])]) == 0
    assert "1 row will be sent again" in capsys.readouterr().err
    assert rows_of(url, "SELECT target FROM heronry_outbox WHERE error IS NULL") == [("mail",)]
    assert main(["tx", "retry", url]) == 0
    assert main(["tx", "ls-db", url]) == 1


@pytest.mark.slow
def test_a_sender_that_is_killed_is_followed_by_another(tmp_path: Path) -> None:
    url, file = sqlite_url(tmp_path), tmp_path / "shop.db"
    assert main(["tx", "init-db", url]) == 0
    with running("a") as a:
        assert a.mesh("queue", "create", "mail").returncode == 0
        write(file, "mail", "mail")
        assert a.mesh("tx", "send", url, "--once").returncode == 0
        assert json.loads(a.mesh("queue", "info", "mail", "--json").stdout)["ready"] == 2
