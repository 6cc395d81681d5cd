"""Arguments of what is public: which of them is not what its annotation says.

That is asked only after a call has ended in an error of Python's own, so that whatever works is
taken, annotated so or not.
"""

from __future__ import annotations

import collections.abc
import inspect
import os
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from zitter import checks

# What Python and NumPy say of a wrong argument, somewhere inside.
RAW = (TypeError, AttributeError, LookupError, ValueError, ArithmeticError)
_LISTS = (Sequence, Iterable, tuple, np.ndarray)
_EMPTY = inspect.Parameter.empty
_WORDS: dict[Any, str] = {
    float: "a number", complex: "a number", Any: "an array of numbers", None: "None",
    type(None): "None", os.PathLike: "a path", collections.abc.Callable: "a function",
    Mapping: "a table", dict: "a table",
}  # fmt: skip


def judge(function: Callable[..., Any], args: Any, given: Any) -> None:
    """`InputError` for the first argument that is not what it must be."""
    signature = inspect.signature(function)
    try:
        bound = signature.bind(*args, **given)
    except TypeError:  # too few of them or too many: Python's own words are plain
        parameters = signature.parameters.values()
        places = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
        if len(args) <= places:
            return
        bound = signature.bind_partial(*args[:places])  # some may have been meant as one list
    for name, value in bound.arguments.items():
        parameter = signature.parameters[name]
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        hint = _hint(parameter, function)
        if (
            value is not parameter.default
            and not checks.is_traced(value)
            and not _fits(value, hint)
        ):
            raise checks.InputError(
                name, f"must be {_in_words(hint)}, but is {checks.shown(value)}"
            )


def _hint(parameter: inspect.Parameter, function: Callable[..., Any]) -> Any:
    """The annotation itself; `object` where its name is known to type checkers only."""
    if not isinstance(parameter.annotation, str):
        return object if parameter.annotation is _EMPTY else parameter.annotation
    try:
        return eval(parameter.annotation, vars(sys.modules[function.__module__]))
    except NameError:
        return object


def _fits(value: Any, hint: Any) -> bool:
    kind, inner = typing.get_origin(hint) or hint, typing.get_args(hint)
    if kind in (types.UnionType, typing.Union):
        return any(_fits(value, one) for one in inner)
    if kind is typing.Literal:
        return isinstance(value, str) and value in inner
    if kind in (float, complex):
        return _is_number(value, kind)
    if kind is int:
        return isinstance(value, int | np.integer) and not isinstance(value, bool)
    if kind is bool:
        return isinstance(value, bool | np.bool_)
    if kind is Any:  # by right an array, where nothing is said
        return value is not None and not isinstance(value, str) and np.size(_array(value)) > 0
    if kind in _LISTS:
        return _is_list(value, inner)
    return not isinstance(kind, type) or isinstance(value, kind)


def _is_number(value: Any, kind: type) -> bool:
    try:
        return np.ndim(value) == 0 and not isinstance(value, str) and bool(np.isfinite(kind(value)))
    except (TypeError, ValueError):
        return False


def _array(value: Any) -> np.ndarray:
    try:
        return np.asarray(value)
    except ValueError:  # rows of unequal lengths
        return np.asarray(value, object)


def _is_list(value: Any, inner: tuple[Any, ...]) -> bool:
    """Of objects all must fit, and there may be none; of a tuple the length is known."""
    if isinstance(value, str | Mapping) or np.ndim(_array(value)) == 0:
        return False
    if len(value) == 0:
        return _of_objects(inner)
    if len(inner) == 1:
        return all(_fits(item, inner[0]) for item in value)
    return not inner or inner[-1] is Ellipsis or len(value) == len(inner)


def _of_objects(inner: tuple[Any, ...]) -> bool:
    return bool(inner) and isinstance(inner[0], type) and inner[0] not in (float, int)


def _in_words(hint: Any) -> str:
    kind, inner = typing.get_origin(hint) or hint, typing.get_args(hint)
    if kind in (types.UnionType, typing.Union):
        return " or ".join(dict.fromkeys(_in_words(one) for one in inner))
    if kind is typing.Literal:
        return " or ".join(map(repr, inner))
    if kind in _LISTS:
        return f"a list of {checks.plural(inner[0])}" if _of_objects(inner) else "a list of numbers"
    return _WORDS.get(kind) or checks.in_words(kind)
