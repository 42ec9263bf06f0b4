"""Admission to a real mesh with keys: by which keys, in which role, and with which errors."""

import asyncio

import pytest
from msgspec.structs import replace

import mesh
from mesh.errors import LocalError, MeshError, NodeNotFound, PublishRefused, Refused
from mesh.password import COST, hashed
from mesh.security.clientkeys import client_keys
from mesh.security.derive import relay_secret, role_secret
from mesh.wire import commands as c
from tests.mesh.meshes import Mesh, eventually, take
from tests.mesh.security.keyed import SECRET, at, events, keyed_mesh, mesh_file, node, user
from tests.mesh.security.talker import Talker
from tests.pages import free_port
from tests.seeds import scenarios
from tests.waiting import LIMIT


def test_nodes_with_keys_find_each_other_and_messages_pass() -> None:
    async def scenario() -> None:
        async with keyed_mesh("a", "b", "c") as made:
            async with made.connect("b") as reader, made.connect("c") as writer:
                async with reader.subscribe("demo/x") as subscription:
                    await writer.publish("demo/x", b"hello")
                    assert [m.content for m in await take(subscription, 1)] == [b"hello"]
            assert all(events(one, "refused") == [] for one in made.nodes.values())

    asyncio.run(scenario())


@pytest.mark.parametrize("role", ["node", "client"])
def test_a_client_elsewhere_comes_in_with_keys_of_its_own(role: str) -> None:
    async def scenario() -> None:
        async with keyed_mesh("a") as made:
            with user(mesh_file("test", role)) as (_, environ):
                async with mesh.connect(at(made.nodes["a"]), environ=environ) as m:
                    await m.publish("demo/x", b"1")
                    assert [v.content for v in await m.get("demo/x")] == [b"1"]

    asyncio.run(scenario())


def test_a_monitor_reads_and_changes_nothing() -> None:
    async def scenario() -> None:
        async with keyed_mesh("a") as made:
            async with made.connect("a") as writer:
                await writer.publish("demo/x", b"1")
            with user(mesh_file("test", "monitor")) as (_, environ):
                async with mesh.connect(at(made.nodes["a"]), environ=environ) as m:
                    assert [v.content for v in await m.get("demo/x")] == [b"1"]
                    assert (await m.call("ls"))["nodes"]
                    for attempt in (
                        m.publish("demo/x", b"2"),
                        m.publish("demo/x", b"2", persistent=True),
                        m.send("client/joe/session/1", b"2", force_queuing=True),
                        m.erase("demo/x"),
                        m.call("down"),
                        m.call("peer", add="tcp://127.0.0.1:1"),
                    ):
                        with pytest.raises((PublishRefused, LocalError)) as refused:
                            await attempt
                        assert refused.value.code == "NOT_ALLOWED"
                    assert [v.content for v in await m.get("demo/x")] == [b"1"]

    asyncio.run(scenario())


@pytest.mark.slow  # for its length
def test_who_has_no_keys_is_told_what_to_type() -> None:
    async def scenario() -> None:
        async with keyed_mesh("a") as made:
            with user() as (_, environ):

                async def is_noted() -> bool:
                    with pytest.raises(Refused, match="mesh join") as refused:
                        async with mesh.connect(at(made.nodes["a"]), environ=environ, timeout=LIMIT):
                            pass
                    assert refused.value.code == "NO_KEYS"
                    return bool(events(made.nodes["a"], "refused"))

                # The first side to read the other's greeting hangs up. The other side can see a mere reset,
                # which a node does not report, so the client dials until the node was first.
                await eventually(is_noted)

    asyncio.run(scenario())


@pytest.mark.parametrize("keys", scenarios([(b"x" * 32, "test"), (SECRET, "other")]))
def test_who_has_the_keys_of_another_mesh_is_told_so(keys: tuple[bytes, str]) -> None:
    secret, cluster = keys

    async def scenario() -> None:
        async with keyed_mesh("a") as made:
            with user(mesh_file(cluster, secret=secret)) as (_, environ):
                timeout = 1.0
                while True:  # until the handshake had time to fail
                    with pytest.raises(MeshError) as refused:
                        async with mesh.connect(
                            at(made.nodes["a"]), cluster=cluster, environ=environ, timeout=timeout
                        ):
                            pass
                    if timeout > LIMIT or not isinstance(refused.value, NodeNotFound):
                        break
                    timeout *= 4
                assert refused.value.code == "WRONG_KEYS"
            await eventually(lambda: events(made.nodes["a"], "refused"))
            assert "other keys" in events(made.nodes["a"], "refused")[0]

    asyncio.run(scenario())


def test_the_servers_public_key_alone_opens_nothing() -> None:
    async def scenario() -> None:
        async with keyed_mesh("a") as made:
            stolen = replace(mesh_file("test", "client"), secret=b"?" * 32)
            with user(stolen) as (_, environ):
                with pytest.raises(Refused) as refused:
                    async with mesh.connect(at(made.nodes["a"]), environ=environ):
                        pass
                assert refused.value.code == "WRONG_SECRET"
            assert any("WRONG_SECRET" in text for text in events(made.nodes["a"], "refused"))

    asyncio.run(scenario())


def test_the_secret_of_a_client_makes_no_node() -> None:
    async def scenario() -> None:
        async with keyed_mesh("a") as made:
            talker = await _client(made)
            me = c.Introduction(b"e" * 16, "eve", 1, "")
            hello = talker.hello(c.NODE_CONTROL, node=me)
            challenge = await talker.challenged(at(made.nodes["a"]), hello)
            talker.say(replace(hello, proof=talker.proof(role_secret(SECRET, "test", "client"), challenge)))
            assert (await talker.hear()).code == "WRONG_SECRET"
            talker.sockets.close()

    asyncio.run(scenario())


def test_a_node_must_sign_with_the_key_that_it_names() -> None:
    async def scenario() -> None:
        async with keyed_mesh("a") as made:
            for signature in (b"", b"x" * 64):
                talker = await _client(made)
                me = c.Introduction(b"e" * 16, "eve", 1, "", key=b"k" * 32)
                hello = talker.hello(c.NODE_CONTROL, node=me)
                challenge = await talker.challenged(at(made.nodes["a"]), hello)
                proof = talker.proof(role_secret(SECRET, "test", "node"), challenge)
                talker.say(replace(hello, proof=proof, signature=signature))
                assert (await talker.hear()).code == "WRONG_SIGNATURE"
                talker.sockets.close()
            assert any("WRONG_SIGNATURE" in text for text in events(made.nodes["a"], "refused"))

    asyncio.run(scenario())


@pytest.mark.parametrize("role", [c.CLIENT, c.NODE_CONTROL, c.NODE_DATA])
def test_the_secret_of_a_gateway_of_another_site_makes_neither_a_client_nor_a_node(role: str) -> None:
    async def scenario() -> None:
        async with keyed_mesh("a") as made:
            talker = await _client(made)
            node = None if role == c.CLIENT else c.Introduction(b"e" * 16, "eve", 1, "")
            hello = talker.hello(role, node=node)
            challenge = await talker.challenged(at(made.nodes["a"]), hello)
            proof = talker.proof(relay_secret(SECRET, "test", "LON"), challenge)
            talker.say(replace(hello, proof=proof, signature=talker.signature(challenge)))
            assert (await talker.hear()).code == "WRONG_SECRET"
            talker.sockets.close()

    asyncio.run(scenario())


def test_a_hello_that_was_heard_before_opens_nothing() -> None:
    async def scenario() -> None:
        async with keyed_mesh("a") as made:
            first = await _client(made)
            challenge = await first.challenged(at(made.nodes["a"]))
            proof = first.proof(role_secret(SECRET, "test", "client"), challenge)
            said = first.hello(proof=proof, signature=first.signature(challenge))
            first.say(said)
            assert isinstance(await first.hear(), c.Welcome)
            first.sockets.close()
            # A replay fails even for its author with the same key, since the node sends another nonce.
            again = Talker(first.keys)
            again.nonce = first.nonce
            await again.challenged(at(made.nodes["a"]))
            again.say(said)
            assert (await again.hear()).code == "WRONG_SECRET"
            again.sockets.close()
            # A replay without a request for a nonce makes the node send one, so the proof is invalid.
            third = Talker(first.keys)
            third.sockets.dial(1, at(made.nodes["a"]))
            third.say(said)
            assert isinstance(await third.hear(), c.Challenge)
            third.say(said)
            assert (await third.hear()).code == "WRONG_SECRET"
            third.sockets.close()

    asyncio.run(scenario())


def test_the_proof_of_one_holds_for_no_other_key() -> None:
    async def scenario() -> None:
        async with keyed_mesh("a") as made:
            honest, middle = await _client(made), await _client(made)
            middle.nonce = honest.nonce
            challenge = await middle.challenged(at(made.nodes["a"]))  # relayed to the honest client
            proof = honest.proof(role_secret(SECRET, "test", "client"), challenge)
            middle.say(middle.hello(proof=proof))
            assert (await middle.hear()).code == "WRONG_SECRET"
            honest.sockets.close()
            middle.sockets.close()

    asyncio.run(scenario())


def test_before_it_is_in_nobody_may_say_much() -> None:
    async def scenario() -> None:
        async with keyed_mesh("a") as made:
            talker = await _client(made)
            talker.sockets.dial(1, at(made.nodes["a"]))
            talker.sockets.send(1, [b"x" * 5000])
            assert isinstance(await talker.hear(), c.Who)
            talker.sockets.close()

    asyncio.run(scenario())


def test_a_node_that_wants_a_password_gets_it_from_whoever_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(COST, "n", 2)
    stored = hashed("open sesame", b"s" * 16)

    async def scenario() -> None:
        with user(mesh_file("test")) as (_, environ), user(mesh_file("test", passwd="no")) as (_, wrong):
            async with node("a", environ, "test", node__passwd=stored) as a:
                async with mesh.connect("a", environ=environ):  # the node's own socket needs no password
                    pass
                with user(mesh_file("test", passwd="open sesame")) as (_, right):
                    async with mesh.connect(at(a), environ=right), mesh.connect(at(a), environ=right):
                        pass
                for guesser, said in ((environ, "a password is required"), (wrong, "the password is wrong")):
                    with pytest.raises(Refused, match=said) as refused:
                        async with mesh.connect(at(a), cluster="test", environ=guesser):
                            pass
                    assert refused.value.code == "PASSWORD"

    asyncio.run(scenario())


def test_a_node_tells_the_password_of_the_node_that_it_dials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(COST, "n", 2)
    stored = hashed("open sesame", b"s" * 16)

    async def scenario() -> None:
        with (
            user(mesh_file("test")) as (_, environ),
            user(mesh_file("test", passwd="open sesame")) as (_, other),
        ):
            async with node("a", environ, "test", node__passwd=stored) as a:
                async with node("b", other, "test", node__peers=[at(a)]) as b:
                    both = Mesh(environ, {"a": a, "b": b})
                    await eventually(
                        lambda: len(both.nodes["a"].core.parts.neighbours.membership.alive()) == 2
                    )
                async with node("c", environ, "test", node__peers=[at(a)]):
                    await eventually(lambda: any("PASSWORD" in text for text in events(a, "refused")))

    asyncio.run(scenario())


def test_who_does_not_answer_at_all_is_not_called_a_stranger() -> None:
    async def scenario() -> None:
        with user(mesh_file("test")) as (_, environ):
            with pytest.raises(NodeNotFound):
                async with mesh.connect(f"tcp://127.0.0.1:{free_port()}", environ=environ, timeout=0.3):
                    pass

    asyncio.run(scenario())


async def _client(made: Mesh) -> Talker:
    """Return a talker with the keys of a new client of that mesh."""
    with user(mesh_file("test", "client")) as (_, environ):
        keys = client_keys(environ, "test", "tcp://192.0.2.1:1")
    assert keys is not None
    return Talker(keys.curve)
