"""A15, A28, A30 to A32, A34: property files of one node or two, on processes."""

import asyncio
from collections.abc import Iterator

import pytest

from tests.mesh.scenarios.property_files import FromProperties, master, node
from tests.mesh.scenarios.topology import Processes, processes_of

SLAVE = {"heron": node("heron", master("D")), "avalon": node("heron", master("D"), "{heron}")}


# --- the full example -----------------------------------------------------------------------------------

ONE = """\\
  <master type='DomainToMaster'>\\
    <![CDATA[<key domain='RUGBY'/><key type='XPATH'>//STOCK</key>]]>\\
    <filter type='ContentLength'>8000</filter><filter type='ContentGlob'>*loose*</filter>\\
    <someOtherPluginfilter/>\\
  </master>"""
TWO = """\\
  <master stratum='4' refId='bla' acceptDefault='false' acceptOtherDefault='true' dirtyRead='true'>\\
    <key queryType='XPATH'>//RUGBY</key>\\
  </master>"""
FULL = f"""cluster.node[heron]=<clusternode id='heron'>\\
  <connect><qos>\\
    <address type='IOR'>IOR:09456087000</address>\\
    <address type='SOCKET' useRemoteLoginAsTunnel='true'> socket://{{heron}} </address>\\
    <callback type='RMI'>rmi://mycomp.com</callback>\\
    <backupnode><clusternode id='avalon'/><clusternode id='golan'/></backupnode>\\
  </qos></connect>\\
  <disconnect/>{ONE}{TWO}\\
  <state><cpu id='0' idle='60'/><cpu id='1' idle='58'/><ram free='10657'/></state>\\
</clusternode>
cluster.node[bla]=<clusternode id='bla'/>
"""
PASSED_OVER = (
    "address 'IOR IOR:09456087000' has another protocol",
    "<callback>: callbacks are not dialed",
    "<state>: each node reports its own state",
    "unknown element <someOtherPluginfilter> in <master> is ignored",
)


@pytest.fixture(scope="module")
def full() -> Iterator[Processes]:
    """heron and joe, where joe has the full example."""
    with processes_of(
        {"heron": node("heron", ONE.replace("<someOtherPluginfilter/>", ""))}, FromProperties
    ) as c:
        assert isinstance(c, FromProperties)
        c.start("joe", FULL, "--lenient")
        c.met()
        yield c


SENT = [
    ("rugby", "RUGBY", "", b"x" * 9000),
    ("stock", "NYSE", "<STOCK/>", b"x" * 9000),
    ("short", "CATS", "", b"x" * 7999),
    ("loose", "CATS", "", b"x" * 9000 + b"loose"),
]


def test_A30_each_key_and_filter_of_the_full_example_counts(full: Processes) -> None:
    async def scenario() -> None:
        async with full.connect("joe") as joe, full.connect("heron") as heron:
            for key, domain, xml, content in SENT:
                assert (await joe.publish(key, content, domain=domain, xml=xml)).ok
                assert [message.key for message in await heron.get(key)] == [key]
            other = await joe.publish("other", b"x" * 9000, domain="CATS")
            assert "no rule names a master of domain CATS" in other.note

    asyncio.run(scenario())


def test_A31_an_address_is_trimmed_and_dialled_whatever_its_tunnel(full: Processes) -> None:
    assert "joined: heron (boot 1)" in full["joe"].log and "found by seed" in full["joe"].log


def test_A32_a_state_and_all_that_means_nothing_here_is_told_once(full: Processes) -> None:
    for note in PASSED_OVER:
        assert full["joe"].log.count(note) == 1, full["joe"].log


# --- messages without a domain --------------------------------------------------------------------------
