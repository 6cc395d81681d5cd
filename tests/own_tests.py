"""The test files that belong to changed files, and how closely.

Files are told by what they name: imports, public names (`zt.Lanczos`, `type = "Lanczos"` in an
input), programs, data and examples. What a test's helpers name counts as if the test did.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ITSELF, NAMED, USED, NEAR = range(4)
LISTS = ("public.py", "qmc/__init__.py")  # of public names
Files = Mapping[str, str]  # test files with their text


def own_tests(changed: Iterable[str], files: Files, root: Path = ROOT) -> dict[str, int]:
    """How closely each test file belongs to a changed one, of those that do.

    ITSELF: the changed file, or `test_name.py` of `name.py`. NAMED: the module is imported, or the
    program, example or data named. USED: a public name that the module defines is used. NEAR: where
    there are none of these, the tests of the module's folder, or else of modules that import it.
    """
    found: dict[str, int] = {}
    for path in dict.fromkeys(p for name in changed for p in _read_by(Path(name), root)):
        belonging = _of(path, files, root) or dict.fromkeys(_near(path, files, root), NEAR)
        for file, closeness in belonging.items():
            found[file] = min(closeness, found.get(file, closeness))
    return found


def _of(path: Path, files: Files, root: Path) -> dict[str, int]:
    found: dict[str, int] = {}
    stem = re.escape(path.stem)
    if _in_package(path):
        module = _module(path)
        *package, name = module.split(".")
        users = _naming(files, *map(_use, _public(root, module)))
        namers = _naming(files, rf"\b{re.escape(module)}\b", _import(name, ".".join(package)))
    else:
        users = set()
        namers = _naming(files, rf'"{stem}"', rf"\b{re.escape(path.name)}", _import(stem))
    found |= dict.fromkeys(users, USED)
    found |= dict.fromkeys(namers, NAMED)
    own = {file for file in files if Path(file).name in (path.name, f"test_{path.name}")}
    return found | dict.fromkeys(own, ITSELF)


def _near(path: Path, files: Files, root: Path) -> set[str]:
    if path.parts[0] == "tests":  # a conftest, say
        return {file for file in files if file.startswith(f"{path.parent.as_posix()}/")}
    if not _in_package(path):
        return set()
    for folder in [Path(*path.parts[2:]).parent, *Path(*path.parts[2:]).parent.parents][:-1]:
        own = f"test_{folder.name}.py"
        if found := {f for f in files if f.startswith(f"tests/{folder}/") or Path(f).name == own}:
            return found
    importers = _naming(_package(root), *_imports(_module(path)))
    return {file for name in importers for file in _of(Path(name), files, root)}


def _read_by(path: Path, root: Path) -> Iterator[Path]:
    """The file, or the modules beside it that read it where it is no module."""
    if not _in_package(path) or path.suffix == ".py":
        yield path
        return
    for folder in (path.parent, path.parent.parent):
        beside = {n: t for n, t in _package(root).items() if Path(n).parent == folder}
        found = _naming(beside, rf"\b{re.escape(path.name)}", rf'"{re.escape(path.stem)}"')
        yield from map(Path, sorted(found))
        if found:
            return


def with_helpers(files: Files, root: Path = ROOT) -> dict[str, str]:
    """Each test file with the text of what it names among the modules and programs of the tests."""
    helpers: dict[str, list[Path]] = {}
    for path in sorted((root / "tests").rglob("*.py")):
        if not path.name.startswith(("test_", "__init__", "conftest")):
            helpers.setdefault(path.stem, []).append(path)
    texts = functools.cache(lambda path: path.read_text(encoding="utf-8"))

    @functools.cache
    def named(text: str, folder: Path) -> list[Path]:
        lines = re.findall(
            r"^ *(?:from|import) (?!zitter|numpy|jax)(?:[^\n(]|\([^)]*\))*", text, re.M
        )
        words, quoted = set(re.findall(r"\w+", " ".join(lines))), set(re.findall(r'"(\w+)"', text))
        found = [(path, s) for s in helpers.keys() & (words | quoted) for path in helpers[s]]
        return sorted(path for path, s in found if s in words or path.parent == folder)

    def whole(file: str) -> str:
        parts = [files[file]]
        seen = named(parts[0], (root / file).parent)[:]
        for path in seen:  # grows on the way
            parts.append(texts(path))
            seen += [more for more in named(parts[-1], path.parent) if more not in seen]
        return "\n".join(parts)

    return {file: whole(file) for file in files}


def _in_package(path: Path) -> bool:
    return path.parts[:2] == ("src", "zitter")


def _module(path: Path) -> str:
    parts = path.with_suffix("").parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _naming(files: Files, *patterns: str) -> set[str]:
    some = re.compile("|".join(patterns) or r"(?!)", re.MULTILINE)
    return {file for file, text in files.items() if some.search(text)}


def _import(name: str, package: str | None = None) -> str:
    """`from package import …, name`, of any package or of this one; also over several lines."""
    of = rf"from {re.escape(package)} " if package else r"^ *(?:from (?!zitter)\S+ )?"
    more = rf"|^ *from (?!zitter)\S*\b{name} import" if package is None else ""
    return rf"{of}import (?:[^\n(]*|\([^)]*)\b{name}\b{more}"


def _imports(module: str) -> tuple[str, str]:
    *package, name = module.split(".")
    return rf"\bfrom {re.escape(module)} import", _import(name, ".".join(package))


def _use(name: str) -> str:
    return rf'\b(?:zt|zitter|qmc)\.{name}\b|"{name}"|import (?:[^\n(]*|\([^)]*)\b{name}\b'


@functools.cache
def _package(root: Path) -> dict[str, str]:
    modules = sorted((root / "src" / "zitter").rglob("*.py"))
    return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in modules}


def _public(root: Path, module: str) -> set[str]:
    """Classes and functions that this module defines and the package offers."""
    return _defined(root).get(module, set()) & _offered(root)


@functools.cache
def _offered(root: Path) -> set[str]:
    trees = [ast.parse(_package(root).get(f"src/zitter/{name}", "")) for name in LISTS]
    return {
        alias.asname or alias.name
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


@functools.cache
def _defined(root: Path) -> dict[str, set[str]]:
    kinds = (ast.ClassDef, ast.FunctionDef)
    return {
        _module(Path(name)): {n.name for n in ast.parse(text).body if isinstance(n, kinds)}
        for name, text in _package(root).items()
    }
