"""Formatting of figures, times and texts from the mesh.

An unknown figure or time is written as a dash.
"""

from datetime import UTC, datetime

from mesh.history.printable import visible

LONGEST = 120  # characters of a text from the mesh


def number(value: float | None) -> str:
    """Return a text such as "1,234,567"."""
    return "-" if value is None else f"{value:,.0f}"


def decimal(value: float | None) -> str:
    """Return a text such as "0.042", "3.14", "31.4", "314" or "31,416", with at most three decimals."""
    if value is None:
        return "-"
    places = 0 if abs(value) >= 99.95 else 1 if abs(value) >= 9.995 else 2 if abs(value) >= 0.995 else 3
    text = f"{value:,.{places}f}"
    return text if float(text.replace(",", "")) else "0"


def signed(value: float | None) -> str:
    """Return a text with a sign, such as "+266", "-3" or "0"."""
    return "-" if value is None else "0" if round(value) == 0 else f"{value:+,.0f}"


def percent(value: float | None, whole: float = 100) -> str:
    """Return a value from 0 to `whole` as "12 %", below ten with a decimal: "3.4 %"."""
    if value is None:
        return "-"
    share = 100 * value / whole
    return f"{share:.1f} %" if 0 < abs(share) < 9.95 else f"{share:,.0f} %"


def duration(seconds: float | None) -> str:
    """Return a text such as "0.4 ms", "12 ms", "3.4 s", "2 min 5 s" or "5 h 12 min", with "-" if negative."""
    if seconds is None:
        return "-"
    if seconds < 0:
        return "-" + duration(-seconds)
    if seconds < 0.9995:
        ms = 1000 * seconds
        return "0 s" if not seconds else f"{ms:.0f} ms" if ms >= 9.95 else f"{ms:.2g} ms"
    if seconds < 59.95:
        return f"{seconds:.1f}".removesuffix(".0") + " s"
    for large, small, size, part in (("min", "s", 60, 1), ("h", "min", 3600, 60), ("d", "h", 86400, 3600)):
        parts = round(seconds / part)
        whole, rest = divmod(parts, size // part)
        if large == "d" or parts * part < (3600 if large == "min" else 86400):
            return f"{whole:,} {large}" + (f" {rest} {small}" if rest else "")
    raise AssertionError("days have no end")


def size(count: float | None) -> str:
    """Return bytes in decimal units: "12 B", "1.2 KB", "34 MB"."""
    if count is None:
        return "-"
    for scale, unit in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "KB")):
        if count >= scale:
            return f"{decimal(count / scale)} {unit}"
    return f"{count:.0f} B"


def counted(value: int, noun: str, nouns: str = "") -> str:
    """Return a count with its noun: "1 node", "300 nodes". `nouns` is an irregular plural."""
    return f"{value:,} " + (noun if value == 1 else nouns or f"{noun}s")


def moment(when: datetime | None) -> str:
    """Return a time such as "2026-11-21 10:05" in UTC.

    The page names the zone once.
    """
    return "-" if when is None else when.astimezone(UTC).strftime("%Y-%m-%d %H:%M")


def spoken(when: datetime | None) -> str:
    """Return a time for use in a sentence, without line breaks: "21 Nov 2026, 10:05"."""
    return "-" if when is None else when.astimezone(UTC).strftime("%-d\xa0%b\xa0%Y,\xa0%H:%M")


def second(when: datetime | None) -> str:
    """Return a time with seconds, such as "2026-11-21 10:05:00", in UTC."""
    return "-" if when is None else when.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


def harmless(text: str) -> str:
    """Return a text from the mesh on one line, safe to display and shortened."""
    text = visible(text)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def short(text: str, most: int = 22) -> str:
    """Return a text shortened in its middle to `most` characters, because names differ at their ends."""
    if len(text) <= most:
        return text
    head = (most - 1) * 2 // 3
    return f"{text[:head]}…{text[head + 1 - most :]}"


def listed(words: list[str], most: int = 3) -> str:
    """Return a list as part of a sentence: "a", "a and b", "a, b, c and 4 more"."""
    shown = words[:most] + ([f"{len(words) - most:,} more"] if len(words) > most else [])
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
