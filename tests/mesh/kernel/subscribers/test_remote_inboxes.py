"""Questions for an inbox that its home refuses, and homes that refuse or lose what they know."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from mesh.proof import attach_text
from mesh.security.streamkey import StreamKey
from mesh.wire.calls import AskCollect
from mesh.wire.calls.ask import Ask
from mesh.wire.commands import Certificate
from mesh.wire.replies import Collected
from tests.mesh.kernel.subscribers.moves import CLIENT, Moves

RUN = b"run 0001"
KEY = StreamKey(b"x" * 32)


class Bare(Ask, frozen=True, kw_only=True):
    """The question without its arguments."""

    verb = "collect"


def certificate(it: Moves, session: str = f"{CLIENT}/session/9", attach: int = 1, node: str = "stork") -> Any:
    uuid = it.m._nodes[node].core.parts.context.me.uuid
    return Certificate(session, KEY.public, attach, uuid, KEY.sign(attach_text(session, attach, uuid)))


async def code_of(it: Moves, ask: Ask) -> str:
    """Return the code with which heron answers a question of stork, or "" if it does not refuse."""
    parts, heron = it.m._nodes["stork"].core.parts, it.m._nodes["heron"].core.parts.context.me.uuid
    codes: list[str] = []

    def came(replies: Any, missing: Any) -> None:
        codes.extend(reply.code for reply in replies.values())

    parts.questions.ask_all([parts.neighbours.peers[heron]], ask, Collected, came, 5.0)
    await it.m.pass_time(3)
    return codes[0]


def readers(it: Moves) -> int:
    return len(it.m._nodes["heron"].core.parts.inboxes.remote)


def test_a_question_without_proof_is_refused(play: Callable[[Any], None]) -> None:
    async def scenario(it: Moves) -> None:
        async with it.m.connect("heron", client="eve"):  # stork is linked with heron
            await it.send("stork", "0")
        good = AskCollect(certificate=certificate(it, attach=5), run=RUN)
        assert await code_of(it, Bare()) == "BAD_QUERY"
        elsewhere = replace(good, certificate=certificate(it, node="ibis"))
        assert await code_of(it, elsewhere) == "FORGED_VISIT"
        forged = replace(good, certificate=replace(good.certificate, attach=6))
        assert await code_of(it, forged) == "FORGED_VISIT"
        other_home = replace(good, certificate=certificate(it, "/node/nowhere/client/joe/session/1", 4))
        assert await code_of(it, other_home) == "UNKNOWN_NODE", "it is passed on to its home"
        assert readers(it) == 0
        assert await code_of(it, good) == ""
        assert await code_of(it, replace(good, certificate=certificate(it, attach=4))) == "MOVED"
        assert await code_of(it, replace(good, done=1)) == "FORGED_ACK"
        assert await code_of(it, replace(good, run=b"run 0002", at=2)) == "UNKNOWN_RUN"

    play(scenario)


def test_a_session_that_never_was_gets_an_empty_inbox_that_is_forgotten(play: Callable[[Any], None]) -> None:
    async def scenario(it: Moves) -> None:
        await it.send("stork", "0")
        ask = AskCollect(certificate=certificate(it), run=RUN)
        assert (await code_of(it, ask), readers(it)) == ("", 1)
        assert (await code_of(it, replace(ask, is_connected=False)), readers(it)) == ("", 1)
        await it.m.pass_time(130)
        assert readers(it) == 0
        assert (await code_of(it, replace(ask, at=0)), readers(it)) == ("", 0)
        assert f"{CLIENT}/session/9" not in it.m._nodes["heron"].core.parts.inboxes._feeds

    play(scenario)


def test_a_name_or_an_inbox_of_another_client_is_refused(play: Callable[[Any], None]) -> None:
    async def scenario(it: Moves) -> None:
        await it.send("stork", "0")
        joe = AskCollect(certificate=certificate(it, it.joe.name), run=RUN)
        assert await code_of(it, joe) == "SESSION_IN_USE"
        other_key = AskCollect(certificate=certificate(it, attach=2), run=RUN, user="another key")
        assert await code_of(it, other_key) == "INBOX_TAKEN"
        await it.send("stork", "1", CLIENT)
        await it.m.pass_time(1)
        assert (it.direct, readers(it)) == (["0", "1"], 0)

    play(scenario)


def test_at_a_home_of_an_earlier_release_they_wait(play: Callable[[Any], None]) -> None:
    async def scenario(it: Moves) -> None:
        del it.m._nodes["heron"].core.parts.context.face.peer_verbs["collect"]
        it.visit("stork")
        await it.m.pass_time(5)
        await it.send("ibis", "waits")
        await it.m.pass_time(60)
        assert it.direct == []
        it.visit("heron")
        await it.m.pass_time(5)
        assert it.direct == ["waits"]

    play(scenario)


def test_law_3_a_notice_for_an_unknown_session_ends_its_connection(play: Callable[[Any], None]) -> None:
    async def scenario(it: Moves) -> None:
        it.visit("stork")
        await it.m.pass_time(5)
        it.m._nodes["stork"].core.parts.subscribing._inboxes._collections.clear()
        await it.send("ibis", "1")
        await it.m.pass_time(1)
        [reader] = it.m._nodes["heron"].core.parts.inboxes.remote
        assert not reader.is_connected
        it.visit("ibis")
        await it.m.pass_time(5)
        assert it.direct == ["1"]

    play(scenario)


def test_a_home_that_forgot_the_run_sends_everything_again(play: Callable[[Any], None]) -> None:
    async def scenario(it: Moves) -> None:
        it.visit("stork")
        await it.m.pass_time(5)
        it.opening.cancel()
        for n in range(3):
            await it.send("ibis", f"{n}")
        inboxes = it.m._nodes["heron"].core.parts.inboxes
        [reader] = inboxes.remote
        inboxes.end_reader(reader)
        await it.m.pass_time(1)
        it.opening = asyncio.create_task(it._read(it.inbox, it.direct))
        await it.m.pass_time(5)
        await it.send("ibis", "3")
        await it.m.pass_time(5)
        assert (it.direct, it.figures()) == (["0", "1", "2", "3"], {})

    play(scenario)


def test_what_was_processed_is_not_sent_again_after_a_restart_even_if_a_pin_keeps_it(
    play: Callable[[Any], None],
) -> None:
    async def scenario(it: Moves) -> None:
        it.visit("stork")
        await it.m.pass_time(5)
        shelf = it.m._nodes["heron"].core.parts.disk.shelf
        shelf.pins.pin(b"pin", 1, shelf.next_position + 10)
        await it.send("ibis", "1")
        await it.m.pass_time(5)
        it.m.kill("heron")
        it.m.start("heron")
        await it.m.pass_time(10)
        figures = it.m._nodes["stork"].core.parts.context.figures()
        assert (it.direct, figures["collected_messages"]) == (["1"], 1)

    play(scenario)
