"""The three kinds of hostile input, by number: mutated examples, real runs, damaged files."""

from __future__ import annotations

import functools
import random
import shutil
import tomllib
from pathlib import Path
from typing import Any

import zitter as zt
from reliability import damage, mutations, trials
from reliability.runs import CASES


class Stage:
    """A folder with everything in it that names may lead to."""

    def __init__(self, folder: Path, seed: int = 0, compiled: int = 20):
        self.folder = trials.scene(folder / "scene")
        self.seed = seed
        self.compiled = compiled  # one in so many dry runs is compiled and timed

    def inputs(self, number: int) -> trials.Outcome:
        """A mutated example through `zitter run --dry-run`."""
        given = mutations.made(number, mutations.examples(), self.seed)
        case, out = self._written(given.text), self.folder / "out"
        arguments = ["run", case, "--dry-run", "--json", "--out", out, *given.options]
        dry, judge = trials.command(*arguments), trials.nothing_in(out)
        if random.Random(number).randrange(self.compiled) == 0:
            return trials.tried(dry, judge, limit=trials.COMPILING if given.walks else trials.LIMIT)
        with trials.uncompiled():
            return trials.tried(dry, judge)

    def runs(self, number: int) -> trials.Outcome:
        """A mutated small case that runs."""
        given = mutations.made(number, small(), self.seed, mildly=True)
        case, out = self._written(given.text), self.folder / "out"
        # Another folder would be written to by right, and nobody would look into it.
        options = [word for word in given.options if not word.startswith("--out=")]
        arguments = ["run", case, "--json", "--out", out, *options]
        judge = trials.whole_or_nothing(out)
        return trials.tried(trials.command(*arguments), judge, trials.terminate)

    def files(self, number: int) -> trials.Outcome:
        """A damaged file through what reads it: load, show, plot, resume, or a new run."""
        rng = random.Random(f"{self.seed}:{number}")
        name = rng.choice(sorted(self._originals))
        place = self.folder / "damaged"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(self._originals[name], place)
        kind, _, what = name.partition(" ")
        out = place / "out"
        if kind == "data":
            damage.damage(rng, place / what)
            command = trials.command("run", place / "case.toml", "--dry-run", "--out", out)
            with trials.uncompiled():
                return trials.tried(command, trials.nothing_in(out))
        choices = [p for p in sorted(out.glob("**/*")) if p.is_file() and p.name != "log.txt"]
        damaged = rng.choice(choices or [place / "case.toml"])
        damage.damage(rng, damaged)
        verb = "sweep" if "sweep" in name else "run"
        again = [verb, place / "case.toml", "--out", out, "-q"]
        again += ["--over", "model.terms.1.Z=1,2"] if verb == "sweep" else ["--resume"]
        readers: list[Any] = [
            trials.command(*again),
            trials.command("show", out, "--json"),
            trials.command("plot", out, "-o", place / "figure.png"),
            lambda: self._loaded(damaged),
        ]
        action = readers[0] if kind == "checkpoint" else rng.choice(readers)
        return trials.tried(action, late=trials.terminate)

    @staticmethod
    def _loaded(path: Path) -> int:
        result = zt.load(path)
        result.summary()
        _ = result.numbers()
        return 0

    @functools.cached_property
    def _originals(self) -> dict[str, Path]:
        with trials.silent():
            return damage.originals(self.folder / "originals")

    def _written(self, text: str) -> Path:
        case = self.folder / "case.toml"
        case.write_text(text, encoding="utf-8", newline="")
        shutil.rmtree(self.folder / "out", ignore_errors=True)
        return case


@functools.cache
def small() -> dict[str, dict[str, Any]]:
    """Every kind of run on every kind of basis, within seconds."""
    found = {name: tomllib.loads(text) for name, text in CASES.items() if name != "sweep"}
    return found | {name: mutations.tiny(name) for name in mutations.TINY}
