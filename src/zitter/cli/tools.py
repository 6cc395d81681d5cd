"""The smaller commands: reproduce, bench, schema."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import zitter
from zitter import checks
from zitter.cli.showing import print_json
from zitter.tables import table


def reproduce(name: str | None, full: bool, as_json: bool, out: Path | None, quiet: bool) -> int:
    from zitter import reproduce as registry
    from zitter.cli.running import keep_compiled_programs

    if name is None:
        print(table("zitter reproduce NAME", registry.descriptions()))
        if as_json:
            print_json({"names": list(registry.NAMES)})
        return 0
    keep_compiled_programs()
    report = registry.run(name, full, out, progress=not quiet and sys.stderr.isatty())
    if not quiet:
        print(report.table())
    if as_json:
        print(json.dumps(report.to_json()))
    return 0 if report.ok else 1


def bench(name: str | None, as_json: bool) -> int:
    scripts = _benchmarks()
    if name is None:
        print(table("zitter bench NAME", {n: _first_line(p) for n, p in scripts.items()}))
        if as_json:
            print_json({"names": list(scripts)})
        return 0
    if name not in scripts:
        raise checks.InputError("bench", f'must be one of {", ".join(scripts)}, but is "{name}"')
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "record.json"
        command = [sys.executable, str(scripts[name]), "--json", str(record)]
        if subprocess.run(command).returncode != 0:
            raise checks.RunError(f"the benchmark {name} failed; it says why above")
        if as_json:
            print(json.dumps(json.loads(record.read_text(encoding="utf-8"))))
    return 0


def _benchmarks() -> dict[str, Path]:
    """The scripts of a source checkout that write a record, by name."""
    folder = Path(zitter.__file__).resolve().parents[2] / "benchmarks"
    found = {
        path.stem: path
        for path in sorted(folder.glob("*.py"))
        if re.search(r"from records import .*\bfinish\b", path.read_text(encoding="utf-8"))
    }
    if not found:
        raise checks.InputError("bench", f"must run in a source checkout, but there is no {folder}")
    return found


def schema() -> int:
    from zitter import cases
    from zitter.cases.schema import schema

    print(json.dumps(schema(cases.KINDS), indent=2, ensure_ascii=False))
    return 0


def _first_line(path: Path) -> str:
    """What a script says about itself, in the first line of its docstring."""
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split("\n")[0]
