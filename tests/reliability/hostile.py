"""The three kinds of hostile input, by number: mutated examples, real runs, damaged files."""

from __future__ import annotations

import contextlib
import random
import shutil
from pathlib import Path

from reliability import mutations, trials


class Stage:
    """A folder with everything in it that names may lead to."""

    def __init__(self, folder: Path, seed: int = 0, compiled: int = 20):
        self.folder = trials.scene(folder / "scene")
        self.seed = seed
        self.compiled = compiled  # one in so many dry runs is compiled and timed

    def inputs(self, number: int) -> trials.Outcome:
        """A mutated example through `zitter run --dry-run`."""
        given = mutations.made(number, self.seed)
        case, out = self._written(given.text), self.folder / "out"
        arguments = ["run", case, "--dry-run", "--json", "--out", out, *given.options]
        # Programs of Monte Carlo take longer to compile than any hang; real runs compile them.
        compiles = random.Random(number).randrange(self.compiled) == 0 and not given.walks
        with contextlib.nullcontext() if compiles else trials.uncompiled():
            return trials.tried(trials.command(*arguments), trials.nothing_in(out))

    def _written(self, text: str) -> Path:
        case = self.folder / "case.toml"
        case.write_text(text, encoding="utf-8", newline="")
        shutil.rmtree(self.folder / "out", ignore_errors=True)
        return case
