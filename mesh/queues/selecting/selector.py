"""Which messages does a consumer want? An expression in Python's words, of headers, key and priority."""

# Law 1: whatever the text, it is either refused when it is read, or tells of each message True or False.
# Law 2: it means what Python means, but for two things: a header's text that spells a number counts as that
#        number beside a number, and what Python could not compare is False.
# Law 3: nothing is executed but what stands here: no arithmetic, no attributes, no calls but like().

from __future__ import annotations

import ast
import operator
import re

from mesh.errors import BadSelector
from mesh.queues.selecting.comparing import COMPARES, SelectedMessage, SelectorTerm, chained, header, joined
from mesh.queues.selecting.like import like
from mesh.values import Headers, check_text

LONGEST = 256  # characters
DEEPEST = 10  # levels of expressions in each other
KEY, PRIORITY = "key", "priority"

# What Python's parser would warn of, on a terminal that is not ours, ends here: 1or, "\d".
_TOKEN = re.compile(
    r""" \ + | "[^"\\]*"(?!") | '[^'\\]*'(?!') | [^\W\d]\w* | [0-9]+(\.[0-9]+)?(?![\w.])"""
    r""" | [=!<>]= | [<>()\[\],-] """,
    re.VERBOSE,
)
_EXAMPLE = """A selector is like region == "eu" and priority > 5."""


class Selector:
    """A selector, such as `region == "eu" and like(name, "a%")`. BadSelector says where it cannot be one.

    A name is that of a header, and stands for its first value; without such a header `key` is the message's
    key, `priority` its priority, and any other name None. `headers["x-y"]` is a header whose name is no word.
    Two with the same text are equal.
    """

    __slots__ = ("_test", "text")

    def __init__(self, text: str) -> None:
        check_text(text, "selector", LONGEST, BadSelector)
        self.text = str.__str__(text)
        self._test = _Compiler(self.text).test()

    def wants(self, key: str, priority: int, headers: Headers) -> bool:
        """Does it want that message?"""
        return bool(self._test(SelectedMessage(key, priority, headers)))

    def __eq__(self, other: object) -> bool:
        return self.text == other.text if isinstance(other, Selector) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"Selector({self.text!r})"


# --- what is read -------------------------------------------------------------------------------------------


class _Compiler:
    """Makes a function of each part of the expression."""

    def __init__(self, text: str) -> None:
        self._text = text

    def test(self) -> SelectorTerm:
        """The function of the whole."""
        self._check_words()
        try:
            tree = ast.parse(self._text.strip(" "), mode="eval")
        except SyntaxError as error:
            end = len(self._text.strip(" "))  # where Python says 0
            place = (error.offset - 1 if error.offset else end) + self._indent
            raise self._bad(place, f"this is no expression, {error.msg}") from None
        except (ValueError, MemoryError, RecursionError) as error:
            raise self._bad(0, f"it cannot be read, {error}") from None
        return self._term(tree.body, 1)

    @property
    def _indent(self) -> int:
        return len(self._text) - len(self._text.lstrip(" "))

    def _check_words(self) -> None:
        if not self._text.strip(" "):
            hint = "Leave it out to want everything."
            raise BadSelector("the selector is empty.", hint=hint)
        place = 0
        while place < len(self._text):
            found = _TOKEN.match(self._text, place)
            if found is None:
                what = f"{self._text[place]!r} cannot stand here"
                raise self._bad(place, what, self._hint_of(self._text[place:]))
            place = found.end()

    @staticmethod
    def _hint_of(rest: str) -> str:
        if rest[0] == "=":
            return "Two are equal with ==."
        if rest[0] in "&|!":
            return "Say and, or, not."
        if rest[0] in "\"'":
            return "A text stands between two quotation marks, without a backslash."
        return "There is no arithmetic, and no attributes." if rest[0] in "+*/%.@~^" else _EXAMPLE

    def _bad(self, place: int, what: str, hint: str = _EXAMPLE) -> BadSelector:
        return BadSelector(f"the selector {self._text!r} at character {place + 1}: {what}.", hint=hint)

    def _refused(self, node: ast.expr, what: str, hint: str = _EXAMPLE) -> BadSelector:
        before = self._text.strip(" ").encode()[: node.col_offset]  # Python counts bytes
        return self._bad(len(before.decode()) + self._indent, what, hint)

    def _term(self, node: ast.expr, level: int) -> SelectorTerm:
        if level > DEEPEST:
            raise self._refused(node, f"it is nested deeper than {DEEPEST} levels", "Say it more simply.")
        match node:
            case ast.Constant(value=str() | int() | float() | None as value):
                return lambda message: value
            case ast.Name(id=name):
                return self._name(node, name)
            case ast.Subscript(value=ast.Name(id="headers"), slice=ast.Constant(value=str(name))):
                return header(name)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
                return self._negative(node, number)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                inner = self._term(operand, level + 1)
                return lambda message: not inner(message)
            case ast.BoolOp(op=op, values=values):
                return joined([self._term(each, level + 1) for each in values], isinstance(op, ast.Or))
            case ast.Compare():
                return self._compare(node, level)
            case ast.Call():
                return self._like(node, level)
        hint = "There are comparisons, in, is None, and, or, not, and like()."
        raise self._refused(node, f"a selector has no {_KINDS.get(type(node), 'such thing')}", hint)

    def _name(self, node: ast.expr, name: str) -> SelectorTerm:
        if name.startswith("__") and name.endswith("__"):
            raise self._refused(node, f"{name} is no name of a header")
        own = {KEY: operator.attrgetter(KEY), PRIORITY: operator.attrgetter(PRIORITY)}.get(name)
        said = header(name)
        if own is None:
            return said
        return lambda message: value if (value := said(message)) is not None else own(message)

    def _negative(self, node: ast.expr, number: float) -> SelectorTerm:
        if isinstance(number, bool):
            raise self._refused(node, "a selector has no arithmetic")
        return lambda message: -number

    def _compare(self, node: ast.Compare, level: int) -> SelectorTerm:
        first = self._term(node.left, level + 1)
        steps = []
        left = node.left
        for op, right in zip(node.ops, node.comparators, strict=True):
            if isinstance(op, ast.Is | ast.IsNot) and not (
                isinstance(right, ast.Constant) and right.value is None
            ):
                raise self._refused(
                    left, "only None can stand behind is and is not", "Two are equal with ==."
                )
            is_in = isinstance(op, ast.In | ast.NotIn)
            steps.append((COMPARES[type(op)], self._container(right, level + 1, is_in)))
            left = right
        return chained(first, steps)

    def _container(self, node: ast.expr, level: int, is_in: bool) -> SelectorTerm:
        if not is_in or not isinstance(node, ast.Tuple | ast.List):
            return self._term(node, level)
        terms = [self._term(each, level + 1) for each in node.elts]
        return lambda message: tuple(term(message) for term in terms)

    def _like(self, node: ast.Call, level: int) -> SelectorTerm:
        match node:
            case ast.Call(
                func=ast.Name(id="like"), args=[value, ast.Constant(value=str(pattern))], keywords=[]
            ):
                term, test = self._term(value, level + 1), like(pattern)
                return lambda message: isinstance(text := term(message), str) and test(text)
            case ast.Call(func=ast.Name(id="like")):
                hint = 'Say like(name, "a%"): % is any text, _ any one character.'
                raise self._refused(node, "like() is of a name and a text", hint)
        raise self._refused(node, "nothing can be called but like()", 'Say like(name, "a%").')


_KINDS: dict[type[ast.expr], str] = {
    ast.BinOp: "arithmetic",
    ast.UnaryOp: "arithmetic",
    ast.Tuple: "lists but behind in",
    ast.List: "lists but behind in",
    ast.IfExp: "if and else",
    ast.Lambda: "functions",
    ast.Subscript: """indices but headers["name"]""",
    ast.JoinedStr: "text that is put together",
    ast.ListComp: "loops",
    ast.GeneratorExp: "loops",
}
