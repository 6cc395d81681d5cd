"""Objects in files: a basis, a model, a pulse as plain data, and back.

An object becomes its class' name and its fields, one inside the other, as JSON; arrays lie beside
it. Names stand for the classes that are registered here and for nothing else: reading a file runs
no constructor, imports nothing and evaluates nothing. What cannot be kept (a Python function, a
class of the user's own) leaves a hole with the reason, and the object comes back as None.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from zitter import __version__, checks, io

SINCE = "0.2"  # the first version whose results keep their basis and model
TAG = "#"  # the key that tells a JSON table which stands for something from a dictionary


class Lost(Exception):
    """Why something cannot be kept, or not be restored."""


@dataclasses.dataclass(frozen=True)
class Rule:
    """How objects of one class are taken apart and put together: all fields, unless said otherwise.

    `parts(object)` gives what is kept, by name; `make(parts)` the object. The constructor does not
    run: fields hold what it made of its arguments.
    """

    cls: type
    parts: Callable[[Any], dict[str, Any]] | None = None
    make: Callable[[dict[str, Any]], Any] | None = None

    def take_apart(self, thing: Any) -> dict[str, Any]:
        return self.parts(thing) if self.parts is not None else fields_of(thing)

    def put_together(self, parts: dict[str, Any]) -> Any:
        return self.make(parts) if self.make is not None else with_fields(self.cls, parts)


def fields_of(thing: Any) -> dict[str, Any]:
    """The values of an object's own fields."""
    return {name: getattr(thing, name) for name in _field_names(type(thing))}


def _field_names(cls: type) -> list[str]:
    """Without those that a class inherits as a promise and keeps as a property."""
    names = (field.name for field in dataclasses.fields(cls))
    return [n for n in names if not isinstance(inspect.getattr_static(cls, n, None), property)]


def with_fields(cls: type, fields: dict[str, Any]) -> Any:
    """An object with exactly these fields, made without its constructor."""
    names = set(_field_names(cls))
    if names != set(fields):
        differ = ", ".join(sorted(names ^ set(fields)))
        raise Lost(f"a {cls.__name__} of this version differs in {differ}")
    made = object.__new__(cls)
    for name, value in fields.items():
        object.__setattr__(made, name, value)
    return made


_SOURCES: list[Callable[[], Iterable[Rule]]] = []


def register(source: Callable[[], Iterable[Rule]]) -> None:
    """Let files hold the classes of these rules; `source` is asked when the first is needed."""
    _SOURCES.append(source)
    _rules.cache_clear()


@functools.cache
def _rules() -> dict[str, Rule]:
    return {rule.cls.__name__: rule for source in _SOURCES for rule in source()}


def pack(thing: Any) -> io.Packed:
    """An object as plain data; never refuses, but may leave holes."""
    arrays: dict[str, np.ndarray] = {}
    return io.Packed(_form(thing, arrays), arrays)


def unpack(packed: io.Packed, version: str = __version__) -> Any:
    """The object, or `Lost` with the reason: a hole, or a class of another version."""
    from zitter import runtime  # which brings JAX along: numbers are shown without it

    runtime.settings()  # before them, arrays of JAX are in single precision
    try:
        return _thing(packed.form, packed.arrays)
    except Lost as reason:
        if version == __version__:
            raise
        raise Lost(f"{reason} (zitter {version} wrote it, this is {__version__})") from None
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise Lost(f"the file is damaged there ({type(error).__name__})") from None


def each(packed: io.Packed, kind: type) -> list[Any]:
    """Every object of a kind among the parts, the outermost of those inside one another.

    It finds the pulses of a model even where a part of it is a hole.
    """
    found: list[Any] = []

    def walk(form: Any) -> None:
        if isinstance(form, dict):
            rule = _rules().get(str(form.get("class")))
            if rule is not None and issubclass(rule.cls, kind):
                found.append(_thing(form, packed.arrays))
                return
        for part in form.values() if isinstance(form, dict) else form:
            if isinstance(part, dict | list):
                walk(part)

    try:
        walk([packed.form])
    except (Lost, KeyError, TypeError, ValueError, AttributeError, RecursionError):
        return []
    return found


def _form(thing: Any, arrays: dict[str, np.ndarray]) -> Any:
    """A value as JSON; arrays go to `arrays`."""
    match thing:
        case None | bool() | str():
            return thing
        case np.generic():  # before int and float: np.float64 is one
            return _array(thing, "scalar", arrays)
        case int() | float():
            return thing
        case complex():
            return {TAG: "complex", "parts": [thing.real, thing.imag]}
        case np.ndarray():
            return _array(thing, "numpy", arrays)
        case list():
            return [_form(item, arrays) for item in thing]
        case tuple() if type(thing) is tuple:
            return {TAG: "tuple", "items": [_form(item, arrays) for item in thing]}
        case dict() if all(isinstance(key, str) for key in thing):
            return {TAG: "dict", "items": {k: _form(v, arrays) for k, v in thing.items()}}
    if _is_jax_array(thing):
        return _array(thing, "jax", arrays)
    name = type(thing).__name__
    rule = _rules().get(name)
    if rule is None or rule.cls is not type(thing):
        return {TAG: "hole", "why": _why_not(thing)}
    parts = {key: _form(value, arrays) for key, value in rule.take_apart(thing).items()}
    return {TAG: "object", "class": name, "parts": parts}


def _array(values: Any, origin: str, arrays: dict[str, np.ndarray]) -> dict[str, str]:
    key = f"array_{len(arrays)}"
    arrays[key] = np.asarray(values)
    return {TAG: "array", "of": origin, "key": key}


def _thing(form: Any, arrays: dict[str, np.ndarray]) -> Any:
    if isinstance(form, list):
        return [_thing(item, arrays) for item in form]
    if not isinstance(form, dict):
        return form
    match form[TAG]:
        case "hole":
            raise Lost(str(form["why"]))
        case "complex":
            return complex(*form["parts"])
        case "tuple":
            return tuple(_thing(item, arrays) for item in form["items"])
        case "dict":
            return {key: _thing(item, arrays) for key, item in form["items"].items()}
        case "array":
            return _from_array(arrays[form["key"]], form["of"])
        case "object":
            rule = _rules().get(form["class"])
            if rule is None:
                raise Lost(f"this version has no {form['class']}")
            parts = {key: _thing(item, arrays) for key, item in form["parts"].items()}
            return rule.put_together(parts)
    raise Lost(f"the file is damaged there ({form[TAG]!r} is nothing that is kept)")


def _from_array(values: np.ndarray, origin: str) -> Any:
    if origin == "scalar":
        return np.asarray(values)[()]
    if origin == "jax":
        import jax.numpy as jnp

        return jnp.asarray(values)
    return values


def _is_jax_array(thing: Any) -> bool:
    import jax

    return isinstance(thing, jax.Array) and not checks.is_traced(thing)


def _why_not(thing: Any) -> str:
    name = getattr(thing, "__name__", type(thing).__name__)
    what = "a Python function" if callable(thing) else "not a class of zitter"
    return f"it holds {name}, {what}, which files cannot keep"


class Kept:
    """Objects that belong to a result: as they are, or as a file has them until somebody asks."""

    def __init__(
        self,
        objects: dict[str, Any] | None = None,
        packed: dict[str, io.Packed] | None = None,
        version: str = __version__,
        early: bool = False,
    ):
        self._objects = dict(objects or {})
        self._packed = dict(packed or {})
        self._version = version
        self._early = early  # of a version that kept nothing
        self._reasons: dict[str, str] = {}

    @classmethod
    def of(cls, H: Any) -> Kept:
        """What a Hamiltonian belongs to."""
        return cls({"basis": H.basis, "model": H.model})

    @classmethod
    def of_file(cls, data: io.Dataset, info: dict[str, Any]) -> Kept:
        """What a file holds; the earliest told their version among other things, if at all."""
        early = "version" not in data.attributes
        version = info.get("zitter", "") if early else data.attributes["version"]
        return cls(packed=data.objects, version=str(version), early=early)

    def get(self, name: str) -> Any | None:
        """The object, or None; `missing` tells why."""
        if name not in self._objects and name in self._packed:
            try:
                self._objects[name] = unpack(self._packed[name], self._version)
            except Lost as reason:
                self._objects[name], self._reasons[name] = None, str(reason)
        return self._objects.get(name)

    def missing(self, names: Iterable[str]) -> dict[str, str]:
        """For each of these that `get` does not give, the reason."""
        return {name: self._reason(name) for name in names if self.get(name) is None}

    def _reason(self, name: str) -> str:
        if name in self._reasons:
            return self._reasons[name]
        if self._early:
            wrote = f"zitter {self._version} wrote the file".replace("  ", " ")
            return f"{wrote}, and only {SINCE} and later keep it"
        return "the result was made without it"

    def each(self, name: str, kind: type) -> list[Any]:
        """Every object of a kind inside one that is kept, be it whole or not."""
        whole = self.get(name)
        if whole is None:
            return each(self._packed[name], kind) if name in self._packed else []
        import jax

        parts = jax.tree.leaves(whole, is_leaf=lambda part: isinstance(part, kind))
        return [part for part in parts if isinstance(part, kind)]

    def packed(self) -> dict[str, io.Packed]:
        """For a file: what came from one goes back as it was."""
        made = {name: pack(x) for name, x in self._objects.items() if x is not None}
        return made | self._packed
