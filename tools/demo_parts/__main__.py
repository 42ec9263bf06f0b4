"""python -m tools.demo_parts: what `tools/demo` runs."""

import sys

try:
    from tools.demo_parts.show import main

    sys.exit(main())
except KeyboardInterrupt:  # so early that nothing was started
    sys.exit(130)
