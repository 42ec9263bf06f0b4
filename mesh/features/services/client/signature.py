"""Reads a function's parameters, and decodes a request into its arguments."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from mesh.client.codecs import KNOWN, Codec
from mesh.client.message import Message
from mesh.client.reading import WHATEVER, bad_content, reader_of
from mesh.errors import BadType
from mesh.features.services.client.request import Request, read_by
from mesh.shortening import shown

Arguments = tuple[list[Any], dict[str, Any]]
ReadArguments = Callable[[Request[Any]], Arguments]
Handed = Callable[[Request[Any]], Any]
MANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
HINT = (
    "One argument is the value of the content, several are the fields of an object; annotate "
    "each with its type."
)


def reading_of(function: Callable[..., Any], codec: Codec, handed: Handed) -> ReadArguments:
    """Return a converter from a request to the arguments of `function`; the converter raises BadContent.

    `handed` converts the request for a function that accepts the request itself. Raises: BadType for an
    unsuitable function.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
        hints = _hints(function)
    except Exception as error:  # evaluating annotations may raise anything
        hint = f"Python must be able to read the signature and to evaluate the annotations. {HINT}"
        raise BadType(f"The arguments of {shown(function)} cannot be read: {error}.", hint=hint) from None
    if any(parameter.kind in MANY for parameter in parameters):
        what = f"{shown(function)} accepts any arguments, by * or **, so their types are unknown."
        raise BadType(what, hint=f"Name each argument. {HINT}")
    if not parameters:
        return lambda request: ([], {})
    if len(parameters) == 1:
        return _of_one(parameters[0], hints.get(parameters[0].name), codec, handed)
    return _of_several(parameters, hints, codec)


def is_async(function: Callable[..., Any]) -> bool:
    """Return whether the function, or the object's `__call__`, is `async`."""
    return inspect.iscoroutinefunction(_inner(function))


def _inner(function: Callable[..., Any]) -> Callable[..., Any]:
    if isinstance(function, functools.partial):
        return _inner(function.func)
    if inspect.isroutine(function) or isinstance(function, type):
        return function
    return type(function).__call__


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    return typing.get_type_hints(inspect.unwrap(_inner(function)))


def _of_one(parameter: inspect.Parameter, wanted: Any, codec: Codec, handed: Handed) -> ReadArguments:
    kind = typing.get_origin(wanted) or wanted
    if isinstance(kind, type) and issubclass(kind, Message):
        of = typing.get_args(wanted)
        reader = reader_of(codec, of[0] if of else None)
        by = reader or WHATEVER
        return lambda request: _called(parameter, handed(read_by(request, by)))
    reader = reader_of(codec, wanted)
    if reader is None:
        return lambda request: _called(parameter, request.value)
    return lambda request: _called(parameter, request._value_by(reader))


def _called(parameter: inspect.Parameter, value: Any) -> Arguments:
    if parameter.kind == inspect.Parameter.KEYWORD_ONLY:
        return [], {parameter.name: value}
    return [value], {}


def _of_several(parameters: list[inspect.Parameter], hints: dict[str, Any], codec: Codec) -> ReadArguments:
    fields: list[Any] = []
    for it in parameters:
        wanted = hints.get(it.name, Any)
        if it.default is inspect.Parameter.empty:
            fields.append((it.name, wanted))
        else:
            fields.append((it.name, wanted | UnsetType if wanted is not Any else Any, UNSET))
    shape = msgspec.defstruct("Arguments", fields, kw_only=True, forbid_unknown_fields=True)
    # A custom codec does not know how to decode a Struct.
    is_known = any(codec is known for known in KNOWN.values())
    reader = reader_of(codec, shape if is_known else dict[str, Any])
    assert reader is not None

    def arguments(request: Request[Any]) -> Arguments:
        value = request._value_by(reader)
        if not is_known:
            value = _converted(request, value, shape)
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for it in parameters:
            said = getattr(value, it.name)
            if it.kind == inspect.Parameter.POSITIONAL_ONLY:
                args.append(it.default if said is UNSET else said)
            elif said is not UNSET:
                kwargs[it.name] = said
        return args, kwargs

    return arguments


def _converted(request: Request[Any], value: Any, shape: type[msgspec.Struct]) -> msgspec.Struct:
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        raise bad_content(request.key, request.sender, error) from None
