"""Answers in the name of this node: by another process of it, by this process, or by a liar."""

from collections.abc import Callable
from functools import partial
from random import Random

import pytest
from msgspec.structs import replace

from mesh.kernel.context.effects import Send, Stop
from mesh.kernel.context.settings import Keyring, Settings
from mesh.kernel.node import NodeCore
from mesh.kernel.parts import Parts
from mesh.kernel.peers.duplicate_detector import DIALS, PLACES
from mesh.security.signing import public_key, sign, verify
from mesh.store.memory import MemoryStore
from mesh.wire.commands import NODE_CONTROL, Introduction, Refuse, Rumour, Rumours
from mesh.wire.frames import read, write
from tests.mesh.kernel import keyed as with_keys
from tests.simulated_client import client_of
from tests.simulation import SECRET, SimNetwork, SimNode, copy_of

UUID, OURS, OTHER = b"u" * 16, b"k" * 32, b"o" * 32
PLACE = "tcp://127.0.0.1:9"
Frames = list[bytes]


def core(
    seed: bytes = OURS,
    chance: int = 1,
    keyed: bool = True,
    uuid: bytes = UUID,
    seal: bytes = b"seal",
    wall: int = 0,
) -> NodeCore:
    """Return a process of the node with this key, or without keys with this seal."""
    me = Introduction(uuid, "stork", 3, f"tcp://127.0.0.1:{chance}", key=public_key(seed) if keyed else b"")
    ring = Keyring(
        server="s" * 40,
        mine=f"{chance}" * 40,
        sign=partial(sign, seed),
        verify=verify,
        secrets=dict.fromkeys(("node", "client", "monitor"), SECRET),
    )
    settings = Settings(me=me, secret=SECRET, keyring=ring if keyed else None, seal=seal)
    made = NodeCore(Parts(settings, Random(chance).randbytes, Random(chance).random))
    made.start(MemoryStore().load(), 0.0, wall)
    made.take_effects()
    return made


def dial(
    dialler: NodeCore, listener: NodeCore, tamper: Callable[[Frames], Frames] = lambda frames: frames
) -> list[Stop | None]:
    """Let one process dial another one, or itself. Return for each the reason to stop, if any.

    `tamper` changes what the dialer receives.
    """
    conn = dialler.parts.dialler.dial(PLACE, NODE_CONTROL, b"")
    ring = dialler.parts.context.settings.keyring
    listener.add_inbound("in", PLACE, False, ring.mine if ring is not None else "")
    stops: dict[NodeCore, Stop] = {}
    for _ in range(8):
        for one in dict.fromkeys((dialler, listener)):
            for effect in one.take_effects():
                if isinstance(effect, Stop):
                    stops[one] = effect
                elif isinstance(effect, Send) and one is dialler and effect.conn == conn.key:
                    listener.receive("in", effect.frames, 0.0, 0)
                elif isinstance(effect, Send) and one is listener and effect.conn == "in":
                    dialler.receive(conn.key, tamper(effect.frames), 0.0, 0)
    return [stops.get(dialler), stops.get(listener)]


@pytest.mark.parametrize("keyed", [True, False])
def test_trial_A2_of_two_processes_with_our_key_the_later_one_stops_whoever_dials(keyed: bool) -> None:
    for first, second in ((1, 2), (2, 1)):
        old, new = core(chance=first, keyed=keyed), core(chance=second, keyed=keyed, wall=1)
        ended = dial(old, new)
        assert [stop and stop.code for stop in ended] == [None, "CONFLICT"]
        assert ended[1] is not None and f"at tcp://127.0.0.1:{first}, and dialed this node" in ended[1].error
        old, new = core(chance=first, keyed=keyed), core(chance=second, keyed=keyed, wall=1)
        ended = dial(new, old)
        assert [stop and stop.code for stop in ended] == ["CONFLICT", None]
        assert ended[0] is not None and f"at {PLACE}." in ended[0].error
        (event,) = [e for e in old.parts.context.events.events_after(0)[0] if e.kind == "conflict"]
        assert "started later and stops" in event.text


@pytest.mark.parametrize("keyed", [True, False])
def test_trial_A2_both_stop_where_one_does_not_say_when_it_was_started(keyed: bool) -> None:
    old, new = core(keyed=keyed), core(chance=2, keyed=keyed, wall=1)
    new.parts.context.process = b"of a release bef"
    assert [stop and stop.code for stop in dial(old, new)] == ["CONFLICT", "CONFLICT"]


@pytest.mark.parametrize("keyed", [True, False])
def test_trial_A2_a_forwarder_to_our_own_port_shows_us_ourselves(keyed: bool) -> None:
    """The forwarder is a proxy, a router that sends packets back, or a second address of this machine."""
    stork = core(keyed=keyed)
    assert dial(stork, stork) == [None, None]
    assert stork.parts.context.figures()["met_itself"] == 1


def test_trial_A2_who_says_that_it_is_we_without_our_key_ends_nobody() -> None:
    assert dial(core(), core(OTHER, 2)) == [None, None]
    assert dial(core(OTHER, 2), core()) == [None, None]


def test_trial_A2_without_keys_who_knows_the_cookie_but_not_our_seal_ends_nobody() -> None:
    stork, liar = core(keyed=False), core(chance=2, keyed=False, seal=b"another")
    assert dial(stork, liar) == [None, None]
    assert dial(liar, stork) == [None, None]
    assert dial(core(keyed=False, seal=b""), core(chance=2, keyed=False, seal=b"")) == [None, None]


def test_trial_A2_a_refusal_that_our_key_has_not_signed_ends_nobody() -> None:
    def forged(frames: Frames) -> Frames:
        command, _ = read(frames)
        if not isinstance(command, Refuse):
            return frames
        return write(replace(command, code="SAME_UUID", key=public_key(OURS), process=b"x" * 16))

    liar = core(OTHER, 2)
    assert dial(core(), liar, forged) == [None, None]
    assert dial(core(keyed=False), core(chance=2, keyed=False, uuid=b"l" * 16), forged) == [None, None]


@pytest.mark.parametrize("keyed", [True, False])
def test_trial_A2_a_proof_of_another_day_is_worth_nothing(keyed: bool) -> None:
    heard: list[Frames] = []

    def recorded(frames: Frames) -> Frames:
        heard.append(frames)
        return frames

    dial(core(keyed=keyed), core(chance=2, keyed=keyed), recorded)
    refusal = heard[-1]
    assert isinstance(read(refusal)[0], Refuse)

    def replayed(frames: Frames) -> Frames:
        return refusal if isinstance(read(frames)[0], Refuse) else frames

    stork = core(chance=3, keyed=keyed)
    assert dial(stork, stork, replayed) == [None, None]


# --- claims of other nodes -------------------------------------------------------------------------------


def rumour(liar: SimNode, about: SimNode, *places: str) -> None:
    """Let the liar claim that the current boot of `about` is at these addresses."""
    node = replace(about.core.parts.context.me, address=places[0], also=places[1:])
    said = Rumours((Rumour(node, 0, "alive", liar.uuid),))
    about.core.parts.neighbours.liveness.rumours(about.core.parts.neighbours.peers[liar.uuid], said, False)
    about._carry_out_all()


def test_trial_A2_a_rumour_of_a_second_place_ends_nobody() -> None:
    """The addresses are one without a node, one of an honest node, and one that leads back to stork."""
    net = SimNetwork()
    heron, stork, liar = net.mesh("heron", "stork", "liar")
    net.bound["tcp://127.0.0.1:6001"] = stork
    for _ in range(2):
        rumour(liar, stork, "tcp://127.0.0.1:6000")
        rumour(liar, stork, heron.address)
        rumour(liar, stork, "tcp://127.0.0.1:6001", liar.address)
        net.run(70)
    assert stork.stop is None and stork.alive == {"heron", "liar"} and heron.alive == {"stork", "liar"}
    assert stork.metric("met_itself") == 1, "what it knows as its own it does not dial again"
    subscription = client_of(heron).subscribed("k")
    client_of(stork, "pub").publish("k", b"1", persistent=True)
    net.until(lambda: subscription.contents == [b"1"])


def test_trial_A2_a_flood_of_rumours_is_a_few_dials() -> None:
    net = SimNetwork()
    _, stork, liar = net.mesh("heron", "stork", "liar")
    dialled = stork.core.parts.dialler._dialled
    for number in range(1000):
        rumour(liar, stork, f"tcp://127.1.{number // 250}.{number % 250 + 1}:7")
    assert stork.core.parts.dialler._dialled - dialled <= DIALS
    assert len(stork.core.parts.rivals._looked) <= PLACES


@pytest.mark.parametrize("has_keys", [False, True])
@pytest.mark.parametrize("is_original_hidden, is_copy_hidden", [(False, False), (False, True), (True, False)])
def test_trial_A2_row_51_a_copy_is_found_though_one_of_both_only_dials_out(
    is_original_hidden: bool, is_copy_hidden: bool, has_keys: bool
) -> None:
    net = SimNetwork()
    heron = with_keys.keyed(net, "heron") if has_keys else net.node("heron")
    stork = with_keys.keyed(net, "stork", "heron") if has_keys else net.node("stork", "heron")
    net.until(lambda: stork.alive == {"heron"})
    if is_original_hidden:
        del net.bound[stork.address]
        net.bound[stork.address] = heron  # another node answers there
    twin = copy_of(stork, **(with_keys.key_settings("stork") if has_keys else {}))
    twin.disk.boot = stork.disk.boot - 1
    twin._seeds = (heron.address,)
    twin.start()
    if is_copy_hidden:
        net.bound[twin.address] = heron
    net.until(lambda: twin.stop)
    assert twin.stop is not None and twin.stop.code == "CONFLICT" and stork.stop is None
    net.until(lambda: heron.alive == {"stork"} and stork.alive == {"heron"}, 60)
    subscription = client_of(heron).subscribed("k")
    net.until(lambda: stork.metric("upstream_queries") and stork.metric("data_links"), 60)
    client_of(stork, "pub").publish("k", b"1", persistent=True)
    net.until(lambda: subscription.contents == [b"1"])


@pytest.mark.parametrize("keyed", [True, False])
def test_trial_A2_the_process_that_is_told_is_covered_by_the_proof(keyed: bool) -> None:
    def changed(frames: Frames) -> Frames:
        command, _ = read(frames)
        return write(replace(command, process=b"x" * 16)) if isinstance(command, Refuse) else frames

    stork = core(keyed=keyed)
    assert dial(stork, stork, changed) == [None, None]
    assert stork.parts.context.figures()["met_itself"] == 0
