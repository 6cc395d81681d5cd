"""Draw the pictures of the documentation.

    python benchmarks/pictures.py [--to docs/images]      those that show what records hold
    python benchmarks/pictures.py --runs                  those of runs that are done for them

Each picture carries the digest of its source: that of its record, which tests/test_records.py
compares, or that of the program that ran, with the command.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from records import REPOSITORY, digest_of_files

import zitter as zt
from zitter.plot import montecarlo

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RESULTS = REPOSITORY / "benchmarks" / "results"
IMAGES = REPOSITORY / "docs" / "images"
Rows = list[dict[str, Any]]


def curves_of(
    rows: Rows, name: Callable[[dict[str, Any]], str], x: str, y: str
) -> dict[str, tuple[list[float], list[float]]]:
    """Rows as curves y(x), one for each name."""
    curves: dict[str, tuple[list[float], list[float]]] = {}
    for row in rows:
        along, up = curves.setdefault(name(row), ([], []))
        along.append(row[x])
        up.append(row[y])
    return curves


def coulomb_singularity(rows: Rows) -> Figure:
    curves = curves_of(
        rows, lambda r: f"{r['state']}, {r['treatment']}", "spacing", "error_hartree"
    )
    return zt.plot.convergence(curves, "spacing (bohr)", "error (hartree)")


def dirac_propagators(rows: Rows) -> Figure:
    def name(row: dict[str, Any]) -> str:
        points = row["points"]
        method = "Crank–Nicolson" if points == 1 else f"{points} points, order {2 * points}"
        return f"{method}, {row['light']}"

    return zt.plot.convergence(
        curves_of(rows, name, "products", "error_spectrum"),
        "products of the light with ψ",
        "relative error of dP/dE",
        "Hydrogen, ω = 50, E₀ = 600: Crank–Nicolson and Gauss collocation",
    )


def propagators(rows: Rows) -> Figure:
    return zt.plot.convergence(
        curves_of([r for r in rows if "error" in r], lambda r: r["method"], "seconds", "error"),
        "wall time (s)",
        "error of the final state",
        "Soft-core hydrogen in a pulse, 511 points, double precision",
    )


def electron_gas_cost(rows: Rows) -> Figure:
    """Of gases in three dimensions; parts that vanish in the noise are not drawn."""
    parts = {"sweep u p": "sweep_u_p", "sweep bare": "sweep_bare", "p": "p", "ewald": "ewald"}
    table: dict[tuple[int, str], dict[str, float]] = {}
    for row in rows:
        if row["quantity"].startswith("ms per walker: ") and ", 3D, N = " in row["quantity"]:
            name, _, size, precision = row["quantity"].removeprefix("ms per walker: ").split(", ")
            if name in parts:
                found = table.setdefault((int(size.removeprefix("N = ")), precision), {})
                found[parts[name]] = 1e-3 * row["value"] if row["value"] > 0 else math.nan
    return montecarlo.costs([(n, kind, 1, found) for (n, kind), found in table.items()])


PICTURES: dict[str, tuple[str, Callable[[Rows], Figure]]] = {
    "coulomb-singularity.png": ("coulomb_singularity", coulomb_singularity),
    "dirac-propagators.png": ("dirac_propagators_cpu", dirac_propagators),
    "propagators.png": ("propagators_cpu", propagators),
    "electron-gas-cost.png": ("electron_gas_full_h200", electron_gas_cost),
}


# Lines that write the picture into the folder where they are run.
RUNS: dict[str, tuple[str, ...]] = {
    "demo.png": (
        "zitter run examples/softcore-hydrogen.toml --out demo-output --quiet",
        "zitter plot demo-output -o demo.png",
    ),
    "shaped-pulse.png": ("python examples/shaped-pulse.py",),
    "two-centers.png": ("python benchmarks/two_centers.py --figure two-centers.png",),
}


def ran(picture: str, folder: Path) -> Path:
    """The picture, drawn by its lines in this folder."""
    programs = {"python": [sys.executable], "zitter": [sys.executable, "-m", "zitter"]}
    env = os.environ | {"PYTHONPATH": str(REPOSITORY / "src")}
    for line in RUNS[picture]:
        program, *words = shlex.split(line)
        ours = [str(REPOSITORY / w) if (REPOSITORY / w).is_file() else w for w in words]
        subprocess.run([*programs[program], *ours], cwd=folder, env=env, check=True)
    return folder / picture


def stamp(file: Path, to: Path, **texts: str) -> None:
    """A copy of a PNG file that carries these texts."""
    from PIL import Image, PngImagePlugin

    info = PngImagePlugin.PngInfo()
    with Image.open(file) as image:
        for key, text in {**image.info, **texts}.items():
            if isinstance(text, str):
                info.add_text(key, text)
        image.save(to, pnginfo=info, dpi=image.info.get("dpi"))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--to", type=Path, default=IMAGES)
    parser.add_argument("--runs", action="store_true", help="those of runs instead of records")
    options = parser.parse_args()
    folder = options.to
    if options.runs:
        source = digest_of_files()
        for picture, lines in RUNS.items():
            with tempfile.TemporaryDirectory() as place:
                drawn = ran(picture, Path(place))
                stamp(drawn, folder / picture, Source=source, Command="; ".join(lines))
        return
    for picture, (record, draw) in PICTURES.items():
        found = json.loads((RESULTS / f"{record}.json").read_text(encoding="utf-8"))
        figure = draw(found["measured"])
        figure.savefig(folder / picture, metadata={"Source": found["source"]})


if __name__ == "__main__":
    main()
