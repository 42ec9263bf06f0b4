"""The client in examples/node keeps the promises of docs/wire.md."""

import hashlib
import os

import pytest

import mesh.sync
from mesh.wire.limits import MIB
from tests.examples.nodejs import demo, program, taken
from tests.mesh.running import RunningNode

pytestmark = pytest.mark.slow


def test_what_python_publishes_node_receives(node: RunningNode, m: mesh.sync.Client) -> None:
    text = """
        const mesh = await connect();
        const subscription = await mesh.subscribe('to-node');
        say('ready');
        for (const message of await take(subscription, 1001)) {
          const { text, isText, domain, headers, sender, state, priority, route } = message;
          const nodes = route.map((stop) => stop.node);
          say({ text, isText, domain, headers, sender, state, priority, nodes });
        }
        await mesh.close();
    """
    with program(text, node) as js:
        assert js.heard() == "ready"
        sent = [f"line {number} äöü" for number in range(1000)]
        m.publish_many("to-node", sent)
        m.publish("to-node", "last", domain="D", headers={"Unit": "°C", "unit": "K"}, priority=9)
        received = [js.heard() for _ in range(1001)]
    assert [message["text"] for message in received] == [*sent, "last"]
    assert received[-1] == {
        "text": "last",
        "isText": True,
        "domain": "D",
        "headers": [["Unit", "°C"], ["unit", "K"]],
        "sender": m.name,
        "state": "OK",
        "priority": 9,
        "nodes": ["heron"],
    }


def test_a_thousand_that_node_publishes_python_receives_in_order(
    node: RunningNode, m: mesh.sync.Client
) -> None:
    text = """
        const mesh = await connect({ name: 'joe', session: 7 });
        const domain = 'D';
        const rich = { domain, headers: { unit: '°C', n: '1' }, expiry: 3600, priority: 3 };
        const publish = (_, i) => mesh.publish(`from-node/${i % 3}`, `line ${i}`, i % 2 ? rich : { domain });
        const answers = await Promise.all(Array.from({ length: 1000 }, publish));
        say(answers.map(({ state, id, matched }) => [state, id, matched]));
        await mesh.close();
    """
    with m.subscribe(pattern="from-node/+", domain="D") as subscription, program(text, node) as js:
        messages = taken(subscription, 1000)
        answers = js.heard()
    assert [message.value for message in messages] == [f"line {i}" for i in range(1000)]  # marked as text
    assert [message.key for message in messages[:4]] == [f"from-node/{i % 3}" for i in range(4)]
    assert answers == [["OK", message.id, 1] for message in messages]
    plain, rich = messages[0], messages[1]
    assert (dict(plain.headers.items()), plain.priority, plain.expires) == ({}, 5, 0)
    assert (dict(rich.headers.items()), rich.priority) == ({"unit": "°C", "n": "1"}, 3)
    assert 0 < rich.expires - rich.sent < 3601e9
    assert {message.sender for message in messages} == {"/node/heron/client/joe/session/7"}


def test_values_are_got_one_and_many(node: RunningNode, m: mesh.sync.Client) -> None:
    for key, content in (("got/a", "1"), ("got/b", "2"), ("got/a", "3")):
        m.publish(key, content, domain="GET")
    text = """
        const mesh = await connect();
        for (const query of ['got/a', 'got/+', 'got/none']) {
          const { messages, missing } = await mesh.get(query, { domain: 'GET' });
          say([messages.map(({ key, text, state }) => [key, text, state]).sort(), missing]);
        }
        await mesh.get('got/#/b').catch((error) => say(error.code));
        await mesh.publish('got/+', 'x').catch((error) => say(error.code));
        await mesh.close();
    """
    with program(text, node) as js:
        assert js.heard() == [[["got/a", "3", "INITIAL"]], []]
        assert js.heard() == [[["got/a", "3", "INITIAL"], ["got/b", "2", "INITIAL"]], []]
        assert js.heard() == [[], []]
        assert [js.heard(), js.heard()] == ["BAD_QUERY", "BAD_KEY"]


def test_a_pattern_begins_with_the_last_values_and_goes_on_until_it_is_left(
    node: RunningNode, m: mesh.sync.Client
) -> None:
    m.publish("room/a/temp", "old")
    m.publish("room/b/temp", "other domain", domain="D")
    text = """
        const mesh = await connect();
        const every = await mesh.subscribe('room/+/temp');
        const news = await mesh.subscribe('room/#', { domain: 'D', initial: false });
        const first = await take(every, 2);
        say(first.map(({ text, state }) => [text, state]).sort());
        for await (const { key, text, state } of every) {
          say([key, text, state]);
          if (text === 'end') break;
        }
        say((await take(news, 1)).map(({ key, text }) => [key, text]));
        await mesh.close();
    """
    with program(text, node) as js:
        assert js.heard() == [["old", "INITIAL"], ["other domain", "INITIAL"]]
        m.publish("room/c/humidity", "not this one")
        m.publish("room/c/temp", "new")
        m.publish("room/c/door", "open", domain="D")
        m.publish("room/c/temp", "end")
        assert js.heard() == ["room/c/temp", "new", "OK"]
        assert js.heard() == ["room/c/temp", "end", "OK"]
        assert js.heard() == [["room/c/door", "open"]]


def test_a_content_of_several_frames_goes_both_ways(node: RunningNode, m: mesh.sync.Client) -> None:
    large = os.urandom(3 * MIB + 5)
    text = """
        import { createHash } from 'node:crypto';
        const mesh = await connect();
        const subscription = await mesh.subscribe('large');
        say('ready');
        const [{ content }] = await take(subscription, 1);
        say([content.length, createHash('sha256').update(content).digest('hex')]);
        await Promise.all([mesh.publish('large-back', 'before'), mesh.publish('large-back', content)]);
        const refused = (error) => say(error.code);
        await mesh.publish('large', Buffer.alloc(8 * 2 ** 20 + 1)).catch(refused);
        await mesh.publish('large', 'x', { headers: { a: 'b'.repeat(70_000) } }).catch(refused);
        await mesh.close();
    """
    with m.subscribe("large-back") as subscription, program(text, node) as js:
        assert js.heard() == "ready"
        m.publish("large", large)
        assert js.heard() == [len(large), hashlib.sha256(large).hexdigest()]
        assert [message.content for message in taken(subscription, 2)] == [b"before", large]
        assert [js.heard(), js.heard()] == ["TOO_LARGE", "TOO_LARGE"]


def test_the_nodes_of_a_name_are_found_and_an_unknown_name_has_a_code(
    node: RunningNode, m: mesh.sync.Client
) -> None:
    text = """
        const mesh = await connect({ name: 'joe' });
        const { kind, name, nodes, sightings, missing } = await mesh.where('joe');
        say([kind, name, nodes, sightings.map(({ by, state }) => [by, state]), missing]);
        await mesh.where('jeo').catch((error) => say(error.code));
        await mesh.close();
    """
    with program(text, node) as js:
        here = [[node.name, "connected"]]
        assert js.heard() == ["client", "client/joe", [node.name], here, []]
        assert js.heard() == "UNKNOWN_NAME"


def test_an_erased_topic_is_gone_and_each_subscriber_hears_of_it_once(
    node: RunningNode, m: mesh.sync.Client
) -> None:
    text = """
        const mesh = await connect();
        const subscription = await mesh.subscribe('gone/#');
        await mesh.publish('gone/by-node', 'a');
        say(await mesh.erase('gone/by-node'));
        say(await mesh.erase('gone/by-node'));
        await mesh.publish('gone/by-node', 'begun anew');
        say('ready');
        const shown = ({ key, text, state }) => [key, text, state];
        say((await take(subscription, 5)).map(shown));
        await mesh.close();
    """
    with m.subscribe(pattern="gone/#") as subscription, program(text, node) as js:
        assert [js.heard(), js.heard(), js.heard()] == [["gone/by-node"], [], "ready"]
        m.publish("gone/by-python", "b")
        assert m.erase("gone/by-python") == ["gone/by-python"]
        expected = [
            ["gone/by-node", "a", "OK"],
            ["gone/by-node", "", "ERASED"],
            ["gone/by-node", "begun anew", "OK"],
            ["gone/by-python", "b", "OK"],
            ["gone/by-python", "", "ERASED"],
        ]
        assert js.heard() == expected
        messages = taken(subscription, 5)
    assert [[m.key, m.content.decode(), m.state] for m in messages] == expected


def test_the_commands_of_the_demo(node: RunningNode, m: mesh.sync.Client) -> None:
    with m.subscribe("demo/a", domain="DEMO") as subscription:
        sent = demo(node, "publish", "demo/a", "--domain", "DEMO", "--header", "unit=K", content="1\n2\n3\n")
        assert (sent.returncode, sent.stdout, sent.stderr) == (0, "", "")
        messages = taken(subscription, 3)
    assert [message.content for message in messages] == [b"1", b"2", b"3"]
    assert messages[0].headers["unit"] == "K"
    assert demo(node, "get", "demo/a", "--domain", "DEMO").stdout == "demo/a  3  unit=K\n"
    shown = demo(node, "subscribe", "demo/+", "--domain", "DEMO", "--count", "1")
    assert (shown.stdout, shown.stderr) == ("demo/a  3  unit=K\n", "subscribed to demo/+\n")
    assert "[NO_HANDLERS]" in demo(node, "request", "demo/greet", "hello").stderr
    wrong = demo(node, "publish", "demo/+", "x")
    assert (wrong.returncode, wrong.stdout) == (1, "") and wrong.stderr.endswith("[BAD_KEY]\n")
    nowhere = demo(node, "get", "a", "--node", "nobody")
    assert nowhere.returncode == 1 and "No node nobody" in nowhere.stderr
    assert "subscribe KEY_OR_PATTERN" in demo(node, "fly").stderr
