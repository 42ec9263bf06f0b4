"""The command that searches the models of moving sessions."""

from click.testing import CliRunner

from tools.models.sessions import __main__ as command


def test_the_shortest_trace_to_a_planted_mistake_is_printed() -> None:
    result = CliRunner().invoke(command.main, ["one master", "settles before the client has it"])
    assert result.exit_code == 0
    head, *trace = result.output.splitlines()
    assert "S1: master 0 deleted 1" in head
    assert trace == ["   1 2 accepts 1", "   2 2 sends 1 to 0"]
