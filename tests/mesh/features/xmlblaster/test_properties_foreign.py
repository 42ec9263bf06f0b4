"""Properties that only xmlBlaster has, which are refused or skipped, and those with an equivalent."""

from pathlib import Path

import pytest

from mesh.config import Config, load, rules
from mesh.config.formats import ReadSettings
from mesh.errors import BadConfig
from mesh.features.xmlblaster.properties import from_words, merged, parsed, read_properties
from mesh.features.xmlblaster.translation import settings_of
from tests.each import each

FILE = Path("heron.properties")
HERON = "cluster.node[heron]=<clusternode id='heron'>{}</clusternode>"
SLAVE = "cluster.node.id=avalon\n" + HERON.format("{}<master><key domain='RUGBY'/></master>")


def read(text: str, *words: str, is_lenient: bool = True) -> ReadSettings:
    notes: list[str] | None = [] if is_lenient else None
    found = settings_of(merged(parsed(FILE, text, notes), from_words(words)), is_lenient)
    found.notes[:0] = notes or []
    return found


def config(text: str, *words: str, is_lenient: bool = True) -> Config:
    return load(None, {}, {}, properties=read(text, *words, is_lenient=is_lenient).settings)


# Properties that only xmlBlaster has, each with a part of the reason that is reported with its line.
FOREIGN = (
    ("ProtocolPlugin[IOR][1.0]=", "Java classes"),
    ("CbProtocolPlugin[SOCKET][1.0]=org.example.Driver", "Java classes"),
    ("Security.Server.Plugin[htpasswd][1.0]=org.example.Manager", "with keys"),
    ("Security.Server.Plugin.htpasswd.secretfile=${user.home}/x", "with keys"),
    ("pluginsFile=simple.xml", "Java classes"),
    ("plugin/ior/useNameService=false", "one protocol"),
    ("jacorb.log.default.verbosity=0", "one protocol"),
    ("protocol=SOCKET", "one protocol"),
    ("dispatch/connection/plugin/socket/port=7501", "[timing]"),
    ("logging/org.example.queue=WARNING", "log.level"),
    ("call[core]=true", "log.level"),
    ("admin.remoteconsole.port=-1", "mesh commands"),
    ("loginEvent=false", "mesh events"),
    ("queue.persistent.maxNumStatements=50", "node.store"),
    ("cluster/securityService/avalon=<securityService/>", "node.passwd"),
    ("cluster.loadBalancer.type[frodo]=RoundRobin", "balancing.strategy is a setting of this node only"),
)
# Values that cannot be used here: a part of the error, and the reason why they are skipped.
UNUSABLE = (
    (
        "pingInterval=0",
        "is 0 or less, but timing.ping, which replaces it, must be above 0",
        "timing.ping replaces the property, and cannot be 0 or less",
    ),
    ("cluster.node[frodo]=", "has an empty value", "its value is empty"),
)


@each("case", FOREIGN)
def test_what_has_no_equivalent_is_refused_or_passed_over_with_its_line_and_its_reason(
    case: tuple[str, str],
) -> None:
    text, reason = case
    name = text.partition("=")[0]
    with pytest.raises(BadConfig) as refused:
        read(f"cluster.node.id=heron\n{text}", is_lenient=False)
    assert refused.value.what.startswith(f"heron.properties:2: {name!r} has no equivalent here: ")
    assert reason in refused.value.what and "--lenient" in refused.value.hint
    [note] = [each for each in read(f"cluster.node.id=heron\n{text}").notes if name in each]
    assert note.startswith(f"heron.properties:2: {name!r} is ignored: ") and reason in note


@each("case", UNUSABLE)
def test_a_value_that_cannot_be_used_is_refused_or_passed_over(case: tuple[str, str, str]) -> None:
    text, problem, reason = case
    name = text.partition("=")[0]
    with pytest.raises(BadConfig) as refused:
        read(f"cluster.node.id=heron\n{text}", is_lenient=False)
    assert refused.value.what == f"heron.properties:2: {name!r} {problem}."
    assert "--lenient" in refused.value.hint
    assert (
        f"heron.properties:2: {name!r} is ignored: {reason}" in read(f"cluster.node.id=heron\n{text}").notes
    )


def test_what_is_set_twice_or_has_no_name_is_passed_over_with_its_line() -> None:
    notes: list[str] = []
    [first] = parsed(FILE, "pingInterval=1\n=2\npingInterval=3", notes)
    assert first.value == "3"
    assert notes == [
        "heron.properties:2: the line has a value without a name",
        "heron.properties:3: 'pingInterval' is already set in heron.properties:1",
    ]


def test_a_file_in_the_encoding_of_java_is_read(tmp_path: Path) -> None:
    file = tmp_path / "heron.properties"
    file.write_bytes("# für\npasswd[bilbo]=schlüssel\n".encode("latin-1"))
    [passwd] = read_properties(file)
    assert passwd.value == "schlüssel"


def test_a_variable_of_the_file_is_known() -> None:
    found = config("helper.id=heron\ncluster.node.id=${helper.id}\n" + HERON.format(""), is_lenient=False)
    assert found.node.id == "heron"


def test_A37_each_setting_of_a_connection_can_be_given_for_one_node() -> None:
    text = "cluster.node.id=heron\ndelay=4000\ndelay[frodo]=500\ndispatch/connection/delay[bilbo]=700\n"
    text += "timing.ping[frodo]=0.25\ntiming.backoff_min[frodo]=0.2\ntiming.forward_patience[frodo]=3\n"
    text += "timing.backoff_max[heron]=5\npingInterval[bilbo]=9\ntiming.state[frodo]=7\n"
    found = config(text, "-timing.ping[frodo]", "0.5", is_lenient=False)
    assert (found.timing.backoff_max, found.timing.ping, found.timing.state) == (5.0, 2.0, 2.0)
    assert {each.name: each.times for each in found.nodes} == {
        "frodo": {"ping": 0.5, "backoff_min": 0.2, "backoff_max": 0.5, "forward_patience": 3.0},
        "bilbo": {"ping": 0.009, "backoff_max": 0.7},
    }


def test_a_short_delay_for_one_node_lowers_its_shortest_delay() -> None:
    [frodo] = config("cluster.node.id=heron\ndelay[frodo]=50", is_lenient=False).nodes
    assert (frodo.backoff_min, frodo.backoff_max) == (0.025, 0.05)


@each(
    "text",
    (
        "timing.ping[frodo]=nan",
        "timing.ping[frodo]=inf",
        "timing.ping[frodo]=-1",
        "timing.backoff_max[frodo]=9223372036854775808",
        "timing.backoff_max[frodo]=",
        "timing.ping[a/b]=1",
        "delay[frodo]=soon",
        "delay[frodo]=0",
        "timing.backoff_min[frodo]=40",
    ),
)
def test_a_wrong_time_for_one_node_is_refused(text: str) -> None:
    with pytest.raises(BadConfig) as refused:
        config(f"cluster.node.id=heron\n{text}", is_lenient=False)
    assert "heron.properties:2" in str(refused.value)


@each(
    "case",
    (
        ("dispatch/connection/pingInterval=500\npingInterval=9", 0.5),
        ("pingInterval=9\ndispatch/connection/pingInterval[heron]=500", 0.5),
        ("/node/heron/dispatch/connection/pingInterval=500\ndispatch/connection/pingInterval=9", 0.5),
        ("/node/frodo/pingInterval=500\npingInterval=900", 0.9),
    ),
)
def test_the_stronger_of_the_names_of_one_thing_counts(case: tuple[str, float]) -> None:
    text, ping = case
    assert config(f"cluster.node.id=heron\n{text}", is_lenient=False).timing.ping == ping


def test_the_command_line_is_stronger_than_a_longer_name_in_the_file() -> None:
    assert config("dispatch/connection/pingInterval=500", "-pingInterval", "700").timing.ping == 0.7


def test_long_pings_and_short_delays_of_xmlblaster_fit_the_defaults_here(tmp_path: Path) -> None:
    timing = config("pingInterval=10000\ndelay=50", is_lenient=False).timing
    assert (timing.ping, timing.silence, timing.backoff_min, timing.backoff_max) == (10, 30, 0.025, 0.05)
    toml = tmp_path / "mesh.toml"
    toml.write_text("[timing]\nsilence = 50\n")
    settings = read("pingInterval=10000").settings
    assert load(toml, {}, {}, properties=settings).timing.silence == 50
    assert load(None, {"MESH_TIMING__SILENCE": "40"}, {}, properties=settings).timing.silence == 40


@each(
    "case",
    (
        ("bootstrapPort=-1", ()),
        ("bootstrapPort=-1\nplugin/socket/port=7", ("tcp://127.0.0.1:7",)),
        ("plugin/socket/port=-1\nbootstrapPort=8", ("tcp://127.0.0.1:8",)),
        ("plugin/socket/port[heron]=9\nplugin/socket/port=7", ("tcp://127.0.0.1:9",)),
        ("/node/heron/plugin/socket/port=9\nplugin/socket/port[frodo]=7", ("tcp://127.0.0.1:9",)),
    ),
)
def test_a_port_that_is_turned_off_is_not_bound(case: tuple[str, tuple[str, ...]]) -> None:
    text, bind = case
    assert config(f"cluster.node.id=heron\n{text}", is_lenient=False).node.bind == bind


def test_of_two_ports_the_one_that_is_not_bound_is_told() -> None:
    notes = read("plugin/socket/port=7\nbootstrapPort=8").notes
    assert "heron.properties:2: bootstrapPort: this node listens only on plugin/socket/port" in notes


def test_a_file_that_names_no_node_is_one_that_all_others_dial() -> None:
    text = "cluster=true\ncluster.node.id=heron\nplugin/socket/port=0\n"
    found = config(text, is_lenient=False)
    assert (found.links, found.nodes) == ("configured", ())
    assert any("no other node is named" in note for note in read(text).notes)


QOS = """<connect>{}<address type='IOR' bootstrapHostname=''/>
 <queue relating='connection' maxEntries='10'><address type='SOCKET'>
 <attribute name='useRemoteLoginAsTunnel'>true</attribute> socket://:7700 </address>
 <callback type='SOCKET' sessionId='x'><attribute name='y'/></callback></queue>
 <persistent/><session name='a/1' timeout='-1'/><duplicateUpdates>false</duplicateUpdates>{}</connect>"""
LOGIN = "<securityService type='htpasswd'><user>avalon</user><passwd>hunter2x</passwd></securityService>"


@each("qos", (("<qos>", "</qos>"), ("", "")))
def test_a_qos_with_queues_tunnels_and_a_login_is_read(qos: tuple[str, str]) -> None:
    text = SLAVE.format(QOS.format(qos[0], LOGIN + qos[1])).replace("\n ", "\\\n ")
    found = config(text + "\npasswd=other\npasswd[heron]=other\n", is_lenient=False)
    [heron] = found.nodes
    assert (heron.address, heron.passwd) == ("tcp://127.0.0.1:7700", "hunter2x")
    notes = "\n".join(read(text, is_lenient=False).notes)
    for word in ("<queue>", "<persistent>", "<session>", "<duplicateUpdates>", "a link carries both"):
        assert word in notes
    assert "hunter2x" not in notes


def test_a_login_as_another_user_is_told_and_a_password_that_stands_wrong_is_not_shown() -> None:
    notes = read(SLAVE.format(f"<connect>{LOGIN}</connect>").replace("avalon</user>", "bob</user>")).notes
    assert "heron.properties:2: this node logs in as avalon, not as 'bob'" in notes
    text = SLAVE.format("<connect><securityService>hunter2x</securityService></connect>")
    with pytest.raises(BadConfig) as refused:
        config(text, is_lenient=False)
    assert "hunter2x" not in str(refused.value) + "".join(read(text).notes)


def test_an_address_without_a_host_is_one_of_a_node_that_dials() -> None:
    text = SLAVE.format("<connect><qos><address type='SOCKET'/></qos></connect>")
    assert config(text, is_lenient=False).nodes[0].address is None
    assert any("without a host and port: the other node dials" in note for note in read(text).notes)


def test_text_behind_an_unknown_element_stays() -> None:
    text = SLAVE.format("<connect><qos><address type='SOCKET'><x/> socket://:7700</address></qos></connect>")
    assert config(text).nodes[0].address == "tcp://127.0.0.1:7700"


# --- filters, keys and mappers that are not there -------------------------------------------------------

LOOSE = "<master>{}<key domain='RUGBY'/><filter type='{}'>.*loose.*</filter></master>"


def test_a_regular_expression_of_xmlblaster_is_one_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mesh.features.xmlblaster.clusternode.made", lambda _: None)
    told = read(HERON.format(LOOSE.format("", "GnuRegexFilter")), is_lenient=False)
    [rule] = rules(load(None, {}, {}, properties=told.settings))
    assert [str(each) for each in rule.filters] == ["ContentRegex .*loose.*"]
    assert told.notes == ["heron.properties:1: filter GnuRegexFilter is read as ContentRegex"]


@each(
    "master",
    (
        LOOSE.format("", "Sql92Filter"),
        LOOSE.format("<key domain='A'><filter type='XPathFilter'>/a</filter></key>", "Sql92Filter"),
        LOOSE.format("<key queryType='REGEX'>a.*</key>", "Sql92Filter"),
        LOOSE.format("", "Sql92Filter") + "<master type='Mine'>anything</master>",
    ),
)
def test_a_filter_that_is_not_there_never_fits(master: str) -> None:
    with pytest.raises(BadConfig):
        config(HERON.format(master), is_lenient=False)
    told = read(HERON.format(master))
    assert any("Sql92Filter never matches: The filter" in note for note in told.notes)
    [rule] = rules(load(None, {}, {}, properties=told.settings))
    assert [str(each) for each in rule.alternatives()] == ["DOMAIN RUGBY"]


def test_what_an_own_filter_cannot_be_told_is_an_error_all_the_same() -> None:
    with pytest.raises(BadConfig, match="not a number of bytes"):
        config(HERON.format(LOOSE.format("", "ContentLength")))


def test_the_id_counts_where_the_property_has_another_name() -> None:
    text = "cluster.node[other]=<clusternode id='heron'/>"
    assert [node.name for node in config(text).nodes] == ["heron"]
    assert any("the id in the text is used" in note for note in read(text).notes)
