"""Random work on queues at many nodes: puts, consumers, and moves."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from mesh.wire.limits import TRANSFERS
from tools.simulator.nemesis import WARM_UP
from tools.simulator.queues import SELECTORS, put_by, taken_by
from tools.simulator.script import Script
from tools.simulator.steps import Step
from tools.simulator.workload import FIRST
from tools.simulator.world.crashes import COMES, POINTS, STAGES

QUEUES = ("jobs", "mail")
GROUPED = "grouped"  # a queue with groups and few consumers
GONE = "gone"  # a queue that is removed and declared again
MEMORY: dict[str, Any] = {"stores": (("jobs", "memory"),), "volatile": frozenset(("memory",))}
SERVER = ("mail", "server")  # a queue, and its store elsewhere
MODES = ("local", "local", "round_robin", "strict", "independent")
LATER = ("redistribution=1.0", "redistribution=1.0", "redistribution=0.2", "redistribution=none")
DEAD = 15.0  # s until a killed node is dead everywhere


def settings_of(script: Script) -> dict[str, dict[str, Any]]:
    """Return settings of single nodes.

    Some queues are in memory or at a server, and one node may lack the feature of moves, as an earlier
    release does.
    """
    dice = Random(f"stores {script.profile} {script.seed}")
    share = dice.choice([0.0, 0.0, 0.0, 0.4, 1.0])
    own = {node: dict(MEMORY) for node in script.nodes if dice.random() < share}
    if dice.random() < 0.1:
        own.setdefault(dice.choice(script.nodes), {})["is_silent_of"] = frozenset((TRANSFERS,))
    dice = Random(f"servers {script.profile} {script.seed}")
    share = dice.choice([0.0, 0.0, 0.5])
    for node in [node for node in script.nodes if dice.random() < share]:
        settings = own.setdefault(node, {})
        settings["stores"] = (*settings.get("stores", ()), SERVER)
    return own


def planned(script: Script, dice: Random) -> Iterator[Step]:  # noqa: C901
    """Yield all work on queues at several nodes in a scenario, in no particular order."""
    is_removed = dice.random() < 0.25
    names = (*QUEUES, GONE) if is_removed else QUEUES
    terms = {queue: _terms(script, dice) for queue in names}
    yield from _declared(script, dice, terms)
    uses_selectors = dice.random() < 0.3
    for queue in names:
        for node in script.nodes:
            for i in range(dice.choice([0, 0, 1, 1, 2])):
                begin = FIRST if dice.random() < 0.3 else dice.uniform(FIRST, script.seconds)
                selector = dice.choice(SELECTORS) if uses_selectors else ""
                yield from taken_by(script, dice, f"take-{queue}-{node}-{i}", node, queue, begin, selector)
    for node in script.nodes:
        if dice.random() < 0.7:
            yield from put_by(script, dice, f"put-{node}-0", node, names)
    yield from _looked_at(script, dice, names)
    if dice.random() < 0.5:
        yield from _moved(script, dice, names)
    if dice.random() < 0.5:
        yield from _caught(script, dice)
    if is_removed:
        yield from _removed(script, dice, terms[GONE])
    if dice.random() < 0.12:
        yield from _forgotten(script, dice)
    elif dice.random() < 0.12:
        yield from _put_back(script, dice)
    own = Random(f"what befalls moves {script.profile} {script.seed}")
    if own.random() < 0.3:
        yield from _struck(script, own)
    if own.random() < 0.3:
        yield from _cramped(script, own)
    own = Random(f"who comes for groups {script.profile} {script.seed}")
    if own.random() < 0.25:
        yield from _grouped(script, own)
    own = Random(f"drains {script.profile} {script.seed}")
    if own.random() < 0.3:
        yield from _drained(script, own)


def _terms(script: Script, dice: Random) -> str:
    words = [f"distribution={dice.choice(MODES)}", dice.choice(LATER)]
    words += dice.choice([[], [], ["max_count=20"]]) + dice.choice([[], [], ["max_attempts=3"]])
    words.append(f"when_full={dice.choice(['block', 'reject'])}")
    if dice.random() < 0.2:
        words.append(f"nodes={','.join(dice.sample(script.nodes, dice.randint(1, len(script.nodes))))}")
    return " ".join(words)


def _declared(script: Script, dice: Random, terms: dict[str, str]) -> Iterator[Step]:
    for node in script.nodes:
        yield Step(0.0, "client", (f"boss-{node}", node))
    for queue, said in terms.items():
        for node in script.nodes:
            yield Step(dice.choice([0.5, FIRST]), "declare", (f"boss-{node}", queue, said))


def _looked_at(script: Script, dice: Random, names: tuple[str, ...]) -> Iterator[Step]:
    now, purges = FIRST + 3.0, dice.random() < 0.1
    while now < script.seconds:
        boss = f"boss-{dice.choice(script.nodes)}"
        yield Step(now, "info", (boss, dice.choice(names)))
        if purges and dice.random() < 0.2:
            yield Step(now, "purge", (boss, dice.choice(names)))
        now += dice.expovariate(1 / 5)


def _moved(script: Script, dice: Random, names: tuple[str, ...]) -> Iterator[Step]:
    now, often = FIRST + 2.0, dice.choice([1.0, 4.0])
    while (now := now + dice.expovariate(1 / often)) < script.seconds:
        one, other = dice.sample(script.nodes, 2)
        how = (dice.choice(names), other, dice.choice([1, 3, 20, 100]))
        yield Step(now, "move by hand", (f"boss-{one}", *how))


def _caught(script: Script, dice: Random) -> Iterator[Step]:
    """Stop one of two nodes, or break their connections, around a move of new messages."""
    now = WARM_UP + dice.expovariate(1 / 6)
    for i in range(100):
        if now >= script.seconds:
            break
        one, other = dice.sample(script.nodes, 2)
        queue, victim = dice.choice(QUEUES), dice.choice([one, other])
        yield Step(now - 1.0, "client", (f"caught-{i}", one))
        for n in range(dice.choice([1, 3])):
            yield Step(now + n / 100, "put", (f"caught-{i}", queue, 3, "p", 5, 0, "", "x", 0.0))
        yield Step(now + 0.05, "move by hand", (f"boss-{one}", queue, other, 5))
        after = now + dice.choice([0.01, 0.03, 0.06, 0.07, 0.1, 0.5])
        if dice.random() < 0.6:
            yield Step(after, "kill", (victim,))
            yield Step(after + dice.choice([0.01, 0.3, 2.0, 7.0]), "start", (victim,))
        else:
            yield Step(after, "break", (one, other))
        now += 1.0 + dice.expovariate(1 / 6)


def _moving(script: Script, dice: Random, name: str, now: float) -> Iterator[Step]:
    """Put messages at one node, and move them to another one; the last step is the move."""
    one, other = dice.sample(script.nodes, 2)
    queue = dice.choice(QUEUES)
    yield Step(now - 1.0, "client", (name, one))
    yield Step(now, "put", (name, queue, 3, "p", 5, 0, "", "x", 0.0))
    yield Step(now + 0.05, "move by hand", (f"boss-{one}", queue, other, 5))


def _struck(script: Script, dice: Random) -> Iterator[Step]:
    """Stop a node at a point of a commit that writes a stage of a move."""
    now = WARM_UP
    for i in range(100):
        now += dice.expovariate(1 / 5)
        if now >= script.seconds:
            break
        stage, steps = dice.choice(STAGES), list(_moving(script, dice, f"struck-{i}", now))
        one, other = steps[0].args[1], steps[-1].args[2]
        victim, down = other if stage == COMES else one, dice.choice([0.01, 0.3, 2.0, 7.0])
        yield from steps
        yield Step(now + 0.01, "arm", (victim, dice.choice(POINTS), down, stage))


def _cramped(script: Script, dice: Random) -> Iterator[Step]:
    """Fill the disk at one end of a move, for a moment or longer."""
    now = WARM_UP
    for i in range(100):
        now += dice.expovariate(1 / 5)
        if now >= script.seconds:
            break
        steps = list(_moving(script, dice, f"cramped-{i}", now))
        victim = dice.choice([steps[0].args[1], steps[-1].args[2]])
        yield from steps
        yield Step(now + dice.choice([0.03, 0.05, 0.051]), "fill", (victim, dice.choice(["", "reserve"])))
        yield Step(now + dice.choice([0.1, 0.5, 3.0]), "make room", (victim,))


def _grouped(script: Script, dice: Random) -> Iterator[Step]:
    """Put messages of a group at one node, start a consumer at another node, and put more of the group."""
    for node in script.nodes:
        yield Step(FIRST, "declare", (f"boss-{node}", GROUPED, "distribution=local redistribution=1.0"))
        yield Step(FIRST, "client", (f"grouped-{node}", node))
    now, i = WARM_UP + dice.uniform(0.0, 3.0), 0
    while now < script.seconds - 7.0:
        one, other = dice.sample(script.nodes, 2)
        for after in (0.0, 0.4 + dice.choice([0.02, 0.2, 0.5])):
            how = (dice.choice([1, 3]), "p", 5, 0, f"g{i}", "x", 0.0)
            yield Step(now + after, "put", (f"grouped-{one}", GROUPED, *how))
        yield Step(now + 0.4, "take", (f"grouped-{other}", f"grouped {i}", GROUPED, 10, "", 0, 0.0, "a"))
        yield Step(now + 6.0, "untake", (f"grouped-{other}", f"grouped {i}"))
        now, i = now + 6.5 + dice.expovariate(1 / 2), i + 1


def _drained(script: Script, dice: Random) -> Iterator[Step]:
    """Drain a node, sometimes stop and start it meanwhile, and cancel the drain later."""
    now = WARM_UP
    while (now := now + dice.expovariate(1 / 8)) < script.seconds - 2.0:
        node = dice.choice(script.nodes)
        yield Step(now, "drain", (f"boss-{node}", "begin"))
        if dice.random() < 0.4:
            after = now + dice.choice([0.01, 0.05, 0.3, 2.0])
            yield Step(after, "kill", (node,))
            yield Step(after + dice.choice([0.3, 7.0]), "start", (node,))
        yield Step(now + dice.choice([1.0, 5.0, 20.0]), "drain", (f"boss-{node}", "cancel"))
    for node in script.nodes:
        yield Step(script.seconds - 0.5, "drain", (f"boss-{node}", "cancel"))


def _removed(script: Script, dice: Random, said: str) -> Iterator[Step]:
    """Remove a queue during a move, and declare it again some time later."""
    now = WARM_UP
    while (now := now + dice.expovariate(1 / 10)) < script.seconds - 5.0:
        one, other = dice.sample(script.nodes, 2)
        yield Step(now - 0.02, "move by hand", (f"boss-{other}", GONE, one, 20))
        back = now + dice.choice([0.3, 3.0])
        for node in script.nodes:
            after = 0.0 if node == one else dice.choice([0.0, 0.01, 0.2])
            yield Step(now + after, "remove", (f"boss-{node}", GONE))
            yield Step(back + after, "declare", (f"boss-{node}", GONE, said))
        now += 4.0


def _forgotten(script: Script, dice: Random) -> Iterator[Step]:
    """Declare a node gone for good, and start it again."""
    node, now = dice.choice(script.nodes), WARM_UP + dice.uniform(0.0, 8.0)
    yield Step(now, "kill", (node,))
    for other in script.nodes:
        if other != node:
            yield Step(now + DEAD, "forget", (f"boss-{other}", node))
    yield Step(now + DEAD + 1.0, "start", (node,))


def _put_back(script: Script, dice: Random) -> Iterator[Step]:
    """Replace a store by an old copy, with which its node continues."""
    node, now, age = dice.choice(script.nodes), WARM_UP + dice.uniform(0.0, 4.0), dice.choice([7.0, 12.0])
    yield Step(now, "copy", (node,))
    for after, kind in ((0.0, "kill"), (0.1, "put back"), (0.2, "accept"), (0.3, "start")):
        yield Step(now + age + after, kind, (node,))
