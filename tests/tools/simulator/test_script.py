"""The remaining steps of a script that ends early."""

from math import inf

import pytest

from tools.simulator.profiles import SHORT
from tools.simulator.script import within
from tools.simulator.writing import written


@pytest.mark.parametrize("seconds", [0.0, 10.0, inf])
def test_what_comes_after_its_end_is_left_out(seconds: float) -> None:
    script = written(0, SHORT)
    short = within(script, seconds)
    assert short.seconds == min(script.seconds, seconds)
    assert short.steps == tuple(step for step in script.steps if step.at < seconds)
    assert within(short, inf) == short
