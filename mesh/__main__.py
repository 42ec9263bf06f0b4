"""Runs the `mesh` command as `python -m mesh`."""

import sys

from mesh.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
