"""Names, inboxes and dead letters of two users with their own keys at one node, over real sockets."""

import asyncio

import pytest

import mesh
from mesh.errors import LocalError, NotConnected, PublishRefused
from tests.mesh.meshes import eventually, take
from tests.mesh.security.keyed import at, keyed_mesh, mesh_file, user

DEAD = "__sys__deadMessage/#"


def test_trial_A5_what_is_sent_to_a_client_is_for_the_key_that_opened_its_inbox() -> None:
    async def scenario() -> None:
        async with keyed_mesh("a") as made:
            url = at(made.nodes["a"])
            with user(mesh_file("test", "client")) as (_, one), user(mesh_file("test", "client")) as (_, two):
                async with (
                    mesh.connect(url, client="joe", environ=one) as joe,
                    joe.inbox() as inbox,
                    mesh.connect(url, client="joe", environ=two) as mallory,
                ):
                    with pytest.raises(LocalError) as taken:
                        async with mallory.inbox():
                            pass
                    assert taken.value.code == "INBOX_TAKEN" and "mesh inbox release joe" in str(taken.value)
                    assert (await mallory.publish("k", b"a name is for everybody")).ok
                    assert (await mallory.send("client/joe", b"hello")).matched == 1
                    [letter] = await take(inbox, 1)
                    assert letter.content == b"hello"
                    with pytest.raises(PublishRefused) as reserved:
                        await mallory.publish("__sys__deadMessage/x", b"forged")
                    assert reserved.value.code == "RESERVED"

    asyncio.run(scenario())


def test_trial_A5_two_machines_with_one_user_name_both_have_their_inboxes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LOGNAME", "pi")

    async def scenario() -> None:
        async with keyed_mesh("a") as made:
            url = at(made.nodes["a"])
            with user(mesh_file("test", "client")) as (_, one), user(mesh_file("test", "client")) as (_, two):
                async with (
                    mesh.connect(url, environ=one) as first,
                    mesh.connect(url, environ=two) as second,
                    first.inbox() as here,
                    second.inbox() as there,
                ):
                    assert first.name != second.name and "/client/pi/" in first.name
                    await first.send(second.name, b"1")
                    await second.send(first.name, b"2")
                    assert [(await take(inbox, 1))[0].content for inbox in (here, there)] == [b"2", b"1"]
                    with pytest.raises(NotConnected):
                        await first.send("client/pi", b"which?")

    asyncio.run(scenario())


def test_trial_A5_a_dead_letter_tells_others_its_code_only() -> None:
    async def scenario() -> None:
        async with keyed_mesh("a") as made:
            url = at(made.nodes["a"])
            with user(mesh_file("test", "client")) as (_, one), user(mesh_file("test", "client")) as (_, two):
                async with mesh.connect(url, environ=one) as ann, mesh.connect(url, environ=two) as other:
                    await ann.send("client/joe", b"secret", force_queuing=True, expiry=0.2)
                    await eventually(lambda: made.metric("a", "dead"))
                    [mine], [theirs] = await ann.get(pattern=DEAD), await other.get(pattern=DEAD)
                    assert (mine.content, theirs.content) == (b"secret", b"")
                    assert mine.headers["dead-to"] == "/node/a/client/joe"
                    assert {name for name, _ in theirs.headers.items()} == {
                        "dead-code",
                        "dead-id",
                        "dead-private",
                    }
                async with made.connect("a") as local:
                    [whole] = await local.get(pattern=DEAD)
                    assert whole.content == b"secret"

    asyncio.run(scenario())
