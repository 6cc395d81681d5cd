"""`zitter plot`: one picture of a result, or its animation."""

from __future__ import annotations

from pathlib import Path

from zitter import checks, kinds, plot


def draw(path: Path, output: Path | None, animated: bool) -> int:
    if output is not None and not checks.path("--output", output).parent.is_dir():
        raise checks.InputError(
            "--output",
            f'must lie in a folder that is there, but there is no "{output.parent}"',
        )
    result = kinds.load(path)
    if output is None:
        folder = path if path.is_dir() else path.parent
        name = path.stem if path.is_file() else "overview"
        output = folder / f"{name}{'.gif' if animated else '.png'}"  # a name may hold dots: r1.4.h5
    with kinds.of_file(path):
        if animated:
            try:
                written = kinds.film(result, output)
            except checks.InputError as error:
                raise checks.InputError("--animate", str(error)) from None
        else:
            written = plot.save(kinds.picture(result), output)
    print(f"wrote {written}")
    return 0
