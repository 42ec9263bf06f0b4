"""The network lab (namespaces) for tests. `require()` skips a test where no lab can be built."""

import pytest

from tools.lab_parts.netlab import NetLab, Refused, why_not

__all__ = ["NetLab", "Refused", "require"]


def require() -> None:
    """Skip the test, with the reason, if no lab can be built."""
    if why := why_not():
        pytest.skip(why)
