"""`zitter plot`: one picture of a result, or its density as an animation."""

from __future__ import annotations

from pathlib import Path

from zitter import checks, plot
from zitter.cli.showing import monte_carlo
from zitter.solution import Eigenstates, load


def draw(path: Path, output: Path | None, animated: bool) -> int:
    samples = monte_carlo(path / "result.h5" if path.is_dir() else path)
    result = samples if samples is not None else load(path)
    if output is None:
        folder = path if path.is_dir() else path.parent
        output = folder / f"{path.stem if path.is_file() else 'overview'}"
        output = output.with_suffix(".gif" if animated else ".png")
    if animated:
        if samples is not None or isinstance(result, Eigenstates):
            raise checks.InputError("--animate", "must be used on an evolution, but this is none")
        written = plot.animate(result, output, potential=plot.moving_potential(result))
    elif samples is not None:
        from zitter.plot import montecarlo

        written = plot.save(montecarlo.overview(samples), output)
    else:
        written = plot.save(plot.overview(result), output)
    print(f"wrote {written}")
    return 0
