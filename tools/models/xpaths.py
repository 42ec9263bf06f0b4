"""Random XPaths and documents, harmless and hostile ones."""

from random import Random

NAMES = ("a", "b", "STOCK")
WORDS = ("", "x", "5", "IBM", "a b")
FLAT = "".join(f"<a b='{i}'>t</a>x" for i in range(255))
DEEP = "<a>" * 14 + "x" + "".join(f"<a b='{i}'>a</a>y" for i in range(240)) + "</a>" * 14
MIXED = ("<a>" * 13 + "a" * 650 + "</a>" * 13) * 18
LONG = "<a>" * 14 + "a" * 15_000 + "</a>" * 14
PAIRS = "<a><a>z</a></a>" * 127
LARGEST = (FLAT, DEEP, MIXED, LONG, PAIRS)  # the worst documents within the limits


def xpath(dice: Random, depth: int = 0) -> str:
    """Return an XPath that is allowed, apart from its cost."""
    match dice.randrange(12 if depth < 3 else 6):
        case 0 | 1 | 2 | 3 | 4 | 5:
            return path(dice, depth)
        case 6:
            sign = dice.choice(("=", "!=", "<", "<=", ">", ">="))
            return f"{side(dice, depth)} {sign} {side(dice, depth)}"
        case 7:
            return f"{xpath(dice, depth + 1)} {dice.choice(('and', 'or'))} {xpath(dice, depth + 1)}"
        case 8:
            return f"not({xpath(dice, depth + 1)})"
        case 9:
            sought = dice.choice((*WORDS, "a" * 60 + "b"))
            return f"{dice.choice(('contains', 'starts-with'))}({path(dice, depth)}, '{sought}')"
        case 10:
            return f"({xpath(dice, depth + 1)})"
    return f"{path(dice, depth)} | {path(dice, depth)}"


def side(dice: Random, depth: int) -> str:
    match dice.randrange(6):
        case 0:
            return f"'{dice.choice(WORDS)}'"
        case 1:
            return str(dice.randrange(7))
        case 2:
            return f"count({path(dice, depth)})"
        case 3:
            return f"{dice.choice(('string-length', 'normalize-space'))}({path(dice, depth)})"
    return path(dice, depth)


def path(dice: Random, depth: int = 0) -> str:
    steps = [dice.choice(("//", "/", "", ".//", "..//")) + step(dice, depth)]
    steps += [dice.choice(("/", "/", "//")) + step(dice, depth) for _ in range(dice.choice((0, 0, 1, 2)))]
    return "".join(steps)


def step(dice: Random, depth: int) -> str:
    test = dice.choice((*NAMES, *NAMES, "*", "@n", "@*", ".", "..", "text()", "node()"))
    if test not in (".", "..") and depth < 3:
        wheres = dice.choice((0, 0, 0, 1, 1, 2))
        test += "".join(f"[{where(dice, depth + 1)}]" for _ in range(wheres))
    return test


def where(dice: Random, depth: int) -> str:
    """Return a predicate without brackets."""
    return dice.choice(("1", "2", "last()", "position() > 1", "")) or xpath(dice, depth)


def document(dice: Random, depth: int = 0) -> str:
    """Return the XML of a key, often a small one."""
    parts = []
    for _ in range(dice.choice((0, 1, 1, 2, 3))):
        name = dice.choice(NAMES)
        said = f" n='{dice.choice(WORDS)}'" if dice.random() < 0.5 else ""
        inside = document(dice, depth + 1) if depth < 4 else ""
        parts.append(f"{dice.choice(WORDS)}<{name}{said}>{inside}</{name}>")
    return "".join([*parts, dice.choice(WORDS)])
