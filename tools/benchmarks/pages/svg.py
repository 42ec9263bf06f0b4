"""SVG charts: bars or lines with labels beside them, below one sentence; light and dark."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

from tools.benchmarks.pages.growth_rows import scaled

WIDE, LEFT, RIGHT, TOP = 760, 150, 190, 64  # pixels; labels are left or right of these
BAR, HIGH = 26, 250  # of a bar, of all lines
NAMES = 240  # right of lines
STYLE = """
    .paper { fill: #ffffff; stroke: #d0d7de; } .text { fill: #1f2328; } .faint { fill: #59636e; }
    .grid { stroke: #e4e8ea; } .ours { fill: #bc4c00; } .theirs { fill: #8c959f; }
    .c1 { fill: #0072b2; stroke: #0072b2; } .c2 { fill: #c4500a; stroke: #c4500a; }
    .c3 { fill: #007f5c; stroke: #007f5c; } .c4 { fill: #9c3b86; stroke: #9c3b86; }
    polyline { stroke-width: 2.5; } polyline.c1, polyline.c2, polyline.c3, polyline.c4 { fill: none; }
    text.c1, text.c2, text.c3, text.c4 { stroke: none; }
    @media (prefers-color-scheme: dark) {
      .paper { fill: #0d1117; stroke: #30363d; } .text { fill: #f0f6fc; } .faint { fill: #9198a1; }
      .grid { stroke: #2b353b; } .ours { fill: #f0883e; } .theirs { fill: #656c76; }
      .c1 { fill: #56b4e9; stroke: #56b4e9; } .c2 { fill: #f39150; stroke: #f39150; }
      .c3 { fill: #35c79b; stroke: #35c79b; } .c4 { fill: #e093c8; stroke: #e093c8; }
    }
"""
COLOURS = ("c1", "c2", "c3", "c4")
NEAR = 16  # least pixels between two labels
LEAST = 3  # least decades of an axis


@dataclass(frozen=True, slots=True)
class Bar:
    name: str
    value: float
    text: str
    is_ours: bool


@dataclass(frozen=True, slots=True)
class Line:
    """A curve: points of size and value, both above 0."""

    name: str
    points: Sequence[tuple[float, float]]


def bars(message: str, below: str, shown: Sequence[Bar]) -> str:
    """Return a bar chart from 0 on, with label and value beside each bar.

    `below` describes the bars in one line.
    """
    most = max((bar.value for bar in shown), default=0) or 1
    scale = (WIDE - LEFT - RIGHT + 60) / most
    parts = []
    for place, bar in enumerate(shown):
        y, wide = TOP + BAR * place, bar.value * scale
        parts += [
            text(LEFT - 8, y + 14, bar.name, "text", anchor="end"),
            f'<rect x="{LEFT}" y="{y}" width="{wide:.1f}" height="{BAR - 8}" rx="2" '
            f'class="{"ours" if bar.is_ours else "theirs"}"/>',
            text(LEFT + wide + 6, y + 14, bar.text, "text" if bar.is_ours else "faint"),
        ]
    told = "; ".join(f"{bar.name} {bar.text}" for bar in shown)
    return whole(message, below, told, TOP + BAR * len(shown) + 12, parts)


def lines(message: str, below: str, shown: Sequence[Line], unit: str) -> str:
    """Return a line chart with logarithmic axes; each line's label is at its end, in its color.

    Only the first four lines are drawn.
    """
    sizes = [size for line in shown for size, _ in line.points]
    values = [value for line in shown for _, value in line.points]
    across, up = Axis.over(sizes, LEFT / 2, WIDE - NAMES), Axis.over(values, TOP + HIGH, TOP + 10)
    parts = [*_grid(across, up, unit)]
    ends = _apart([up.at(line.points[-1][1]) for line in shown])
    for line, colour, end in zip(shown, COLOURS, ends, strict=False):
        path = " ".join(f"{across.at(size):.1f},{up.at(value):.1f}" for size, value in line.points)
        parts.append(f'<polyline points="{path}" class="{colour}"/>')
        parts.append(text(across.at(line.points[-1][0]) + 8, end + 4, line.name, colour))
    told = "; ".join(f"{line.name}, {scaled(line.points[-1][1], unit)} at the largest" for line in shown)
    return whole(message, below, told, TOP + HIGH + 34, parts)


@dataclass(frozen=True, slots=True)
class Axis:
    """A logarithmic axis, in pixels from `start` to `end`."""

    low: int
    high: int
    start: float
    end: float

    @classmethod
    def over(cls, values: Iterable[float], start: float, end: float) -> "Axis":
        logs = [log10(value) for value in values]
        high = ceil(max(logs))
        return cls(min(floor(min(logs)), high - LEAST), high, start, end)

    def at(self, value: float) -> float:
        return self.start + (log10(value) - self.low) / (self.high - self.low) * (self.end - self.start)


def _grid(across: Axis, up: Axis, unit: str) -> Iterable[str]:
    for power in range(up.low, up.high + 1):
        y = up.at(10.0**power)
        yield f'<line x1="{across.start}" x2="{across.end}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>'
        yield text(across.start - 6, y + 4, scaled(10.0**power, unit), "faint", anchor="end")
    for power in range(across.low, across.high + 1):
        yield text(across.at(10.0**power), up.start + 18, f"{10**power:,}", "faint", anchor="middle")


def _apart(places: Sequence[float]) -> list[float]:
    """Return the positions in the same order, moved so that each is at least NEAR pixels from the next."""
    found, last = dict.fromkeys(range(len(places)), 0.0), float("-inf")
    for index in sorted(found, key=lambda index: places[index]):
        last = found[index] = max(places[index], last + NEAR)
    return [found[index] for index in range(len(places))]


def text(x: float, y: float, words: str, kind: str, anchor: str = "start", size: int = 13) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}" font-size="{size}">'
        f"{escape(words)}</text>"
    )


def whole(message: str, below: str, told: str, high: int, parts: Iterable[str]) -> str:
    """Return the chart around its parts, with a description for screen readers."""
    head = [text(16, 28, message, "text", size=17), text(16, 48, below, "faint")]
    body = "\n  ".join([*head, *parts])
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {high}"
     width="{WIDE}" height="{high}" role="img" aria-labelledby="what more"
     font-family="system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif">
  <title id="what">{escape(message)}</title>
  <desc id="more">{escape(below)}. {escape(told)}.</desc>
  <style>{STYLE}  </style>
  <rect class="paper" x="0.5" y="0.5" width="{WIDE - 1}" height="{high - 1}" rx="8"/>
  {body}
</svg>
"""
