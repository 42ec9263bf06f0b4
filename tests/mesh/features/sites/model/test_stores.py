"""Detection of a new store in another site."""

from hypothesis import given
from hypothesis import strategies as st

from mesh.features.sites.model.stores import MOST, SiteStores, broken, note, stores_of

GATEWAYS = st.dictionaries(st.binary(min_size=16, max_size=16), st.integers(0, 2**64 - 1), max_size=16)


@given(st.integers(0, 2**63), GATEWAYS)
def test_a_note_names_each_gateway_and_is_another_one_only_when_something_was_lost(
    losses: int, gateways: dict[bytes, int]
) -> None:
    said = note(losses, gateways.items())
    assert [boot for _, boot in sorted(stores_of(said))] == [
        boot for _, boot in sorted(stores_of(note(0, reversed(gateways.items()))))
    ]
    assert len(list(stores_of(said))) == len(gateways)
    assert broken({b"a": said}, {b"a": note(losses, ())}) == []
    assert (
        broken({b"a": said}, {b"a": note(losses + 1, gateways.items())}) == [b"a"] == broken({b"a": said}, {})
    )


@given(st.binary(max_size=100))
def test_a_note_that_is_cut_or_older_names_what_is_there(said: bytes) -> None:
    assert len(list(stores_of(said))) == max(0, len(said) - 8) // 16


def shown(*gateways: tuple[bytes, int]) -> list[tuple[bytes, int]]:
    return list(stores_of(note(0, gateways)))


HERON, HAWK = b"h" * 16, b"k" * 16


def test_of_a_site_that_was_named_just_now_nothing_is_new() -> None:
    stores = SiteStores()
    assert not stores.is_new(shown((HERON, 1)))
    assert stores.see(shown((HERON, 1))) and not stores.see(shown((HERON, 1)))


def test_who_was_started_again_is_known_and_who_begins_anew_is_not() -> None:
    stores = SiteStores()
    stores.see(shown((HERON, 3)))
    assert not stores.is_new(shown((HERON, 3))) and not stores.is_new(shown((HERON, 4)))
    assert stores.is_new(shown((HERON, 2))), "its store is another one, or went back"
    assert stores.is_new(shown((HAWK, 9))), "and nobody is there that was"
    assert not stores.is_new(shown((HERON, 4), (HAWK, 1))), "one more gateway"
    assert stores.is_new(shown((HERON, 2), (HAWK, 9))) and not stores.is_new(())
    assert stores.see(shown((HERON, 2)))
    assert not stores.is_new(shown((HERON, 2)))


def test_what_is_known_stays_so_over_a_restart_and_is_bounded() -> None:
    stores = SiteStores()
    for n in range(MOST + 1):
        stores.see(shown((bytes([n]) * 16, n)))
    again = SiteStores.unpack(stores.pack())
    assert len(stores.pack()) == 16 * MOST and again.pack() == stores.pack()
    assert again.is_new(shown((bytes(16), 0))), "the first was forgotten"
    assert not again.is_new(shown((bytes([1]) * 16, 1)))
    assert not SiteStores.unpack(b"")
