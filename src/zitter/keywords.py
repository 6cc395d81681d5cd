"""Keywords and arguments of what is public: wrong ones are refused in the words of input files."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeGuard, TypeVar

import equinox as eqx
import jax

from zitter import arguments, checks

P = ParamSpec("P")
T = TypeVar("T")
# Between a caller and the line that warns.
_INSIDE = tuple(str(Path(str(m.__file__)).parent) for m in (checks, eqx, jax))


class KeywordError(checks.InputError, TypeError):
    """A keyword that a function does not have; a TypeError as Python itself would raise."""


def check_keywords(module: str) -> None:
    """Functions and classes that a module offers say what a keyword that they do not know was
    probably meant to be, and which argument has led to an error of Python's own."""
    names = vars(sys.modules[module])
    for name in names["__all__"]:
        offered = names[name]
        if _plain(offered):
            names[name] = _checked(offered)
        elif inspect.isclass(offered) and _plain(init := vars(offered).get("__init__")):
            offered.__init__ = _checked(init, offered.__name__)


def _plain(item: Any) -> TypeGuard[Callable[..., Any]]:
    """Whether it is a function that nobody has wrapped."""
    return inspect.isfunction(item) and inspect.unwrap(item) is item


def _checked(function: Callable[P, T], owner: str = "") -> Callable[P, T]:
    parameters = inspect.signature(function).parameters.values()
    known = [p.name for p in parameters if p.kind not in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL)]
    known = known[bool(owner) :]  # without self
    any_word = any(p.kind is p.VAR_KEYWORD for p in parameters)

    @functools.wraps(function)
    def call(*args: P.args, **given: P.kwargs) -> T:
        for name in given:
            if name not in known and not any_word:
                raise KeywordError(
                    name,
                    f"must be a keyword of {owner or function.__name__} ({', '.join(known)}), but "
                    f"is none{checks.did_you_mean(name, known)}",
                )
        try:
            return function(*args, **given)
        except checks.ZitterError:
            raise
        except arguments.RAW as error:
            try:
                arguments.judge(function, args, given)
            except checks.InputError as refusal:
                raise refusal from error
            raise

    return call


def caller() -> int:
    """`stacklevel` of a warning that names the line outside the package which led to it."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and frame.f_code.co_filename.startswith(_INSIDE):
        frame, level = frame.f_back, level + 1
    return level
