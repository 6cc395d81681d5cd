"""`zitter plot`: one picture of a result, or its density as an animation."""

from __future__ import annotations

from pathlib import Path

from zitter import checks, plot
from zitter.solution import Eigenstates, load


def draw(path: Path, output: Path | None, animated: bool) -> int:
    result = load(path)
    if output is None:
        folder = path if path.is_dir() else path.parent
        output = folder / f"{path.stem if path.is_file() else 'overview'}"
        output = output.with_suffix(".gif" if animated else ".png")
    if animated:
        if isinstance(result, Eigenstates):
            raise checks.InputError("--animate", "must be used on an evolution, but this is none")
        written = plot.animate(result, output, potential=plot.moving_potential(result))
    else:
        written = plot.save(plot.overview(result), output)
    print(f"wrote {written}")
    return 0
