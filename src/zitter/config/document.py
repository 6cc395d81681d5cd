"""A TOML file as a dictionary, with `--set` applied; nothing is judged and JAX is not needed."""

from __future__ import annotations

import dataclasses
import datetime
import functools
import hashlib
import json
import os
import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from zitter import checks, data_files

SCAN = "scan"  # the section of what a file goes over
LARGEST = 2**24  # bytes of a file that describes a run
DEEPEST = 50  # tables and lists inside one another; Python's own limit comes later


@dataclasses.dataclass
class Document:
    """The text as given, or written anew where `--set` changed it, and the table it stands for."""

    name: str
    folder: Path
    text: str
    table: dict[str, Any]

    def without_labels(self) -> dict[str, Any]:
        """The table without what changes no number: its title, and how often to save."""
        return {
            key: {k: v for k, v in value.items() if k != "checkpoint_every"}
            if isinstance(value, dict)
            else value
            for key, value in self.table.items()
            if key != "title"
        }

    def without_mesh(self) -> dict[str, Any]:
        """Nor how many devices share the work: what is computed is the same."""
        return {key: value for key, value in self.without_labels().items() if key != "mesh"}

    @functools.cached_property
    def contents(self) -> dict[str, str]:
        """What is in the files that the table names, as digests: numbers depend on it as well.

        Any text may be such a name: of a potential, a pulse, parameters, pseudopotentials.
        """
        found = {text: _digest(self.folder / text) for text in _texts(self.table)}
        return {name: digest for name, digest in found.items() if digest}

    def of_one(self) -> Document:
        """Without what it goes over: one of its calculations."""
        if SCAN not in self.table:
            return self
        table = {key: value for key, value in self.table.items() if key != SCAN}
        return Document(self.name, self.folder, f"# of {self.name}\n\n{dump(table)}", table)


def _texts(value: Any) -> Iterator[str]:
    """All texts in a table, however deep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inside in value.values() if isinstance(value, dict) else value:
            yield from _texts(inside)


def _digest(path: Path) -> str:
    try:
        with data_files.plain(path).open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except (checks.InputError, OSError):  # no file, or one that its reader complains of
        return ""


def read(path: str | Path, settings: Sequence[str] = ()) -> Document:
    """Read `path` and apply settings such as `laser.cycles=2`."""
    path = Path(path)
    if not os.path.lexists(path):
        raise checks.InputError("", "must exist, but there is no such file")
    text = data_files.text(path, "a readable text file", "", LARGEST)
    document = parse(text, path.name, path.parent)
    for setting in settings:
        _apply(document.table, setting)
    if settings:
        document.text = f"# {path.name} with {', '.join(settings)}\n\n{dump(document.table)}"
    return document


def parse(text: str, name: str = "input", folder: Path = Path()) -> Document:
    return Document(name, folder, text, _table(text))


def _table(text: str) -> dict[str, Any]:
    deep = checks.InputError(
        "", f"must be nested at most {DEEPEST} levels deep, but its tables and lists are deeper"
    )
    try:
        table = tomllib.loads(text)
        if _depth(table) > DEEPEST:
            raise deep
    except RecursionError:
        raise deep from None
    except checks.InputError:
        raise
    except ValueError as error:  # of TOML, or of Python for whole numbers of 4300 digits
        raise checks.InputError("", f"must be valid TOML, but is not: {error}") from None
    return table


def _depth(value: Any) -> int:
    if isinstance(value, dict | list):
        items = value.values() if isinstance(value, dict) else value
        return 1 + max(map(_depth, items), default=0)
    return 0


def _apply(table: dict[str, Any], setting: str) -> None:
    key, equals, text = setting.partition("=")
    key = key.strip()
    if not equals or not key:
        raise checks.InputError("--set", f'must be like laser.cycles=2, but is "{setting}"')
    *path, last = key.split(".")
    here: Any = table
    for depth, name in enumerate(path):
        if isinstance(here, dict):
            here = here.setdefault(name, {})
        elif isinstance(here, list):
            here = here[_index(".".join(path[: depth + 1]), name, len(here))]
        else:
            raise checks.InputError(key, f"must lead into a table, but {name} is not in one")
    if isinstance(here, dict):
        here[last] = toml_value(text)
    elif isinstance(here, list):
        here[_index(key, last, len(here))] = toml_value(text)
    else:
        raise checks.InputError(key, f"must lead into a table, but {checks.shown(here)} is none")


def _index(key: str, name: str, length: int) -> int:
    if not checks.is_count(name) or int(name) >= length:
        raise checks.InputError(
            key, f'must count from 0 to {length - 1} in this list, but is "{name}"'
        )
    return int(name)


def toml_value(text: str) -> Any:
    """A TOML value; whatever is none is a string, so that units need no quotes."""
    try:
        return _table(f"value = {text}")["value"]
    except checks.InputError:
        return text.strip()


def dump(table: dict[str, Any]) -> str:
    """A table as TOML: plain keys first, then one section for each table."""
    plain = {key: value for key, value in table.items() if not isinstance(value, dict)}
    lines = [f"{_key(key)} = {inline(value)}" for key, value in plain.items()]
    for name, section in table.items():
        if isinstance(section, dict):
            lines += ["", f"[{_key(name)}]"]
            lines += [f"{_key(key)} = {inline(value)}" for key, value in section.items()]
    return "\n".join(lines) + "\n"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name)


def inline(value: Any) -> str:
    match value:
        case dict():
            items = (f"{_key(key)} = {inline(item)}" for key, item in value.items())
            return "{ " + ", ".join(items) + " }"
        case list():
            return "[" + ", ".join(inline(item) for item in value) + "]"
        case datetime.date() | datetime.time():
            return value.isoformat()
        case float():
            return repr(value)  # inf and nan are TOML as Python writes them
        case _:
            return json.dumps(value, ensure_ascii=False)
