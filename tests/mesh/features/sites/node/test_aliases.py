"""Names of streams of another site, which that site cannot choose."""

from hypothesis import given
from hypothesis import strategies as st

from mesh.features.sites.node.aliases import Aliases

STREAMS = st.binary(min_size=16, max_size=16)
OURS = Aliases(b"secret of NYC")


@given(STREAMS, st.sampled_from(["LON", "SFO", "x" * 64]))
def test_the_name_is_turned_back(stream: bytes, site: str) -> None:
    alias = OURS.here(site, stream)
    assert len(alias) == 16 and alias != stream
    assert OURS.there(site, alias) == stream
    assert Aliases(b"secret of NYC").here(site, stream) == alias, "at every node, after every start"


@given(STREAMS)
def test_it_depends_on_the_site_and_on_what_nobody_else_knows(stream: bytes) -> None:
    names = {OURS.here("LON", stream), OURS.here("SFO", stream), Aliases(b"another").here("LON", stream)}
    assert len(names) == 3


@given(STREAMS, st.integers(0, 127))
def test_of_streams_that_differ_by_a_bit_nothing_is_alike(stream: bytes, bit: int) -> None:
    other = (int.from_bytes(stream) ^ (1 << bit)).to_bytes(16)
    one, two = OURS.here("LON", stream), OURS.here("LON", other)
    assert one[:8] != two[:8] and one[8:] != two[8:]
