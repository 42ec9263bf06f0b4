"""Queues of one node: puts, peeks, removal, and the state after a restart."""

from tests.mesh.features.queues.node.worker import Worker, a_node


def test_a_put_that_comes_twice_is_there_once_and_without_a_queue_there_is_none() -> None:
    net, a = a_node()
    boss = Worker(a, "boss")
    boss.declare("jobs")
    boss.put("jobs", b"1")
    net.until(lambda: boss.state_of("jobs", 1) == "OK")
    boss.vanish()
    boss.connect()
    boss.put("jobs", b"1", first=1)
    net.until(lambda: [x.state for x in boss.answers] == ["OK", "OK"])
    assert boss.info("jobs")["ready"] == 1
    boss.put("jobz", b"1")
    net.until(lambda: boss.state_of("jobz", 1))
    assert boss.answers[-1].state == "NO_QUEUE"
    assert "jobs" in boss.answers[-1].text


def test_what_is_transient_is_gone_after_a_crash_and_what_is_persistent_is_not() -> None:
    net, a = a_node()
    boss = Worker(a, "boss")
    boss.declare("jobs")
    boss.put("jobs", b"kept")
    boss.put("jobs", b"lost", flags=0)
    net.until(lambda: boss.state_of("jobs", 2) == "OK")
    assert boss.info("jobs")["ready"] == 2
    a.kill()
    a.restart()
    boss = Worker(a, "other")
    assert boss.info("jobs")["ready"] == 1


def test_a_removed_queue_ends_its_consumers_and_is_gone_after_a_restart_too() -> None:
    net, a = a_node()
    boss, joe = Worker(a, "boss"), Worker(a, "joe")
    boss.declare("jobs")
    boss.put("jobs", b"1", b"2")
    joe.take("jobs", credit=1)
    net.until(lambda: joe.contents())
    assert boss.ask("queue_remove", name="jobs").code == "QUEUE_IN_USE"
    assert boss.ok(boss.ask("queue_remove", name="jobs", if_unused=False)) == {"removed": 2}
    net.until(lambda: any(getattr(x, "code", "") == "NO_QUEUE" for x in joe.heard))
    net.until(lambda: a.core.parts.router.shelf.live == 0)
    assert boss.ask("queue_info", name="jobs").code == "NO_QUEUE"
    a.kill()
    a.restart()
    again = Worker(a, "again")
    assert again.ask("queue_info", name="jobs").code == "NO_QUEUE"
    again.declare("jobs")
    assert again.info("jobs")["ready"] == 0


def test_a_peek_shows_what_comes_next_and_takes_nothing() -> None:
    net, a = a_node()
    boss = Worker(a, "boss")
    boss.declare("jobs")
    boss.put("jobs", b"1", b"2", b"3")
    boss.put("jobs", b"first", put=(9, 0, ""))
    net.until(lambda: boss.state_of("jobs", 4) == "OK")
    reply = boss.ask("queue_peek", name="jobs", count=3)
    assert reply.value == {"tries": [0, 0, 0], "more": False, "missing": []}
    assert boss.info("jobs")["ready"] == 4
    assert boss.ok(boss.ask("queue_purge", name="jobs")) == {"purged": 4, "missing": [], "away": []}
    net.until(lambda: a.core.parts.router.shelf.live == 0)


def test_a_peek_at_many_that_were_put_one_by_one_has_several_replies() -> None:
    net, a = a_node()
    boss = Worker(a, "boss")
    boss.declare("jobs")
    for n in range(120):
        boss.put("jobs", b"%d" % n)
    net.until(lambda: boss.state_of("jobs", 120) == "OK")
    first = boss.ask("queue_peek", name="jobs", count=100)
    assert first.value == {"tries": [0] * 60, "more": True, "missing": []}
    net.until(lambda: boss.said(first.request) != first)
    assert boss.said(first.request).value == {"tries": [0] * 40, "more": False, "missing": []}  # type: ignore[union-attr]
