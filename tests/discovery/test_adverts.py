"""The size of adverts, and the rejection of adverts that are not authenticated."""

import hashlib
import hmac
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.discovery.advert_limiter import MOST_MESHES, AdvertLimiter
from mesh.discovery.adverts import LARGEST_READ, MOST_HOSTS, Advert, Adverts, Near, Rejected, usable

SECRET = b"s" * 32
KEY = b"k" * 32
HERON = Advert(b"\x01" * 16, "heron", 7, 7710, ("10.0.0.5",))


def _sign(text: bytes) -> bytes:
    """Sign as a stand-in for Ed25519 with the single key KEY."""
    return hashlib.sha512(KEY + text).digest()


def _verify(key: bytes, text: bytes, signature: bytes) -> bool:
    return signature == hashlib.sha512(key + text).digest()


def adverts(cluster: str = "birds", secret: bytes = SECRET, keyed: bool = False) -> Adverts:
    return Adverts(cluster, secret, _sign if keyed else None, _verify)


def heard(
    reader: Adverts, advert: Advert, /, writer: Adverts | None = None, **changed: bytes | None
) -> Advert | Rejected | Near | None:
    """Return the result of `reader` for an advert of `writer`, with some fields changed in transit."""
    txt: dict[bytes, bytes | None] = {k.encode(): v for k, v in (writer or reader).write_txt(advert).items()}
    txt.update((field.encode(), value) for field, value in changed.items())
    return reader.read_advert(advert.instance, txt, advert.port, advert.hosts)


def code(told: Advert | Rejected | Near | None) -> str:
    assert isinstance(told, Rejected)
    return told.code


names = st.from_regex(r"[A-Za-z0-9_.:-]{1,64}", fullmatch=True)
some_adverts = st.builds(
    Advert,
    st.binary(min_size=16, max_size=16),
    names,
    st.integers(1, 2**63 - 1),
    st.integers(1, 65535),
    st.just(("10.0.0.5",)),
    st.just(b""),
)


@given(some_adverts)
def test_what_is_written_is_read(advert: Advert) -> None:
    assert heard(adverts(), advert) == advert
    assert heard(adverts(keyed=True), replace(advert, key=KEY)) == replace(advert, key=KEY)


def test_the_largest_advert_has_at_most_400_bytes() -> None:
    largest = replace(HERON, name="n" * 64, boot=2**63 - 1, key=KEY)
    txt = adverts(keyed=True).write_txt(largest)
    assert sum(len(field) + 2 + len(value) for field, value in txt.items()) <= 400
    assert heard(adverts(keyed=True), largest) == largest


def test_all_values_can_be_read_by_people() -> None:
    txt = adverts(keyed=True).write_txt(replace(HERON, key=KEY))
    assert all(value.decode().isprintable() for value in txt.values())
    assert (txt["v"], txt["n"], txt["b"]) == (b"1", b"heron", b"7")


@pytest.mark.parametrize("other", [adverts("fish"), adverts(secret=b"t" * 32)])
def test_the_advert_of_another_cluster_is_no_news(other: Adverts) -> None:
    assert heard(adverts(), HERON, other) is None


def test_whoever_names_our_cluster_without_its_secret_is_rejected() -> None:
    assert code(heard(adverts(), HERON, m=b"00" * 16)) == "ADVERT_MAC"


def test_an_advert_is_bound_to_its_node_its_boot_and_its_port() -> None:
    reader = adverts()
    txt = {field.encode(): value for field, value in reader.write_txt(HERON).items()}
    assert code(reader.read_advert("02" * 16, txt, HERON.port, HERON.hosts)) == "ADVERT_MAC"
    assert code(reader.read_advert(HERON.instance, txt, 7711, HERON.hosts)) == "ADVERT_MAC"
    assert code(heard(reader, HERON, b=b"8")) == "ADVERT_MAC"
    assert code(heard(reader, HERON, n=b"egret")) == "ADVERT_MAC"
    assert code(heard(reader, HERON, k=b"00" * 32)) == "ADVERT_MAC"


def test_a_member_that_speaks_for_another_is_found_out_by_the_signature() -> None:
    # The liar has the secret, so its MAC is right; it does not have the key.
    liar = Adverts("birds", SECRET, lambda text: b"x" * 64, _verify)
    assert code(heard(adverts(keyed=True), replace(HERON, key=KEY), liar)) == "ADVERT_SIGNATURE"


@pytest.mark.parametrize("missing", ["k", "s"])
def test_with_keys_an_advert_without_key_or_signature_is_rejected(missing: str) -> None:
    assert isinstance(heard(adverts(keyed=True), replace(HERON, key=KEY), None, **{missing: None}), Rejected)
    assert isinstance(heard(adverts(keyed=True), HERON, adverts()), Rejected)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("v", b"2"), ("v", None), ("n", b""), ("n", b"a/b"), ("n", b"n" * 65), ("n", b"\xff"), ("n", None),
        ("b", b"0"), ("b", b"-1"), ("b", b"07"), ("b", b"1" * 20), ("b", None), ("b", "\u0663".encode()),
        ("m", b"zz" * 16), ("m", b"00" * 15), ("m", b""), ("m", None), ("k", b"00"), ("k", None),
        ("x", b"x" * LARGEST_READ),
    ],
)  # fmt: skip
def test_a_malformed_advert_is_rejected_with_a_reason(field: str, value: bytes | None) -> None:
    told = heard(adverts(), HERON, None, **{field: value})
    assert isinstance(told, Rejected)
    assert told.reason
    assert told.code.startswith("ADVERT_")


@pytest.mark.parametrize("instance", ["", "heron", "01" * 15, "AB" * 16, "01" * 17, "\u0661" * 32])
def test_an_instance_that_is_no_uuid_is_rejected(instance: str) -> None:
    txt = {field.encode(): value for field, value in adverts().write_txt(HERON).items()}
    told = adverts().read_advert(instance, txt, 7710, HERON.hosts)
    assert isinstance(told, Rejected)
    assert len(told.instance) <= 64


@pytest.mark.parametrize("port", [None, 0, -1, 65536])
def test_a_port_that_is_none_is_rejected(port: int | None) -> None:
    txt = {field.encode(): value for field, value in adverts().write_txt(HERON).items()}
    assert isinstance(adverts().read_advert(HERON.instance, txt, port, HERON.hosts), Rejected)


def test_an_advert_without_any_address_is_rejected() -> None:
    assert code(heard(adverts(), replace(HERON, hosts=("0.0.0.0", "224.0.0.1", "nonsense")))) == (
        "ADVERT_NO_ADDRESS"
    )


fields = st.dictionaries(
    st.sampled_from([b"v", b"c", b"n", b"b", b"k", b"m", b"s", b""]) | st.binary(max_size=4),
    st.none() | st.binary(max_size=300),
    max_size=12,
)


@given(fields, st.text(max_size=70), st.none() | st.integers(), st.lists(st.text(max_size=40), max_size=12))
def test_whatever_is_heard_is_answered_and_never_raises(
    txt: dict[bytes, bytes | None], instance: str, port: int | None, hosts: list[str]
) -> None:
    ours = {b"c": adverts().write_txt(HERON)["c"], b"v": b"1"}
    for reader in (adverts(), adverts(keyed=True)):
        assert not isinstance(reader.read_advert(instance, txt, port, hosts), Advert)
        assert not isinstance(reader.read_advert(instance, {**txt, **ours}, port, hosts), Advert)


@given(st.data())
def test_no_changed_byte_gets_through(data: st.DataObject) -> None:
    written = adverts(keyed=True).write_txt(replace(HERON, key=KEY))
    field = data.draw(st.sampled_from(sorted(written)))
    value = bytearray(written[field])
    value[data.draw(st.integers(0, len(value) - 1))] ^= data.draw(st.integers(1, 255))
    txt: dict[bytes, bytes | None] = {k.encode(): v for k, v in written.items()}
    txt[field.encode()] = bytes(value)
    assert not isinstance(adverts(keyed=True).read_advert(HERON.instance, txt, 7710, HERON.hosts), Advert)


@given(st.text(max_size=70) | names, st.binary(max_size=40))
def test_adverts_of_two_names_of_a_cluster_never_meet(cluster: str, secret: bytes) -> None:
    if (cluster, secret) != ("birds", SECRET):
        assert heard(adverts(), HERON, adverts(cluster, secret)) is None


def test_addresses_that_go_far_come_first_and_those_that_go_nowhere_fall_away() -> None:
    assert usable(
        ["fe80::1%2", "127.0.0.1", "10.0.0.5", "0.0.0.0", "::", "169.254.1.1", "255.255.255.255", "fd00::5",
         "ff02::fb", "x", ""]
    ) == ("10.0.0.5", "fd00::5", "fe80::1%2", "169.254.1.1")  # fmt: skip


def test_loopback_counts_only_where_nothing_else_is() -> None:
    assert usable(["127.0.0.1", "::1"]) == ("127.0.0.1", "::1")
    assert usable(["::1", "10.0.0.5"]) == ("10.0.0.5",)


def test_a_scope_that_could_mean_something_to_a_socket_falls_away() -> None:
    assert usable(["fe80::1%eth0", "fe80::2%a/b", "fe80::3%" + "x" * 17]) == ("fe80::1%eth0",)


@given(st.lists(st.ip_addresses().map(str) | st.text(max_size=20), max_size=30))
def test_no_more_hosts_are_kept_than_one_would_try(hosts: list[str]) -> None:
    kept = usable(hosts)
    assert len(kept) <= MOST_HOSTS
    assert set(kept) <= set(hosts)


def test_the_cluster_in_an_advert_does_not_tell_the_secret_of_its_mac() -> None:
    # The id is public. If it were derived like a MAC of an advertised text, it could serve as such a MAC.
    txt = adverts().write_txt(HERON)
    of_nothing = hmac.digest(SECRET, b"", hashlib.sha256)
    assert txt["c"] not in (txt["m"][:16], of_nothing[:8].hex().encode())


OTHERS = adverts(secret=b"o" * 32, keyed=True)


def test_trial_C_a_mesh_with_other_keys_is_near_for_who_has_keys() -> None:
    ours, theirs = adverts(keyed=True), replace(HERON, key=KEY)
    told = heard(ours, theirs, OTHERS)
    assert told == Near(OTHERS.write_txt(theirs)["c"].decode(), "heron", "tcp://10.0.0.5:7710")
    six = heard(ours, replace(theirs, hosts=("fe80::1%eth0", "2001:db8::5")), OTHERS)
    assert isinstance(six, Near) and six.address == "tcp://[2001:db8::5]:7710"
    assert heard(adverts(), theirs, OTHERS) is None  # a reader without keys ignores other meshes
    assert heard(ours, HERON, adverts(secret=b"o" * 32)) is None  # another user of this machine


@pytest.mark.parametrize(
    ("field", "value"),
    [("n", b"a/b"), ("n", "\u202e".encode()), ("b", b"0"), ("v", b"2"), ("k", b"zz"), ("k", None), ("c", b""),
     ("c", b"zz" * 8), ("c", b"0" * 400), ("c", None)],
)  # fmt: skip
def test_trial_C_what_could_be_no_node_of_another_mesh_is_no_news(field: str, value: bytes | None) -> None:
    assert heard(adverts(keyed=True), replace(HERON, key=KEY), OTHERS, **{field: value}) is None
    assert heard(adverts(keyed=True), replace(HERON, key=KEY, hosts=("*",)), OTHERS) is None


def test_trial_C_each_other_mesh_is_told_of_once_and_only_a_few_of_them() -> None:
    sieve = AdvertLimiter()
    assert [sieve.is_new_mesh(mesh) for mesh in ("a", "a", "b", "a")] == [True, False, True, False]
    assert sum(sieve.is_new_mesh(str(number)) for number in range(10_000)) == MOST_MESHES - 2
    assert sieve.ignored == 10_000 - (MOST_MESHES - 2)
