"""The studies of the Dirac paper, scaled down further, and a full run that keeps its parts."""

from __future__ import annotations

import dataclasses

import jax
import numpy as np
import pytest

import zitter as zt
from systems.kronecker import angular_matrices
from zitter.reproduce import dirac_laser as paper
from zitter.reproduce.dirac_memory import nonzero_entries, stored_bytes
from zitter.spectra import (
    MomentumDistribution,
    MomentumGrid,
    SpinorSpectrum,
    spinor_levels,
    strong_field_distribution,
)

TINY = paper.Size(cycles=2, rmax=8.0, splines=30, kappa_max=2, lmax=2, steps=20)


def test_nonzero_entries_are_those_of_the_angular_matrices():
    """Blocks between channels counted by the selection rules and by Wigner 3j symbols."""
    for kappa_max, lmax in ((3, 2), (4, 1), (5, 10)):
        basis = zt.SpinorBasis(zt.RadialBSplines(12, 7, 5.0), kappa_max)
        table = np.any(np.abs(np.asarray(angular_matrices(basis, lmax))) > 1e-13, axis=0)
        blocks = np.count_nonzero(table | table.T) + len(basis.kappas)
        overlapping = sum(min(12, i + 8) - max(0, i - 7) for i in range(12))
        expected = blocks * 4 * overlapping
        assert nonzero_entries(kappa_max, 12, lmax) == expected


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*too few for Z")
def test_the_full_run_keeps_what_is_done(tmp_path, monkeypatch):
    """A second call finds both fields done and gives the same report without running again."""
    monkeypatch.setattr(paper, "PAPER", TINY)
    report = paper.run(full=True, out=tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    parts = {f"field-{field}.{kind}" for field in (600, 1000) for kind in ("h5", "json")}
    assert names == {"dirac-laser.png", *parts}
    norm = [row for row in report.rows if row.quantity.startswith("norm")]
    assert len(norm) == 2 and all(row.ok for row in norm)
    survival = {row.quantity: row.value for row in report.rows}
    assert 0.5 < survival["survival in 1s, E₀ = 1000"] < survival["survival in 1s, E₀ = 600"] < 1

    monkeypatch.setattr(paper, "_run", lambda *_, **__: pytest.fail("must not run again"))
    again = paper.run(full=True, out=tmp_path)
    assert [dataclasses.asdict(row) for row in again.rows] == [
        dataclasses.asdict(row) for row in report.rows
    ]


@pytest.mark.parametrize("full", [False, True])
def test_the_figure_is_drawn(full, tmp_path):
    """Of curves as a default run has them, and as a full one does: of two fields, no errors."""
    energies = np.linspace(2.0, 110.0, 20)
    spectrum = SpinorSpectrum(energies, np.ones((4, 20)), np.arange(1, 5))
    pz = np.linspace(-10.0, 10.0, 11)
    along = {"pz": pz, "simulation": pz**2, "rsfa": pz**2 + 1}
    if full:
        names = [f"E₀ = {field:g}" for field in paper.FIELDS]
        curves = {"spectra": dict.fromkeys(names, spectrum), "along": dict.fromkeys(names, along)}
    else:
        errors = {"κ_max": [(2, 0.1), (3, 0.01)], "splines": [(40, 0.1), (50, 0.01)],
                  "steps": [(100, 0.1), (200, 0.01), (400, 1e-3)]}  # fmt: skip
        curves = {"spectra": {"κ_max = 2": spectrum}, "errors": errors, "along": along}
    curves["memory"] = ((5, 10, 20), [10**6, 10**7, 10**8], [10**7, 10**8, 10**9])
    assert paper._figure(tmp_path, curves).is_file()


@pytest.mark.slow
def test_default_run_of_the_wheel_is_as_expected(default_run):
    default_run("dirac-laser")


def test_stored_bytes_count_the_levels():
    """Their share against the arrays themselves: two more splines add their levels and little."""
    basis = zt.SpinorBasis(zt.RadialBSplines(24, 7, 5.0), 3)
    H = zt.discretize(zt.Model([zt.Dirac(), zt.Coulomb(Z=1)]), basis)
    levels = sum(x.nbytes for x in jax.tree.leaves(spinor_levels(H)))
    unknowns, kappas = basis.shape[1], len(basis.distinct_kappas)
    assert levels == 8 * kappas * unknowns * (unknowns + 1)
    states = 16 * basis.size
    assert stored_bytes(basis, 2) > levels + 20 * states
    assert stored_bytes(basis, 2, 5) - stored_bytes(basis, 2, 3) == 18 * states


def test_a_push_backwards_or_another_yield_is_told():
    """The rows beside the strong-field approximation, with itself, mirrored, and twice as much."""
    grid = MomentumGrid.spheres(np.linspace(7.5, 12.5, 61), 16, 8)
    pulse = paper.pulse_of(paper.SMALL, 600.0)
    model = strong_field_distribution(pulse, grid)
    mirrored = MomentumDistribution(grid, model.density[:, ::-1])
    twice = MomentumDistribution(grid, 2 * model.density)
    found = {
        name: [row.ok for row in paper._compared(d, model, 137.036, "test")["rows"]]
        for name, d in (("same", model), ("mirrored", mirrored), ("twice", twice))
    }
    assert found["same"] == [True, True, True]
    assert found["mirrored"][1:] == [True, False]
    assert found["twice"] == [True, False, True]
