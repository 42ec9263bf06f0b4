"""`python -m mesh`: the command line."""

import sys

from mesh.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
