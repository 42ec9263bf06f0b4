"""A meter of instructions and calls, by function."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from types import CodeType, FrameType, FunctionType, MethodType
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
ROOT = Path(__file__).resolve().parents[2]
TOOL = 4  # sys.monitoring id unused by coverage and debuggers
# The tools are not measured, and the timers of an event loop depend on the clock.
LEFT_OUT = (str(ROOT / "tools"), str(Path(asyncio.__file__).parent))


@dataclass(slots=True)
class Spent:
    """The work of one function: bytecode instructions, times it was entered, calls of C code."""

    instructions: int = 0
    calls: int = 0
    c_calls: int = 0


@dataclass
class Bill:
    """The bill for some work, by function."""

    functions: dict[str, Spent] = field(default_factory=dict)

    def total(self) -> dict[str, int]:
        each = self.functions.values()
        return {
            "instructions": sum(spent.instructions for spent in each),
            "calls": sum(spent.calls for spent in each),
            "C calls": sum(spent.c_calls for spent in each),
        }


class Meter:
    """Counts everything that `run` runs, except our tools and the event loop."""

    def __init__(self) -> None:
        self._bill = Bill()
        self._known: dict[CodeType, Spent | None] = {}
        self._is_counting = False

    def take(self) -> Bill:
        """Return the bill since the last call."""
        bill, self._bill = self._bill, Bill()
        self._known.clear()
        return bill

    def metered(self, function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def counted(*args: P.args, **kwargs: P.kwargs) -> R:
            return self.run(function, *args, **kwargs)

        return counted

    def run(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        if self._is_counting:
            return function(*args, **kwargs)
        self._is_counting = True
        # From Python 3.12 on, a function that was traced before no longer reports its opcodes to `settrace`.
        stop = self._monitor() if sys.version_info >= (3, 12) else self._trace()
        try:
            return function(*args, **kwargs)
        finally:
            stop()
            self._is_counting = False

    def _trace(self) -> Callable[[], None]:
        """Begin to count with a trace function, and return the function that ends counting."""
        before = sys.gettrace(), sys.getprofile()

        def stop() -> None:
            sys.settrace(before[0])
            sys.setprofile(before[1])

        sys.setprofile(self._profile)
        sys.settrace(self._enter)
        return stop

    def _monitor(self) -> Callable[[], None]:
        """Begin to count with `sys.monitoring`, and return the function that ends counting."""
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined, unused-ignore]
        events = monitoring.events
        callbacks = {
            events.PY_START: self._count_call,
            events.PY_RESUME: self._count_call,
            events.INSTRUCTION: self._count_instruction,
            events.CALL: self._count_c_call,
        }

        def stop() -> None:
            monitoring.set_events(TOOL, 0)
            for event in callbacks:
                monitoring.register_callback(TOOL, event, None)
            monitoring.free_tool_id(TOOL)

        monitoring.use_tool_id(TOOL, "meter")
        for event, callback in callbacks.items():
            monitoring.register_callback(TOOL, event, callback)
        monitoring.set_events(TOOL, sum(callbacks))
        return stop

    def _count_call(self, code: CodeType, offset: int) -> None:
        if spent := self._spent(code):
            spent.calls += 1

    def _count_instruction(self, code: CodeType, offset: int) -> None:
        if spent := self._spent(code):
            spent.instructions += 1

    def _count_c_call(self, code: CodeType, offset: int, called: object, first: object) -> None:
        if not isinstance(called, FunctionType | MethodType) and (spent := self._spent(code)):
            spent.c_calls += 1

    def _spent(self, code: CodeType) -> Spent | None:
        if code not in self._known:
            is_ours = not code.co_filename.startswith(LEFT_OUT)
            self._known[code] = self._bill.functions.setdefault(_name(code), Spent()) if is_ours else None
        return self._known[code]

    def _enter(self, frame: FrameType, event: str, arg: Any) -> Any:
        spent = self._spent(frame.f_code)
        if spent is None:
            return None
        spent.calls += 1
        frame.f_trace_lines, frame.f_trace_opcodes = False, True

        def step(frame: FrameType, event: str, arg: Any) -> Any:
            if event == "opcode":
                spent.instructions += 1
            return step

        return step

    def _profile(self, frame: FrameType, event: str, arg: Any) -> None:
        if event == "c_call":
            spent = self._spent(frame.f_code)
            if spent is not None:
                spent.c_calls += 1


def _name(code: CodeType) -> str:
    """Return file and function, equal on every machine."""
    file = Path(code.co_filename)
    inside = file.relative_to(ROOT) if file.is_relative_to(ROOT) else Path(*file.parts[-2:])
    return f"{inside}:{code.co_qualname}"
