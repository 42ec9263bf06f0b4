"""Nodes of three releases in one mesh, and stores that earlier releases wrote.

tests/releases has two of them: wire1.zip speaks version 1 of the wire, and wire2.zip is the last one before
features became packages.
"""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import permutations
from pathlib import Path

import pytest

import mesh.sync
from mesh.client.message import Message
from mesh.errors import NotAvailable, PublishRefused
from mesh.sync import Client
from tests.mesh.running import LIMIT, RunningNode, running, until
from tests.mesh.scenarios.test_mixed_releases import taken

pytestmark = pytest.mark.slow
RELEASES = Path(__file__).parents[2] / "releases"
INSIDE = {
    "heron": ("env", f"PYTHONPATH={RELEASES / 'wire1.zip'}"),
    "frodo": ("env", f"PYTHONPATH={RELEASES / 'wire2.zip'}"),
    "bilbo": (),
}
RULES = "".join(
    f'[nodes.{name}]\n[[nodes.{name}.master]]\ndomains = ["{domain}"]\n'
    for name, domain in (("heron", "BIRDS"), ("frodo", "NEWS"), ("bilbo", "SPORT"))
)
DOMAINS = ("BIRDS", "NEWS", "SPORT", "")
Nodes = dict[str, RunningNode]


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    config = tmp_path_factory.mktemp("three") / "mesh.toml"
    config.write_text(RULES)
    options = ("--config", str(config))
    with running("heron", options=options, inside=INSIDE["heron"]) as heron:
        with running("frodo", beside=heron, options=options, inside=INSIDE["frodo"]) as frodo:
            with running("bilbo", beside=heron, options=options) as bilbo:
                found = {"heron": heron, "frodo": frodo, "bilbo": bilbo}
                with client(bilbo) as m:
                    until(lambda: sum(node.state == "alive" for node in m.nodes()) == 3)
                yield found


def client(node: RunningNode, name: str | None = None, session: int | None = None) -> Client:
    return mesh.sync.connect(node.name, client=name, session=session, environ=node.environ, timeout=LIMIT)


@pytest.mark.parametrize(("here", "there"), list(permutations(INSIDE, 2)))
def test_messages_of_each_reach_each_in_order_whoever_is_master(nodes: Nodes, here: str, there: str) -> None:
    with client(nodes[there]) as reader, client(nodes[here]) as publisher:
        for domain in DOMAINS:
            key = f"order/{here}/{there}/{domain}"
            with reader.subscribe(key, domain=domain) as subscription:
                for number in range(300):
                    publisher.post(key, str(number), domain=domain, persistent=number % 2 == 0)
                publisher.flush()
                assert [int(m.content) for m in taken(subscription, 300)] == list(range(300))
            publisher.publish(f"{key}/last", "1", domain=domain, persistent=True)
            assert [m.content for m in reader.get(f"{key}/last", domain=domain, fresh=True)] == [b"1"]
            assert publisher.erase(f"{key}/last", domain=domain or None) == [f"{key}/last"]


@pytest.mark.parametrize(("here", "there"), list(permutations(("frodo", "bilbo"))))
def test_queues_and_services_work_between_the_releases_that_have_them(
    nodes: Nodes, here: str, there: str
) -> None:
    with client(nodes[here]) as m, client(nodes[there]) as other:
        jobs = m.queue(f"jobs-{here}")
        jobs.declare()
        jobs.put_many([str(n) for n in range(50)])
        with other.queue(f"jobs-{here}").consume() as consumer:
            done = []
            for delivery in consumer:
                done.append(int(delivery.content))
                delivery.ack()
                if len(done) == 50:
                    break
        assert done == list(range(50))
        with other.serve(f"double/{there}") as service, ThreadPoolExecutor(1) as pool:
            reply: Future[Message] = pool.submit(m.request, f"double/{there}", "21", timeout=LIMIT)
            request = next(iter(service))
            request.reply(str(2 * int(request.content)))
            assert reply.result().content == b"42"


@pytest.mark.parametrize("killed", INSIDE)
def test_after_kill_9_of_each_nothing_is_lost_or_doubled(nodes: Nodes, killed: str) -> None:
    here, there = (name for name in INSIDE if name != killed)
    with client(nodes[there]) as reader, client(nodes[here]) as publisher:
        for domain in DOMAINS[:3]:
            key = f"killed/{killed}/{domain}"
            with reader.subscribe(key, domain=domain) as subscription:
                for number in range(200):
                    publisher.post(key, str(number), domain=domain, persistent=True)
                    if number == 100:
                        nodes[killed].kill()
                        nodes[killed].start()
                publisher.flush()
                until(lambda: publisher.waiting()[0] == 0)
                assert [int(m.content) for m in taken(subscription, 200)] == list(range(200))


@pytest.mark.parametrize("name", ["heron", "frodo"])
def test_this_release_reads_what_an_earlier_one_stored(name: str) -> None:
    with running(name, inside=INSIDE[name]) as node:
        with client(node) as m:
            m.publish("kept/x", "value", persistent=True)
            m.send(f"/node/{name}/client/late/session/1", "waits", force_queuing=True, persistent=True)
            if name == "frodo":
                jobs = m.queue("jobs")
                jobs.declare(max_attempts=3)
                jobs.put_many([str(n) for n in range(20)])
        node.kill()
        node._inside = ()  # the upgrade
        node.start()
        with client(node, "late", 1) as late, late.inbox() as inbox:
            assert [m.content for m in taken(inbox, 1)] == [b"waits"]
            assert [m.content for m in late.get("kept/x")] == [b"value"]
            if name == "frodo":
                delivered = [late.queue("jobs").get(timeout=LIMIT) for _ in range(20)]
                assert [delivery and int(delivery.content) for delivery in delivered] == list(range(20))


def test_what_is_new_in_direct_messages_is_refused_by_name_at_an_earlier_release(nodes: Nodes) -> None:
    with client(nodes["bilbo"]) as m, client(nodes["frodo"], "joe", 1) as joe, joe.inbox() as inbox:
        assert m.send("/node/frodo/client/joe/1", b"short names work with every release").matched == 1
        with pytest.raises(PublishRefused, match="Node frodo runs an earlier release") as refused:
            m.send("/node/frodo/client/joe", b"for one", delivery="one")
        assert refused.value.code == "NOT_AVAILABLE"
        found = m.send(["xpath://client[@name='joe']"], b"all")
        assert {each.destination for each in found} == {"/node/heron", "/node/frodo"}
        assert {each.error.code for each in found if each.error} == {"NODE_AWAY"}
        with pytest.raises(NotAvailable, match="earlier release"):
            joe.send("/node/bilbo/client/ann", b"for one", delivery="one")
        assert next(iter(inbox)).content == b"short names work with every release"
