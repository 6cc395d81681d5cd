"""What evolutions and stationary states share: a basis, a model, and named sections."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Any

from zitter import checks, runtime, same_run
from zitter.bases.base import Basis
from zitter.cases import memory, schema
from zitter.cases.base import SETTINGS, Case, Estimate, title_of
from zitter.config.document import Document
from zitter.config.objects import Builder, is_one, unknown
from zitter.fields import Field
from zitter.hamiltonian import Hamiltonian
from zitter.terms import Model, Term, discretize

SECTIONS = ("title", *SETTINGS, "basis", "model", "initial", "evolve", "eigenstates")


@dataclasses.dataclass
class Physics(Case):
    """A model on a basis, and the keywords of a verb; abstract."""

    document: Document
    title: str
    basis: Basis
    model: Model
    options: dict[str, Any]
    fields: dict[str, Field]

    def hamiltonian(self) -> Hamiltonian:
        try:
            return discretize(self.model, self.basis)
        except checks.InputError as error:
            raise self._located(error) from None

    @property
    def state_bytes(self) -> int:
        return self.basis.size * runtime.settings().complex_dtype.itemsize

    def check_basis(self) -> None:
        memory.check_basis(self.basis)

    def estimated(self, more: dict[str, Any], written: float) -> Estimate:
        """What is known of every model on a basis, and more; the bytes that are written."""
        facts: dict[str, Any] = {
            "case": self.document.name,
            "verb": "evolve" if "evolve" in self.document.table else "eigenstates",
            "basis": f"{type(self.basis).__name__} {'×'.join(map(str, self.basis.shape))}",
            "unknowns": self.basis.size,
            "terms": ", ".join(type(term).__name__ for term in self.model.terms),
            **{name: field.describe() for name, field in self.fields.items()},
            **more,
            "device_bytes": memory.available(),
            **runtime.describe(),
        }
        facts |= more  # which may know better what of the mesh is used
        return Estimate(facts, shown(facts), int(written))

    def _located(self, error: checks.InputError) -> checks.InputError:
        """The same error with the term it came from, found by asking each term again."""
        for i, term in enumerate(self.model.terms):
            try:
                term.discretize(self.basis)
            except checks.InputError as again:
                if again.message == error.message:
                    return again.under(f"model.terms.{i}")
        return error.under("model")


@dataclasses.dataclass
class Parts:
    """The objects of a file that do not belong to a verb, and the builder that makes the rest."""

    document: Document
    title: str
    basis: Basis
    model: Model
    fields: dict[str, Field]
    builder: Builder

    @property
    def found(self) -> tuple[Document, str, Basis, Model]:
        return self.document, self.title, self.basis, self.model

    def require_all_used(self) -> None:
        """Refuse sections that nothing names."""
        for name in self.builder.sections:
            if name not in self.builder.made or (
                name in self.fields and not _mentions(self.document.table, name)
            ):
                raise checks.InputError(
                    name, "must be used somewhere in the file, but nothing names it"
                )


def start(document: Document) -> Parts:
    """Build and check what every model on a basis has."""
    table = document.table
    sections = {
        name: value
        for name, value in table.items()
        if name not in SECTIONS and isinstance(value, dict) and "type" in value
    }
    for name in table:
        if name not in SECTIONS and name not in sections:
            hint = " (a section of your own needs a type)" if isinstance(table[name], dict) else ""
            raise checks.InputError(name, unknown(name, SECTIONS, "a key of the file") + hint)
    builder = Builder(sections, document.folder)
    # Sections first: a wrong laser is reported as `laser.…`, wherever it is used.
    fields = {
        name: builder.build(name, name, Field)
        for name, value in sections.items()
        if is_one(value["type"], Field)
    }
    basis = _basis(builder, section(table, "basis"))
    model = builder.build("model", section(table, "model"), Model, default="Model")
    title = title_of(table)
    return Parts(document, title, basis, model, fields, builder)


# Bases made so far, while somebody reads many files that differ in a few values.
_bases: dict[str, tuple[Basis, dict[str, Any]]] | None = None


@contextlib.contextmanager
def bases_kept() -> Iterator[None]:
    """Inside, equal sections [basis] give one basis: eigenstates of an atom take long to find."""
    global _bases
    before, _bases = _bases, {}
    try:
        yield
    finally:
        _bases = before


def _basis(builder: Builder, table: dict[str, Any]) -> Basis:
    if _bases is None:
        return builder.build("basis", table, Basis)
    parts = {name: x for name, x in builder.sections.items() if not is_one(x["type"], Field)}
    key = same_run.fingerprint(table, parts, str(builder.folder))
    if key not in _bases:
        before = set(builder.made)
        basis = builder.build("basis", table, Basis)
        made = {name: x for name, x in builder.made.items() if name not in before}
        _bases[key] = basis, made
    basis, made = _bases[key]
    builder.made.update(made)
    return basis


def section(table: dict[str, Any], name: str) -> dict[str, Any]:
    if name not in table:
        raise checks.InputError(name, f"must be given as a section [{name}], but is missing")
    return checks.instance(name, table[name], dict)


def physics_schema(definitions: dict[str, Any]) -> dict[str, Any]:
    """The JSON schema of [basis] and [model]."""
    terms = {"type": "array", "minItems": 1, "items": schema.kind(Term, definitions)}
    return {
        "basis": schema.kind(Basis, definitions),
        "model": {
            "type": "object",
            "properties": {"type": {"const": "Model"}, "terms": terms},
            "required": ["terms"],
            "additionalProperties": False,
        },
    }


def _mentions(table: dict[str, Any], name: str) -> bool:
    """Whether any value of the model names this section."""

    def walk(value: Any) -> bool:
        if isinstance(value, dict):
            return any(walk(item) for item in value.values())
        if isinstance(value, list):
            return any(walk(item) for item in value)
        return value == name

    return any(walk(value) for key, value in table.items() if key != name)


def shown(facts: dict[str, Any]) -> dict[str, str]:
    """For people: times and sizes in their units, and nothing that is not known, but that the time
    is not."""
    shown = {}
    for key, value in facts.items():
        if key == "seconds_to_run" and value is None:
            shown["time to run"] = "not told"
        if value in ("", None):
            continue
        label = key.replace("_bytes", "").replace("_", " ").replace("seconds", "time")
        if key == "device_bytes":
            shown["the device has"] = runtime.readable(value)
        elif key.endswith("_bytes"):
            shown[f"{label} needed"] = runtime.readable(value)
        elif key.startswith("seconds"):
            shown[label] = f"about {value:.2g} s"
        else:
            shown[label] = f"{value:.6g}" if isinstance(value, float) else str(value)
    return shown
