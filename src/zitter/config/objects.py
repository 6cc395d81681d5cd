"""Objects from tables: `{ type = "SoftCoulomb", Z = 1 }` becomes `SoftCoulomb(Z=1)`.

Which keys a type has, and which types fit where, is read from the constructors themselves, so that
a new propagator or potential that is public can be used from TOML with nothing else to do.
"""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import equinox as eqx

from zitter import checks, initial, public
from zitter.config import forms
from zitter.config.eigenstates import eigen_basis
from zitter.config.pseudopotentials import pseudopotential

# Types whose table is read by a function, as it says more than the constructor takes.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "EigenBasis": eigen_basis,
    "Pseudopotential": pseudopotential,
}


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One keyword of a constructor: what it takes, and whether it must be given."""

    name: str
    annotation: Any
    required: bool
    default: Any
    kind: type | None  # the class of objects it takes, if it takes objects
    many: bool  # whether it takes a list of them
    named: bool  # whether it takes a table of them by names of one's own, or something plain


@cache
def parameters(function: Callable[..., Any]) -> dict[str, Parameter]:
    """The keywords of a class or function that TOML can express."""
    found = {}
    hints = _hints(function)
    for name, p in inspect.signature(function).parameters.items():
        if p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL):
            continue
        annotation = hints.get(name, Any)
        parts = list(_parts(annotation))
        plain = [part for part, _ in parts if part is not type(None)]
        if plain and all(_is_callable(part) for part in plain):
            continue
        objects = [(part, inside) for part, inside in parts if _is_module(part)]
        kind, many = objects[0] if objects else (None, False)
        required = p.default is p.empty
        named = kind is not None and many and _takes_tables(annotation)
        found[name] = Parameter(
            name, annotation, required, None if required else p.default, kind, many, named
        )
    return found


@cache
def classes(kind: type) -> dict[str, Callable[..., Any]]:
    """The public, concrete classes of a kind that TOML can construct, by name."""
    every = [getattr(public, name) for name in public.__all__]
    every += [initial.Stored]
    every += [getattr(public.qmc, name) for name in public.qmc.__all__]
    return {
        c.__name__: FUNCTIONS.get(c.__name__, c)
        for c in every
        if isinstance(c, type)
        and issubclass(c, kind)
        and not inspect.isabstract(c)
        and _needs_no_function(c)
    }


@dataclasses.dataclass
class Builder:
    """Makes objects out of the sections of one file; each section is made once."""

    sections: dict[str, Any]
    folder: Path
    made: dict[str, Any] = dataclasses.field(default_factory=dict)
    making: list[str] = dataclasses.field(default_factory=list)  # sections that are not done yet

    def build(self, key: str, value: Any, kind: type, default: str | None = None) -> Any:
        """The object a table, or the name of a section or of a type, stands for."""
        if isinstance(value, str):
            return self._named(key, value, kind)
        if not isinstance(value, dict):
            example = f'{{ type = "{next(iter(classes(kind)), kind.__name__)}" }}'
            raise checks.InputError(
                key, f"must be a table like {example}, but is {checks.shown(value)}"
            )
        table = dict(value)
        name = table.pop("type", default)
        if name is None:
            raise checks.InputError(f"{key}.type", f"must be given: {_listed(classes(kind))}")
        if not is_one(name, kind):
            raise checks.InputError(f"{key}.type", unknown(name, classes(kind)))
        cls = classes(kind)[name]
        arguments = self.arguments(key, table, cls, name)
        try:
            return cls(**arguments)
        except checks.InputError as error:
            raise error.under(key) from None
        except (TypeError, ValueError, ArithmeticError, LookupError, EOFError) as error:
            raise checks.InputError(
                key, f"must hold values that {name} can use, but does not: {error}"
            ) from None

    def arguments(
        self,
        key: str,
        table: dict[str, Any],
        function: Callable[..., Any],
        name: str,
        without: Iterable[str] = (),
    ) -> dict[str, Any]:
        """Keyword arguments for a constructor or verb; unknown and missing keys are refused."""
        known = {n: p for n, p in parameters(function).items() if n not in set(without)}
        for given in table:
            if given not in known:
                raise checks.InputError(f"{key}.{given}", unknown(given, known, f"a key of {name}"))
        for p in known.values():
            if p.required and p.name not in table:
                raise checks.InputError(f"{key}.{p.name}", "must be given, but is missing")
        return {n: self._argument(f"{key}.{n}", known[n], value) for n, value in table.items()}

    def _argument(self, key: str, p: Parameter, value: Any) -> Any:
        if p.kind is not None and p.named:
            if not isinstance(value, dict):
                return value
            return {
                n: self.build(f"{key}.{n}", item, p.kind) if isinstance(item, dict) else item
                for n, item in value.items()
            }
        if p.kind is not None and p.many:
            if not isinstance(value, list):
                raise checks.InputError(key, f"must be a list, but is {checks.shown(value)}")
            return [self.build(f"{key}.{i}", item, p.kind) for i, item in enumerate(value)]
        if p.kind is not None:
            return self.build(key, value, p.kind)
        if p.annotation is int:
            return checks.integer(key, value)
        if p.annotation is bool:
            return checks.boolean(key, value)
        if p.name == "file" and isinstance(value, str):
            return str(self.folder / value)
        return forms.checked(key, p.annotation, value)

    def _named(self, key: str, name: str, kind: type) -> Any:
        if name in self.sections:
            if name in self.making:
                raise checks.InputError(key, f'must not lead back to itself, but is "{name}"')
            if name not in self.made:
                section = self.sections[name]
                known = is_one(section.get("type"), eqx.Module)
                self.making.append(name)
                self.made[name] = self.build(name, section, eqx.Module if known else kind)
                self.making.remove(name)
            return checks.instance(key, self.made[name], kind)
        if name in classes(kind):
            return self.build(key, {"type": name}, kind)
        sections = [n for n, s in self.sections.items() if is_one(s.get("type"), kind)]
        raise checks.InputError(key, unknown(name, sections or classes(kind)))


def is_one(name: Any, kind: type) -> bool:
    """Whether this is the name of a class of a kind; a file may hold anything for it."""
    return isinstance(name, str) and name in classes(kind)


def unknown(name: Any, known: Iterable[str], what: str = "") -> str:
    """`must be one of …, but is "…"`, with the nearest name suggested."""
    known = list(known)
    intro = f"must be {what} ({', '.join(known)})" if what else f"must be {_listed(known)}"
    given = f'"{checks.cut(name, 80)}"' if isinstance(name, str) else checks.shown(name)
    return f"{intro}, but is {given}{checks.did_you_mean(name, known)}"


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    return f"one of {', '.join(names)}" if len(names) > 1 else ", ".join(names)


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    target = function.__init__ if isinstance(function, type) else function
    try:
        hints = typing.get_type_hints(target)
    except (NameError, TypeError):
        hints = {}
    if isinstance(function, type) and not hints:  # a constructor made from the class' fields
        hints = typing.get_type_hints(function)
    return hints


def _parts(annotation: Any, inside: bool = False) -> Iterable[tuple[Any, bool]]:
    """The alternatives of an annotation, each with whether it stands in a list."""
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType):
        for part in typing.get_args(annotation):
            yield from _parts(part, inside)
    elif isinstance(origin, type) and issubclass(origin, Iterable) and origin is not str:
        for part in typing.get_args(annotation):
            yield from _parts(part, True)
    else:
        yield annotation, inside


def _takes_tables(annotation: Any) -> bool:
    """Whether one of the alternatives of an annotation is a mapping."""
    parts = (annotation, *typing.get_args(annotation))
    origins = [typing.get_origin(part) for part in parts]
    return any(isinstance(o, type) and issubclass(o, Mapping) for o in origins)


def _is_module(part: Any) -> bool:
    return isinstance(part, type) and issubclass(part, eqx.Module)


def _is_callable(part: Any) -> bool:
    return part is Callable or typing.get_origin(part) is Callable


def _needs_no_function(cls: type) -> bool:
    """Whether every required keyword can be written in TOML."""
    known = parameters(cls)
    return all(
        name in known or p.default is not p.empty
        for name, p in inspect.signature(cls).parameters.items()
    )
