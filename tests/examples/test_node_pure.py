"""The pure parts of the client in examples/node decide as those of the Python client do."""

import json
import random
import subprocess
from typing import Any

import pytest

from mesh.client.core.calls import Calls
from mesh.client.core.intake import Intake, Terms
from mesh.client.core.node_choice import NodeChoice
from mesh.client.core.visits import ClientVisits
from mesh.errors import MeshError
from mesh.proof import attach_text
from mesh.security.signing import verify
from mesh.security.streamkey import StreamKey
from mesh.values import Hop
from mesh.wire.commands import Introduction, Query, Refuse, Welcome
from mesh.wire.envelope import Envelope
from mesh.wire.limits import VISITS
from tests.examples.nodejs import EXAMPLE

pytestmark = pytest.mark.slow

ADDRESSES = [f"tcp://127.0.0.1:{n}" for n in range(1, 7)] + [
    "tcp://[::1]:9",
    "ipc:///tmp/x",
    "tcp://0.0.0.0:5",
]
CODES = ("BAD_TOKEN", "SESSION_IN_USE", "NODE_FULL")

# Reads sequences of events from stdin, and writes the results of each.
CHOICES = f"""
import {{ readFileSync }} from 'node:fs';
import {{ NodeChoice }} from {json.dumps(str(EXAMPLE / "choice.js"))};
const results = JSON.parse(readFileSync(0)).map(({{ names, allowed, events }}) => {{
  const mayVisit = ({{ source }}) => allowed.includes(source);
  const choice = new NodeChoice(names, {{ chance: () => 0.5, mayVisit }});
  const steps = {{
    next(now, backoff) {{
      const {{ place, wait }} = choice.next(now, backoff);
      return [place.text, place.source, place.key, Math.round(wait), choice.isVisit, choice.patience(5000)];
    }},
    failed: (reason, isFinal, code) => (choice.failed(reason, isFinal), choice.isOver(code)),
    refused: (now, forward, retry) => choice.refused(now, forward, retry),
    dialed: (address) => choice.dialed(address),
    lost: (now, forward) => choice.lost(now, forward),
    welcomed: (now, uuid, nodes) => choice.welcomed(now, uuid, nodes.map(([name, address, also, key]) =>
      ['', name, 1, address, also, '', Buffer.from(key, 'hex')])),
  }};
  return events.map(([name, ...args]) => steps[name](...args) ?? null);
}});
console.log(JSON.stringify(results));
"""


def run_js(text: str, given: object) -> Any:
    command = ["node", "--input-type=module", "-e", text]
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class Reference:
    """The choice of the Python client, driven by the same events, with times in ms."""

    def __init__(self, names: list[str], allowed: list[str]) -> None:
        self._it = NodeChoice(names, b"s" * 16, lambda: 0.5, lambda place: place.source.value in allowed)

    def next(self, now: int, backoff: int) -> list[Any]:
        step = self._it.next_step(now / 1000, backoff / 1000)
        place, wait, patience = step.place, round(1000 * step.wait), round(1000 * self._it.patience(5.0))
        return [place.text, place.source.value, place.key.hex(), wait, self._it.is_visit, patience]

    def failed(self, reason: str, is_final: bool, code: str) -> bool:
        self._it.on_failed(MeshError(reason), is_final)
        return self._it.is_over(code)

    def refused(self, now: int, forward: list[str], retry: int) -> None:
        self._it.on_refused(now / 1000, Refuse("X", "x", forward=tuple(forward), retry_ms=retry))

    def dialed(self, address: str) -> None:
        self._it.dialed(address)

    def lost(self, now: int, forward: list[str] | None) -> None:
        self._it.on_lost(now / 1000, forward is not None, forward or ())

    def welcomed(self, now: int, uuid: str, nodes: list[list[Any]]) -> None:
        others = tuple(
            Introduction(b"u" * 16, name, 1, address, tuple(also), key=bytes.fromhex(key))
            for name, address, also, key in nodes
        )
        self._it.on_welcome(now / 1000, Welcome(2, Introduction(uuid.encode(), "n", 1, ""), "", nodes=others))


def sequence(dice: random.Random) -> dict[str, Any]:
    """Return names and events of one client: dials and their outcomes, losses, and drains."""
    names = dice.choice([["heron"], ["heron", "stork"], ["heron", "stork", ADDRESSES[0]]])
    allowed = dice.choice([["forward"], ["named", "forward", "known"], []])
    events: list[list[Any]] = []
    now, is_up = 0, False

    def some() -> list[str]:
        return dice.sample(ADDRESSES, dice.randrange(4))

    for _ in range(dice.randrange(5, 60)):
        now += dice.choice([0, 7, 300, 1500, 12_000])
        if is_up:
            events.append(["lost", now, dice.choice([None, None, some()])])
            is_up = False
            continue
        events.append(["next", now, dice.choice([0, 50, 700])])
        if dice.random() < 0.3:
            events.append(["dialed", dice.choice(ADDRESSES)])
        if is_up := dice.random() < 0.25:
            key = dice.choice(["", "ab" * 32])
            nodes = [[f"n{n}", dice.choice(ADDRESSES), some(), key] for n in range(dice.randrange(4))]
            events.append(["welcomed", now, dice.choice("ABC"), nodes])
            continue
        if dice.random() < 0.5:
            events.append(["refused", now, some(), dice.choice([0, 0, 400, 90_000])])
        events.append(["failed", "why", dice.random() < 0.4, dice.choice(CODES)])
    return {"names": names, "allowed": allowed, "events": events}


def test_the_next_node_is_the_one_that_the_python_client_dials() -> None:
    dice = random.Random(20)
    given = [sequence(dice) for _ in range(2000)]
    for one, found in zip(given, run_js(CHOICES, given), strict=True):
        reference = Reference(one["names"], one["allowed"])
        for at, (name, *args) in enumerate(one["events"]):
            assert found[at] == getattr(reference, name)(*args), one["events"][: at + 1]


VISITED = f"""
import {{ readFileSync }} from 'node:fs';
import {{ newStream }} from {json.dumps(str(EXAMPLE / "handshake.js"))};
import {{ Visits }} from {json.dumps(str(EXAMPLE / "visits.js"))};
const stream = newStream();
const hex = (data) => Buffer.from(data).toString('hex');
const results = JSON.parse(readFileSync(0)).map((welcomes) => {{
  const visits = new Visits(stream);
  return welcomes.map(([uuid, boot, canMove, isReleased]) => {{
    const args = visits.welcomed({{ uuid, boot }}, 'NAME', canMove, [3]);
    if (isReleased) visits.released();
    const [name, key, attach, node, signature] = args?.certificate ?? [];
    const certificate = args && [name, hex(key), attach, hex(node), hex(signature)];
    return [visits.attach, args && [certificate, args.former.map(hex), args.subscriptions]];
  }});
}});
console.log(JSON.stringify(results));
"""


class Asked(Calls):
    """Calls of which a test sees the last ATTACH."""

    def __init__(self) -> None:
        self.command: Any = None
        self.released: Any = None

    def send_command(self, make: Any, then: Any = None) -> Any:
        self.command, self.released = make(1), then
        return object()

    def drop_pending(self, pending: Any) -> None:
        pass


def test_visits_are_numbered_signed_and_listed_as_by_the_python_client() -> None:
    dice = random.Random(21)
    uuids = [bytes([n]) * 16 for n in range(11)]
    given: list[list[Any]] = [
        [
            [dice.choice(uuids).hex(), dice.randrange(1, 3), dice.random() < 0.9, dice.random() < 0.2]
            for _ in range(20)
        ]
        for _ in range(50)
    ]
    for welcomes, found in zip(given, run_js(VISITED, given), strict=True):
        calls = Asked()
        visits = ClientVisits(calls, StreamKey(b"k" * 32), lambda: [(3, 0)])
        for (uuid, boot, can_move, is_released), (attach, args) in zip(welcomes, found, strict=True):
            calls.command = None
            node = Introduction(bytes.fromhex(uuid), "n", boot, "")
            visits.on_welcome(node, "NAME", frozenset([VISITS] if can_move else []))
            assert attach == visits.attach
            assert (args is None) == (calls.command is None)
            if args is not None:
                check_attach(args, calls.command.arguments)
            if is_released and calls.released is not None:
                calls.released()


def check_attach(found: list[Any], expected: dict[str, Any]) -> None:
    (name, key, attach, node, signature), former, subscriptions = found
    text = attach_text(name, attach, bytes.fromhex(node))
    assert verify(bytes.fromhex(key), bytes.fromhex(signature), text)
    certificate = expected["certificate"]
    assert (attach, bytes.fromhex(node)) == (certificate[2], certificate[3])
    assert sorted(former) == sorted(each.hex() for each in expected.get("former", ()))
    assert subscriptions == expected.get("subscriptions", [])


RECEIVED = f"""
import {{ readFileSync }} from 'node:fs';
import {{ Subscription }} from {json.dumps(str(EXAMPLE / "subscription.js"))};
import {{ Message }} from {json.dumps(str(EXAMPLE / "wire.js"))};
const results = [];
for (const {{ began, items }} of JSON.parse(readFileSync(0))) {{
  const subscription = new Subscription(1, ['exact', 'k', ''], true, {{ acknowledge() {{}} }});
  subscription.confirmed({{ since: began.map(([master, place]) => [Buffer.from(master, 'hex'), place]) }});
  const received = [];
  const read = async () => {{
    const {{ number, late }} = (await subscription.next()).value;
    received.push([number, late]);
    read();
  }};
  read();
  for (const [master, position, number, flags, stratum] of items) {{
    const route = [{{ node: 'n', stratum, at: null }}];
    const envelope = {{ stream: '73', domain: '', flags, sender: '', sent: null, to: '', route }};
    const message = new Message(envelope, number, 'k', Buffer.from('x'), [], null, 5, '', true);
    subscription.arrived([message], master, BigInt(position));
    await new Promise((resolve) => setImmediate(resolve));
  }}
  const since = subscription.command(1, {{ isMoving: true }})[8];
  const places = since.map(([master, place]) => [master.toString('hex'), Number(place)]);
  results.push([received, subscription.lost, places]);
}}
console.log(JSON.stringify(results));
"""


def received(began: list[list[Any]], items: list[list[Any]]) -> list[Any]:
    """Return what a subscription of the Python client receives, with its gaps and positions."""
    it = Intake(1, Query("exact", "k", ""), True, Terms(), lambda intake: None)
    it.confirm()
    it.began = {bytes.fromhex(master): place + 1 for master, place in began}
    found = list[list[Any]]()
    for master, position, number, flags, stratum in items:
        envelope = Envelope(
            b"s", "", number, number, ("k",), 1, 1, b"x", flags=flags, route=(Hop("n", stratum, 0),)
        )
        it.on_item(bytes.fromhex(master), envelope, None, 0, position)
        while (batch := it.next_batch()) is not None:
            found += [[int(message.id.rpartition(":")[2]), message.late] for message in batch]
            it.mark_consumed()
    return [found, it.dropped, [[master.hex(), place] for master, place in it.positions().items()]]


def test_the_same_messages_are_new_late_or_lost_and_the_same_positions_are_resumed() -> None:
    dice = random.Random(22)
    masters = ["aa", "bb", "cc"]

    def item() -> list[Any]:
        numbers = dice.randrange(12), dice.randrange(1, 15), dice.randrange(2), dice.randrange(2)
        return [dice.choice(masters), *numbers]

    given = [
        {
            "began": [[master, dice.randrange(5)] for master in dice.sample(masters, dice.randrange(4))],
            "items": [item() for _ in range(dice.randrange(1, 25))],
        }
        for _ in range(1000)
    ]
    results = run_js(RECEIVED, given)
    for one, found in zip(given, results, strict=True):
        expected = received(one["began"], one["items"])
        assert found[:2] == expected[:2], one
        assert dict(found[2]) == dict(expected[2]), one
    assert any(late for found in results for _, late in found[0]), "some are late"
