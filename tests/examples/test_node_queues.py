"""The client in examples/node consumes from queues, also when it moves to another node."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

import mesh.sync
from mesh.errors import LeaseOver
from tests.examples.nodejs import program
from tests.mesh.running import LIMIT, RunningNode, until
from tests.mesh.scenarios.flock import Flock, flock_in

pytestmark = pytest.mark.slow


@pytest.fixture
def flock(tmp_path: Path) -> Iterator[Flock]:
    with flock_in(tmp_path) as nodes:
        yield nodes


def test_jobs_are_put_consumed_and_settled(node: RunningNode, m: mesh.sync.Client) -> None:
    text = """
        const mesh = await connect({ name: 'joe' });
        await mesh.consume('none').catch((error) => say(error.code));
        await mesh.put('none', 'x').catch((error) => say(error.code));
        const jobs = await mesh.consume('jobs', { prefetch: 3 });
        const terms = { headers: { a: 'b' }, priority: 9, group: 'g' };
        say((await mesh.put('jobs', 'from-js', terms)).state);
        for await (const job of jobs) {
          const { key, text, attempt, redelivered } = job;
          say([key, text, job.header('a') ?? '', attempt, redelivered]);
          if (text === 'again' && !redelivered) await job.nack();
          else if (text === 'dead') await job.reject('no such invoice');
          else await job.ack();
          if (text === 'last') break;
        }
        await told();
        await mesh.close();
    """
    q = m.queue("jobs")
    q.declare()
    with program(text, node) as js:
        assert [js.heard(), js.heard(), js.heard()] == ["NO_QUEUE", "NO_QUEUE", "OK"]
        assert js.heard() == ["", "from-js", "b", 1, False]
        q.put("again", key="k")
        assert [js.heard(), js.heard()] == [["k", "again", "", 1, False], ["k", "again", "", 2, True]]
        q.put_many(["dead", "last", "left"])
        assert [js.heard()[1], js.heard()[1]] == ["dead", "last"]
        left = q.get(timeout=LIMIT)
        assert left is not None and left.content == b"left"
        js.tell()
    assert [letter.key for letter in m.get(pattern="__sys__deadMessage/#")] != []


def test_a_job_is_settled_once_and_by_its_consumer(node: RunningNode, m: mesh.sync.Client) -> None:
    text = """
        const mesh = await connect();
        const jobs = await mesh.consume('once');
        const [one, two] = await take(jobs, 2);
        await one.ack();
        await one.ack().catch((error) => say(error.code));
        await jobs.close();
        await two.ack().catch((error) => say(error.code));
        await mesh.close();
    """
    q = m.queue("once")
    q.declare()
    q.put_many(["1", "2"])
    with program(text, node) as js:
        assert [js.heard(), js.heard()] == ["SETTLED", LeaseOver.code]
        job = q.get(timeout=LIMIT)
        assert job is not None and (job.content, job.redelivered) == (b"2", True)


def test_jobs_of_a_killed_node_stay_the_consumers_at_another_node(flock: Flock) -> None:
    heron, *_ = flock
    text = """
        const mesh = await connect({ node: ['heron', 'stork'], name: 'joe' });
        mesh.on('session_moved', ({ to }) => say(to));
        const jobs = await mesh.consume('jobs', { prefetch: 5 });
        for (let n = 0; n < 5; n++) await mesh.put('jobs', String(n));
        const held = await take(jobs, 2);
        say('holds');
        await told();
        const acks = [held[0].ack()];
        setTimeout(() => say('acks'), 100);
        await told();
        acks.push(held[1].ack());
        say('acks');
        await Promise.all(acks);
        const rest = await take(jobs, 3);
        say(rest.map(({ text, redelivered }) => [text, redelivered]));
        await Promise.all(rest.map((job) => job.ack()));
        await mesh.close();
    """
    with mesh.sync.connect("heron", environ=heron.environ) as boss:
        q = boss.queue("jobs")
        q.declare()
        with program(text, heron) as js:
            assert js.heard() == "holds"
            heron.pause()
            js.tell()
            assert js.heard() == "acks", "without an answer"
            heron.kill()
            assert js.heard() == "stork"
            js.tell()
            assert js.heard() == "acks"
            heron.start()
            with boss.queue("jobs").consume() as others:
                assert js.heard() == [["2", False], ["3", False], ["4", False]]
                until(lambda: (info := q.info()).ready + info.out == 0)
                q.put("5")
                assert next(others).content == b"5", "nothing else went to another consumer"


def test_a_put_without_an_answer_is_redelivered_at_the_next_node(flock: Flock) -> None:
    heron, stork, _ = flock
    text = """
        const mesh = await connect({ node: ['heron', 'stork'], name: 'joe' });
        await mesh.put('jobs', 'answered');
        say('ready');
        await told();
        const putting = mesh.put('jobs', 'unanswered');
        setTimeout(() => say('put'), 100);
        say((await putting).state);
        say((await mesh.put('jobs', 'later')).state);
        await mesh.close();
    """
    with mesh.sync.connect("stork", environ=stork.environ) as m:
        q = m.queue("jobs")
        q.declare()
        with program(text, heron) as js:
            assert js.heard() == "ready"
            heron.pause()
            js.tell()
            assert js.heard() == "put"
            heron.kill()
            assert [js.heard(), js.heard()] == ["OK", "OK"]
        with q.consume() as jobs:
            found = {job.value: job.redelivered for job in islice(jobs, 2)}
        assert found == {"unanswered": True, "later": False}
