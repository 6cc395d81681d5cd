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
    "accuracy": 7,
    "public": 7,
    "cli": 7,
    "config": 7,
    "cases": 7,
    "initial": 7,
    "reproduce": 7,
    "plot": 7,
    "scans": 7,
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
    "checkpoints": 0,
    "same_run": 0,
    "results": 0,
    "stored": 0,
    "tables": 0,
    "io": 0,
    "cube": 0,
    "runtime": 0,
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
