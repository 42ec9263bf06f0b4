"""The rights to back up a node, and to change its log level."""

import pytest

from mesh.kernel.context.effects import Backup, Effect, SetLevel
from tests.mesh.features.queues.node.moves.test_draining import Nodes


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
