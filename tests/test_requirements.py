"""What pyproject.toml asks for is used, and what the package reads comes with it."""

from __future__ import annotations

import re
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MODULES = {"jax-triton": "jax_triton", "cupy-cuda13x": "cupy", "myst-parser": "myst_parser"}
# Who may be the one that uses a requirement, by the list it stands in.
USERS = {
    "dependencies": ["src"],
    "cuda": ["src"],
    "cpu": ["src"],
    "plot": ["src"],
    "pyscf": ["src", "tests"],  # its objects are read without an import
    "slurm": ["src"],
    "xarray": ["src", "tests"],  # h5netcdf is what xarray opens our files with
    "test": ["tests", "Makefile"],
    "docs": ["docs/conf.py", "Makefile"],
    "dev": ["Makefile"],
    "bench": ["benchmarks"],
}


def listed() -> list[tuple[str, str]]:
    extras = PROJECT["project"]["optional-dependencies"]
    groups = {"dependencies": PROJECT["project"]["dependencies"]} | extras
    names = [
        (group, re.match(r"[\w-]+", word)[0]) for group, all_ in groups.items() for word in all_
    ]
    return [(group, name) for group, name in names if name != "zitter"]


def text_of(place: str) -> str:
    path = ROOT / place
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return "\n".join(f.read_text(encoding="utf-8") for f in files if f != Path(__file__).resolve())


@pytest.mark.parametrize(("group", "name"), listed())
def test_a_requirement_is_used(group, name):
    module = MODULES.get(name, name.replace("pytest-xdist", "pytest"))
    for place in USERS[group]:
        used = (
            rf"^\s*(import|from) {module}\b|[\"'/]{module}\b|importorskip\(.{module}| -m {module}\b"
        )
        used += rf"|/{module}(-build)?\b"
        if re.search(used, text_of(place), re.M):
            return
    raise AssertionError(f"{name} of {group} is used nowhere in {', '.join(USERS[group])}")


def test_there_is_somebody_to_use_each_list():
    extras = PROJECT["project"]["optional-dependencies"]
    assert {"dependencies", *extras} == USERS.keys()


DATA = [
    file
    for file in sorted((ROOT / "src" / "zitter").rglob("*"))
    if file.is_file() and file.suffix not in (".py", ".pyc") and "__pycache__" not in file.parts
]


@pytest.mark.parametrize("file", DATA, ids=lambda file: file.name)
def test_data_of_the_package_is_in_the_wheel(file):
    """Folders are packages, with or without modules; files in them are taken by their ending."""
    patterns = PROJECT["tool"]["setuptools"]["package-data"]["*"]
    assert any(fnmatch(file.name, pattern) for pattern in patterns), file
    # A folder whose name is no word would be no package.
    folders = file.relative_to(ROOT / "src").parts[:-1]
    assert all(folder.isidentifier() for folder in folders), file


def test_the_reproductions_bring_their_data():
    names = {file.name for file in DATA}
    assert {"atoms_gpu_h200.json", "energies.json", "si.chk", "bn.chk", "he.chk"} <= names


def test_no_module_reads_what_lies_outside_the_package():
    """Only `zitter bench` does, which says that it needs a source checkout."""
    for file in (ROOT / "src" / "zitter").rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        if file.name != "tools.py":
            assert not re.search(r"__file__\)\S*\.parents\[[2-9]|benchmarks[\"']", text), file
