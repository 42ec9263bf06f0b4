"""Log handler that never blocks: if the reader of the log stops, the node continues."""

import logging
import os
import select
import threading
from collections import deque

ROOM = select.PIPE_BUF  # bytes that a writable pipe accepts in one write
MOST = 1024 * 1024  # bytes that may wait
END = 1.0  # s to wait for the last lines
DROPPED = "%d lines of the log were lost, because its reader was too slow"

# Law: only the thread ever waits for the descriptor. Lines stay in order, and a line reports how many are
# missing.


class LogWriter(logging.Handler):
    """Writes lines to a file descriptor: directly while it is writable, else from a thread.

    At most MOST bytes wait; further lines are dropped and counted.
    """

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._changed = threading.Condition()
        self._waiting: deque[bytes] = deque()
        self._bytes = self._dropped = 0
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def emit(self, record: logging.LogRecord) -> None:
        line = self._line(record)
        with self._changed:
            if self._is_idle and len(line) <= ROOM and _has_room(self._descriptor, 0):
                _write(self._descriptor, line)
                return
            if self._bytes + len(line) > MOST:
                self._dropped += 1
                return
            self._append_line(line)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="mesh-log", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Wait at most END seconds for the remaining lines. The thread ends after the last one."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_idle, END)
            self._is_closed = True
            self._changed.notify_all()
        super().close()

    @property
    def _is_idle(self) -> bool:
        return not self._bytes

    def _append_line(self, line: bytes) -> None:
        self._waiting.append(line)
        self._bytes += len(line)
        self._changed.notify_all()

    def _line(self, record: logging.LogRecord) -> bytes:
        try:
            text = self.format(record)
        except Exception as error:  # wrong arguments must not lose the message
            text = self.format(_said(f"{record.msg} (cannot be formatted: {error!r})", record.levelno))
        return f"{text}\n".encode("utf-8", "backslashreplace")

    # --- in its thread --------------------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._waiting) or self._is_closed)
                if not self._waiting:
                    self._thread = None
                    return
                line = self._waiting.popleft()
            for place in range(0, len(line), ROOM):
                _has_room(self._descriptor, None)
                _write(self._descriptor, line[place : place + ROOM])
            with self._changed:
                self._bytes -= len(line)
                if self._dropped and not self._waiting:
                    count, self._dropped = self._dropped, 0
                    self._append_line(self._line(_said(DROPPED % count, logging.WARNING)))
                self._changed.notify_all()


def _said(text: str, level: int) -> logging.LogRecord:
    return logging.LogRecord("mesh.node", level, "", 0, text, None, None)


def _has_room(descriptor: int, timeout: float | None) -> bool:
    """Wait until the descriptor accepts ROOM bytes without blocking. Return False after `timeout` ms.

    `None` means no timeout. A closed pipe counts as writable.
    """
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    return bool(poll.poll(timeout))


def _write(descriptor: int, data: bytes) -> None:
    """Write all of `data`.

    Errors are ignored, as there is no place to report them.
    """
    try:
        while data:
            data = data[os.write(descriptor, data) :]
    except OSError:
        pass
