"""How is a text shown that somebody else has chosen? (This file imports nothing of the mesh.)"""

import encodings.unicode_escape  # noqa: F401 - now: later there may be no descriptor to load it with
import re
import shlex

# To Unicode these are letters, marks and symbols, so Python calls them printable; yet nothing is seen of
# them, and two keys would look the same. All others that nobody sees, or that turn the direction of reading,
# are controls, formats and separators: those are not printable.
HIDDEN = re.compile(
    r"[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


def harmless(text: str) -> str:
    """The text with `\\n`, `\\x1b`, `\\u202e` and the like in place of what would not stay within its line,
    would turn it round, or could not be seen."""
    if text.isprintable() and (text.isascii() or not HIDDEN.search(text)):
        return text
    return "".join(letter if _is_seen(letter) else _escaped(letter) for letter in text)


def _is_seen(letter: str) -> bool:
    return letter == "\t" or (letter.isprintable() and not HIDDEN.match(letter))


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape").decode()


def count(number: int, noun: str) -> str:
    """ "1 message", "1,234 messages"."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def typed(text: object) -> str:
    """A name or path as the last word of a line that somebody shall type: whatever is in it, it is one word,
    and no option."""
    quoted = shlex.quote(harmless(str(text)))
    return f"-- {quoted}" if quoted.startswith("-") else quoted
