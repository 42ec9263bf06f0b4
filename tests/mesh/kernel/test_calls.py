"""The rights to back up a node, and to change its log level; answers to peers that have restarted."""

from typing import Any

import pytest

from mesh.kernel.context.effects import Backup, Effect, SetLevel
from mesh.kernel.context.incoming_call import IncomingCall, answer
from mesh.wire.calls import AskTallyRow
from mesh.wire.replies import TallyRow
from tests.mesh.features.queues.node.moves.test_draining import Nodes
from tests.simulation import SimNetwork, SimNode


def tried(grant: str, trusted: bool, verb: str, **arguments: str) -> tuple[str, list[Effect]]:
    """Return the code of the answer, and the effects that the call has started."""
    it = Nodes(1)
    boss, core = it.bosses[0], it.nodes[0].core
    seen: list[Effect] = []
    context = core.parts.context
    emit = context.out.emit

    def watched(effect: Effect) -> None:
        seen.append(effect)
        emit(effect)

    context.out.emit = watched  # type: ignore[method-assign]
    for conn in core.parts.dialler.conns.values():
        if conn.owner == boss.stream:
            conn.grant, conn.trusted = grant, trusted
    code = boss.ask(verb, **arguments).code
    return code, [effect for effect in seen if isinstance(effect, Backup | SetLevel)]


def test_only_on_its_own_machine_a_node_makes_a_backup() -> None:
    assert tried("node", True, "backup") == ("", [Backup()])
    assert tried("node", False, "backup") == ("NOT_ALLOWED", [])  # a remote client with its keys


@pytest.mark.parametrize("grant", ["client", "monitor"])
def test_who_does_not_run_the_node_changes_nothing(grant: str) -> None:
    assert tried(grant, True, "backup") == ("NOT_ALLOWED", [])
    assert tried(grant, True, "log", level="debug") == ("NOT_ALLOWED", [])


def test_a_level_is_set_if_there_is_one() -> None:
    assert tried("node", False, "log", level="debug") == ("", [SetLevel("", "debug")])
    found = tried("node", False, "log", logger="mesh.routes", level="info")
    assert found == ("", [SetLevel("mesh.routes", "info")])
    for logger, level in (("root", "debug"), ("", "loud"), ("", "")):
        assert tried("node", True, "log", logger=logger, level=level) == ("BAD_ARGUMENT", [])


def asked_by(a: SimNode, number: int) -> list[Any]:
    """Ask b in a question with this number, and return its answers as they come."""
    questions, b, found = a.core.parts.questions, a.core.parts.neighbours.named("b"), list[Any]()
    assert b is not None
    questions._request = number - 1
    questions.ask_all(
        [b], AskTallyRow(tally="t"), TallyRow, lambda replies, _: found.extend(replies.values()), 20.0,
        is_patient=True,
    )  # fmt: skip
    return found


def test_a_late_answer_to_a_former_process_does_not_answer_a_question_of_the_present_one() -> None:
    net = SimNetwork(1)
    a, b = net.mesh("a", "b")
    asked = list[IncomingCall[AskTallyRow]]()
    b.core.parts.context.face.peer_verbs["tally_row"] = answer(AskTallyRow, asked.append)
    asked_by(a, 1000)
    net.until(lambda: len(asked) == 1)
    a.kill()
    a.start()
    net.until(lambda: a.alive == {"b"} and b.alive == {"a"})
    found = asked_by(a, 1000)
    net.until(lambda: len(asked) == 2)
    for each, total in zip(asked, (1, 2), strict=True):
        each.reply(TallyRow(row="r", version=1, total=total))
        b._carry_out_all()
        net.run(1.0)
    assert [each.value.total for each in found] == [2]
