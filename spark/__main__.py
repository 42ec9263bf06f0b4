"""Run as `python -m spark`, or as a file by spark-submit: then its folder is not where modules are found."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
if __name__ == "__main__":
    # Else `import lines` would find ours, and `from spark.lines import` nothing.
    sys.path[:] = [str(HERE.parent), *(path for path in sys.path if Path(path or ".").resolve() != HERE)]
    from spark.cli import main

    sys.exit(main())
