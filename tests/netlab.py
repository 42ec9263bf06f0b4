"""The lab of network namespaces, for tests: `require()` skips where none can be built."""

import pytest

from tools.lab_parts.netlab import NetLab, Refused, why_not

__all__ = ["NetLab", "Refused", "require"]


def require() -> None:
    """Skip the test, and say why, where no lab can be built."""
    if why := why_not():
        pytest.skip(why)
