"""Entry point for `python -m spark`, and for spark-submit, which runs it as a file without a module path."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
if __name__ == "__main__":
    # Otherwise `import lines` would find the module here, and `from spark.lines import` none.
    sys.path[:] = [str(HERE.parent), *(path for path in sys.path if Path(path or ".").resolve() != HERE)]
    from spark.cli import main

    sys.exit(main())
