"""Weights that are learned from a history."""

from datetime import timedelta

import pytest
from pyspark.sql import SparkSession

from mesh.history.views.answers import latencies
from mesh.history.views.capacity import idle
from mesh.history.weights import learn, measure
from tests.spark.views.histories import Row, balance, event, history, state, told
from tests.spark.writing import START

pytestmark = pytest.mark.spark

DAY = 86_400


def asked(
    observer: str, node: str, at: float, questions: int, answered: int, seconds: float, **more: object
) -> Row:
    return balance(observer, node, at, asked=questions, answered=answered, seconds=seconds, **more)


def started(observer: str, at: float = 0.0, boot: int = 1) -> Row:
    return event("started", observer, observer, at, observer_boot=boot)


def answered(session: SparkSession, rows: list[Row], half_life_s: float = DAY) -> Row:
    """Return the latencies that a history shows for egret."""
    whole = history(session, rows)
    return dict(told(latencies(whole, idle(whole), half_life_s), "node")["egret"])


def test_a_slow_node_weighs_less_and_a_new_one_as_much_as_any(session: SparkSession) -> None:
    rows = [state(node, 2 * at) for node in ("egret", "stork", "crane") for at in range(40)]
    rows += [state("new", 2 * at) for at in range(5)]
    for observer in ("heron", "ibis"):
        rows += [
            started(observer),
            asked(observer, "egret", 10, 500, 500, 0.5),
            asked(observer, "stork", 10, 500, 500, 1.5),
        ]
        rows += [asked(observer, "crane", 10, 500, 500, 0.5), asked(observer, "new", 10, 5, 5, 1.0)]
    found = {it.node: it for it in learn(history(session, rows))}
    assert {node: it.weight for node, it in found.items()} == {
        "egret": 1.0,
        "stork": 0.33,
        "crane": 1.0,
        "new": 1.0,
    }
    assert found["stork"].answers == 1000
    assert found["stork"].latency_ms == pytest.approx(3.0)
    assert found["stork"].reason == "answers in 3 ms, the typical node in 1 ms"
    assert found["new"].reason.endswith("10 answers of 100 and 5 states of 30")


def test_counters_that_begin_again_with_a_boot_and_a_lost_line_lose_no_answer(session: SparkSession) -> None:
    rows = [started("heron"), *(asked("heron", "egret", at, at, at, at / 100) for at in (10, 20, 40))]
    rows += [started("heron", 100, 2), asked("heron", "egret", 110, 7, 7, 0.07, observer_boot=2)]
    rows += [asked("ibis", "egret", at, 1000 + at, 1000 + at, 50 + at / 100) for at in (10, 20)]
    found = answered(session, rows)
    assert (found["answers"], found["unanswered"]) == (40 + 7 + 10, 0)
    assert found["latency_ms"] == pytest.approx(10)


def test_questions_without_an_answer_count_as_slow_but_not_those_under_way(session: SparkSession) -> None:
    rows = [
        started("heron"),
        asked("heron", "egret", 10, 100, 90, 0.09),
        asked("heron", "egret", 20, 250, 198, 0.198),
    ]
    rows += [asked("heron", "egret", 30, 300, 248, 0.248), asked("ibis", "egret", 10, 500, 0, 0.0)]
    found = answered(session, rows)
    # The line before the last asked 250; two of them have no answer.
    assert (found["answers"], found["unanswered"]) == (248, 2)
    assert found["latency_ms"] == pytest.approx(1000 * (0.248 + 2 * 2.0) / 250, rel=1e-3)


def test_a_late_answer_is_an_answer(session: SparkSession) -> None:
    rows = [
        started("heron"),
        *(asked("heron", "egret", at, 100, n, n) for at, n in ((10, 0), (20, 50), (30, 100))),
    ]
    found = answered(session, rows)
    assert (found["answers"], found["unanswered"], found["latency_ms"]) == (
        100,
        0,
        pytest.approx(1000, rel=1e-3),
    )


def test_one_half_life_later_counts_twice_as_much(session: SparkSession) -> None:
    rows = [
        started("heron", -DAY),
        asked("heron", "egret", -DAY, 100, 100, 1.0),
        asked("heron", "egret", 0, 200, 200, 1.4),
    ]
    found = answered(session, rows, DAY)
    assert found["latency_ms"] == pytest.approx((0.5 * 10 + 4) / 1.5)
    ages = [started("heron", -DAY), asked("heron", "egret", START - timedelta(days=9000), 100, 100, 1.0)]  # type: ignore[arg-type]
    assert answered(session, ages, 60.0)["latency_ms"] == pytest.approx(10)


def test_what_a_node_asks_itself_and_what_its_namesake_answered_do_not_count(session: SparkSession) -> None:
    rows = [
        state("egret", 0, uuid="1" * 32),
        state("egret", 50, uuid="2" * 32),
        started("egret"),
        started("heron"),
    ]
    rows += [asked("egret", "egret", 10, 900, 900, 0.0)]
    rows += [asked("heron", "egret", 10, 100, 100, 5.0, uuid="1" * 32)]
    rows += [
        asked("heron", "egret", 60, 200, 200, 6.0, uuid="2" * 32),
        asked("heron", "egret", 70, 300, 300, 7.0, uuid=""),
    ]
    [found] = measure(history(session, rows))
    assert found.answers == 200
    assert found.latency_ms == pytest.approx(10)


def test_an_empty_history_teaches_nothing(session: SparkSession) -> None:
    assert learn(history(session, [])) == []


def test_a_vague_capacity_is_none(session: SparkSession) -> None:
    sure = [state("sure", 10 * at, published=10 * at, load=0.01 * at) for at in range(40)]
    noise = [0.0, 0.2, 0.4, 0.1, 0.3]
    vague = [state("vague", 10 * at, published=at, load=0.01 * at + noise[at % 5]) for at in range(32)]
    found = {it.node: it for it in measure(history(session, sure + vague))}
    assert found["sure"].capacity == pytest.approx(1000)
    assert found["vague"].capacity is None
