"""Runs `tools/bench mesh`."""

import sys
from collections.abc import Sequence

from mesh.cli import main as command_line
from tools.benchmarks.mesh.command import command


def main(arguments: Sequence[str]) -> int:
    """Run the benchmark with these arguments and return the exit code."""
    return command_line.main(arguments, command, "tools/bench mesh")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
