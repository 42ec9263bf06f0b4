"""Sites of a configuration, and errors in them with their lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from mesh.config import Config, load, settings
from mesh.config.difference import difference
from mesh.config.sites import MOST, RemoteSite, SiteSection
from mesh.config.source import parsed
from mesh.errors import BadConfig
from mesh.site_policy.accepting import Accepts
from mesh.site_policy.selection import Selection

HERE = "[site]\nname = 'LON'\n"


def read(text: str, **environ: str) -> Config:
    return load(parsed(Path("mesh.toml"), text), environ, {})


def one(text: str) -> RemoteSite:
    found, *_ = read(f"{HERE}[sites.NYC]\n{text}").sites
    return found


def test_a_file_without_sites_says_nothing_of_them() -> None:
    found = read("[node]\nid = 'heron'")
    assert (found.site, found.sites) == (SiteSection(None), ())


def test_a_site_has_a_name_and_its_nodes_are_no_gateways_unless_it_says_so() -> None:
    assert read(HERE).site == SiteSection("LON", relay=False, relays=1)
    assert read(f"{HERE}relay = true\nrelays = 3").site == SiteSection("LON", relay=True, relays=3)


def test_one_node_of_a_site_is_told_otherwise_than_the_file_that_all_share() -> None:
    assert read(HERE, MESH_SITE__RELAY="true").site == SiteSection("LON", relay=True)
    with pytest.raises(BadConfig, match="environment MESH_SITES__NYC: other sites can be set only in a file"):
        read(HERE, MESH_SITES__NYC="x")


def test_each_site_is_shown_with_its_line() -> None:
    file = parsed(Path("mesh.toml"), f"{HERE}[sites.NYC]\n[sites.'n.y']")
    found = {setting.name: setting.origin for setting in settings(file, {}, {})}
    assert (found["site.name"], found["sites.NYC"]) == ("mesh.toml:2", "mesh.toml:3")
    assert found['sites."n.y"'] == "mesh.toml:4"


def test_other_sites_than_before_count_without_a_restart() -> None:
    found = difference(read(HERE), read(f"{HERE}[sites.NYC]"))
    assert found.now and not found.later


def test_another_site_gets_nothing_unless_something_is_named() -> None:
    found = one("")
    assert found == RemoteSite("NYC")
    assert not Selection.of([found])
    assert (found.max_bytes, found.when_full) == (2**30, "mark")


def test_all_that_can_be_said_of_a_site_is_read() -> None:
    found = one(
        "addresses = ['tcp://10.1.0.5:7710', 'tcp://[fd00::5]:7710']\ndomains = ['STOCK', '']\n"
        "topics = ['sensors/#']\none_way = false\nmax_bytes = '512MiB'\nwhen_full = 'reject'\n"
        "accepts = {domains = ['NEWS'], topics = ['news/+']}\nserves = ['calc/#', 'site/SFO', 'site/*']\n"
        "letters = ['joe', '#']\nclients = true\n[sites.SFO]\nclients = ['tcp://10.2.0.5:7710']\n"
    )
    assert found == RemoteSite(
        "NYC", ("tcp://10.1.0.5:7710", "tcp://[fd00::5]:7710"), ("STOCK", ""), ("sensors/#",),
        max_bytes=512 * 2**20, when_full="reject", accepts=Accepts(("NEWS",), ("news/+",)),
        serves=("calc/#", "site/SFO", "site/*"),
        letters=("joe", "#"), clients=("tcp://10.1.0.5:7710", "tcp://[fd00::5]:7710"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "size"), [("2097152", 2**21), ("'2MiB'", 2**21), ("'3 GiB'", 3 * 2**30), ("'1TiB'", 2**40)]
)
def test_sizes_are_read(text: str, size: int) -> None:
    assert one(f"max_bytes = {text}").max_bytes == size


def test_a_site_is_reached_via_others_in_a_chain() -> None:
    found = read(f"{HERE}[sites.A]\n[sites.B]\nvia = 'A'\n[sites.C]\nvia = 'B'")
    assert [(s.name, s.via) for s in found.sites] == [("A", ""), ("B", "A"), ("C", "B")]


def test_an_empty_accepts_lets_nothing_in_and_is_not_the_mirror() -> None:
    assert one("accepts = {}").accepts == Accepts()
    assert one("one_way = true\naccepts = {}\nserves = []").one_way


CHAIN = "[sites.S0]\n" + "".join(f"[sites.S{n}]\nvia = 'S{n - 1}'\n" for n in range(1, 17))
N, QUOTED = "[sites.NYC]\n", "'a',"


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        # this site
        ("site = 5", 1, "'site' must be a section."),
        ("[[site]]", 1, "'site' must be a section."),
        ("[site]\nname = ''", 2, "site.name: '' is not a name"),
        ("[site]\nname = 'a b'", 2, "site.name: 'a b' is not a name"),
        ("[site]\nname = 'L/N'", 2, "is not a name. A name has 1 to 64"),
        ("[site]\nname = 5", 2, "must be a text, not a whole number"),
        ("[site]\nnane = 'LON'", 2, "unknown key 'nane' in section [site]. Did you mean 'name'?"),
        (f"{HERE}relay = 1", 3, "must be true or false, not a whole number"),
        (f"{HERE}relays = 0", 3, "must be a whole number of at least 1"),
        (f"{HERE}relays = 17", 3, "must be a whole number of at most 16"),
        (f"{HERE}relays = 1.5", 3, "must be a whole number"),
        (f"{HERE}relays = nan", 3, "must be a whole number"),
        # other sites
        ("[sites.NYC]", 1, "[sites.NYC] names another site, but this site has no name. Add its name"),
        (f"{HERE}[sites.LON]", 3, "[sites.LON] is this site, according to site.name (mesh.toml:2)"),
        (f"{HERE}[[sites]]", 3, "'sites' must be a section. Write [sites.NAME]"),
        (f"{HERE}[sites]\nNYC = 1", 4, "'NYC' in [sites] is not the section of a site"),
        (f"{HERE}[sites.'a b']", 3, "sites: 'a b' is not a name"),
        (f"{HERE}[sites.\"\"]", 3, "sites: '' is not a name"),
        (f"{HERE}{N}adresses = []", 4, "unknown key 'adresses' in section [sites.NYC]. Did you mean"),
        (f"{HERE}[sites.'n.y']\nx = 1", 4, "in section [sites.\"n.y\"]"),
        # addresses
        (f"{HERE}{N}addresses = 'tcp://10.0.0.1:1'", 4, "must be a list, not a text"),
        (f"{HERE}{N}addresses = ['gw.nyc:7710']", 4, "'gw.nyc:7710' is not the address of a gateway"),
        (f"{HERE}{N}addresses = ['tcp://10.0.0.1:70000']", 4, "a gateway. Write tcp://IP"),
        (f"{HERE}{N}addresses = ['tcp://10.0.0.1:1', '']", 4, "'' is not the address of a gateway"),
        (f"{HERE}{N}addresses = [{17 * QUOTED}]", 4, "must be a list of at most 16 entries"),
        # sent messages
        (f"{HERE}{N}domains = 'STOCK'", 4, "must be a list, not a text. Write a list, such as domains"),
        (f"{HERE}{N}domains = ['queue/x']", 4, "[sites.NYC] domains: Messages of the domain 'queue/x' "
            "never leave"),
        (f"{HERE}{N}domains = ['__sys__x']", 4, "Messages of the domain '__sys__x' never leave their site"),
        (f"{HERE}{N}domains = ['STOCK', '*']", 4, "'*' is not a domain"),
        (f"{HERE}{N}accepts = {{domains = ['*']}}", 4, "'*' is not a domain"),
        (f'{HERE}{N}domains = ["a\\u0000"]', 4, "[sites.NYC] domains: The domain 'a\\x00' holds '\\x00'"),
        (f"{HERE}{N}topics = ['a/#/b']", 4, "[sites.NYC] topics: The pattern 'a/#/b' continues after '#'"),
        (f"{HERE}{N}topics = ['']", 4, "The pattern is empty"),
        (f"{HERE}{N}topics = ['__sys__/#']", 4, "begins with __sys__: messages of the mesh"),
        (f"{HERE}{N}topics = [{1001 * QUOTED}]", 4, "must be a list of at most 1000 entries"),
        # limits
        (f"{HERE}{N}max_bytes = 0", 4, "must be a whole number of at least 2097152"),
        (f"{HERE}{N}max_bytes = -1", 4, "must be a whole number of at least 2097152"),
        (f"{HERE}{N}max_bytes = 9223372036854775808", 4, "is invalid"),
        (f"{HERE}{N}max_bytes = 0x{'f' * 5000}", 4, "a huge number is invalid"),
        (f"{HERE}{N}max_bytes = true", 4, "must be a whole number or a text, not true or false"),
        (f"{HERE}{N}max_bytes = 1e9", 4, "is invalid"),
        (f"{HERE}{N}max_bytes = "
            "'1MiB'", 4, "[sites.NYC] max_bytes: '1MiB' is too small. The limit for a site is "
            "from 2MiB to 1TiB"),
        (f"{HERE}{N}max_bytes = '2TiB'", 4, "'2TiB' is too large"),
        (f"{HERE}{N}max_bytes = '1GB'", 4, "'1GB' is not a size. Write a number of bytes, or a text"),
        (f"{HERE}{N}max_bytes = '٣GiB'", 4, "is not a size"),
        (f"{HERE}{N}when_full = 'drop'", 4, '"mark" marks the site'),
        # received messages
        (f"{HERE}{N}accepts = ['a']", 4, "must be a table, not a list. Write what that site may send"),
        (f"{HERE}{N}accepts = {{topic = ['a']}}", 4, "unknown key 'topic' in [sites.NYC] accepts"),
        (f"{HERE}{N}accepts = {{domains = ['map/x']}}", 4, "accepts domains: Messages of the domain 'map/x'"),
        (f"{HERE}[sites.NYC.accepts]\ntopics = ['a/#/b']", 4, "[sites.NYC] accepts topics: The pattern"),
        (f"{HERE}{N}serves = ['queue/x']", 4, "[sites.NYC] serves: 'queue/x' has the prefix of"),
        (f"{HERE}{N}serves = ['site/a b']", 4, "[sites.NYC] serves: 'a b'"),
        (f"{HERE}{N}serves = ['site/#']", 4, "serves: '#'"),
        (f"{HERE}{N}serves = ['site/']", 4, "serves: ''"),
        (f"{HERE}{N}serves = ['/node/x']", 4, "or of client names"),
        (f"{HERE}{N}clients = true", 4, "clients = true, but no addresses"),
        (f"{HERE}{N}clients = ['gull']", 4, "clients: 'gull' is not the address of a node"),
        (f"{HERE}{N}clients = 5", 4, "clients"),
        (f"{HERE}{N}letters = ['client/joe']", 4, "letters: 'client/joe' is not a name"),
        (f"{HERE}{N}letters = ['__sys__']", 4, "letters: '__sys__' is reserved for the mesh"),
        (f"{HERE}{N}letters = ['']", 4, "letters: '' is not a name"),
        (f"{HERE}{N}letters = 'joe'", 4, "letters"),
        (f"{HERE}{N}one_way = true\nletters = ['joe']", 5, "'letters' in [sites.NYC] lets messages in"),
        (f"{HERE}{N}serves = ['a#']", 4, "has a wildcard within the level"),
        (f"{HERE}{N}one_way = true\nserves = ['calc']", 5, "'serves' in [sites.NYC] lets messages in, but"),
        (f"{HERE}{N}one_way = true\naccepts = {{topics = ['a']}}", 5, "'accepts' in [sites.NYC] lets mess"),
        # routes
        (f"{HERE}{N}via = 'SFO'", 4, "via = 'SFO' is not another site in the file. Add a section"),
        (f"{HERE}{N}via = ''", 4, "must be a text of at least 1 characters"),
        (f"{HERE}{N}via = 'NYC'", 4, "the routes form a loop: NYC -> NYC"),
        (f"{HERE}{N}via = 'LON'", 4, "via = 'LON' is not another site in the file"),
        (f"{HERE}{N}via = 'B'\n[sites.B]\nvia = 'NYC'", 4, "the routes form a loop"),
        (f"{HERE}{N}serves = ['site/NYC']", 4, "serves site/NYC, so its own messages"),
        (f"{HERE}{CHAIN}", 35, "[sites.S16] is 17 sites away; the limit is 16"),
        (f"{HERE}{N}via = 'B'\naddresses = ['tcp://10.0.0.1:1']\n[sites.B]", 5, "has both addresses and via"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_line(text: str, line: int, says: str) -> None:
    with pytest.raises(BadConfig) as caught:
        read(text)
    told = str(caught.value)
    assert told.startswith(f"mesh.toml:{line}: ") or says == "the routes form a loop"
    assert says in told


def test_a_file_names_a_bounded_number_of_sites() -> None:
    many = "".join(f"[sites.S{n}]\n" for n in range(MOST))
    assert len(read(HERE + many).sites) == MOST
    with pytest.raises(BadConfig, match="65 sites exceed the limit of 64"):
        read(f"{HERE}{many}[sites.MORE]")
