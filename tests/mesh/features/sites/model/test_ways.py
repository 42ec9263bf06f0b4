"""Routes to other sites: they lead to a neighbor, and never back."""

from hypothesis import given
from hypothesis import strategies as st

from mesh.features.sites.model.ways import ways


def test_a_neighbour_is_its_own_way_and_what_is_reached_by_it_goes_there() -> None:
    line = {"NET1": "", "NET2": "NET1", "NET3": "NET2", "SFO": ""}
    assert ways(line) == {"NET1": "NET1", "NET2": "NET1", "NET3": "NET1", "SFO": "SFO"}


def test_what_leads_back_or_nowhere_is_no_way() -> None:
    assert ways({"a": "b", "b": "a", "c": "a", "d": "x", "e": ""}) == {"e": "e"}
    assert ways({"a": "a"}) == ways({}) == {}


SITES = st.sampled_from("abcdef")


@given(st.dictionaries(SITES, st.one_of(st.just(""), SITES)))
def test_each_way_leads_to_a_neighbour_step_by_step(vias: dict[str, str]) -> None:
    found = ways(vias)
    for site, way in found.items():
        assert vias[way] == "" and (site == way or found[vias[site]] == way)
    for site in vias.keys() - found.keys():
        assert vias[site] and vias[site] not in found
