"""xmlBlaster's property files: read as they are, or refused with the place of the mistake."""

from pathlib import Path

import pytest

from mesh.config import Config, load, rules
from mesh.config.formats import ReadSettings
from mesh.errors import BadConfig
from mesh.features.xmlblaster.clusternode import read_clusternode
from mesh.features.xmlblaster.properties import Property, from_words, merged, parsed
from mesh.features.xmlblaster.translation import settings_of
from mesh.mapping.filters import Filter
from mesh.mapping.rules import Rule
from tests.each import each

FILE = Path("heron.properties")


def read(text: str, *words: str, is_lenient: bool = False) -> ReadSettings:
    return settings_of(merged(parsed(FILE, text), from_words(words)), is_lenient)


def config(text: str, *words: str, is_lenient: bool = False) -> Config:
    return load(None, {}, {}, properties=read(text, *words, is_lenient=is_lenient).settings)


def node(xml: str, name: str = "heron") -> Config:
    return config(f"cluster.node[{name}]=" + xml.replace("\n", "\\\n"))


def test_lines_go_on_behind_a_backslash_and_names_stand_for_values() -> None:
    text = "# a note\n! another\na = 1\\\n  2\nb:x\\ty\\u0041\nc ${a}-${b}\n  d=e=f\nempty=\nlast\\\n"
    said = {each.name: each.value for each in parsed(FILE, text)}
    assert said == {"a": "1\n  2", "b": "x\tyA", "c": "1\n  2-x\tyA", "d": "e=f", "empty": "", "last": ""}
    assert [each.origin for each in parsed(FILE, text)][:3] == [f"{FILE}:{line}" for line in (3, 5, 6)]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a=1\na=2", "heron.properties:2: 'a' is already set in heron.properties:1"),
        ("=1", "without a name"),
        ("pingInterval=${b}", "pingInterval refers to ${b}, which is not defined."),
        ("a=${b}\nb=${a}", "form a loop"),
        ("a=" + "x" * 40_000 + "\nb=${a}${a}", "more than 65,536"),
        ("a[=1", "'a[' is not the name of a property"),
        ("pingIntervall=5", "Did you mean 'pingInterval'?"),
        ("pingInterval=soon", "'soon' is not a valid whole number"),
        ("pingInterval=" + "9" * 400, "is not a valid whole number"),
        ("pingInterval=-1", "0 or less, but timing.ping, which replaces it, must be above 0"),
        ("cluster.loadBalancer.version=2.0", "'2.0' is not installed. Installed: 1.0"),
        ("cluster.node=<clusternode id='a'/>", "names no node"),
        ("cluster.node[heron]=<clusternode id='avalon'/>", "describes the node 'avalon'"),
        ("pingInterval[a b]=5", "not the name of a property"),
        ("pingInterval[a/b]=5", "a/b"),
        ("limits.linger[]=5", "names no node"),
        ("bootstrapPort=seven", "is not a port"),
        ("bootstrapPort=²", "is not a port"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_its_place(text: str, says: str) -> None:
    with pytest.raises(BadConfig) as refused:
        config(text)
    assert says in str(refused.value) and str(refused.value).startswith("heron.properties:")


def test_A37_what_is_said_of_a_node_wins_there_and_the_command_line_over_the_file() -> None:
    text = "cluster.node.id=heron\npingInterval=5000\npasswd[bilbo]=secret\n"
    text += "limits.linger=5\nlimits.linger[heron]=7\n"
    found = config(
        text, "-pingInterval", "2000", "-pingInterval[frodo]", "1000", "-limits.linger[bilbo]", "9"
    )
    assert (found.timing.ping, found.limits.linger, found.links, found.default_scope) == (
        2.0, 7.0, "configured", "local",
    )  # fmt: skip
    assert {each.name: (each.ping, each.passwd) for each in found.nodes} == {
        "frodo": (1.0, None),
        "bilbo": (None, "secret"),
    }


BACKED = """cluster.node.id=bilbo
cluster.node[golan]=<clusternode id='golan'/>
cluster.node[heron]=<clusternode id='heron'>\\
 <backupnode><clusternode id='frodo'/><clusternode id='golan'/></backupnode>\\
 <master><key domain='RUGBY'/></master><master stratum='1'><key domain='FAR'/></master></clusternode>
"""


def test_backups_have_the_rules_of_their_master_in_the_order_in_which_it_names_them() -> None:
    heron, far = Rule("heron", domains=("RUGBY",)), Rule("heron", 1, ("FAR",))
    backups = [Rule(name, domains=("RUGBY",), backup=True) for name in ("frodo", "golan")]
    assert rules(config(BACKED)) == (heron, far, *backups)
    for text, says in (
        ("id='heron'", "heron is its own backup"),
        ("", "heron.properties:4: <clusternode> has no id"),
    ):
        with pytest.raises(BadConfig, match=says):
            config(BACKED.replace("id='frodo'", text, 1))


NAMING = """<clusternode id='heron'><connect><qos><address type='SOCKET'>socket://:7501</address>
 <nameservice>{}</nameservice></qos></connect></clusternode>"""


@each(
    "given",
    [("heron", " true ", True), ("heron", "false", False), ("heron", "", False), ("frodo", "TRUE", False)],
)
def test_nameservice_is_a_setting_of_the_node_that_has_it(given: tuple[str, str, bool]) -> None:
    me, said, is_on = given
    told = read(f"cluster.node.id={me}\ncluster.node[heron]=" + NAMING.format(said).replace("\n", "\\\n"))
    assert load(None, {}, {}, properties=told.settings).node.nameservice == is_on
    assert any("<nameservice> has an effect only at heron" in note for note in told.notes) == (me == "frodo")


@pytest.mark.parametrize("me", ["heron", "frodo"])
def test_disconnect_is_a_setting_of_the_nodes_that_log_off(me: str) -> None:
    text = "<clusternode id='heron'><disconnect/></clusternode>"
    told = read(f"cluster.node.id={me}\ncluster.node[heron]={text}")
    [record] = [each for each in load(None, {}, {}, properties=told.settings).nodes if each.name == "heron"]
    assert record.disconnect is (me == "frodo")
    assert any("<disconnect> has an effect only" in note for note in told.notes) is (me == "heron")


@each("said", ["yes", "1", "tru", "nan"])
def test_a_nameservice_that_is_neither_true_nor_false_is_refused_with_its_line(said: str) -> None:
    with pytest.raises(BadConfig, match=r"heron\.properties:2: <nameservice> has .*Write true or false"):
        read("cluster.node[heron]=" + NAMING.format(said).replace("\n", "\\\n"))


FULL = """<clusternode id='heron.mycomp.com'>
  <connect><qos>
    <address type='IOR'>IOR:09456087000</address>
    <address type='SOCKET' useRemoteLoginAsTunnel='true'> socket://:7501 </address>
    <address type='SOCKET' bootstrapHostname='10.0.0.5' bootstrapPort='7600'/>
    <callback type='RMI'>rmi://mycomp.com</callback>
    <backupnode><clusternode id='avalon'/><clusternode id='golan'/></backupnode>
  </qos></connect>
  <disconnect/>
  <master type='DomainToMaster'>
    <![CDATA[<key domain='RUGBY'/><key type='XPATH'>//STOCK</key>]]>
    <filter type='ContentLength'>8000</filter><filter type='ContentGlob'>*loose*</filter>
    <someOtherPluginfilter/>
  </master>
  <master stratum='4' refId='bla' acceptDefault='false' acceptOtherDefault='true' dirtyRead='true'>
    <key queryType='XPATH'>//RUGBY<filter type='ContentLength'>9</filter></key>
  </master>
  <state><cpu id='0' idle='60'/><cpu id='1' idle='58'/><ram free='10657'/></state>
</clusternode>"""


def test_A30_to_A32_the_full_example_is_read_leniently_and_refused_with_its_line_else() -> None:
    given = Property("cluster.node", "heron.mycomp.com", FULL, f"{FILE}:1", tuple(range(1, 30)))
    found = read_clusternode(given, is_lenient=True)
    assert found.addresses == ("tcp://127.0.0.1:7501", "tcp://10.0.0.5:7600")
    assert (found.idle, found.ram_free) == (59.0, 10657)
    one, two = found.rules
    assert one == Rule(
        "heron.mycomp.com", domains=("RUGBY",), xpaths=("//STOCK",),
        filters=(Filter("ContentLength", "8000"), Filter("ContentGlob", "*loose*")),
    )  # fmt: skip
    assert (two.stratum, two.refid, two.accept_default, two.accept_other_default) == (4, "bla", False, True)
    assert [str(key) for key in two.alternatives()] == ["XPATH //RUGBY and ContentLength 9"]
    assert found.backups == ("avalon", "golan")
    assert any("'IOR IOR:09456087000'" in note for note in found.notes)
    with pytest.raises(BadConfig, match=r"heron\.properties:13: unknown element <someOtherPluginfilter>"):
        read_clusternode(given)


@pytest.mark.parametrize(
    ("xml", "note", "domains"),
    [
        ("<clusternode id='heron'>\n<connect><qos/><connect>\n"
         "<master><key domain='A'/></master>\n</clusternode>",
         "2: <connect> within <connect>", ("A",)),
        ("<clusternode id='heron'>\n// a note <here>\n<master><key domain='A'/></master></clusternode>",
         "2: '// a note <here>' is read as a comment", ("A",)),
        ("<clusternode id='heron'>\n<master><key domain='A'/></master>\n</master></clusternode>",
         "3: </master> closes no element", ("A",)),
        ("<clusternode id='heron'>\n<master><key domain='A'/></master>\n   ...",
         "</clusternode> is missing", ("A",)),
    ],
)  # fmt: skip
def test_each_misprint_is_read_as_what_it_means_and_told(
    xml: str, note: str, domains: tuple[str, ...]
) -> None:
    told = read("cluster.node[heron]=" + xml.replace("\n", "\\\n"))
    assert any(note in each for each in told.notes), told.notes
    assert rules(load(None, {}, {}, properties=told.settings))[0].domains == domains


BOMB = "<!DOCTYPE a [<!ENTITY a 'b'>]><clusternode id='heron'/>"


@pytest.mark.parametrize(
    ("xml", "says"),
    [
        ("<clusternode id='heron'>", "is not XML"),
        ("<clusternode id='heron'><master></clusternode>", "is not XML"),
        ("<clusternode id='heron'>&x;</clusternode>", "is not XML"),
        (BOMB, "a DTD is not allowed"),
        ("<node id='heron'/>", "<node> in place of <clusternode>"),
        ("<clusternode/>", "id"),
        ("<clusternode id='heron'><mister/></clusternode>", "Did you mean 'master'?"),
        ("<clusternode id='heron'><master stratums='1'/></clusternode>", "Did you mean 'stratum'?"),
        ("<clusternode id='heron'><master stratum='16'/></clusternode>", "from 0 to 15"),
        ("<clusternode id='heron'><master stratum='-1'/></clusternode>", "from 0 to 15"),
        ("<clusternode id='heron'><master acceptDefault='yes'/></clusternode>", "neither true nor false"),
        ("<clusternode id='heron'><master type='Mine'/></clusternode>", "The mapper 'Mine' is not installed"),
        ("<clusternode id='heron'><master><key queryType='REGEX'>a</key></master></clusternode>", "'REGEX'"),
        ("<clusternode id='heron'><master><key queryType='EXACT'/></master></clusternode>", "is incomplete"),
        (
            "<clusternode id='heron'><master><key>//*[//*[//*]]</key></master></clusternode>",
            "may have to read",
        ),
        ("<clusternode id='heron'><master><key oid='a/#'/></master></clusternode>", "a/#"),
        (
            "<clusternode id='heron'><master><filter type='No'>1</filter></master></clusternode>",
            "The filter 'No'",
        ),
        (
            "<clusternode id='heron'><master><key oid='k'/></master>"
            "<master stratum='1'><key oid='k'/></master></clusternode>",
            "A node has one stratum for a topic",
        ),
        ("<clusternode id='heron'><master><filter>1</filter></master></clusternode>", "has no type"),
        ("<clusternode id='heron'>" + "<master/>" * 2000 + "</clusternode>", "more than 1,000 elements"),
        ("<clusternode id='heron'>" + "x" * 70_000 + "</clusternode>", "more than 65,536 characters"),
    ],
)
def test_what_is_no_clusternode_is_refused_by_its_place(xml: str, says: str) -> None:
    with pytest.raises(BadConfig) as refused:
        node(xml)
    assert says in str(refused.value) and str(refused.value).startswith("heron.properties:1")


HEAD, MASTER = "<clusternode id='heron'>", "<master><key domain='A'/></master>"


@pytest.mark.parametrize(
    "xml",
    [
        f"{HEAD}<![CDATA[{MASTER}]]></clusternode>",
        f"{HEAD}\n<connect/>\n<![CDATA[{MASTER}]]><state/></clusternode>",
        f"{HEAD}<master>\n<![CDATA[<key domain='A'/>]]></master></clusternode>",
        f"<?xml version='1.0' encoding='UTF-8'?>\n{HEAD}{MASTER}</clusternode>",
        f'<?xml version="1.0"?>{HEAD}{MASTER}</clusternode>',
        f'<?xml\nversion="1.0" encoding="utf-8" standalone="yes" ?>{HEAD}{MASTER}</clusternode>',
    ],
)
def test_what_stands_in_cdata_or_behind_a_declaration_is_read(xml: str) -> None:
    assert [rule.domains for rule in rules(node(xml))] == [("A",)]


@pytest.mark.parametrize(
    ("xml", "place", "says"),
    [
        (f"{HEAD}\nhello</clusternode>", "1", "unknown text 'hello' in <clusternode>"),
        (f"{HEAD}{MASTER}\n<connect>hello<qos/></connect></clusternode>", "2", "text 'hello' in <connect>"),
        (f"{HEAD}\n<connect/>hello</clusternode>", "1", "text 'hello' in <clusternode>"),
        (f"{HEAD}\n<connect/><![CDATA[<connect/>hello]]></clusternode>", "1", "text 'hello' in <cluster"),
        (f"{HEAD}\n<![CDATA[\n<mister/>]]></clusternode>", "3", "unknown element <mister>"),
        (f"{HEAD}\n<![CDATA[<master>]]></clusternode>", "2", "is not XML"),
        (f"{HEAD}&lt;key&gt;&amp;lt;key/&amp;gt;&lt;/key&gt;</clusternode>", "1", "unknown element <key>"),
        (f"<?xml version='1.0' encoding='latin1'?>{HEAD}</clusternode>", "1", "encoding='latin1'"),
        (f"<?evil x?>{HEAD}</clusternode>", "1", "processing instructions are not allowed"),
        (f"{HEAD}<?evil x?></clusternode>", "1", "processing instructions are not allowed"),
        (f"<?xml version='1.0'?>\n\n{HEAD}</clusternode><?evil x?>", "1", "processing instructions"),
        (f"<?xml version='1.0'?>\n\n{HEAD}\n<mister/></clusternode>", "4", "unknown element <mister>"),
    ],
)
def test_what_is_neither_is_refused_by_its_line(xml: str, place: str, says: str) -> None:
    with pytest.raises(BadConfig) as refused:
        node(xml)
    assert says in str(refused.value) and str(refused.value).startswith(f"heron.properties:{place}:")


def test_other_text_is_passed_over_and_told_when_that_is_wanted() -> None:
    told = read(f"cluster.node[heron]={HEAD}hello{MASTER}</clusternode>", is_lenient=True)
    assert told.notes == ["heron.properties:1: unknown text 'hello' in <clusternode> is ignored"]
    assert rules(load(None, {}, {}, properties=told.settings))[0].domains == ("A",)


def test_info_and_master_stand_apart_or_together() -> None:
    apart = config(
        "cluster.node.info[heron]=<clusternode id='heron'><connect><qos>"
        "<address>10.0.0.5:7607</address></qos></connect></clusternode>\n"
        "cluster.node.master[heron]=<clusternode id='heron'><master><key domain='*'/></master>"
        "</clusternode>\n"
    )
    together = node(
        "<clusternode id='heron'><connect><qos><address>10.0.0.5:7607</address></qos></connect>"
        "<master><key domain='*'/></master></clusternode>"
    )
    assert apart.nodes == together.nodes and together.nodes[0].address == "tcp://10.0.0.5:7607"


def test_what_is_unknown_is_passed_over_when_that_is_wanted_and_told() -> None:
    told = read("some.old.property=1\ncluster.node.id=heron", is_lenient=True)
    assert told.notes[0] == "heron.properties:1: unknown 'some.old.property' is ignored"


def test_a_node_of_the_properties_stands_in_place_of_that_of_the_file(tmp_path: Path) -> None:
    toml = tmp_path / "mesh.toml"
    toml.write_text(
        '[nodes.heron]\naddress = "tcp://a:1"\n[[nodes.heron.master]]\ndomains = ["A"]\n[nodes.frodo]\n'
    )
    said = read(
        "cluster.node[heron]=<clusternode id='heron'><master><key domain='B'/></master></clusternode>"
    )
    found = load(toml, {"MESH_TIMING__PING": "3"}, {}, properties=said.settings)
    assert [(each.name, each.address) for each in found.nodes] == [("frodo", None), ("heron", None)]
    assert [rule.domains for rule in rules(found)] == [("B",)] and found.timing.ping == 3


SECRET = "hunter2x"


@pytest.mark.parametrize(
    "text", [f"passwd[x]=${{{SECRET}}}", f"={SECRET}", f"node.passwd={SECRET}", f"a\n={SECRET}"]
)  # fmt: skip
def test_no_secret_stands_in_a_refusal_of_a_file(text: str) -> None:
    with pytest.raises(BadConfig) as refused:
        config(f"cluster.node.id=heron\n{text}\n")
    assert SECRET not in str(refused.value)
    assert SECRET not in repr(Property("passwd", "x", SECRET, "f:1"))


@pytest.mark.parametrize(
    "words",
    [
        ("-passwd", SECRET),
        ("-passwd[x]", SECRET),
        ("-Passwd[x]", SECRET),
        ("-p", "-passwd", SECRET),
        (f"-passwd={SECRET}", "x"),
        (SECRET,),
    ],
)
def test_a_password_on_the_command_line_is_refused_as_every_user_could_read_it(
    words: tuple[str, ...],
) -> None:
    with pytest.raises(BadConfig) as refused:
        from_words(words)
    assert SECRET not in str(refused.value)
    assert (refused.value.code == "SECRET_SHOWN") == (words[0].lower().startswith("-passwd"))


LIMITED = """<clusternode id='heron' maxConnections='20'><connect><qos>
<address bootstrapHostname='127.0.0.1' bootstrapPort='7600' maxConnections='5'/>
<address bootstrapHostname='10.0.0.9' bootstrapPort='7600' maxConnections='6'/>
</qos></connect></clusternode>""".replace("\n", "\\\n")


def test_max_connections_of_this_node_and_of_its_address_are_its_limits() -> None:
    text = f"cluster.node.id=heron\nbootstrapPort=7600\ncluster.node[heron]={LIMITED}"
    node = config(text).node
    assert (node.max_connections, node.address_max_connections) == (20, {"tcp://127.0.0.1:7600": 5})
    assert "maxConnections of tcp://10.0.0.9:7600: this node does not listen there" in str(read(text).notes)
    given = config(text + "\nnode.max_connections=7").node
    assert given.max_connections == 7


def test_max_connections_of_another_node_has_an_effect_only_there() -> None:
    text = f"cluster.node.id=stork\ncluster.node[heron]={LIMITED}"
    assert config(text).node.max_connections is None
    assert "maxConnections has an effect only in the file of heron" in str(read(text).notes)


@pytest.mark.parametrize("said", ["0", "-1", "many", "1.5", "", "9" * 30])
def test_max_connections_that_are_no_number_are_refused(said: str) -> None:
    with pytest.raises(BadConfig, match="maxConnections"):
        node(f"<clusternode id='heron' maxConnections='{said}'/>")
