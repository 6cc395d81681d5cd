"""The JSON schema of the TOML input, made from the constructors' signatures."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Iterable
from typing import Any

import equinox as eqx
import numpy as np

from zitter import runtime
from zitter.cases.base import Case
from zitter.config.objects import Parameter, classes, parameters


def schema(kinds: Iterable[type[Case]]) -> dict[str, Any]:
    """A JSON schema (draft 2020-12) of all kinds of cases; a value with a unit is a string."""
    definitions: dict[str, Any] = {}
    own = kind(eqx.Module, definitions)  # pulses, trajectories, or whatever else is named
    sections: dict[str, Any] = {}
    required: list[Any] = []
    for case in kinds:
        found, needed = case.schema(definitions)
        sections, required = found | sections, needed + required
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "zitter input",
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "precision": {"enum": list(runtime.PRECISIONS)},
            "device": {"type": "string"},
            "scan": {"type": "object", "description": "lists or ranges of keys of the file"},
            "mesh": {"type": "object", "additionalProperties": {"type": "integer", "minimum": 1}},
            **sections,
        },
        "oneOf": [{"required": r} if isinstance(r, list) else r for r in required],
        "additionalProperties": {"anyOf": own["anyOf"][:-1]},  # tables, never a bare name
        "$defs": definitions,
    }


def kind(base: type, definitions: dict[str, Any], default: str | None = None) -> dict[str, Any]:
    """Any class of a kind as a table, or the name of a section or class."""
    for name, cls in classes(base).items():
        if name not in definitions:
            definitions[name] = {}  # holds the place while its own parameters are written
            definitions[name] = table(cls, definitions, name, name == default)
    refs = [{"$ref": f"#/$defs/{name}"} for name in classes(base)]
    return {"anyOf": [*refs, {"type": "string"}]}


def table(
    function: Callable[..., Any],
    definitions: dict[str, Any],
    name: str | None = None,
    type_optional: bool = False,
    without: Iterable[str] = (),
) -> dict[str, Any]:
    known = {k: p for k, p in parameters(function).items() if k not in set(without)}
    properties: dict[str, Any] = {"type": {"const": name}} if name else {}
    properties |= {key: _parameter(p, definitions) for key, p in known.items()}
    required = [key for key, p in known.items() if p.required]
    if name and not type_optional:
        required.insert(0, "type")
    first_line = (function.__doc__ or "").strip().split("\n")[0]
    return {
        "type": "object",
        "description": first_line,
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _parameter(p: Parameter, definitions: dict[str, Any]) -> dict[str, Any]:
    if p.kind is not None:
        one = kind(p.kind, definitions)
        if p.named:
            return {"anyOf": [{"type": "string"}, {"type": "object", "additionalProperties": one}]}
        return {"type": "array", "items": one} if p.many else one
    result = _annotation(p.annotation)
    if not p.required and isinstance(p.default, bool | int | float | str):
        result = {**result, "default": p.default}
    return result


def _annotation(annotation: Any) -> dict[str, Any]:
    origin = typing.get_origin(annotation)
    if origin is typing.Literal:
        return {"enum": list(typing.get_args(annotation))}
    if origin in (typing.Union, types.UnionType):
        parts = [a for a in typing.get_args(annotation) if a is not type(None)]
        options = [option for part in parts for option in [_annotation(part)] if option]
        return {"anyOf": options} if len(options) > 1 else (options[0] if options else {})
    if isinstance(origin, type) and issubclass(origin, Iterable):
        return {"type": "array"}
    names = {int: "integer", float: "number", str: "string", bool: "boolean", np.ndarray: "array"}
    if annotation in names:
        return {"type": names[annotation]}
    if isinstance(annotation, type) and issubclass(annotation, eqx.Module):
        return {"type": "object"}
    return {}
