"""The client in examples/node sends to sessions, serves requests and reaches a remote master."""

import threading
import time
from pathlib import Path
from typing import Any

import pytest

import mesh.sync
from tests.examples.nodejs import Wire, demo, program, taken
from tests.mesh.running import LIMIT, RunningNode, running

pytestmark = pytest.mark.slow


def test_node_sends_to_a_session_of_python_and_hears_who_is_not_there(
    node: RunningNode, m: mesh.sync.Client
) -> None:
    text = """
        const mesh = await connect({ name: 'joe' });
        const answered = ({ state, matched }) => say([state, matched]);
        const refused = (error) => say(error.code);
        await mesh.send('TO', 'first', { headers: { a: 'b' } }).then(answered);
        await mesh.send('TO', 'second', { key: 'a word', persistent: true }).then(answered);
        await mesh.send('/node/heron/client/nobody', 'x').catch(refused);
        await mesh.send('/node/nowhere/client/nobody', 'x').catch(refused);
        await mesh.send('nobody', 'x').catch(refused);
        await mesh.send('client/sleeper/session/3', 'waits', { forceQueuing: true }).then(answered);
        say(mesh.name);
        await mesh.close();
    """
    with m.inbox() as inbox, program(text.replace("TO", m.name), node) as js:
        assert [js.heard(), js.heard()] == [["OK", 1], ["OK", 1]]
        assert [js.heard(), js.heard(), js.heard()] == ["NOT_CONNECTED", "UNKNOWN_NODE", "NO_HANDLERS"]
        assert js.heard() == ["OK", 0]
        first, second = taken(inbox, 2)
        assert {message.sender for message in (first, second)} == {js.heard()}
    assert (first.content, first.key, first.headers["a"], first.to) == (b"first", "", "b", m.name)
    assert (second.content, second.key, second.persistent) == (b"second", "a word", True)
    waited = demo(node, "inbox", "--name", "sleeper", "--session", "3", "--count", "1")
    assert "  waits\n" in waited.stdout


def test_node_sends_to_several_destinations_and_has_a_result_of_each(
    node: RunningNode, m: mesh.sync.Client
) -> None:
    text = """
        const mesh = await connect({ name: 'joe' });
        const sent = await mesh.send(['SHORT', 'client/nobody/1', 'nobody'], 'for all');
        for (const { destination, answer, error } of sent) say([destination, answer?.matched, error?.code]);
        await mesh.close();
    """
    short = m.name.replace("/session/", "/")
    with m.inbox() as inbox, program(text.replace("SHORT", short), node) as js:
        assert js.heard() == [short, 1, None]
        assert js.heard() == ["client/nobody/1", None, "NOT_CONNECTED"]
        assert js.heard() == ["nobody", None, "NO_HANDLERS"]
        [message] = taken(inbox, 1)
    assert (message.content, message.to) == (b"for all", m.name)


def test_python_sends_to_a_session_of_node_while_its_inbox_is_open_and_before(
    node: RunningNode, m: mesh.sync.Client
) -> None:
    text = """
        const mesh = await connect({ name: 'ann', session: 1 });
        say(mesh.name);
        await told();
        const inbox = await mesh.inbox();
        for await (const { text, key, sender, to, headers, state } of inbox) {
          say({ text, key, sender, to, headers, state });
          if (text === 'last') break;
        }
        await mesh.close();
    """
    with program(text, node) as js:
        name = js.heard()
        assert name == "/node/heron/client/ann/session/1"
        early = m.send("client/ann/session/1", "early", headers={"a": "b"})
        assert (early.state, early.matched) == ("OK", 1)
        js.tell()
        common = {"sender": m.name, "to": name, "state": "OK"}
        assert js.heard() == {"text": "early", "key": "", "headers": [["a", "b"]], **common}
        assert m.send("/node/heron/client/ann", "last", key="k").matched == 1
        client = {**common, "to": "/node/heron/client/ann"}
        assert js.heard() == {"text": "last", "key": "k", "headers": [], **client}


def test_node_serves_python_and_hears_what_python_replies(node: RunningNode, m: mesh.sync.Client) -> None:
    text = """
        const mesh = await connect({ name: 'calculator' });
        const service = await mesh.serve('js/sum', ({ text, sender, header }) => {
          const sum = text.split('+').reduce((a, b) => a + Number(b), 0);
          if (Number.isNaN(sum)) throw Object.assign(new Error(`${text} is no sum`), { code: 'NO_SUM' });
          return String(sum);
        });
        say(mesh.name);
        await told();
        const asked = Array.from({ length: 500 }, (_, i) => mesh.request('py/double', String(i)));
        say((await Promise.all(asked)).map(({ text }) => Number(text)));
        const refused = (error) => say([error.code, error.message]);
        await mesh.request('py/double', 'x').catch(refused);
        await mesh.request('py/nobody', 'x').catch(refused);
        await mesh.request('map/x', 'x').catch(refused);
        await mesh.request('js/never', 'x', { timeout: 0.2 }).catch(refused);
        await service.close();
        say('closed');
        await told();
        await mesh.close();
    """
    text = text.replace(
        "await told();", "await mesh.serve('js/never', () => new Promise(() => {}));\nawait told();", 1
    )
    with program(text, node) as js:
        name = js.heard()
        replies = [m.request("js/sum", f"{n}+1") for n in range(20)]
        assert [reply.value for reply in replies] == [str(n + 1) for n in range(20)]  # marked as text
        assert {reply.sender for reply in replies} == {name}
        with pytest.raises(mesh.RequestFailed, match="one\\+two is no sum") as failed:
            m.request("js/sum", "one+two")
        assert failed.value.code == "NO_SUM"
        with m.serve("py/double") as service:
            thread = threading.Thread(target=double, args=(service, 501))
            thread.start()
            js.tell()
            assert js.heard() == [2 * n for n in range(500)]
            thread.join(LIMIT)
            assert [js.heard()[0] for _ in range(4)] == ["NOT_A_NUMBER", "NO_HANDLERS", "BAD_NAME", "TIMEOUT"]
        assert js.heard() == "closed"
        with pytest.raises(mesh.NoHandlers):
            m.request("js/sum", "1+1")
        js.tell()


def double(service: Any, count: int) -> None:
    for _ in range(count):
        request = next(service)
        if request.content.isdigit():
            request.reply(b"%d" % (2 * int(request.content)))
        else:
            request.fail("NOT_A_NUMBER", "that is no number")


@pytest.mark.parametrize("broken", ["cut", "kill"])
def test_after_a_cut_and_after_kill_9_of_its_node_it_serves_again_and_asks_once(broken: str) -> None:
    text = """
        const mesh = await connect({ node: await told() });
        mesh.on('connected', (anew) => say({ anew }));
        let done = 0;
        await mesh.serve('js/count', async () => {
          await new Promise((resolve) => setTimeout(resolve, 20));
          return String(++done);
        });
        say('serves');
        for (let line = await told(); line; line = await told()) {
          const ask = () => mesh.request('js/count', '', { timeout: 120 });
          const asked = Array.from({ length: 200 }, () => ask().then((x) => +x.text, (x) => x.code));
          const all = await Promise.all(asked);
          const numbers = all.filter((x) => typeof x === 'number');
          const refused = [...new Set(all.filter((x) => typeof x !== 'number'))];
          say([all.length, new Set(numbers).size === numbers.length, refused]);
        }
        await mesh.close();
    """
    with running("swift") as node:
        wire = Wire(node.state / "wire.sock", node.it["ipc"].removeprefix("ipc://"))
        try:
            with program(text, node) as js:
                js.tell(wire.address if broken == "cut" else node.it["ipc"])
                assert js.heard() == "serves"
                js.tell("go")
                assert js.heard() == [200, True, []]
                js.tell("go")
                time.sleep(0.03)
                if broken == "cut":
                    wire.cut()
                else:
                    node.kill()
                    node.start()
                said = [js.heard(), js.heard()]
                assert {"anew": broken == "kill"} in said
                total, once, refused = next(x for x in said if isinstance(x, list))
                assert total == 200 and once and set(refused) <= {"HANDLER_LOST", "NO_HANDLERS"}
                js.tell("go")
                assert js.heard() == [200, True, []]
                js.tell("")
        finally:
            wire.close()


RULES = """
[nodes.heron]
[nodes.frodo]
[[nodes.frodo.master]]
domains = ["NEWS"]
"""


@pytest.fixture
def rules(tmp_path: Path) -> tuple[str, str]:
    """Return options for nodes that know the master of NEWS."""
    config = tmp_path / "mesh.toml"
    config.write_text(RULES)
    return "--config", str(config)


def test_a_domain_whose_master_is_another_node_is_published_read_and_erased_there(
    rules: tuple[str, str],
) -> None:
    text = """
        const mesh = await connect({ node: 'heron' });
        const subscription = await mesh.subscribe('#', { domain: 'NEWS' });
        const publish = (_, i) => mesh.publish('sport', String(i), { domain: 'NEWS', persistent: true });
        const answers = await Promise.all(Array.from({ length: 1000 }, publish));
        say([...new Set(answers.map(({ state }) => state))]);
        const messages = await take(subscription, 1000);
        say(messages.map(({ text }) => Number(text)));
        say(messages[0].route.map((stop) => [stop.node, stop.stratum]));
        await subscription.close();
        const got = await mesh.get('sport', { domain: 'NEWS', fresh: true });
        say(got.messages.map(({ text, source, stale }) => [text, source, stale]));
        say(await mesh.erase('sport', { domain: 'NEWS' }));
        await mesh.close();
    """
    with running("heron", options=rules) as heron, running("frodo", beside=heron, options=rules) as frodo:
        with mesh.sync.connect("frodo", environ=frodo.environ) as m:
            with m.subscribe(domain="NEWS") as subscription, program(text, heron) as js:
                received = [int(message.content) for message in taken(subscription, 1000)]
                assert js.heard() == ["OK"]
                assert received == js.heard() == list(range(1000))
                assert js.heard() == [["heron", 1], ["frodo", 0], ["heron", 1]]
                assert js.heard() == [["999", "frodo", None]]
                assert js.heard() == ["sport"]
                assert taken(subscription, 1)[0].state == "ERASED"


def test_what_waits_for_a_master_that_is_away_is_answered_twice(rules: tuple[str, str]) -> None:
    text = """
        const mesh = await connect({ node: 'heron' });
        mesh.on('connected', () => say('connected again'));
        const publish = (_, i) => mesh.publish('sport', String(i), { domain: 'NEWS', persistent: true });
        const answers = await Promise.all(Array.from({ length: 20 }, publish));
        say(answers.map(({ state, note }) => [state, note]));
        const finals = await Promise.all(answers.map(({ final }) => final));
        say(finals.map(({ state, id }) => [state, id]));
        say(answers.map(({ id }) => id));
        await mesh.get('none', { domain: 'NEWS', fresh: true }).catch((error) => say(error.code));
        await mesh.close();
    """
    with running("heron", options=rules) as heron, program(text, heron) as js:
        warned = js.heard()
        assert [state for state, _ in warned] == ["FORWARD_WARNING"] * 20
        assert all("frodo" in note for _, note in warned)
        heron.kill()
        heron.start()
        assert js.heard() == "connected again"
        with running("frodo", beside=heron, options=rules) as frodo:
            finals, ids = js.heard(), js.heard()
            with mesh.sync.connect("frodo", environ=frodo.environ) as m:
                assert m.get("sport", domain="NEWS")[0].content == b"19"
        assert finals == [["OK", id] for id in ids]


def test_a_message_for_one_session_reaches_exactly_one(node: RunningNode, m: mesh.sync.Client) -> None:
    text = """
        const joined = await Promise.all([1, 2].map((session) => connect({ name: 'pair', session })));
        const received = [];
        for (const mesh of joined) {
          const inbox = await mesh.inbox();
          (async () => { for await (const { text } of inbox) received.push(text); })();
        }
        const mesh = await connect();
        const sent = [mesh.send('client/pair', 'one', { delivery: 'one' }), mesh.send('client/pair', 'all')];
        say((await Promise.all(sent)).map(({ matched }) => matched));
        await mesh.send('client/pair', 'x', { delivery: 'some' }).catch((error) => say(error.code));
        while (received.length < 3) await new Promise((resolve) => setTimeout(resolve, 10));
        for (const each of [mesh, ...joined]) await each.close();
        say(received.sort());
    """
    with program(text, node) as js:
        assert js.heard() == [1, 2]
        assert js.heard() == "BAD_ARGUMENT"
        assert js.heard() == ["all", "all", "one"]
