"""A new kind of case and of result: one class each, one entry each, and every command knows it."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, ClassVar

import numpy as np
import pytest

import zitter as zt
from zitter import cases, checks, cli, io, kinds
from zitter.cases.base import Case, Estimate, Job
from zitter.cases.schema import schema
from zitter.results.base import Result


@dataclasses.dataclass
class Sum(Result):
    """Σ 1/n², term by term."""

    kind: ClassVar[str] = "sum"

    partial: np.ndarray
    info: dict[str, Any] = dataclasses.field(default_factory=dict)
    input: str = ""

    def dataset(self):
        attributes = {"kind": self.kind, "info": self.info, "input": self.input}
        return io.Dataset({"partial": io.Variable(self.partial, ("term",), "1")}, attributes)

    @classmethod
    def from_dataset(cls, data):
        info = json.loads(data.attributes["info"])
        return cls(data.variables["partial"].data, info, str(data.attributes["input"]))

    def numbers(self):
        return {"kind": self.kind, "sum": self.partial[-1], "error": 1 / len(self.partial)}

    def summary(self):
        return f"{self.partial[-1]:.6g} ± {1 / len(self.partial):.1g}"


@dataclasses.dataclass
class Summation(Case):
    """`[sum]`, with the number of terms."""

    not_in_files: ClassVar[frozenset[str]] = frozenset()

    document: Any
    title: str
    terms: int

    @classmethod
    def recognizes(cls, document):
        return "sum" in document.table

    @classmethod
    def read(cls, document):
        terms = checks.integer("sum.terms", document.table["sum"]["terms"], 1)
        return cls(document, "a sum", terms)

    @classmethod
    def schema(cls, definitions):
        return {"sum": {"type": "object"}}, [["sum"]]

    def check(self, estimating):
        pass

    def estimate(self, every=None):
        return Estimate({"terms": self.terms}, {"terms": str(self.terms)})

    def run(self, job: Job):
        job.begin()
        return Sum(np.cumsum(1 / np.arange(1.0, self.terms + 1) ** 2))

    def resume(self, job: Job):
        return self.run(job)


def drawn(result: Sum, **options: Any):
    from zitter.plot import style

    ax = style.axes_or_new(None)
    ax.plot(result.partial)
    return style.figure_of(ax)


@pytest.fixture
def known(monkeypatch):
    monkeypatch.setattr(cases, "KINDS", [Summation, *cases.KINDS])
    monkeypatch.setitem(kinds.KINDS, "sum", kinds.Kind(Sum, drawn))


def test_every_command_knows_it(known, tmp_path, capsys):
    (tmp_path / "sum.toml").write_text("[sum]\nterms = 1000\n")
    arguments = ["run", str(tmp_path / "sum.toml"), "--out", str(tmp_path / "out")]
    assert cli.status([*arguments, "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == {"terms": 1000}
    assert not (tmp_path / "out").exists()
    assert cli.status([*arguments, "--json"]) == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    # Σ 1/n² = π²/6, and what is missing lies below 1/N.
    assert abs(told["sum"] - np.pi**2 / 6) < told["error"] == 1e-3
    assert cli.status([*arguments, "--resume"]) == 0
    assert "finished already" in capsys.readouterr().out
    assert cli.status([*arguments, "--resume", "--set", "sum.terms=9"]) == 2
    assert "--resume: must continue the same run" in capsys.readouterr().err
    found = zt.load(tmp_path / "out")
    assert isinstance(found, Sum)
    assert found.info["title"] == "a sum" and "[sum]" in found.input
    assert cli.status(["show", str(tmp_path / "out")]) == 0
    assert "1.64393 ± 0.001" in capsys.readouterr().out
    assert cli.status(["plot", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out" / "overview.png").exists()
    assert len(zt.plot.overview(found).axes) == 1
    assert {"required": ["sum"]} in schema(cases.KINDS)["oneOf"]


def test_without_the_entries_it_is_refused(tmp_path, capsys):
    (tmp_path / "sum.toml").write_text("[sum]\nterms = 10\n")
    assert cli.status(["run", str(tmp_path / "sum.toml"), "--out", str(tmp_path / "out")]) == 2
    assert "sum: must be a key of the file" in capsys.readouterr().err
    Sum(np.ones(3)).save(tmp_path / "sum.h5")
    with pytest.raises(zt.InputError, match="must be a zitter result"):
        zt.load(tmp_path / "sum.h5")


def test_every_entry_leads_somewhere():
    for name, kind in kinds.KINDS.items():
        result = kinds._found(kind.result)
        assert issubclass(result, Result) and result.kind == name
        assert callable(kinds._found(kind.picture))
        assert kind.film is None or callable(kinds._found(kind.film))


def test_what_is_not_known_is_left_out_of_tables():
    """A run on one device has no mesh; its name with nothing behind it stood there before."""
    info = {"method": "VMC", "system": "x", "walkers": 4, "mesh": "", "device": "cpu"}
    traces = {name: np.arange(8.0) for name in ("energy", "variance", "acceptance")}
    samples = zt.qmc.Samples(traces, np.ones(8), 0, "hartree", info)
    H = zt.discretize(zt.Model([zt.Kinetic()]), zt.Grid(8, 0.5))
    levels = zt.eigenstates(H, 1)
    run = zt.evolve(H, levels.states[0], (0.0, 0.1), 0.1, zt.SplitOperator())
    for result in (samples, levels, run):
        assert result.info["mesh"] == ""
        assert "device" in repr(result) and "mesh" not in repr(result)
        assert "device" in result.summary() and "mesh" not in result.summary()
