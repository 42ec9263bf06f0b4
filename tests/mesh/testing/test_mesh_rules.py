"""Rules, filters and XPaths in a mesh in memory, with real clients."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec

import pytest

from mesh.errors import BadXml, BadXPath, NotAvailable
from mesh.testing import Mesh
from tests.waiting import LIMIT

P = ParamSpec("P")


def awaited(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Run the test in a loop of its own."""

    @wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        asyncio.run(asyncio.wait_for(test(*args, **kwargs), LIMIT))

    return run


RULES = """
[[nodes.b.master]]
xpaths = ["//STOCK"]
keys = ["radar.track"]
filters = [{ type = "ContentGlob", text = "*loose*" }]

[[nodes.c.master]]
patterns = ["stock/#"]
domains = ["NEWS"]

[[nodes.c.master.given]]
domain = "SPORTS"
filters = [{ type = "ContentType", text = "text/*" }, { type = "ContentLength", text = "9" }]
"""
IBM, SAP = "<STOCK name='IBM'><bid>102</bid></STOCK>", "<STOCK name='SAP'/>"


@awaited
async def test_each_message_goes_where_its_xml_and_its_content_say() -> None:
    async with Mesh(3, rules=RULES) as m, m.connect("a", client="joe") as joe:
        sent: list[tuple[str, bytes, dict[str, Any], tuple[str, ...]]] = [
            ("ibm", b"102", {"xml": IBM}, ("a", "b")),
            ("ibm", b"103", {"xml": IBM, "domain": "NEWS"}, ("a", "b")),
            ("sap", b"104", {"domain": "NEWS"}, ("a", "c")),
            ("stock/ibm", b"102", {}, ("a", "c")),
            ("today/1", b"the cat is loose", {}, ("a", "b")),
            ("today/2", b"the cat is here", {}, ("a",)),
            ("goal/1", b"1:0", {"domain": "SPORTS"}, ("a",)),
            ("goal/2", b"1:0", {"domain": "SPORTS", "headers": {"content-type": "text/plain"}}, ("a", "c")),
            ("goal/3", b"123456789", {"domain": "SPORTS", "headers": {"content-type": "text/plain"}}, ("a",)),
        ]
        receipts = [joe.post(key, content, **how) for key, content, how, _ in sent]
        await joe.flush()
        for receipt in receipts:
            assert (await receipt).state == "OK"
        for key, content, how, way in sent:
            async with m.connect(way[-1]) as there:
                domain = how.get("domain")
                found = await there.get(key, domain=domain, fresh=True)
                assert [
                    tuple(hop.node for hop in each.route) for each in found if each.content == content
                ] == [way]


@awaited
async def test_one_envelope_is_cut_where_filters_say_so_and_keeps_its_order() -> None:
    async with Mesh(3, rules=RULES) as m, m.connect("a") as joe, m.connect("b") as at_b:
        async with at_b.subscribe("today", initial=False) as heard:
            contents = [b"%d loose" % i if i % 3 else b"%d" % i for i in range(30)]
            for content in contents:
                joe.post("today", content)
            await joe.flush()
            found = [(await heard.__anext__()).content for _ in contents]
        assert sorted(found) == sorted(contents)
        assert [c for c in found if b"loose" in c] == [c for c in contents if b"loose" in c]


@awaited
async def test_an_xpath_subscribes_gets_and_erases_over_two_hops() -> None:
    async with Mesh(3, rules=RULES) as m, m.connect("a") as joe, m.connect("c") as ann:
        await joe.publish("before", b"1", xml=IBM)
        async with ann.subscribe(xpath="//STOCK[@name='IBM']") as heard:
            assert (await heard.__anext__()).key == "before"
            for key, xml in (("ibm", IBM), ("sap", SAP), ("plain", None), ("ibm/2", IBM)):
                await joe.publish(key, b"2", xml=xml)
            await joe.publish("x", b"3", xml=IBM, domain="NEWS")
            assert [(await heard.__anext__()).key for _ in range(3)] == ["ibm", "ibm/2", "x"]
            assert {found.key for found in await ann.get(xpath="//STOCK")} == {
                "before",
                "ibm",
                "sap",
                "ibm/2",
                "x",
            }
            assert {found.key for found in await ann.get(xpath="//STOCK", domain="NEWS")} == {"x"}
            assert {found.key for found in await ann.get(xpath="//key[@oid='plain']")} == {"plain"}
            assert sorted(await ann.erase(xpath="//STOCK[bid > 100]")) == ["before", "ibm", "ibm/2", "x"]
            assert {(await heard.__anext__()).state for _ in range(4)} == {"ERASED"}
        assert {found.key for found in await joe.get(xpath="//STOCK")} == {"sap"}


@awaited
async def test_the_xml_of_a_key_survives_a_crash_and_is_found_again() -> None:
    async with Mesh(["a", "b"], rules='[[nodes.b.master]]\nxpaths = ["//STOCK"]\n') as m:
        async with m.connect("a") as joe:
            await joe.publish("ibm", b"1", xml=IBM, persistent=True)
            m.kill("b")
            m.start("b")
            await m.joined()
            assert [found.content for found in await joe.get(xpath="//bid[text()='102']")] == [b"1"]


@pytest.mark.parametrize("xpath", ["//*[//*[//*]]", "//", "", " ", 5])
@awaited
async def test_what_is_no_xpath_is_refused_and_the_client_goes_on(xpath: str) -> None:
    async with Mesh(1) as m, m.connect() as joe:
        with pytest.raises(BadXPath):
            async with joe.subscribe(xpath=xpath):
                pass
        with pytest.raises(BadXPath):
            await joe.get(xpath=xpath)
        assert (await joe.publish("k", b"")).state == "OK"


@awaited
async def test_what_is_no_xml_is_refused_and_nothing_is_sent() -> None:
    async with Mesh(1) as m, m.connect() as joe:
        for xml in ("<a>", "<!DOCTYPE a>", "<a/>" * 300, "x" * 17_000):
            with pytest.raises(BadXml):
                await joe.publish("k", b"", xml=xml)
        assert await joe.get("k") == [] and (await joe.publish("k", b"")).state == "OK"


@awaited
async def test_groups_and_durable_subscriptions_know_no_xpath_yet() -> None:
    async with Mesh(1) as m, m.connect() as joe:
        for more in ({"group": "g"}, {"durable": "d"}):
            with pytest.raises(NotAvailable, match="xpath="):
                joe.subscribe(xpath="//a", **more)  # type: ignore[call-overload]
