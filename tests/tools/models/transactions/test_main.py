"""The command that searches the models of transactions."""

from click.testing import CliRunner, Result

from tools.models.transactions import __main__ as command


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command.main, arguments)


def test_the_shortest_trace_to_a_planted_mistake_is_printed() -> None:
    result = run("one store", "a resend leaves the transaction")
    assert result.exit_code == 0
    head, *trace = result.output.splitlines()
    assert "T1: outcome, acknowledgement and messages differ" in head
    assert trace == [
        "   1 client sends commit",
        "   2 connection breaks; client repeats commit",
        "   3 node receives: part",
    ]


def test_the_design_does_not_promise_a_forced_move_while_the_old_home_runs() -> None:
    result = run("one home, forced while the old one runs")
    assert result.exit_code == 0
    assert "K2: token (1, 1) is not above (2, 1) (expected)" in result.output
