"""Adding and removing the section of a site in a mesh.toml, without changes to the rest."""

from pathlib import Path

import pytest

from mesh.config.editing import SettingValue, with_site, without_site
from mesh.config.source import parsed
from mesh.errors import BadConfig

FILE = Path("mesh.toml")
LON = '# ours\n[site]\nname = "LON" # here\n'
NYC: dict[str, SettingValue] = {
    "addresses": ("tcp://10.1.0.5:7710",),
    "topics": ('sensors/"x"', "größe/#"),
    "one_way": True,
}


@pytest.mark.parametrize("text", [LON, LON.rstrip("\n"), LON + "\n\n", "", LON.replace("\n", "\r\n")])
def test_a_section_comes_to_the_end_and_goes_out_again(text: str) -> None:
    after = with_site(FILE, text, "NYC", NYC)
    assert after.startswith(text)
    found = parsed(FILE, after).table["sites"]["NYC"]
    assert found == {**NYC, "addresses": ["tcp://10.1.0.5:7710"], "topics": ['sensors/"x"', "größe/#"]}
    assert without_site(FILE, after, "NYC").strip() == text.strip()


def test_what_is_below_it_goes_with_it_and_nothing_else() -> None:
    others = '[sites.NYC2]\ntopics = ["b"]\n[sites."a.b"]\n[limits]\nsessions = 7 # of us\n'
    text = f'{LON}[ sites . "NYC" ] # far\ntopics = ["a"]\n[sites.NYC.accepts]\ndomains = ["D"]\n{others}'
    assert without_site(FILE, text, "NYC") == LON + others
    assert '[sites."a.b"]' not in without_site(FILE, text, "a.b")


@pytest.mark.parametrize(
    "text",
    [
        f"{LON}[sites]\nNYC = {{topics = ['a']}}\n",
        f"{LON}[sites]\nNYC.topics = ['a']\n",
        f"sites.NYC.topics = ['a']\n{LON}",
        f'[sites.NYC]\ntopics = ["""\n[sites.SFO]\n"""]\n{LON}',
    ],
)
def test_a_file_that_is_written_in_another_way_is_left_alone(text: str) -> None:
    with pytest.raises(BadConfig, match="cannot be edited by a program") as refused:
        without_site(FILE, text, "NYC")
    assert "by hand" in refused.value.hint


def test_a_site_is_written_once_and_one_that_is_not_there_is_not_taken_out() -> None:
    text = with_site(FILE, LON, "NYC", {})
    with pytest.raises(BadConfig, match="already"):
        with_site(FILE, text, "NYC", {})
    with pytest.raises(BadConfig, match="does not exist"):
        without_site(FILE, text, "SFO")
    with pytest.raises(BadConfig, match="cannot be edited by a program"):
        with_site(FILE, "sites = 3\n", "NYC", {})
    with pytest.raises(BadConfig, match="TOML"):
        with_site(FILE, "[", "NYC", {})
    with pytest.raises(BadConfig, match="cannot be edited by a program"):
        with_site(FILE, LON, "NYC", {"topics": ("\ud800", "\x7f")})
