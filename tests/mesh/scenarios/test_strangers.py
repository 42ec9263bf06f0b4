"""Strangers of any kind stay out of a real mesh with keys, and their attempts are reported."""

import asyncio
import json
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import zmq
from msgspec.structs import replace

import mesh
from mesh import sync
from mesh.discovery.adverts import Advert, Adverts
from mesh.errors import NodeNotFound, Refused
from mesh.security.derive import ADVERTS, derived, role_secret
from mesh.security.joining import join, new_mesh, token_of
from mesh.security.keyfiles import MeshFile, node_keys
from mesh.security.keys import Keys, Pair
from mesh.security.signing import public_key, sign, verify
from mesh.wire import commands as c
from mesh.wire.frames import write
from tests.discovery.test_mdns import packet
from tests.discovery.test_mdns import stranger as somebody_on_the_network
from tests.mesh.meshes import eventually
from tests.mesh.running import LIMIT, RunningNode, environment, run_mesh, state_directory, until
from tests.mesh.security.keyed import at, mesh_file, node, user
from tests.mesh.security.talker import Talker

ANY = ("--bind", "tcp://127.0.0.1:0")
HEARD = 7000  # port in all adverts of `packet`


@dataclass
class Fort:
    """A running node whose user has the secret of the mesh."""

    node: RunningNode
    keys: MeshFile

    def ask(self, verb: str, **arguments: Any) -> Any:
        with sync.connect(self.node.name, environ=self.node.environ) as m:
            return m.call(verb, **arguments)

    def told(self, kind: str = "refused") -> list[str]:
        """Return the texts of `mesh events` of this kind."""
        return [event["text"] for event in self.ask("events", after=0)["events"] if event["kind"] == kind]

    def tells(self, words: str, kind: str = "refused") -> None:
        """Wait for an event with these words."""
        until(lambda: any(words in text for text in self.told(kind)))

    def others(self) -> dict[str, dict[str, Any]]:
        """Return the rows of `mesh ls` about other nodes, by name."""
        return {row["name"]: row for row in self.ask("ls")["nodes"] if row["via"] != "self"}

    def state(self, name: str) -> str:
        """Return the state of another node, or "" if it is unknown."""
        return str(self.others().get(name, {}).get("state", ""))

    def link(self, name: str) -> str:
        """Return the state of the link with that node, or "" if it is unknown."""
        return str(self.others().get(name, {}).get("link", ""))

    def is_alone(self) -> bool:
        """Return whether no other node is known, and only the caller has ever had a session."""
        return not self.others() and self.ask("info")["metrics"]["sessions"] == 1

    def secret(self, role: str) -> bytes:
        return role_secret(self.keys.secret, self.keys.cluster, role)


@contextmanager
def ended(*nodes: RunningNode) -> Iterator[None]:
    """Stop these nodes at the end. None may have written a traceback."""
    try:
        yield
    finally:
        for one in nodes:
            if one.is_running:
                one.stop()
    for one in nodes:
        assert "Traceback" not in one.log, one.log


@contextmanager
def fort(*options: str) -> Iterator[Fort]:
    """A node with multicast DNS, unless the options differ."""
    with state_directory() as state:
        cluster = f"test-{secrets.token_hex(4)}"
        keys = new_mesh(state, cluster)
        one = RunningNode("fort", state, cluster, (*ANY, *(options or ("--mdns",))))
        with ended(one):
            one.start()
            yield Fort(one, keys)


@contextmanager
def joined(keys: MeshFile, role: str = "node") -> Iterator[Path]:
    """The state directory of a user with a token for that role."""
    with state_directory() as state:
        join(state, token_of(keys, role, expires=0), "")
        yield state


def talker(keys: MeshFile) -> Talker:
    """Return a peer with a key of its own and the public key of the mesh, which sends any commands."""
    mine = mesh_file("of nobody")
    return Talker(Keys(Pair(mine.public, mine.private), Pair(keys.server)))


def introduction(name: str = "eve") -> c.Introduction:
    return c.Introduction(name.encode().ljust(16, b"?"), name, 1, "", key=public_key(b"e" * 32))


def address_of(f: Fort) -> tuple[str, int]:
    host, _, port = f.node.tcp.removeprefix("tcp://").rpartition(":")
    return host, int(port)


# --- at the handshake of ZeroMQ ---------------------------------------------------------------------------


@pytest.mark.smoke
def test_who_has_no_key_is_not_heard() -> None:
    with fort() as f, zmq.Context() as context, context.socket(zmq.DEALER) as dealer:
        dealer.setsockopt(zmq.LINGER, 0)
        dealer.connect(f.node.tcp)
        dealer.send_multipart(write(c.Hello((1, 1), c.CLIENT, "", b"n" * 16, client="eve", stream=b"e" * 16)))
        f.tells("has no keys")  # or it aborted the handshake for some reason
        assert dealer.poll(0) == 0
        assert f.is_alone()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            b"GET / HTTP/1.1\r\nHost: fort\r\n\r\n" * 4,
            "the other side does not speak the protocol of the mesh",
        ),
        (bytes(range(256)), "the other side does not speak the protocol of the mesh"),
        (b"\xff" * 100, "has no keys"),  # this begins like a greeting
    ],
    ids=["http", "all bytes", "ones"],
)
def test_who_speaks_another_protocol_is_thrown_out(words: bytes, told: str) -> None:
    with fort() as f:
        with socket.create_connection(address_of(f), timeout=LIMIT) as connection:
            connection.sendall(words)
            try:
                while connection.recv(1000):
                    pass  # its greeting comes first
            except ConnectionResetError:
                pass
        f.tells(told)
        assert f.is_alone()


@pytest.mark.smoke
def test_who_belongs_here_comes_and_goes_without_a_word() -> None:
    async def visit(f: Fort, state: Path) -> None:
        async with mesh.connect(f.node.tcp, cluster=f.node.cluster, environ=environment(state)) as m:
            await m.publish("demo/x", b"1")

    async def visits(f: Fort, state: Path) -> None:
        for _ in range(3):
            await asyncio.gather(*(visit(f, state) for _ in range(8)))

    with fort() as f, joined(f.keys, "client") as state:
        asyncio.run(visits(f, state))
        with socket.create_connection(address_of(f), timeout=LIMIT) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
            f.tells("the other side does not speak the protocol of the mesh")  # after the visits
        assert len(f.told()) == 1


def test_who_has_the_key_of_another_mesh_is_not_heard() -> None:
    async def scenario(f: Fort) -> None:
        stranger = talker(mesh_file("another"))
        while not any("was refused: the other side has other keys" in text for text in f.told()):
            stranger.sockets.dial(1, f.node.tcp)
            stranger.say(stranger.hello())
            await eventually(lambda: stranger.gone)
            stranger.gone.clear()
        assert stranger.received == []
        stranger.sockets.close()

    with fort() as f:
        asyncio.run(scenario(f))
        assert f.is_alone()


@pytest.mark.smoke
def test_another_mesh_of_the_same_name_stays_another() -> None:
    with fort() as f, state_directory() as state:
        made = run_mesh("init", "--cluster", f.node.cluster, environ=environment(state))
        assert made.returncode == 0
        theirs = RunningNode("theirs", state, f.node.cluster, (*ANY, "--mdns", "--peer", f.node.tcp))
        with ended(theirs):
            theirs.start()
            other = Fort(theirs, f.keys)
            f.tells("the other side has other keys")
            other.tells(f"{f.node.tcp}: ended the handshake: its mesh has other keys or none", "peer")
            assert f.is_alone()
            assert other.is_alone()


# --- at HELLO ---------------------------------------------------------------------------------------------


@pytest.mark.smoke
def test_who_knows_the_public_key_only_gets_nowhere() -> None:
    async def scenario(f: Fort) -> None:
        for proof in (b"", secrets.token_bytes(32)):
            eve = talker(f.keys)
            eve.sockets.dial(1, f.node.tcp)
            eve.say(c.Call(1, "ls"))
            assert isinstance(await eve.hear(), c.Who)
            eve.say(eve.hello(proof=proof))
            assert isinstance(await eve.hear(), c.Challenge), "also for a proof that nobody asked for"
            eve.say(eve.hello(proof=secrets.token_bytes(32)))
            assert (await eve.hear()).code == "WRONG_SECRET"
            eve.sockets.close()

    with fort() as f:
        asyncio.run(scenario(f))
        told = [
            text for text in f.told() if "'eve' does not know the secret of a client of this mesh" in text
        ]
        assert len(told) == 2
        assert f.is_alone()


def test_who_names_another_cluster_does_not_belong_here() -> None:
    async def scenario(f: Fort) -> None:
        eve = talker(f.keys)
        hello = replace(eve.hello(c.NODE_CONTROL, node=introduction()), cluster="elsewhere")
        eve.sockets.dial(1, f.node.tcp)
        eve.say(hello)
        assert (await eve.hear()).code == "CLUSTER"
        eve.sockets.close()

    with fort() as f:
        asyncio.run(scenario(f))
        f.tells(f"'eve' belongs to cluster 'elsewhere', but {f.node.name} to '{f.node.cluster}'")
        assert f.is_alone()


def test_a_node_with_another_key_than_it_had_is_not_taken_for_it() -> None:
    with fort() as f, joined(f.keys) as state:
        other = RunningNode("other", state, f.node.cluster, (*ANY, "--mdns"))
        with ended(other):
            other.start()
            until(lambda: f.state("other") == "alive")
            other.stop()
            until(lambda: f.state("other") == "left")
            (state / "data" / "other" / "keys.json").unlink()  # like a copy of its uuid elsewhere
            other.start()
            short = str(other.it["uuid"])[:8]
            f.tells(f"other has another key than node {short} had before")
            guest = Fort(other, f.keys)
            guest.tells("mesh peer rm other")
            assert f.state("other") in ("left", "seen")  # only its advert was received
            until(lambda: guest.link("fort") == "not allowed by peer: WRONG_IDENTITY")
            assert f.node.mesh("peer", "rm", "other", "--url", "fort").returncode == 0
            other.stop()
            other.start()
            until(lambda: f.state("other") == "alive")


# --- on the network ---------------------------------------------------------------------------------------


def adverts(f: Fort, seed: bytes) -> Adverts:
    """Return adverts as a node with this Ed25519 seed writes them."""
    secret = derived(f.keys.secret, f.keys.cluster, ADVERTS)
    return Adverts(f.keys.cluster, secret, lambda text: sign(seed, text), lambda k, t, s: verify(k, s, t))


@pytest.mark.smoke
def test_an_advert_that_is_not_of_this_mesh_is_not_followed() -> None:
    with fort() as f, somebody_on_the_network() as send:
        f.tells("multicast DNS on", "mdns")
        advert = Advert(b"\x01" * 16, "eve", 1, HEARD, ("127.0.0.1",), public_key(b"e" * 32))
        send(packet(advert.instance, adverts(f, b"e" * 32).write_txt(advert) | {"m": b"00" * 16}))
        f.tells(f"{advert.instance}: its authentication code is wrong", "advert")
        other = Advert(b"\x02" * 16, "eve", 1, HEARD, ("127.0.0.1",), public_key(b"f" * 32))
        send(packet(other.instance, adverts(f, b"e" * 32).write_txt(other)))
        f.tells(f"{other.instance}: its signature is wrong", "advert")
        assert f.is_alone()


def test_an_old_advert_of_a_node_is_not_followed() -> None:
    with fort() as f, joined(f.keys) as state, somebody_on_the_network() as send:
        other = RunningNode("other", state, f.node.cluster, (*ANY, "--mdns"))
        with ended(other):
            other.start()
            until(lambda: f.state("other") == "alive")
            other.kill()
            other.start()
            until(lambda: (f.others()["other"]["state"], f.others()["other"]["boot"]) == ("alive", 2))
            before = f.others()["other"]["address"]
            seed = node_keys(state / "data" / "other").seed
            old = Advert(bytes.fromhex(other.it["uuid"]), "other", 1, HEARD, ("127.0.0.1",), public_key(seed))
            send(packet(old.instance, adverts(f, seed).write_txt(old)))
            f.tells("an old advert of other was replayed: boot 1, but 2 is known", "advert")
            now = f.others()["other"]
            assert (now["state"], now["boot"], now["address"]) == ("alive", 2, before)


# --- passwords and handlers of the node -------------------------------------------------------------------


def test_without_its_handler_a_node_lets_nobody_in_and_keeps_whom_it_has() -> None:
    async def scenario() -> None:
        with user(mesh_file("test")) as (_, environ), user(mesh_file("test", "client")) as (_, elsewhere):
            async with node("a", environ, "test") as a, mesh.connect(at(a), environ=elsewhere) as early:
                assert a.world.sockets._zap is not None
                a.world.sockets._zap.close()
                with pytest.raises((Refused, NodeNotFound)):
                    async with mesh.connect(at(a), environ=elsewhere, timeout=2.0):
                        pass
                await early.publish("demo/x", b"1")
                assert [value.content for value in await early.get("demo/x")] == [b"1"]
                assert a.core.parts.status.node_info().metrics["connections"] == 1

    asyncio.run(scenario())


def test_a_node_with_a_password_takes_whoever_is_told_to_tell_it() -> None:
    with fort("--no-mdns") as f, joined(f.keys) as state:
        other = RunningNode("other", state, f.node.cluster, (*ANY, "--no-mdns", "--peer", f.node.tcp))
        with ended(other):
            other.start()
            guest = Fort(other, f.keys)
            until(lambda: guest.state("fort") == "alive")

            stored = f.node.mesh("passwd", content="sesame\n").stdout.strip()
            _restart(f.node, f"[discovery]\nremember = false\n[node]\npasswd = {json.dumps(stored)}\n")
            until(lambda: guest.link("fort") == "not allowed by peer: PASSWORD")
            f.tells("'other' with key ")
            f.tells("fort: a password is required")
            guest.tells("passwd in [nodes.fort]")
            assert f.is_alone()

            _restart(other, '[nodes.fort]\npasswd = "wrong"\n')
            f.tells("fort: the password is wrong")
            assert f.is_alone()

            _restart(other, '[nodes.fort]\npasswd = "sesame"\n')
            until(lambda: guest.state("fort") == "alive")
            until(lambda: f.state("other") == "alive")


def test_a_password_is_wanted_from_whom_we_dial_too() -> None:
    with fort("--no-mdns") as f, joined(f.keys) as state:
        other = RunningNode("other", state, f.node.cluster, (*ANY, "--no-mdns"))
        with ended(other):
            other.start()
            guest = Fort(other, f.keys)
            stored = f.node.mesh("passwd", content="sesame\n").stdout.strip()
            _restart(f.node, f"[node]\npasswd = {json.dumps(stored)}\npeers = [{json.dumps(other.tcp)}]\n")
            f.tells("other did not send the password of this node: a password is required")
            assert f.is_alone()

            _restart(other, '[nodes.fort]\npasswd = "sesame"\n')
            f.node.stop()
            f.node.start()
            until(lambda: guest.state("fort") == "alive" and f.state("other") == "alive")


def _restart(one: RunningNode, settings: str) -> None:
    one.stop()
    (one.state / "mesh.toml").write_text(settings)  # the directory where it starts
    one.start()
