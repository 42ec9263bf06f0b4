"""`mesh sub`: options are handed on, the exit code says why it ended, and a gap is reported."""

import pytest

from mesh.cli.main import main
from mesh.client.batch import Batch
from mesh.errors import MeshTimeout
from mesh.routing.overflow import Overflow
from mesh.wire.envelope import INITIAL
from tests.mesh.cli.fake import Given
from tests.mesh.envelopes import envelope

Capture = pytest.CaptureFixture[str]


class Subscription:
    """A subscription that has received these batches, after `dropped` messages."""

    def __init__(self, *batches: Batch, dropped: int = 0, unknown_gaps: int = 0) -> None:
        self.dropped, self.unknown_gaps = dropped, unknown_gaps
        self._batches = list(batches)

    def __enter__(self) -> "Subscription":
        return self

    def __exit__(self, *_: object) -> None:
        """Close nothing."""

    def next_batch(self, timeout: float | None) -> Batch:
        if not self._batches:
            raise MeshTimeout("none came.")
        return self._batches.pop(0)


def test_options_are_handed_on_and_no_more_than_the_count_is_printed(given: Given, capsys: Capture) -> None:
    fake = given(subscribe=Subscription(Batch(envelope("k k k", [b"1", b"2", b"3"]))))
    words = ["--domain", "D", "--no-initial", "--overflow", "drop_oldest", "--max-queue", "7", "--group", "g"]
    assert main(["sub", "a/#", "--count", "2", "--raw", *words]) == 0
    assert capsys.readouterr() == ("1\n2\n", "subscribed to a/#\n")
    [(_, _, asked)] = fake.asked
    how = {"initial": False, "overflow": Overflow.DROP_OLDEST, "max_queue": 7, "group": "g", "history": 1}
    assert asked == {"pattern": "a/#", "domain": "D", **how}


def test_a_history_is_asked_for_and_a_durable_subscription_has_none(given: Given, capsys: Capture) -> None:
    fake = given(subscribe=Subscription(Batch(envelope("k"))))
    assert main(["sub", "k", "--count", "1", "--history", "20"]) == 0
    assert fake.asked[0][2]["history"] == 20
    capsys.readouterr()
    assert main(["sub", "k", "--durable", "d", "--history", "2"]) == 2
    assert "--history and --overflow cannot be used with --durable" in capsys.readouterr().err
    assert main(["sub", "k", "--history", "0"]) == main(["sub", "k", "--history", "1001"]) == 2


def test_when_its_time_is_over_the_exit_code_is_124(given: Given, capsys: Capture) -> None:
    given(subscribe=Subscription())
    assert main(["sub", "k", "--wait", "0.2"]) == 124
    assert capsys.readouterr() == (
        "",
        "subscribed to k\nmesh: The time limit of 0.2 s has passed. [TIMEOUT]\n",
    )


def test_a_gap_is_reported_with_both_reasons(given: Given, capsys: Capture) -> None:
    given(subscribe=Subscription(Batch(envelope("k")), dropped=65, unknown_gaps=1))
    assert main(["sub", "k", "--count", "1"]) == 0
    said = capsys.readouterr().err
    assert "dropped 65 messages (65 in total): this client is too slow, or a link with another site" in said
    assert said.count("transient messages may be missing") == 1


def test_a_last_value_is_marked_and_raw_contents_are_not(given: Given, capsys: Capture) -> None:
    batches = Batch(envelope("k", [b"1"], flags=INITIAL)), Batch(envelope("k", [b"2"]))
    for options, out in (([], "k  1  (retained)\nk  2\n"), (["--raw"], "1\n2\n")):
        given(subscribe=Subscription(*batches))
        assert main(["sub", "k", "--count", "2", *options]) == 0
        assert capsys.readouterr().out == out
