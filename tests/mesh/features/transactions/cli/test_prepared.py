"""`mesh tx` for prepared transactions, with a fake client and with a real node."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

import mesh
from mesh.cli.main import main
from tests.mesh.cli.fake import Given
from tests.mesh.running import running

Capture = pytest.CaptureFixture[str]


def row(name: str, **more: Any) -> dict[str, Any]:
    since = int((time.time() - 90) * 1e9)
    base = {"name": name, "node": "heron", "state": "prepared", "since": since, "operations": 1234}
    return {**base, **more}


def test_transactions_are_listed_with_the_nodes_that_did_not_answer(given: Given, capsys: Capture) -> None:
    found = {
        "transactions": [row("heron/a\x1b[1m"), row("", state="finishing", since=0)],
        "missing": ["stork"],
    }
    given(call=lambda verb, **more: found)
    assert main(["tx", "ls"]) == 0
    out, err = capsys.readouterr()
    lines = [line.split() for line in out.splitlines()]
    assert lines[0] == ["TRANSACTION", "STATE", "AGE", "OPERATIONS"]
    assert (lines[1][1], lines[1][3:]) == ("prepared", ["s", "1,234"]) and int(lines[1][2]) >= 90
    assert "\x1b" not in out
    assert lines[2][:2] == ["heron/?", "finishing"]
    assert "stork" in err
    assert main(["tx", "ls", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["transactions"]) == 2


def test_none_is_exit_code_1_and_so_is_the_other_outcome(given: Given, capsys: Capture) -> None:
    given(call=lambda verb, **more: {"outcome": "refused"} if verb == "tx_decide" else {})
    assert main(["tx", "ls"]) == 1
    assert main(["tx", "commit", "heron/x"]) == 1
    assert main(["tx", "rollback", "heron/x"]) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == ["rolled back", "rolled back"]
    assert main(["tx", "show", "heron/x"]) == 2
    assert "NO_TRANSACTION" in capsys.readouterr().err


@pytest.mark.slow
def test_a_transaction_is_shown_and_decided() -> None:
    with running("a") as a, mesh.sync.connect(environ=a.environ) as m:
        m.queue("next").declare()
        for name in ("x", "y"):
            with m.transaction() as tx:
                tx.put("next", "2")
                tx.prepare(name)
        shown = a.mesh("tx", "show", "a/x", "--url", "a")
        assert "queues: next" in shown.stdout and "operations: 1, " in shown.stdout
        why = a.mesh("why", "tx", "a/x", "--url", "a")
        assert "is not decided: 1 operation" in why.stdout
        assert a.mesh("tx", "commit", "a/x", "--url", "a").stdout == "committed\n"
        assert a.mesh("tx", "rollback", "a/y", "--url", "a").stdout == "rolled back\n"
        assert a.mesh("tx", "ls", "--url", "a").returncode == 1
        assert m.queue("next").info().ready == 1
        assert "a/x was committed here" in a.mesh("why", "tx", "a/x", "--url", "a").stdout
