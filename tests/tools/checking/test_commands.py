"""Commands end with the check, and so does what they started."""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.waiting import until
from tools.checking.commands import POLITE, Commands, remove_scratch

STUBBORN = """
import signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
child = subprocess.Popen(["sh", "-c", "echo; exec sleep 600"], start_new_session=True, stdout=subprocess.PIPE)
child.stdout.readline()
print("ready", flush=True)
time.sleep(600)
"""
LEAVES = """
import os, subprocess
words = ["sh", "-c", "echo; kill -STOP $$"]  # its line proves that its environment can be read
child = subprocess.Popen(words, start_new_session=True, stdout=subprocess.PIPE)
child.stdout.readline()
os._exit(0)
"""


@pytest.fixture
def commands() -> Iterator[Commands]:
    with Commands() as commands:
        yield commands


def test_the_output_of_a_command_is_kept_until_it_is_asked_for(commands: Commands) -> None:
    command = commands.start([sys.executable, "-c", "import os; print(os.environ['A']); exit(3)"], A="word")
    assert (command.wait(), command.output()) == (3, "word\n")


def test_a_stop_ends_commands_that_ignore_it_and_their_children_of_another_session(
    commands: Commands,
) -> None:
    command = commands.start([sys.executable, "-c", STUBBORN])
    until(lambda: "ready" in command.output())
    begin = time.monotonic()
    commands.stop()
    assert time.monotonic() - begin >= POLITE
    assert commands.end_remaining() == []


def test_what_a_command_leaves_running_is_named_and_ended(commands: Commands) -> None:
    assert commands.start([sys.executable, "-W", "ignore", "-c", LEAVES]).wait() == 0
    assert commands.end_remaining() == ["sh -c echo; kill -STOP $$"]
    assert commands.end_remaining() == []


def test_the_scratch_directory_of_a_killed_run_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commands: Commands
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    ended = commands.start([sys.executable, "-c", "import os; print(os.getpid())"])
    ended.wait()
    for name, owner in (("h-dead", ended.output()), ("h-alive", str(os.getpid())), ("h-other", "no pid")):
        (tmp_path / name).mkdir()
        (tmp_path / name / ".pid").write_text(owner)
    remove_scratch()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["h-alive", "h-other"]
