"""Messages that expire together are dead-lettered in one commit, so that a crash loses none."""

from collections.abc import Callable

import pytest

from mesh.kernel.context.effects import Commit, Effect
from mesh.operations import Append, Drop
from tests.mesh.kernel.masters import RUGBY, cluster
from tests.seeds import scenarios
from tests.simulated_client import SimClient, client_of
from tests.simulation import SimNetwork, SimNode

SECOND = 10**9
JOE = "/node/a/client/joe/session/1"


def commits_of(node: SimNode) -> list[Commit]:
    """Return a list that receives the commits of a node from now on."""
    found: list[Commit] = []
    emit: Callable[[Effect], None] = node.core.parts.context.out.emit

    def noted(effect: Effect) -> None:
        if isinstance(effect, Commit):
            found.append(effect)
        emit(effect)

    node.core.parts.context.out.emit = noted  # type: ignore[method-assign]
    return found


def dead(node: SimNode) -> int:
    return len(client_of(node, "clerk").get(pattern="__sys__deadMessage/#"))


def written(commits: list[Commit]) -> list[int]:
    """Return the number of dead letters in each commit that has some."""
    counts = [sum(getattr(op, "table", "") == "retained" for op in commit.ops) for commit in commits]
    return [count for count in counts if count]


def five_letters(node: SimNode, sender: SimClient) -> None:
    for content in (b"1", b"2", b"3", b"4", b"5"):
        expires = node.wall + 5 * SECOND
        sender.send(JOE, content, force=True, persistent=True, expires=expires)
    sender.settled()


def test_trial_6_letters_that_expire_in_one_tick_are_one_commit() -> None:
    node = SimNetwork().node("a")
    five_letters(node, client_of(node, "pub"))
    commits = commits_of(node)
    node.net.run(10)
    assert written(commits) == [5]
    (commit,) = [commit for commit in commits if written([commit])]
    dropped = [p for op in commit.ops if isinstance(op, Drop) for p in op.positions]
    assert len(dropped) == 5, "the letters leave with it"
    assert dead(node) == 5


@pytest.mark.parametrize("seed", scenarios(range(12), 4))
def test_trial_6_a_crash_while_they_are_buried_loses_none(seed: int) -> None:
    net = SimNetwork(seed)
    node = net.node("a")
    five_letters(node, client_of(node, "pub"))
    commits = commits_of(node)
    net.until(lambda: written(commits))
    node.restart()
    net.run(10)
    assert dead(node) == 5


def test_trial_6_what_waited_for_a_master_too_long_is_one_commit_as_well() -> None:
    c = cluster("heron", "frodo", "bilbo", tailback_ttl=60.0)
    joe = c.client("bilbo")
    c["frodo"].kill()
    end = c["bilbo"].wall + 30 * SECOND
    for content in (b"1", b"2", b"3"):
        joe.publish("k", content, persistent=True, domain=RUGBY, expires=end)
    c.net.until(lambda: joe.state(3, RUGBY) == "FORWARD_WARNING")
    commits = commits_of(c["bilbo"])
    c.net.until(lambda: joe.state(3, RUGBY) == "EXPIRED", 60)
    assert written(commits) == [3]


def test_what_rides_along_and_what_undoes_it_keep_their_order() -> None:
    """The store refuses a whole commit when a position is dropped before it was appended."""
    node = SimNetwork().node("a")
    disk, shelf, heard, commits = (
        node.core.parts.disk,
        node.core.parts.router.shelf,
        list[str](),
        commits_of(node),
    )
    position = shelf.next_position
    with disk.together():
        shelf.next_position += 1
        disk.commit((Append(position, b"header", b"body"),), lambda error: heard.append(f"first {error}"))
        shelf._drops.append(position)
        with disk.together():
            disk.commit((), lambda error: heard.append(f"second {error}"))
        assert not commits
    (commit,) = commits
    kinds = [type(op) for op in commit.ops if isinstance(op, Append | Drop)]
    assert kinds[-2:] == [Append, Drop]
    node._carry_out_all()
    node.net.until(lambda: len(heard) == 2)
    assert heard == ["first None", "second None"] and node.stop is None
