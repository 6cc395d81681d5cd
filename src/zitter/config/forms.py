"""What a value of a file may be by the annotation of its keyword: a number, text, a list, a table.

Constructors judge values; this only keeps from them what no annotation means, such as a table where
they compute with a number.
"""

from __future__ import annotations

import os
import types
import typing
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from zitter import checks

NUMBER, TEXT, SWITCH, LIST, TABLE = "a number", "text", "true or false", "a list", "a table"
EVERY = frozenset({NUMBER, TEXT, SWITCH, LIST, TABLE})
_SIMPLE = {int: NUMBER, float: NUMBER, complex: NUMBER, str: TEXT, Path: TEXT, os.PathLike: TEXT,
           bool: SWITCH, list: LIST, tuple: LIST, np.ndarray: LIST, dict: TABLE}  # fmt: skip


def checked(key: str, annotation: Any, value: Any) -> Any:
    """The value, if its form is one that the annotation knows."""
    have, wanted = _form(value), taken(annotation)
    # Text may be a quantity with its unit, or else is refused where numbers are read.
    if have in wanted or (have == TEXT and NUMBER in wanted):
        return value
    words = [form for form in (NUMBER, TEXT, SWITCH, LIST, TABLE) if form in wanted]
    raise checks.InputError(key, f"must be {' or '.join(words)}, but is {checks.shown(value)}")


def taken(annotation: Any) -> frozenset[str]:
    """The forms that an annotation takes; every one where it does not say."""
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType):
        parts = [a for a in typing.get_args(annotation) if a is not type(None)]
        return frozenset().union(*map(taken, parts))
    if origin is typing.Literal:
        return frozenset(_form(value) for value in typing.get_args(annotation))
    kind = annotation if origin is None else origin
    if kind in _SIMPLE:
        return frozenset({_SIMPLE[kind]})
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return frozenset({TABLE})
    if isinstance(origin, type) and issubclass(origin, Iterable):
        return frozenset({LIST})
    return EVERY - {TABLE} if annotation is Any else EVERY


def _form(value: Any) -> str:
    match value:
        case bool():
            return SWITCH
        case int() | float():
            return NUMBER
        case str():
            return TEXT
        case list():
            return LIST
        case dict():
            return TABLE
    return "a date"
