"""Discovery by mDNS among other traffic, with real packets, on loopback only."""

import secrets
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import pytest
from zeroconf import ServiceBrowser, ServiceInfo, ServiceStateChange, Zeroconf, const
from zeroconf._protocol.outgoing import DNSOutgoing

import mesh.discovery.mdns
import mesh.discovery.multicast
from mesh.discovery.adverts import Advert, Adverts, Rejected
from mesh.discovery.mdns import Mdns, _Flood, _Load
from mesh.discovery.multicast import ASKED, TYPE, Announcement, ZeroconfInstance
from mesh.discovery.sights import Discovered, Down, Sight, Up
from tests.waiting import until

pytestmark = pytest.mark.slow  # for its length

LOOPBACK = ("127.0.0.1",)


class Listener:
    """A node's mDNS and all that it has seen."""

    def __init__(self, name: str, secret: bytes, port: int = 7000) -> None:
        self.advert = Advert(secrets.token_bytes(16), name, 1, port, LOOPBACK)
        self.adverts = Adverts("test", secret, None, lambda *_: False)
        self.seen: list[Sight] = []
        self.mdns = Mdns(self.adverts, self.advert, LOOPBACK, lambda: None)

    def look(self) -> list[Sight]:
        self.seen += self.mdns.take()
        return self.seen

    def found(self) -> dict[str, Advert]:
        """Return the last advert of each node, by name."""
        return {sight.advert.name: sight.advert for sight in self.look() if isinstance(sight, Discovered)}

    def complaints(self) -> list[str]:
        return [sight.code for sight in self.look() if isinstance(sight, Rejected)]

    def ups_and_downs(self) -> list[type]:
        return [type(sight) for sight in self.look() if isinstance(sight, Up | Down)]


@pytest.fixture
def secret() -> bytes:
    """Return a secret of this test alone, since other tests use the same loopback at the same time."""
    return secrets.token_bytes(32)


@contextmanager
def listening(*listeners: Listener) -> Iterator[tuple[Listener, ...]]:
    for listener in listeners:
        listener.mdns.start()
    try:
        yield listeners
    finally:
        for listener in listeners:
            listener.mdns.stop()


@contextmanager
def stranger() -> Iterator[Callable[[bytes], None]]:
    """Yield a function that sends any packet, as another program on this loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))

        def send(packet: bytes) -> None:
            sender.sendto(packet, ("224.0.0.251", 5353))

        yield send


def packet(instance: str, txt: dict[str, bytes] | bytes, part: slice = slice(None)) -> bytes:
    """Return an announcement with this TXT record, or a part of its records, as any program could send it."""
    info = ServiceInfo(
        TYPE,
        f"{instance}.{TYPE}",
        7000,
        properties=txt,
        server=f"{instance}.local.",
        parsed_addresses=["127.0.0.1"],
    )
    out = DNSOutgoing(const._FLAGS_QR_RESPONSE | const._FLAGS_AA)
    for record in (info.dns_pointer(), info.dns_service(), info.dns_text(), *info.dns_addresses())[part]:
        out.add_answer_at_time(record, 0)
    return out.packets()[0]


def test_three_see_each_other(secret: bytes) -> None:
    with listening(*(Listener(name, secret) for name in "abc")) as nodes:
        until(lambda: all(len(node.found()) == 2 for node in nodes))
        assert [sorted(node.found()) for node in nodes] == [["b", "c"], ["a", "c"], ["a", "b"]]
        assert nodes[0].found()["b"] == nodes[1].advert


def test_one_that_comes_later_sees_those_that_were_there(secret: bytes) -> None:
    with listening(Listener("a", secret)) as (a,):
        until(lambda: a.ups_and_downs() == [Up])
        with listening(Listener("b", secret)) as (b,):
            until(lambda: "a" in b.found() and "b" in a.found())


def test_another_cluster_is_not_seen(secret: bytes) -> None:
    with listening(Listener("a", secret), Listener("b", secrets.token_bytes(32))) as (a, b):
        with listening(Listener("c", secret), Listener("d", b.adverts._secret)):
            until(lambda: "c" in a.found() and "d" in b.found())
            assert (list(a.found()), list(b.found())) == (["c"], ["d"])
            assert a.complaints() == b.complaints() == []


def test_a_new_start_of_a_node_is_found_as_such(secret: bytes) -> None:
    with listening(Listener("a", secret)) as (a,):
        with listening(Listener("b", secret)) as (b,):
            until(lambda: "b" in a.found())
        again = Listener("b", secret, port=7001)
        again.mdns = Mdns(b.adverts, replace(b.advert, boot=2, port=7001), LOOPBACK, lambda: None)
        with listening(again):
            until(lambda: a.found()["b"].boot == 2)
            assert a.found()["b"].port == 7001


def test_a_change_is_announced_and_another_only_after_a_pause(
    secret: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mesh.discovery.mdns, "PAUSE", 1.0)
    with listening(Listener("a", secret), Listener("b", secret)) as (a, b):
        until(lambda: "b" in a.found())
        start = time.monotonic()
        for port in range(7001, 7004):
            b.mdns.update(replace(b.advert, port=port), LOOPBACK)
        until(lambda: a.found()["b"].port == 7003)
        b.mdns.update(replace(b.advert, port=7004), LOOPBACK)
        until(lambda: a.found()["b"].port == 7004)
        assert time.monotonic() - start >= 0.9
        ports = [sight.advert.port for sight in a.seen if isinstance(sight, Discovered)]
        assert not {7001, 7002} & set(ports) or ports.index(7003) > 0  # superseded changes are not announced
        assert set(ports) <= {7000, 7001, 7003, 7004}


def test_if_it_dies_that_is_told_and_it_comes_back(secret: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mesh.discovery.mdns, "BACKOFF_MIN", 0.1)
    monkeypatch.setattr(mesh.discovery.mdns, "PAUSE", 0.1)
    look, struck = ZeroconfInstance.look, [False]

    async def die(self: ZeroconfInstance, heard: Callable[..., None]) -> None:
        if self._spoken.advert.name == "a" and not struck[0]:
            struck[0] = True
            raise RecursionError("a packet that is its own end")
        await look(self, heard)

    monkeypatch.setattr(ZeroconfInstance, "look", die)
    with listening(Listener("a", secret), Listener("b", secret)) as (a, b):
        until(lambda: "b" in a.found() and "a" in b.found())
        assert a.ups_and_downs() == [Up, Down, Up]
        assert Down("RecursionError: a packet that is its own end") in a.seen
        assert b.ups_and_downs() == [Up]


def test_without_an_interface_it_waits_for_one(secret: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mesh.discovery.mdns, "PAUSE", 0.1)
    a = Listener("a", secret)
    a.mdns = Mdns(a.adverts, a.advert, (), lambda: None)
    with listening(a, Listener("b", secret)) as (_, b):
        until(lambda: a.ups_and_downs() == [Down])
        assert Down("no usable network interface (wanted: none)") in a.seen
        a.mdns.update(a.advert, LOOPBACK)
        until(lambda: "a" in b.found() and "b" in a.found())
        assert a.ups_and_downs() == [Down, Up]


def test_when_the_last_interface_goes_that_is_told(secret: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mesh.discovery.mdns, "PAUSE", 0.1)
    with listening(Listener("a", secret)) as (a,):
        until(lambda: a.ups_and_downs() == [Up])
        a.mdns.update(a.advert, ("203.0.113.7", "fe80::7%gone0"))
        until(lambda: a.ups_and_downs() == [Up, Down])
        a.mdns.update(a.advert, LOOPBACK)
        until(lambda: a.ups_and_downs() == [Up, Down, Up])


def test_stopping_says_goodbye(secret: bytes) -> None:
    gone: list[str] = []

    def changed(name: str, state_change: ServiceStateChange, **_: object) -> None:
        if state_change is ServiceStateChange.Removed:
            gone.append(name)

    watcher = Zeroconf(interfaces=["127.0.0.1"])
    try:
        ServiceBrowser(watcher, TYPE, handlers=[changed])
        with listening(Listener("a", secret), Listener("b", secret)) as (a, b):
            until(lambda: "a" in b.found())
            until(lambda: watcher.get_service_info(TYPE, f"{a.advert.instance}.{TYPE}", 100) is not None)
            a.mdns.stop()
            until(lambda: f"{a.advert.instance}.{TYPE}" in gone)
    finally:
        watcher.close()


def test_stopping_what_was_never_started_or_is_stopped_does_no_harm(secret: bytes) -> None:
    Listener("a", secret).mdns.stop()
    with listening(Listener("b", secret)) as (b,):
        b.mdns.stop()
        b.mdns.stop()


def test_adverts_that_are_not_proven_are_told_once_and_not_found(
    secret: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mesh.discovery.mdns, "PAUSE", 0.1)
    with listening(Listener("a", secret), Listener("b", secret)) as (a, b), stranger() as send:
        until(lambda: "b" in a.found())
        spoofed = a.adverts.write_txt(replace(b.advert, uuid=b"\x01" * 16)) | {"m": b"00" * 16}
        old = a.adverts.write_txt(replace(b.advert, boot=3))
        b.mdns.update(replace(b.advert, boot=5), LOOPBACK)
        until(lambda: a.found()["b"].boot == 5)
        for _ in range(3):
            send(packet("01" * 16, spoofed))
            send(packet("02" * 16, spoofed | {"x": b"x" * 250, "y": b"y" * 250}))
            send(packet(b.advert.instance, old))  # recorded during an earlier boot of b
        until(lambda: len(a.complaints()) >= 3)
        assert sorted(a.complaints()) == ["ADVERT_MAC", "ADVERT_REPLAYED", "ADVERT_TOO_LARGE"]
        assert list(a.found()) == ["b"]
        assert a.found()["b"].boot == 5


def test_what_an_advert_leaves_out_is_asked_for(secret: bytes) -> None:
    with listening(Listener("a", secret)) as (a,), stranger() as send:
        until(lambda: a.ups_and_downs() == [Up])
        b = Listener("b", secret)
        txt = b.adverts.write_txt(b.advert)
        send(packet(b.advert.instance, txt, slice(1)))
        until(lambda: bool(a.mdns._ear._asking))
        send(packet(b.advert.instance, txt, slice(1, None)))
        until(lambda: a.found() == {"b": b.advert})


def test_so_many_are_asked_at_a_time_and_no_more(secret: bytes) -> None:
    with listening(Listener("a", secret)) as (a,), stranger() as send:
        until(lambda: a.ups_and_downs() == [Up])
        for _ in range(ASKED + 5):
            send(packet(secrets.token_hex(16), {}, slice(1)))
        until(lambda: a.mdns.ignored >= 5)  # more, if other tests use this loopback
        assert len(a.mdns._ear._asking) <= ASKED


def test_malformed_packets_and_odd_names_break_nothing(secret: bytes) -> None:
    good = packet("03" * 16, {"c": b"00" * 8})
    with listening(Listener("a", secret)) as (a,), stranger() as send:
        until(lambda: a.ups_and_downs() == [Up])
        for length in range(0, len(good), 7):
            send(good[:length])
            send(good[:length] + secrets.token_bytes(40))
            send(secrets.token_bytes(length))
        send(b"\0\0\x84\0\0\0\0\1\0\0\0\0" + b"\xc0\x0c" * 2000)  # a name that points at itself
        send(packet("x" * 63, b""))
        send(packet("a.b.c", b"\xff" * 9))
        send(b"\0" * 9000)
        with listening(Listener("b", secret)) as (b,):
            until(lambda: "b" in a.found() and "a" in b.found())
        assert a.ups_and_downs() == [Up]


def raw(instance: str, txt: bytes) -> bytes:
    """Return an announcement with a TXT record of any length, which no library would build."""
    name = b"".join(
        bytes([len(part)]) + part.encode() for part in f"{instance}.{TYPE}".rstrip(".").split(".")
    )
    header = struct.pack(">6H", 0, 0x8400, 0, 2, 0, 0)
    record = name + b"\0" + struct.pack(">HHIH", 16, 0x8001, 120, len(txt)) + txt
    service = b"".join(bytes([len(part)]) + part.encode() for part in TYPE.rstrip(".").split("."))
    pointer = service + b"\0" + struct.pack(">HHIH", 12, 1, 120, len(name) + 1) + name + b"\0"
    return header + pointer + record


def chained(instance: str, length: int) -> bytes:
    """Return an announcement whose name is `length` pointers, each to the one before, or to itself."""
    chain = b"".join(struct.pack(">H", 0xC000 | (12 + 2 * max(0, n - 1))) for n in range(length))
    header = struct.pack(">6H", 0, 0x8400, 0, length, 0, 0)
    return header + chain + struct.pack(">HHIH", 16, 0x8001, 120, 0)


def test_row_59_records_of_any_size_and_shape_break_nothing_and_are_not_followed(secret: bytes) -> None:
    """Malformed records are never found, and valid nodes are found before and after them.

    The TXT records have 9 kB, as much as one UDP packet can carry, 1,000 keys, or any bytes. Names can be
    chains of pointers.
    """
    keys = b"".join(bytes([len(each)]) + each for each in (b"k%d=v" % n for n in range(1000)))
    long = b"".join(b"\xff" + b"n" * 255 for _ in range(250))
    texts = [
        b"\xff" + b"n" * 255 + b"\x05v=1",
        long[:8900],
        long[:63_000],
        keys[:8900],
        bytes(99),
        b"\x00" * 1000,
        b"\x04v=1\x00" + b"\xff\xfe",
        b"",
    ]
    with listening(Listener("a", secret), Listener("b", secret)) as (a, b):
        until(lambda: "b" in a.found())
        with stranger() as send:
            for n, text in enumerate(texts):
                instance = f"{n:032x}"
                for data in (raw(instance, text), chained(instance, 40), chained(instance, 4000)):
                    send(data)
                send(packet(instance, {"v": b"1", "c": b"x", "n": b"n" * 250}))
            with listening(Listener("c", secret)) as (c,):
                until(lambda: "c" in a.found() and "a" in c.found() and "c" in b.found())
        assert set(a.found()) == {"b", "c"}
        assert a.ups_and_downs() == [Up]


@pytest.mark.parametrize("size", [100_000, 9_000, 513])
def test_row_59_a_record_that_is_too_long_is_rejected_unread(secret: bytes, size: int) -> None:
    """A valid record that is only too long is rejected, too."""
    a, b = Listener("a", secret), Listener("b", secret)
    right: dict[bytes, bytes | None] = {k.encode(): v for k, v in a.adverts.write_txt(b.advert).items()}
    assert a.adverts.read_advert(b.advert.instance, right, 7000, LOOPBACK) == b.advert
    read = a.adverts.read_advert(b.advert.instance, {**right, b"x": bytes(size)}, 7000, LOOPBACK)
    assert isinstance(read, Rejected) and read.code == "ADVERT_TOO_LARGE"


def test_under_a_flood_of_names_others_are_found(secret: bytes) -> None:
    with listening(Listener("a", secret)) as (a,), stranger() as send:
        until(lambda: a.ups_and_downs() == [Up])
        flood = [packet(secrets.token_hex(16), {"v": b"1", "c": b"00" * 8}) for _ in range(500)]
        for one in flood:
            send(one)
        with listening(Listener("b", secret)) as (b,):
            until(lambda: "a" in b.found())
            until(lambda: "b" in a.found())
        assert list(a.found()) == ["b"]


def test_what_nobody_takes_is_dropped_and_counted(secret: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mesh.discovery.mdns, "WAITING", 2)
    with listening(*(Listener(name, secret) for name in "abcd")) as nodes:
        until(lambda: all(node.mdns.ignored >= 1 for node in nodes))
        assert len(nodes[0].mdns.take()) == 2


def test_the_taker_is_woken_for_what_there_is_to_take(secret: bytes) -> None:
    woken: list[bool] = []
    a = Listener("a", secret)
    a.mdns = Mdns(a.adverts, a.advert, LOOPBACK, lambda: woken.append(True))
    with listening(a, Listener("b", secret)):
        until(lambda: "b" in a.found())
        assert len(woken) >= len(a.seen)


def test_reading_that_takes_half_a_core_for_long_is_given_up() -> None:
    load, spent = _Load(0.0, 0.0), 0.0
    for second, share in enumerate((0.9, 0.9, 0.1, 0.9, 0.9, 0.49, 0.9, 0.9), start=1):
        spent += share
        load.check_load(float(second), spent)
    with pytest.raises(_Flood):
        load.check_load(9.0, spent + 0.9)


def test_an_error_in_the_loop_is_told_once_and_goes_no_further(secret: bytes) -> None:
    a = Listener("a", secret)
    for _ in range(3):
        a.mdns._ear.upset({"message": "Exception in callback", "exception": RecursionError("deep")})
    assert a.complaints() == ["MDNS_RECURSIONERROR"]


def test_a_service_is_said_in_one_packet_of_any_network(secret: bytes) -> None:
    hosts = tuple(f"10.0.0.{number}" for number in range(1, 50))
    advert = Advert(b"\x01" * 16, "n" * 64, 2**63 - 1, 65535, hosts, b"k" * 32)
    adverts = Adverts("test", secret, lambda text: b"s" * 64, lambda *_: True)
    service = ZeroconfInstance._service(SimpleNamespace(_adverts=adverts), advert)  # type: ignore[arg-type]
    out = DNSOutgoing(const._FLAGS_QR_RESPONSE | const._FLAGS_AA)
    for record in (
        service.dns_pointer(),
        service.dns_service(),
        service.dns_text(),
        *service.dns_addresses(),
    ):
        out.add_answer_at_time(record, 0)
    assert len(out.packets()) == 1
    assert len(out.packets()[0]) < 1200
    assert Announcement(advert, LOOPBACK).advert is advert
