"""A node's state: which encodings are accepted or refused, and how its load is computed."""

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.discovery.state import CORES, LONGEST, NodeState, Sample, decode, load_index
from tools.models.gossip_mesh import state

UUID = bytes(range(16))
GIB = 1024**3

counts = st.integers(0, 2**63 - 1)
states = st.builds(
    NodeState,
    uuid=st.binary(min_size=16, max_size=16), name=st.from_regex(r"\A[A-Za-z0-9_.:-]{1,64}\Z"), boot=counts,
    counter=counts, wall=counts, up=st.floats(0, 1e10),
    software=st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=64),
    cpu=st.lists(st.floats(0, 100), max_size=CORES).map(tuple), ram_free=counts, ram_total=counts,
    load=st.floats(0, 1), lag=st.floats(0, 1e10), published=st.floats(0, 1e12), delivered=st.floats(0, 1e12),
    pending=counts, tailback=counts, stored=counts, sessions=counts, subscriptions=counts, links=counts,
    insecure=st.booleans(), weights=counts,
)  # fmt: skip


@given(states)
def test_any_state_within_the_bounds_comes_back_as_it_was(said: NodeState) -> None:
    assert decode(said.encode()) == said


def test_the_fullest_state_fits() -> None:
    full = state(
        UUID,
        name="n" * 64,
        software="s" * 64,
        cpu=(0.1,) * CORES,
        **dict.fromkeys(("boot", "counter", "wall", "ram_free", "ram_total", "pending", "stored"), 2**63 - 1),
        weights=2**63 - 1,
    )
    assert len(full.encode()) < LONGEST
    assert decode(full.encode()) == full


def test_a_usual_state_is_small() -> None:
    assert len(state(UUID).encode()) < 150


@pytest.mark.parametrize(
    ("field", "value"),
    [("cpu", (-5,)), ("cpu", (101,)), ("cpu", (math.nan,)), ("cpu", (1e308,)), ("cpu", ("40",)),
     ("cpu", (True,)), ("cpu", (50,) * (CORES + 1)), ("cpu", 40),
     ("load", 1.01), ("load", -0.01), ("load", math.nan), ("load", math.inf), ("load", None),
     ("lag", -1), ("lag", math.inf), ("up", math.nan), ("published", -1), ("delivered", 1e308),
     ("uuid", b"short"), ("uuid", bytes(17)), ("uuid", "x" * 16),
     ("name", ""), ("name", "a b"), ("name", "heron\n"), ("name", "n" * 65), ("name", "Fischreiher-ä"),
     ("software", "v\x00"), ("software", "v" * 65),
     ("boot", -1), ("counter", 2**63), ("wall", 1.5), ("ram_free", -1), ("ram_total", 2**64 - 1),
     ("pending", -1), ("tailback", "many"), ("stored", -1), ("sessions", -1), ("subscriptions", None),
     ("links", -1), ("insecure", "no"), ("weights", -1), ("weights", 2**63)],
)  # fmt: skip
def test_a_field_out_of_bounds_is_refused_by_its_name(field: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"not a node state, {field}: "):
        decode(state(UUID, **{field: value}).encode())


def test_a_state_that_is_too_long_is_refused_unread() -> None:
    with pytest.raises(ValueError, match="at most 4096"):
        decode(bytes(LONGEST + 1))


@given(st.binary(max_size=200))
def test_any_other_bytes_are_refused_with_a_value_error(data: bytes) -> None:
    with pytest.raises(ValueError, match="not a node state"):
        decode(data)


def test_a_state_cut_short_or_with_something_behind_it_is_refused() -> None:
    data = state(UUID).encode()
    for damaged in (*(data[:end] for end in range(len(data))), data + b"\0", data + data):
        with pytest.raises(ValueError, match="not a node state"):
            decode(damaged)


def test_what_a_later_release_adds_is_ignored_and_what_it_may_leave_out_is_filled_in() -> None:
    fields = msgspec.to_builtins(state(UUID), builtin_types=(bytes,))
    assert decode(msgspec.msgpack.encode([*fields, "something new"])) == state(UUID)
    assert decode(msgspec.msgpack.encode(fields[:-1])) == state(UUID)


@pytest.mark.parametrize("machine", ["0A1B2C3D", "0a1b2c3", "0a1b2c3d\n", "heron", "0a1b2c3d" * 2])
def test_a_mark_of_a_machine_is_eight_digits_or_none(machine: str) -> None:
    assert decode(state(UUID, machine="0a1b2c3d").encode()).machine == "0a1b2c3d"
    with pytest.raises(ValueError, match="machine"):
        decode(state(UUID, machine=machine).encode())


def sample(cpu: float = 100, free: int = 4 * GIB, lag: float = 0.0) -> Sample:
    """Return a sample in which each core is `cpu` percent idle."""
    return Sample((cpu, cpu), free, 8 * GIB, lag)


@pytest.mark.parametrize(
    ("measured", "load"),
    [
        (sample(), 0),
        (sample(cpu=40), 0.6),
        (sample(cpu=0), 1),
        (Sample((100, 0), 0, 0), 0.5),
        (sample(free=8 * GIB // 20), 0.5),
        (sample(free=0), 1),
        (sample(lag=0.02), 0),
        (sample(lag=0.135), 0.5),
        (sample(lag=60), 1),
        (sample(cpu=50, free=8 * GIB // 20, lag=0.135), 0.875),
        (Sample((), 0, 0), 0),
    ],
)
def test_load_is_what_cpu_memory_and_lag_do_not_leave_free(measured: Sample, load: float) -> None:
    assert load_index(measured) == pytest.approx(load)


@given(
    st.lists(st.floats(0, 100), max_size=8).map(tuple),
    st.integers(0, 2**63),
    st.integers(0, 2**63),
    st.floats(0, 1e9),
)
def test_load_is_always_between_idle_and_busy(
    cpu: tuple[float, ...], free: int, total: int, lag: float
) -> None:
    assert 0 <= load_index(Sample(cpu, free, total, lag)) <= 1


def test_the_use_of_all_cores_is_known_where_any_core_is() -> None:
    assert state(UUID, cpu=(100, 0, 50)).cpu_used == 50
    assert state(UUID, cpu=()).cpu_used is None


def test_the_room_of_a_node_of_an_earlier_release_is_not_known() -> None:
    fields = msgspec.msgpack.decode(state(UUID, room=7).encode())
    earlier = decode(msgspec.msgpack.encode(fields[:-2]))
    assert (earlier.room, earlier.leaving) == (-1, False)
    assert decode(state(UUID, room=7).encode()).room == 7
