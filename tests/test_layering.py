"""Imports point downwards only: the layers of docs/architecture.md, held by reading the source.

Imports inside functions and under TYPE_CHECKING count as well: a lower layer does not know of a
higher one, whenever the import runs.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

PACKAGE = "zitter"
SOURCE = Path(__file__).resolve().parent.parent / "src" / PACKAGE

LEVELS = {
    "public": 7,
    "cli": 7,
    "config": 7,
    "cases": 7,
    "initial": 7,
    "reproduce": 7,
    "plot": 7,
    "scans": 7,
    "controls": 7,
    "sweeps": 7,
    "together": 7,
    "batches": 0,
    "data_files": 0,
    "kinds": 7,
    "kept_classes": 7,
    "solve": 6,
    "spectra": 6,
    "qmc": 6,
    "propagators": 5,
    "eigensolvers": 5,
    "observables": 5,
    "terms": 4,
    "fields": 3,
    "hamiltonian": 3,
    "bases": 2,
    "linalg": 1,
    "loop": 0,
    "segments": 0,
    "arguments": 0,
    "keywords": 0,
    "progress": 0,
    "stopping": 0,
    "rounds": 0,
    "remade": 0,
    "traced": 0,
    "checkpoints": 0,
    "same_run": 0,
    "results": 0,
    "stored": 0,
    "tables": 0,
    "io": 0,
    "files": 0,
    "locks": 0,
    "cube": 0,
    "runtime": 0,
    "compiler_flags": 0,
    "processes": 0,
    "parts": 0,
    "units": 0,
    "checks": 0,
    "expressions": 0,
}
# Levels whose modules may import one another.
OPEN_LEVELS = {0, 7}


def top_level_names(source: Path) -> list[str]:
    """Modules and packages directly under the package, without its own __init__."""
    modules = {path.stem for path in source.glob("*.py")} - {"__init__", "__main__"}
    packages = {path.name for path in source.iterdir() if any(path.glob("**/*.py"))}
    return sorted(modules | packages)


def imported_names(code: str, package: tuple[str, ...]) -> list[tuple[int, str]]:
    """(line, name) for each import from our own package; "" stands for the package itself.

    `package` is the dotted path of the package the code lives in, for relative imports.
    """
    tree = ast.parse(code)
    found: list[tuple[int, str]] = []
    roots: dict[str, int] = {}  # local names bound to the package itself
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first, *rest = alias.name.split(".")
                if first != PACKAGE:
                    continue
                if rest:
                    found.append((node.lineno, rest[0]))
                if not rest or alias.asname is None:
                    roots[alias.asname or PACKAGE] = node.lineno
        elif isinstance(node, ast.ImportFrom):
            module = (node.module or "").split(".") if node.module else []
            if node.level:
                module = [*package[: len(package) - node.level + 1], *module]
            if not module or module[0] != PACKAGE:
                continue
            if len(module) > 1:
                found.append((node.lineno, module[1]))
            else:
                found += [(node.lineno, own_name(alias.name)) for alias in node.names]
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in roots
        ):
            found.append((node.lineno, own_name(node.attr)))
    return [(line, name) for line, name in found if name != "__version__"]


def own_name(name: str) -> str:
    """A module of ours, `__version__`, or "" for a public name taken from `zitter` itself."""
    return name if name in LEVELS or name == "__version__" else ""


def complaint(importer: str, imported: str) -> str | None:
    """Why `importer` may not import `imported`, or None if it may."""
    level = LEVELS[importer]
    if imported == importer:
        return None
    if imported == "":
        if level == max(LEVELS.values()):
            return None
        return f"imports from {PACKAGE} itself, which imports everything; name the module instead"
    if imported not in LEVELS:
        return f"imports {PACKAGE}.{imported}, which has no level in LEVELS"
    other = LEVELS[imported]
    if other < level or (other == level and level in OPEN_LEVELS):
        return None
    direction = "the same level" if other == level else f"level {other}"
    return f"is level {level} and imports {PACKAGE}.{imported}, which is {direction}"


def violations(source: Path) -> list[str]:
    found = []
    for path in sorted(source.rglob("*.py")):
        inside = path.relative_to(source)
        importer = inside.parts[0].removesuffix(".py")
        if importer in ("__init__", "__main__") or importer not in LEVELS:
            continue
        package = (PACKAGE, *inside.parts[:-1])
        for line, imported in imported_names(path.read_text(encoding="utf-8"), package):
            reason = complaint(importer, imported)
            if reason:
                found.append(f"{inside}:{line}: {importer} {reason}")
    return found


def test_every_top_level_module_has_a_level():
    missing = [name for name in top_level_names(SOURCE) if name not in LEVELS]
    assert not missing, (
        f"no level for {', '.join(missing)}: add each to LEVELS in tests/test_layering.py and to "
        "the layers in docs/architecture.md"
    )


def test_imports_point_downwards():
    found = violations(SOURCE)
    assert not found, "imports must point to a lower level:\n  " + "\n  ".join(found)


@pytest.mark.parametrize("module", [name for name, level in LEVELS.items() if level == 0])
def test_the_ground_does_not_speak_of_the_command_line(module):
    """What a command calls its options and itself is added where commands are."""
    files = [SOURCE / f"{module}.py", *(SOURCE / module).glob("*.py")]
    words = re.compile(r"--[a-z]|zitter (run|show|plot)\b|command line")
    told = [
        line for f in files if f.exists() for line in f.read_text(encoding="utf-8").splitlines()
    ]
    assert told
    assert [line for line in told if words.search(line)] == []


@pytest.mark.parametrize(
    ("code", "importer"),
    [
        ("from zitter.solve import evolve", "propagators"),
        ("from zitter import solve", "terms"),
        ("import zitter.solve", "linalg"),
        ("from ..solve import evolve", "bases"),
        ("from .. import solve", "bases"),
        ("def f():\n    import zitter.qmc as q", "solve"),
        ("if TYPE_CHECKING:\n    from zitter.terms import Model", "fields"),
        ("import zitter\nzitter.solve.evolve", "runtime"),
        ("import zitter as zt\nzt.Grid", "terms"),
        ("from zitter import Grid", "qmc"),
        ("from zitter.observables import Norm", "propagators"),
        ("from zitter.novelty import thing", "cli"),
    ],
)
def test_upward_and_sideways_imports_are_seen(code, importer):
    names = imported_names(code, (PACKAGE, importer))
    assert any(complaint(importer, name) for _, name in names)


@pytest.mark.parametrize(
    ("code", "importer"),
    [
        ("import numpy\nfrom os import path", "units"),
        ("from zitter import checks", "runtime"),
        ("from zitter.linalg.banded import Banded", "linalg"),
        ("from .banded import Banded", "linalg"),
        ("from ..linalg import Banded", "bases"),
        ("from zitter import plot", "cli"),
        ("import zitter as zt\nzt.Grid", "reproduce"),
        ("import zitter\nzitter.__version__", "runtime"),
        ("from zitter import __version__", "io"),
    ],
)
def test_allowed_imports_pass(code, importer):
    names = imported_names(code, (PACKAGE, importer))
    assert [complaint(importer, name) for _, name in names if complaint(importer, name)] == []


# Nobody outside a basis's folder asks for its type: what depends on it is a word of the basis.

CONCRETE = {
    "EigenBasis",
    "Grid",
    "Levels",
    "ProlateSpheroidal",
    "SphericalBasis",
    "SpinorBasis",
}
# Parts of `bases` that belong to no one basis.
SHARED = {"angular", "base", "bsplines", "edges", "field_free", "places", "plane_waves", "split"}
SHARED |= {"unit_vector"}
SHARED_NAMES = SHARED | {"Basis", "ExteriorScaling", "RadialBSplines"}  # of `zitter.bases`
# Where concrete bases may be imported, to be made or offered: never to be asked for.
MAY_IMPORT = {"public.py", "reproduce", "config/eigenstates.py"}
# What still speaks of concrete bases: nothing, and it may not grow.
STILL: set[str] = set()


def asked_types(code: str) -> list[tuple[int, str]]:
    """(line, class) for each concrete basis that code tests a value for."""
    found: list[tuple[int, str]] = []
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, kinds]):
                found += _concrete(kinds)
            case ast.Call(func=ast.Attribute(attr="instance"), args=[_, _, *kinds]):
                found += [hit for kind in kinds for hit in _concrete(kind)]
            case ast.MatchClass(cls=kind):
                found += _concrete(kind)
            case ast.Compare(left=left, comparators=others):
                sides = [left, *others]
                if any(_is_type_of(side) for side in sides):
                    found += [hit for side in sides for hit in _concrete(side)]
    return found


def _is_type_of(node: ast.expr) -> bool:
    """type(x), x.__class__, or the name of either."""
    match node:
        case ast.Call(func=ast.Name(id="type")) | ast.Attribute(attr="__class__"):
            return True
        case ast.Attribute(attr="__name__" | "__qualname__", value=inner):
            return _is_type_of(inner)
    return False


def _concrete(node: ast.AST) -> list[tuple[int, str]]:
    """Concrete bases named anywhere in an expression, as a name, an attribute or a string."""
    found = []
    for part in ast.walk(node):
        match part:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=str(name)):
                if name in CONCRETE:
                    found.append((part.lineno, name))
    return found


def imported_bases(code: str) -> list[tuple[int, str]]:
    """(line, module or class) for each import of what belongs to one basis."""
    found: list[tuple[int, str]] = []
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.ImportFrom(module=str(module), names=names):
                parts = module.split(".")
                if parts[:2] == [PACKAGE, "bases"]:
                    wanted = parts[2:3] or [alias.name for alias in names]
                    allowed = SHARED if parts[2:] else SHARED_NAMES
                    found += [(node.lineno, name) for name in wanted if name not in allowed]
                elif parts == [PACKAGE]:
                    found += [(node.lineno, a.name) for a in names if a.name in CONCRETE]
            case ast.Import(names=names):
                for alias in names:
                    parts = alias.name.split(".")
                    if parts[:2] == [PACKAGE, "bases"] and not set(parts[2:3]) <= SHARED:
                        found.append((node.lineno, parts[2]))
    return found


def confessions(source: Path) -> dict[str, list[str]]:
    """Module → what it says about concrete bases, outside of `bases`."""
    found: dict[str, list[str]] = {}
    for path in sorted(source.rglob("*.py")):
        inside = path.relative_to(source)
        if inside.parts[0] == "bases":
            continue
        code = path.read_text(encoding="utf-8")
        told = [f"{inside}:{line}: asks for a {name}" for line, name in asked_types(code)]
        if not MAY_IMPORT & {inside.parts[0], inside.as_posix()}:
            told += [f"{inside}:{line}: imports {name}" for line, name in imported_bases(code)]
        if told:
            found[inside.as_posix()] = told
    return found


def test_nobody_outside_its_folder_asks_for_the_type_of_a_basis():
    found = [line for lines in confessions(SOURCE).values() for line in lines]
    assert not found, "say it in the vocabulary of bases/base.py:\n  " + "\n  ".join(found)


@pytest.mark.parametrize(
    "code",
    [
        "isinstance(basis, Grid)",
        "isinstance(H.basis, Grid | SpinorBasis)",
        "isinstance(basis, (Operator, zt.EigenBasis))",
        "issubclass(kind, bases.SphericalBasis)",
        "checks.instance('basis', basis, Levels)",
        "type(basis) is Grid",
        "Grid == type(basis)",
        "basis.__class__ in (Grid, Levels)",
        "type(basis).__name__ == 'SpinorBasis'",
        "match basis:\n    case ProlateSpheroidal():\n        pass",
        "match basis:\n    case bases.Grid(shape=s) | Operator():\n        pass",
    ],
)
def test_questions_for_a_type_are_seen(code):
    assert asked_types(code)


@pytest.mark.parametrize(
    "code",
    [
        "isinstance(basis, Basis)",
        "checks.instance('basis', basis, Basis)",
        "basis = Grid(64, 0.1)",
        "match operator:\n    case Diagonal():\n        pass",
        "type(basis).__name__",
        "raise Refused(self, 'a coarser basis', 'it needs a Grid')",
        "name == 'Grid'",
    ],
)
def test_words_for_any_basis_pass(code):
    assert not asked_types(code)


@pytest.mark.parametrize(
    ("code", "seen"),
    [
        ("from zitter.bases.grid.basis import Grid", True),
        ("from zitter.bases.spinor.blocks import SpinorBlocks", True),
        ("from zitter.bases.levels import Levels", True),
        ("from zitter.bases import SphericalBasis", True),
        ("from zitter import Grid", True),
        ("import zitter.bases.eigen.basis", True),
        ("def f():\n    from zitter.bases.grid import Grid", True),
        ("from zitter.bases.base import Basis, Refused", False),
        ("from zitter.bases import Basis, edges", False),
        ("from zitter.bases.places import Places", False),
        ("from zitter.bases.bsplines import RadialBSplines", False),
        ("import zitter.bases.edges", False),
    ],
)
def test_imports_of_concrete_bases_are_seen(code, seen):
    assert bool(imported_bases(code)) == seen
