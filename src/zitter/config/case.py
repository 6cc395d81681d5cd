"""A whole calculation from a document: basis, model, initial state, and one verb."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable
from typing import Any

from zitter import checks, runtime, solve
from zitter.bases.base import Basis
from zitter.config.document import Document
from zitter.config.objects import Builder, classes, unknown
from zitter.fields import Field
from zitter.hamiltonian import Hamiltonian
from zitter.initial import InitialState
from zitter.terms import Model, discretize

SETTINGS = ("precision", "device", "mesh")
SECTIONS = ("title", *SETTINGS, "basis", "model", "initial", "evolve", "eigenstates")
# Keywords of the verbs that are the command's business, not the file's.
NOT_IN_FILES = {"H", "psi0", "progress", "checkpoint", "resume"}


@dataclasses.dataclass
class Case:
    """What a TOML file describes, as objects."""

    document: Document
    title: str
    basis: Basis
    model: Model
    initial: InitialState
    verb: str
    options: dict[str, Any]
    fields: dict[str, Field]

    def hamiltonian(self) -> Hamiltonian:
        try:
            return discretize(self.model, self.basis)
        except checks.InputError as error:
            raise self._located(error) from None

    def _located(self, error: checks.InputError) -> checks.InputError:
        """The same error with the term it came from, found by asking each term again."""
        for i, term in enumerate(self.model.terms):
            try:
                term.discretize(self.basis)
            except checks.InputError as again:
                if again.message == error.message:
                    return again.under(f"model.terms.{i}")
        return error.under("model")


def configure(document: Document, **chosen: Any) -> runtime.Settings:
    """Precision, device and mesh: from the command line where given there, else from the file."""
    table = {key: document.table[key] for key in SETTINGS if key in document.table}
    table |= {key: value for key, value in chosen.items() if value is not None}
    if "mesh" in table and not isinstance(table["mesh"], dict):
        raise checks.InputError("mesh", f"must be like {{ space = 4 }}, but is {table['mesh']!r}")
    return runtime.configure(**table)


def assemble(document: Document) -> Case:
    """Build and check every object of the file."""
    table = document.table
    sections = {
        name: section
        for name, section in table.items()
        if name not in SECTIONS and isinstance(section, dict) and "type" in section
    }
    for name in table:
        if name not in SECTIONS and name not in sections:
            hint = " (a section of your own needs a type)" if isinstance(table[name], dict) else ""
            raise checks.InputError(name, unknown(name, SECTIONS, "a key of the file") + hint)
    builder = Builder(sections, document.folder)
    # Sections first: a wrong laser is reported as `laser.…`, wherever it is used.
    fields = {
        name: builder.build(name, name, Field)
        for name, section in sections.items()
        if section["type"] in classes(Field)
    }
    basis = builder.build("basis", _section(table, "basis"), Basis)
    model = builder.build("model", _section(table, "model"), Model, default="Model")
    first = builder.build("initial", table.get("initial", {}), InitialState, default="Eigenstate")
    verb = _verb(table)
    options = dict(_section(table, verb))
    if verb == "evolve" and "t" in options:
        options["t"] = _span(options["t"], builder)
    function: Callable[..., Any] = getattr(solve, verb)
    without = NOT_IN_FILES & set(inspect.signature(function).parameters)
    options = builder.arguments(verb, options, function, f"[{verb}]", without)
    for name in sections:
        if name not in builder.made or (name in fields and not _mentions(table, name)):
            raise checks.InputError(
                name, "must be used somewhere in the file, but nothing names it"
            )
    title = checks.instance("title", table.get("title", ""), str)
    return Case(document, title, basis, model, first, verb, options, fields)


def _section(table: dict[str, Any], name: str) -> dict[str, Any]:
    if name not in table:
        raise checks.InputError(name, f"must be given as a section [{name}], but is missing")
    return checks.instance(name, table[name], dict)


def _verb(table: dict[str, Any]) -> str:
    verbs = [name for name in ("evolve", "eigenstates") if name in table]
    if len(verbs) != 1:
        have = "both" if verbs else "neither"
        raise checks.InputError(
            "evolve", f"must be given, or [eigenstates] instead of it, but the file has {have}"
        )
    if verbs == ["eigenstates"] and "initial" in table:
        raise checks.InputError("initial", "must not be given with [eigenstates], but is")
    return verbs[0]


_MOMENT = re.compile(r"^\s*(\w[\w-]*)\.duration\s*(?:([+-])\s*(.+))?$")


def _span(value: Any, builder: Builder) -> Any:
    """`t`, with "laser.duration" or "laser.duration + 5 fs" standing for the end of a pulse."""
    if not isinstance(value, list):
        return value
    return [_moment(f"evolve.t.{i}", item, builder) for i, item in enumerate(value)]


def _moment(key: str, value: Any, builder: Builder) -> Any:
    match = _MOMENT.match(value) if isinstance(value, str) else None
    if match is None:
        return float(checks.scalar(key, value, "time"))
    name, sign, more = match.groups()
    field = builder.build(key, name, Field)
    end = float(field.duration)
    if more is not None:
        end += (1 if sign == "+" else -1) * float(checks.scalar(key, more, "time"))
    if not end < float("inf"):
        raise checks.InputError(key, f"must be finite, but {name} never ends")
    return end


def _mentions(table: dict[str, Any], name: str) -> bool:
    """Whether any value of the model names this section."""

    def walk(value: Any) -> bool:
        if isinstance(value, dict):
            return any(walk(item) for item in value.values())
        if isinstance(value, list):
            return any(walk(item) for item in value)
        return value == name

    return any(walk(section) for key, section in table.items() if key != name)
