"""Selectors: expressions in a subset of Python over headers, key and priority."""

# Law 1: each text is either rejected when it is parsed, or gives True or False for every message.
# Law 2: the meaning is that of Python with two exceptions: a header text that spells a number counts as a
#   number next to one, and a comparison that Python cannot make is False.
# Law 3: only the constructs listed here are evaluated: no arithmetic, no attributes, no calls except like().

from __future__ import annotations

import ast
import operator
import re

from mesh.errors import BadSelector
from mesh.features.queues.model.selecting.comparing import (
    COMPARES,
    SelectedMessage,
    SelectorTerm,
    chained,
    header,
    joined,
)
from mesh.features.queues.model.selecting.like import like
from mesh.values import Headers, check_text

LONGEST = 256  # characters
DEEPEST = 10  # levels of nested expressions
KEY, PRIORITY = "key", "priority"

# Reject texts such as `1or` or `"\d"`, for which Python's parser would print a warning.
_TOKEN = re.compile(
    r""" \ + | "[^"\\]*"(?!") | '[^'\\]*'(?!') | [^\W\d]\w* | [0-9]+(\.[0-9]+)?(?![\w.])"""
    r""" | [=!<>]= | [<>()\[\],-] """,
    re.VERBOSE,
)
_ADVICE = re.compile("[.;] ")  # begins the advice in a text of Python, which may not apply to selectors
_EXAMPLE = 'A selector looks like region == "eu" and priority > 5.'


class Selector:
    """A selector, such as `region == "eu" and like(name, "a%")`.

    A name stands for the first value of the header of that name. Without such a header, `key` is the key of
    the message, `priority` its priority, and any other name is `None`. `headers["x-y"]` is a header whose
    name is not an identifier. Selectors with the same text are equal.

    Raises:
        BadSelector: The text is empty, too long, or not a selector.
    """

    __slots__ = ("_test", "text")

    def __init__(self, text: str) -> None:
        check_text(text, "selector", LONGEST, BadSelector)
        self.text = str.__str__(text)
        self._test = _Compiler(self.text).test()

    def wants(self, key: str, priority: int, headers: Headers) -> bool:
        return bool(self._test(SelectedMessage(key, priority, headers)))

    def __eq__(self, other: object) -> bool:
        return self.text == other.text if isinstance(other, Selector) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"Selector({self.text!r})"


# --- compiler -----------------------------------------------------------------------------------------------


class _Compiler:
    def __init__(self, text: str) -> None:
        self._text = text

    def test(self) -> SelectorTerm:
        self._check_words()
        try:
            tree = ast.parse(self._text.strip(" "), mode="eval")
        except SyntaxError as error:
            end = len(self._text.strip(" "))  # where Python reports offset 0
            place = (error.offset - 1 if error.offset else end) + self._indent
            what = _ADVICE.split(error.msg)[0] if error.offset else "the expression ends too early"
            raise self._bad(place, what) from None
        except (ValueError, MemoryError, RecursionError) as error:
            raise self._bad(0, f"the expression cannot be read: {error}") from None
        return self._term(tree.body, 1)

    @property
    def _indent(self) -> int:
        return len(self._text) - len(self._text.lstrip(" "))

    def _check_words(self) -> None:
        if not self._text.strip(" "):
            hint = "Omit the selector to receive all messages."
            raise BadSelector("The selector is empty.", hint=hint)
        place = 0
        while place < len(self._text):
            found = _TOKEN.match(self._text, place)
            if found is None:
                what = f"unexpected {self._text[place]!r}"
                raise self._bad(place, what, self._hint_of(self._text[place:]))
            place = found.end()

    @staticmethod
    def _hint_of(rest: str) -> str:
        if rest[0] == "=":
            return "Compare with ==."
        if rest[0] in "&|!":
            return "Use and, or, not."
        if rest[0] in "\"'":
            return "Write a text between two quotation marks, without a backslash."
        if rest[0].isdigit() or (rest[0] == "." and rest[1:2].isdigit()):
            return "Write a number as 5, 0.5 or -5, with a space before a word."
        return "Arithmetic and attributes are not supported." if rest[0] in "+*/%.@~^" else _EXAMPLE

    def _bad(self, place: int, what: str, hint: str = _EXAMPLE) -> BadSelector:
        return BadSelector(
            f"The selector {self._text!r} is invalid at character {place + 1}: {what}.", hint=hint
        )

    def _refused(self, node: ast.expr, what: str, hint: str = _EXAMPLE) -> BadSelector:
        before = self._text.strip(" ").encode()[: node.col_offset]  # Python counts bytes
        return self._bad(len(before.decode()) + self._indent, what, hint)

    def _term(self, node: ast.expr, level: int) -> SelectorTerm:
        if level > DEEPEST:
            raise self._refused(
                node, f"the expression is nested deeper than {DEEPEST} levels", "Simplify the selector."
            )
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
        hint = "Use comparisons, in, is None, and, or, not, and like()."
        raise self._refused(
            node, f"a selector cannot have {_KINDS.get(type(node), 'this kind of expression')}", hint
        )

    def _name(self, node: ast.expr, name: str) -> SelectorTerm:
        if name.startswith("__") and name.endswith("__"):
            raise self._refused(node, f"{name} is not the name of a header")
        own = {KEY: operator.attrgetter(KEY), PRIORITY: operator.attrgetter(PRIORITY)}.get(name)
        said = header(name)
        if own is None:
            return said
        return lambda message: value if (value := said(message)) is not None else own(message)

    def _negative(self, node: ast.expr, number: float) -> SelectorTerm:
        if isinstance(number, bool):
            raise self._refused(node, "only a number can follow a minus sign")
        return lambda message: -number

    def _compare(self, node: ast.Compare, level: int) -> SelectorTerm:
        first = self._term(node.left, level + 1)
        steps = []
        left = node.left
        for op, right in zip(node.ops, node.comparators, strict=True):
            if isinstance(op, ast.Is | ast.IsNot) and not (
                isinstance(right, ast.Constant) and right.value is None
            ):
                raise self._refused(left, "only None can follow is and is not", "Compare with ==.")
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
                hint = 'Write like(name, "a%"): % is any text, _ any one character.'
                raise self._refused(node, "like() requires a name and a text", hint)
        raise self._refused(node, "only like() can be called", 'Write like(name, "a%").')


_KINDS: dict[type[ast.expr], str] = {
    ast.BinOp: "arithmetic",
    ast.UnaryOp: "arithmetic",
    ast.Tuple: "lists except after in",
    ast.List: "lists except after in",
    ast.IfExp: "if and else",
    ast.Lambda: "functions",
    ast.Subscript: 'indices except headers["name"]',
    ast.JoinedStr: "concatenated text",
    ast.ListComp: "loops",
    ast.GeneratorExp: "loops",
}
