"""JavaScript programs that use the client of examples/node at real nodes."""

import json
import queue
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import zmq

from mesh.client.message import Message
from mesh.sync import Subscription
from mesh.wire import commands as c
from mesh.wire.envelope import Envelope
from mesh.wire.frames import read, write
from tests.mesh.running import LIMIT, RunningNode

ROOT = Path(__file__).parents[2]


EXAMPLE = ROOT / "examples" / "node"


OLDEST = 18  # major version of Node.js, as in package.json


# The beginning of each program: `say` writes a line of JSON, `told` reads a line.
PRELUDE = f"""
import {{ createInterface }} from 'node:readline';
import * as heronry from {json.dumps(str(EXAMPLE / "heronry.js"))};
const connect = (options) => heronry.connect({{ patience: {1000 * LIMIT:.0f}, ...options }});
const lines = createInterface({{ input: process.stdin }})[Symbol.asyncIterator]();
const told = async () => (await lines.next()).value;
const say = (value) => console.log(JSON.stringify(value));
const take = async (subscription, count) => {{
  const taken = [];
  while (taken.length < count) taken.push((await subscription.next()).value);
  return taken;
}};
"""


class Program:
    """A running JavaScript program that can connect to a node."""

    def __init__(self, text: str, environ: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            ["node", "--input-type=module", "-e", f"{PRELUDE}{text}\nprocess.stdin.destroy();"],
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._said: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._said.put(line)
        self._said.put("")

    def heard(self) -> Any:
        """Return the next value that the program writes."""
        line = self._said.get(timeout=2 * LIMIT)
        assert line, f"it ended with {self._process.wait(LIMIT)}: {self._errors()}"
        return json.loads(line)

    def tell(self, line: str = "") -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def end(self) -> None:
        """Wait until the program ends by itself. Its exit code must be 0."""
        code = self._process.wait(LIMIT)
        assert code == 0, self._errors()

    def _errors(self) -> str:
        assert self._process.stderr is not None
        return self._process.stderr.read()

    def let_go(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait(LIMIT)
        self._reader.join(LIMIT)
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert pipe is not None
            pipe.close()


@contextmanager
def program(text: str, node: RunningNode) -> Iterator[Program]:
    it = Program(text, node.environ)
    try:
        yield it
        it.end()
    finally:
        it.let_go()


def demo(node: RunningNode, *arguments: str, content: str = "") -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["node", str(EXAMPLE / "demo.js"), *arguments],
        input=content,
        env=node.environ,
        capture_output=True,
        text=True,
        timeout=2 * LIMIT,
    )


def taken(subscription: Subscription, count: int) -> list[Message]:
    messages: list[Message] = []
    while len(messages) < count:
        batch = subscription.next_batch(timeout=LIMIT)
        assert batch is not None
        messages += batch
    assert len(messages) == count
    return messages


class FakeNode:
    """A node that sends WELCOME with a given version of the wire, and then the frames of the test."""

    def __init__(
        self, path: Path, version: int = 2, name: str = "heron", speaks: tuple[str, ...] = ()
    ) -> None:
        self.address = f"ipc://{path}"
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.ROUTER)
        self._socket.linger = 0
        self._socket.bind(self.address)
        self.uuid = name[0].encode() * 16
        self.hello, _ = self.receive()
        welcome = c.Welcome(
            version,
            c.Introduction(self.uuid, name, 1, ""),
            "",
            session="/node/heron/client/joe/session/1",
            token=b"t",
            max_content=9,
            window=(2**20, 9),
            speaks=speaks,
        )
        self.say(*write(welcome))

    def say(self, *frames: bytes) -> None:
        self._socket.send_multipart([self._who, *frames])

    def receive(self) -> tuple[c.Command, list[Envelope]]:
        assert self._socket.poll(int(2000 * LIMIT)), "the client sends nothing"
        self._who, *frames = self._socket.recv_multipart()
        return read(frames)

    def until(self, last: c.Command) -> list[c.Command]:
        """Return the commands that arrive, up to `last`."""
        said: list[c.Command] = []
        while last not in said:
            said.append(self.receive()[0])
        return said

    def close(self) -> None:
        self._socket.close()
        self._context.term()


class Wire:
    """A Unix socket that forwards each connection to another socket until it is cut.

    New connections may be made after a cut.
    """

    def __init__(self, path: Path, target: str) -> None:
        self.address = f"ipc://{path}"
        self._target = target
        self._ends: list[socket.socket] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.socket(socket.AF_UNIX)
                far.connect(self._target)
                self._ends += [near, far]
                for pair in ((near, far), (far, near)):
                    self._threads.append(threading.Thread(target=self._pump, args=pair))
                    self._threads[-1].start()

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        self._hang_up(target)

    def cut(self) -> None:
        for end in self._ends:
            self._hang_up(end)

    def _hang_up(self, end: socket.socket) -> None:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._hang_up(self._listener)
        self.cut()
        for thread in self._threads:
            thread.join(LIMIT)
        for end in (self._listener, *self._ends):
            end.close()
