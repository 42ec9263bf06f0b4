"""Entry point for `python -m mesh.history`, and for spark-submit, which runs it as a file."""

import sys
from pathlib import Path

HERE = Path(__file__).absolute().parent
ROOT = HERE.parents[1] if HERE.name == "history" else HERE.parent  # of an installation, or of the repository
if __name__ == "__main__":
    # spark-submit puts this folder on the path, where its modules could hide others of the same name.
    others = (path for path in sys.path if Path(path or ".").resolve() != HERE.resolve())
    sys.path[:] = [str(ROOT), *others]
    from mesh.history.cli import main

    sys.exit(main())
