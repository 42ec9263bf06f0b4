"""The program of `tools/demo`."""

import sys

try:
    from tools.demo_parts.show import main

    sys.exit(main())
except KeyboardInterrupt:  # before anything was started
    sys.exit(130)
