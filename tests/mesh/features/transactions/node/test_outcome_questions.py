"""Transactions of a client that moves to another node: the former node decides the outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from msgspec.structs import replace

import mesh.testing
from mesh.errors import InDoubt, RemoteError, TransactionRefused
from mesh.features.transactions.node.parts import TransactionParts
from mesh.features.transactions.wire import Commit
from mesh.proof import attach_text
from mesh.security.streamkey import StreamKey
from mesh.wire.calls import AskTxOutcome
from mesh.wire.commands import Certificate
from mesh.wire.replies import TxOutcome
from tests.mesh.features.queues.node.keeping.moving_jobs import NODES, QUEUE, Jobs

Scenario = Callable[["Desk"], Coroutine[Any, Any, None]]


class Desk(Jobs):
    """The client `joe` commits at heron and moves; `lost` says which COMMITs and replies do not arrive."""

    def __init__(self, m: mesh.testing.Mesh, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(m, monkeypatch)
        self._patch = pytest.MonkeyPatch()
        self.delayed: list[Any] = []  # COMMITs that did not arrive

    def lose(self, commit: bool = False, reply: bool = False) -> None:
        """Let COMMITs of joe, or their replies, not arrive, until joe moves."""
        core = self.joe._shell.core
        send, on_reply = core.line.send_command, core.calls.others

        def sends(command: Any, envelopes: Any = ()) -> bool:
            if isinstance(command, Commit) and commit:
                self.delayed.append((command, envelopes))
                return True
            return bool(send(command, envelopes))

        self._patch.setattr(core.line, "send_command", sends)
        self._patch.setattr(core.calls, "others", (lambda it: None) if reply else on_reply)

    async def commit(self, *operations: Callable[[Any], None], patience: float = 30.0) -> Any:
        """Commit operations in a task, and return its transaction and task when it was sent."""
        tx = self.joe.transaction(timeout=patience)

        async def work() -> None:
            async with tx:
                for each in operations:
                    each(tx)

        task = self.run(work())
        await self.m.pass_time(0.5)
        return tx, task

    async def move(self, *order: str) -> None:
        self._patch.undo()
        self.visit(*order)
        await self.m.pass_time(3)


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Callable[[Scenario], None]:
    def run(scenario: Scenario) -> None:
        async def within() -> None:
            async with mesh.testing.Mesh(NODES, clock="virtual") as m:
                async with Desk(m, monkeypatch).opened() as it:
                    await scenario(it)  # type: ignore[arg-type]

        asyncio.run(within())

    return run


def puts(content: bytes) -> Callable[[Any], None]:
    return lambda tx: tx.put(QUEUE, content)


async def waiting(it: Desk) -> int:
    return int((await it.boss.queue(QUEUE).info()).ready)


def test_a_committed_transaction_whose_answer_was_lost_gets_its_outcome_at_another_node(play: Any) -> None:
    async def scenario(it: Desk) -> None:
        it.lose(reply=True)
        tx, task = await it.commit(puts(b"1"))
        assert await waiting(it) == 1
        await it.move("stork")
        await task
        assert (it.at, tx.results[0].state, await waiting(it)) == ("stork", "OK", 1)
        assert await it.joe.outcome(tx) == "committed"

    play(scenario)


def test_a_transaction_that_did_not_arrive_is_refused_and_a_delayed_copy_does_nothing(play: Any) -> None:
    async def scenario(it: Desk) -> None:
        it.lose(commit=True)
        tx, task = await it.commit(puts(b"1"))
        heron = it.m._nodes["heron"].core.parts
        session = heron.sessions.by_stream[it.joe._shell.core.stream]
        await it.move("stork")
        with pytest.raises(TransactionRefused) as refused:
            await task
        assert refused.value.code == "MOVED"
        assert await it.joe.outcome(tx) == "refused"
        assert session.conn is None
        (command, (packed,)), commits = it.delayed[0], heron[TransactionParts].commits
        with pytest.raises(RemoteError) as late:
            commits._commit(None, session, command, list(packed.envelopes))  # type: ignore[arg-type]
        assert late.value.code == "MOVED"
        await it.joe.queue(QUEUE).put(b"2")
        assert await waiting(it) == 1

    play(scenario)


def test_later_messages_of_its_domains_wait_for_the_outcome(play: Any) -> None:
    async def scenario(it: Desk) -> None:
        async with it.boss.subscribe(pattern="a/#") as heard:
            it.lose(commit=True)
            _, task = await it.commit(lambda tx: tx.publish("a/1", b"1"))
            it.m.cut("heron", "stork")
            it.m.cut("heron", "ibis")
            await it.move("stork")
            later = it.run(it.joe.publish("a/2", b"2"))
            other = it.run(it.joe.publish("b", b"3", domain="d"))
            await it.m.pass_time(5)
            assert (task.done(), later.done(), other.done()) == (False, False, True)
            it.m.heal()
            await it.m.pass_time(10)
            with pytest.raises(TransactionRefused):
                await task
            await later
            assert (await anext(heard)).content == b"2"

    play(scenario)


def test_after_in_doubt_later_messages_go_first_and_the_outcome_can_be_asked(play: Any) -> None:
    async def scenario(it: Desk) -> None:
        it.lose(reply=True)
        tx, task = await it.commit(puts(b"1"), patience=4.0)
        it.m.cut("heron", "stork")
        it.m.cut("heron", "ibis")
        await it.move("stork")
        later = it.run(it.joe.queue(QUEUE).put(b"2"))
        await it.m.pass_time(0.2)
        assert not later.done()
        await it.m.pass_time(5)
        with pytest.raises(InDoubt):
            await task
        await later
        asked: Any = it.run(it.joe.outcome(tx, timeout=60))
        await it.m.pass_time(1)
        assert not asked.done()
        it.m.heal()
        await it.m.pass_time(10)
        outcome: Any = await asked
        assert (outcome, tx.results[0].state) == ("committed", "OK")

    play(scenario)


def test_back_at_its_former_node_a_client_asks_that_one(play: Any) -> None:
    async def scenario(it: Desk) -> None:
        it.lose(reply=True)
        first, one = await it.commit(puts(b"1"))
        it.m.cut("heron", "stork")
        it.m.cut("heron", "ibis")
        await it.move("stork")
        assert not one.done()
        it.m.heal()
        it.visit("heron")
        await it.m.pass_time(10)
        await one
        assert (it.at, await it.joe.outcome(first), await waiting(it)) == ("heron", "committed", 1)

    play(scenario)


def certificate(it: Desk, node: str, attach: int, key: StreamKey | None = None) -> Certificate:
    core = it.joe._shell.core
    signer, uuid = key or core.visits._key, it.m._nodes[node].core.parts.context.me.uuid
    text = attach_text(core.line.name, attach, uuid)
    return Certificate(core.line.name, signer.public, attach, uuid, signer.sign(text))


async def ask(it: Desk, node: str, question: AskTxOutcome) -> Any:
    """Ask heron from `node`, and return the reply."""
    heron, asker = it.m._nodes["heron"].core.parts.context.me, it.m._nodes[node].core.parts
    found: list[Any] = []
    asker.questions.ask_all(
        [asker.neighbours.peers[heron.uuid]], question, TxOutcome, lambda all_, _: found.append(all_)
    )
    await it.m.pass_time(1)
    return found[0][heron.uuid]


def test_an_outcome_is_decided_only_with_the_certificate_of_a_higher_attach(play: Any) -> None:
    async def scenario(it: Desk) -> None:
        real = certificate(it, "ibis", 1)
        mistakes = [
            (replace(real, signature=bytes(64)), "FORGED_VISIT"),
            (certificate(it, "stork", 1), "FORGED_VISIT"),
        ]
        for proof, code in mistakes:
            assert (await ask(it, "ibis", AskTxOutcome(certificate=proof, count=1))).code == code
        tx, task = await it.commit(puts(b"1"))
        await task
        assert tx.results
        found = await ask(it, "ibis", AskTxOutcome(certificate=real, count=1))
        assert (found.value.outcome, found.value.answers) == ("committed", [("OK", 1, "")])
        await it.m.pass_time(1)
        refused = await ask(it, "ibis", AskTxOutcome(certificate=real, count=2, low=2))
        assert (refused.value.outcome, refused.value.code) == ("refused", "MOVED")
        again = await ask(it, "ibis", AskTxOutcome(certificate=real, count=2, low=2))
        assert again.value == refused.value
        assert (
            await ask(it, "ibis", AskTxOutcome(certificate=real, count=1, low=2))
        ).code == "OUTCOME_EXPIRED"
        assert (
            await ask(it, "ibis", AskTxOutcome(certificate=real, count=70, low=2))
        ).code == "OUTCOME_EXPIRED"

    play(scenario)
