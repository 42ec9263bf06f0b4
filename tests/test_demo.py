"""The demo: its reports are true, and it removes its processes and files."""

import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.mesh.running import until
from tools.demo_parts.compare import difference
from tools.demo_parts.growing import Lines, lose_a_line
from tools.demo_parts.history import Stopped, differences, unseen
from tools.demo_parts.text import MOST_LINES, UnfitText, default_text, lines_of

DEMO = Path(__file__).parents[1] / "tools" / "demo"
LIMIT = 300.0  # s; a busy machine is slow, not wrong


@pytest.fixture
def place() -> Iterator[Path]:
    """Return the directory for temporary files of the demo: its path is short, and it is empty in the end."""
    path = Path(tempfile.mkdtemp(prefix="demo-", dir="/tmp"))
    yield path
    path.rmdir()


class Demo:
    """A running demo in a session of its own, as in a terminal, so that Ctrl-C reaches all its processes."""

    def __init__(self, place: Path, output: Path, *arguments: str) -> None:
        self._out, self._err = output / "out", output / "err"
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                [DEMO, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env={**os.environ, "TMPDIR": str(place)},
                cwd=output,
                start_new_session=True,
            )

    @property
    def out(self) -> str:
        return self._out.read_text()

    @property
    def err(self) -> str:
        return self._err.read_text()

    def ctrl_c(self) -> None:
        os.killpg(self.process.pid, signal.SIGINT)

    def wait(self) -> int:
        return self.process.wait(LIMIT)

    def __enter__(self) -> "Demo":
        return self

    def __exit__(self, *error: object) -> None:
        if self.process.poll() is None:  # the test failed
            self.ctrl_c()
            self.wait()


def processes_of(place: Path) -> list[psutil.Process]:
    """Return the processes that the demo started: each has its directory in the environment."""
    found = []
    for process in psutil.process_iter():
        try:
            if any(value.startswith(str(place)) for value in process.environ().values()):
                found.append(process)
        except psutil.Error:
            pass  # ended meanwhile, or of another user
    return found


@pytest.mark.slow
@pytest.mark.spark
def test_every_line_and_letter_arrives_though_the_way_is_killed(place: Path, tmp_path: Path) -> None:
    with Demo(place, tmp_path, "--seconds", "6") as demo:
        assert (demo.wait(), demo.err) == (0, ""), demo.out
        ways = dict(re.findall(r"^  (\w+) [ *] *127\.0\.0\.1:\d+ +(\w+) ", demo.out, re.MULTILINE))
        assert ways == {"heron": "self", "avalon": "mdns", "frodo": "mdns", "bilbo": "mdns"}
        assert "as bilbo sees it: 4 alive" in demo.out
        assert re.search(r"^  .* (joined|restarted) +frodo .*boot 2", demo.out, re.MULTILINE), demo.out
        assert re.search(r"kill -9 frodo.*FORWARD_WARNING:\n +waits at bilbo for frodo", demo.out), demo.out
        numbers = re.search(
            r"(\S+) lines to three subscribers, (\S+) letters to one reader, frodo killed (once|\d+ times)\."
            r".*?(\S+) messages were answered FORWARD_WARNING",
            demo.out,
            re.DOTALL,
        )
        assert numbers is not None, demo.out
        lines, letters, warnings = (int(numbers[n].replace(",", "")) for n in (1, 2, 4))
        kills = 1 if numbers[3] == "once" else int(numbers[3].split()[0])
        assert lines > letters > lines // 60 and kills > 0 and warnings >= kills
        assert demo.out.index("Everything that was published arrived") < demo.out.index(
            "$ mesh report --html"
        )
        assert "rows of all 4 nodes" in demo.out
        assert re.search(r"^ +bilbo +boot 1: [\d,]{4,} messages forwarded", demo.out, re.MULTILINE), demo.out
        report = tmp_path / "demo-report.html"
        assert str(report) in demo.out
        assert all(name in report.read_text() for name in ("heron", "avalon", "frodo", "bilbo"))
        assert processes_of(place) == []


@pytest.mark.slow
def test_without_a_report_it_ends_with_the_mesh_and_leaves_nothing(place: Path, tmp_path: Path) -> None:
    with Demo(place, tmp_path, "--seconds", "4", "--no-report") as demo:
        assert (demo.wait(), demo.err) == (0, ""), demo.out
        assert "Everything that was published arrived" in demo.out and "Nothing stays behind." in demo.out
        assert "mesh report" not in demo.out and not (tmp_path / "demo-report.html").exists()
        assert processes_of(place) == []


@pytest.mark.slow
def test_one_lost_line_is_noticed_and_named(place: Path, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_bytes(b"one\ntwo\nthree\nfour\nfive")
    with Demo(place, tmp_path, "--seconds", "6", "--lose", "1", "--file", str(text)) as demo:
        assert demo.wait() == 1
        assert "bilbo: line 3 differs: published 'three'" in demo.err
        assert "Everything" not in demo.out
        assert processes_of(place) == []


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["heron   tcp://", "(round 2)"])
def test_ctrl_c_leaves_no_process_and_no_file(place: Path, tmp_path: Path, moment: str) -> None:
    with Demo(place, tmp_path) as demo:
        until(lambda: moment in demo.out or demo.process.poll() is not None, LIMIT)
        demo.ctrl_c()
        if moment == "(round 2)":  # the second Ctrl-C skips the report
            until(lambda: "Ctrl-C once more" in demo.out or demo.process.poll() is not None, LIMIT)
            assert demo.process.poll() is None, demo.out + demo.err
            demo.ctrl_c()
        assert (demo.wait(), demo.err) == (130, "")
        assert "Ended early. Nothing stays behind." in demo.out
        assert not (tmp_path / "demo-report.html").exists()
        assert processes_of(place) == []
        # The fixture `place` fails if a file is left.


def test_a_text_that_is_not_there_is_an_error_of_one_line(place: Path, tmp_path: Path) -> None:
    with Demo(place, tmp_path, "--file", "no-such-file") as demo:
        assert demo.wait() == 2
        assert demo.err.count("\n") == 1 and "No such file" in demo.err


@pytest.mark.parametrize(
    ("arrived", "what"),
    [
        (b"one\n\ntwo\n", ""),
        (b"one\ntwo\n", "line 2 differs: published '' (SHA-256 e3b0c44298fc), arrived 'two'"),
        (b"one\n\n", "line 3 never arrived: 'two'"),
        (b"one\n\ntwo\ntwo\n", "line 4 was never published: 'two'"),
        (b"one\n\ntwO\n", "line 3 differs: published 'two'"),
        (b"", "line 1 never arrived: 'one'"),
    ],
)
def test_the_first_line_that_differs_is_named(tmp_path: Path, arrived: bytes, what: str) -> None:
    (tmp_path / "published").write_bytes(b"one\n\ntwo\nof no interest\n")
    (tmp_path / "arrived").write_bytes(arrived)
    said = difference(tmp_path / "published", 3, tmp_path / "arrived")
    assert said.startswith(what) and bool(said) == bool(what)


def test_what_was_not_published_is_not_taken_for_equal(tmp_path: Path) -> None:
    for name in ("published", "arrived"):
        (tmp_path / name).write_bytes(b"one\n")
    assert "only 1 of 2" in difference(tmp_path / "published", 2, tmp_path / "arrived")


@pytest.mark.parametrize(
    ("arrived", "what"),
    [
        (b"1\n3\n5\n", ""),
        (b"1\n3\n", "letter 3 never arrived: '5'"),
        (b"1\n2\n5\n", "letter 2 differs: published '3'"),
        (b"1\n3\n5\n5\n", "letter 4 was never published: '5'"),
    ],
)
def test_of_what_travels_as_a_letter_each_is_compared(tmp_path: Path, arrived: bytes, what: str) -> None:
    (tmp_path / "published").write_bytes(b"1\n2\n3\n4\n5\n6\n7\n")
    (tmp_path / "arrived").write_bytes(arrived)
    said = difference(tmp_path / "published", 6, tmp_path / "arrived", every=2)
    assert said.startswith(what) and bool(said) == bool(what)


def test_a_growing_file_is_counted_by_its_whole_lines(tmp_path: Path) -> None:
    lines = Lines(tmp_path / "growing")
    assert lines.look() == 0
    lines.path.write_bytes(b"one\ntwo\nthr")
    assert (lines.look(), lines.last()) == (2, "two")
    with lines.path.open("ab") as file:
        file.write(b"ee\n")
    assert (lines.look(), lines.last()) == (3, "three")


def test_losing_takes_exactly_one_line_away(tmp_path: Path) -> None:
    path = tmp_path / "arrived"
    path.write_bytes(b"one\ntwo\r2\nthree\n")
    lose_a_line(path)
    assert path.read_bytes() == b"one\nthree\n"


def test_a_text_lies_on_every_machine() -> None:
    assert len(lines_of(default_text())) > 100


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"a\nb\n", [b"a", b"b"]),
        (b"a\n\nb", [b"a", b"", b"b"]),
        (b"\n", [b""]),
        (b"a\r\nb\x0cc\n", [b"a\r", b"b\x0cc"]),
    ],
)
def test_lines_end_where_a_newline_stands_and_nowhere_else(
    tmp_path: Path, content: bytes, lines: list[bytes]
) -> None:
    (tmp_path / "text").write_bytes(content)
    assert lines_of(tmp_path / "text") == lines


def test_of_a_long_text_the_beginning_is_taken(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"%d\n" % 7 * (MOST_LINES + 5))
    assert len(lines_of(tmp_path / "text")) == MOST_LINES


@pytest.mark.parametrize("content", [b"", b"x" * (1 << 20) + b"x"])
def test_a_text_without_fit_lines_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "text").write_bytes(content)
    with pytest.raises(UnfitText, match="--file"):
        lines_of(tmp_path / "text")


COUNTED = {"forwarded": 12, "balance_chosen": 0, "balance_asked": 2, "balance_answered": 2}
ROW = {
    "observer": "bilbo",
    "observer_boot": 2,
    "node": "frodo",
    "sent": 12,
    "chosen": 0,
    "asked": 2,
    "answered": 2,
    "clean": True,
}
STOPPED = Stopped("bilbo", 2, COUNTED)


def test_the_same_counts_are_no_difference_whatever_other_boots_counted() -> None:
    rows = [
        ROW,
        {**ROW, "observer_boot": 1, "sent": 99, "clean": False},
        {**ROW, "observer": "heron", "sent": 3},
    ]
    assert differences({"counters": rows}, [STOPPED]) == []


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{**ROW, "sent": 11}], "bilbo, boot 2: forwarded 12, in the report 11"),
        ([ROW, {**ROW, "node": "heron", "answered": 1}], "bilbo, boot 2: forwarded 12, in the report 24"),
        ([], "bilbo, boot 2: forwarded 12, in the report 0"),
        ([{**ROW, "clean": False}], "bilbo, boot 2: it stopped cleanly, and the report does not know it"),
    ],
)
def test_a_report_that_counts_otherwise_is_noticed(rows: list[dict[str, object]], said: str) -> None:
    assert differences({"counters": rows}, [STOPPED])[0] == said


def test_a_node_without_a_state_of_its_own_is_noticed() -> None:
    facts = {"nodes": [{"name": "bilbo", "states": 3}, {"name": "frodo", "states": 0}]}
    assert unseen(facts, ["bilbo", "frodo", "heron"]) == ["no state of frodo", "no state of heron"]
