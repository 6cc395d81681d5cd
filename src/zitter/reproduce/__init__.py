"""Published calculations, repeated and compared: `zitter reproduce NAME`.

Each entry names a module with `run(full, out, progress) -> Report`; the first line of its
docstring says what it repeats.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
from pathlib import Path

from zitter import checks
from zitter.reproduce.report import Report, Row

NAMES: dict[str, str] = {
    "imaginary-time-3d": "zitter.reproduce.imaginary_time_3d",
    "hydrogen-laser": "zitter.reproduce.hydrogen_laser",
    "dirac-laser": "zitter.reproduce.dirac_laser",
    "h2plus-1d": "zitter.reproduce.h2plus_1d",
    "electron-gas": "zitter.reproduce.electron_gas",
    "qmc-matter": "zitter.reproduce.qmc_matter",
}

__all__ = ["NAMES", "Report", "Row", "descriptions", "run"]


def run(name: str, full: bool = False, out: Path | None = None, progress: bool = False) -> Report:
    """Repeat one of `NAMES`; figures and `report.json` go to `out`, if given."""
    if name not in NAMES:
        raise checks.InputError("name", f'must be one of {", ".join(NAMES)}, but is "{name}"')
    report = importlib.import_module(NAMES[name]).run(full=full, out=out, progress=progress)
    if out is not None:
        import json

        from zitter import files

        files.write_text(out / "report.json", json.dumps(report.to_json(), indent=2) + "\n")
    return report


def descriptions() -> dict[str, str]:
    """Name → what it repeats, read without importing (and so without JAX)."""
    found = {}
    for name, module in NAMES.items():
        spec = importlib.util.find_spec(module)
        source = Path(spec.origin).read_text(encoding="utf-8") if spec and spec.origin else ""
        found[name] = (ast.get_docstring(ast.parse(source)) or "").split("\n")[0]
    return found
