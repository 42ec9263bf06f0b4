"""The connection to the switch process: starts it, and sends its rules."""

import json
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

SWITCH = Path(__file__).with_name("switch.py")
LIMIT = 10.0  # s until the switch is ready or ends


class Patchbay:
    """The switch between the ports."""

    def __init__(self, ports: Sequence[str]) -> None:
        self._ports = ports
        self._process: subprocess.Popen[str] | None = None
        self._place: Path | None = None
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)

    def start(self, inside: Sequence[str]) -> None:
        """Start the switch process, and connect to it.

        `inside` is the prefix of commands in the namespace of the ports.
        """
        self._place = Path(tempfile.mkdtemp(prefix="mesh-lab-", dir="/tmp"))
        log = self._place / "log"
        with log.open("w") as errors:  # not our stderr, whose reader would wait
            self._process = subprocess.Popen(
                [*inside, sys.executable, str(SWITCH), str(self._place / "rules"), *self._ports],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )
        assert self._process.stdout is not None
        if self._process.stdout.readline() != "ready\n":
            raise RuntimeError(f"the switch did not start: {log.read_text()}")
        self.connect(self.rules)

    @property
    def rules(self) -> Path:
        assert self._place is not None
        return self._place / "rules"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def connect(self, rules: Path) -> None:
        # The answers need a file, as abstract names are visible in one network namespace only.
        self._socket.bind(str(rules.with_name(f"answers-{secrets.token_hex(4)}")))
        self._socket.settimeout(LIMIT)
        self._socket.connect(str(rules))

    def rule(self, one: str, other: str, rule: Mapping[str, object]) -> None:
        """Set the rule for frames from one port to another, and return when it is in effect."""
        self._say({"from": one, "to": other, **rule})

    def split(self, groups: Sequence[Sequence[str]]) -> None:
        """Let only ports of the same group reach each other; ports without a group form one more."""
        group_of = {port: number for number, group in enumerate(groups) for port in group}
        for one in self._ports:
            for other in self._ports:
                if one != other:
                    self.rule(one, other, {"cut": group_of.get(one) != group_of.get(other)})

    def mend(self) -> None:
        self._say({})

    def _say(self, rule: Mapping[str, object]) -> None:
        self._socket.send(json.dumps(rule).encode())
        self._socket.recv(16)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(LIMIT)
            assert self._process.stdout is not None
            self._process.stdout.close()
        self._socket.close()
        if self._place is not None:
            shutil.rmtree(self._place)


def without_offload(interface: str) -> list[str]:
    """Return the command that makes a host send complete packets with checksums.

    Usually the network card completes them, but here there is none.
    """
    return [sys.executable, str(SWITCH), "--no-offload", interface]
