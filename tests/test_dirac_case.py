"""A Dirac case in TOML: what it builds, and what is refused or warned of before it runs."""

from __future__ import annotations

import warnings

import pytest

import zitter as zt
from zitter import cases, config
from zitter.cli import status

CASE = """
[basis]
type = "SpinorBasis"
radial = { type = "RadialBSplines", n = 20, degree = 7, rmax = 20.0 }
kappa_max = 2

[laser]
type = "SineSquared"
amplitude = 20.0
frequency = 50.0
cycles = 2
polarization = "x"

[model]
terms = ["Dirac", { type = "Coulomb", Z = 1 }, { type = "DiracLight", pulse = "laser", lmax = 2 }]

[evolve]
t = [0.0, "laser.duration"]
dt = 1e-2
propagator = { type = "CrankNicolson", tol = 1e-8 }
"""


def built(text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cases.read(config.parse(text)).hamiltonian()


def test_case_becomes_a_hamiltonian():
    H = built(CASE)
    assert isinstance(H.basis, zt.SpinorBasis) and H.shape == (12, 40)
    assert len(H.changing) == 1 and not H.fixed.bounded_below


@pytest.mark.slow
def test_dry_run(tmp_path, capsys):
    path = tmp_path / "dirac.toml"
    path.write_text(CASE)
    assert status(["run", str(path), "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert "SpinorBasis 12×40" in shown and "DiracLight" in shown


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("kappa_max = 2", "kappa_max = 2\nmu_max = 4.5", "basis.mu_max: must be at most 1.5"),
        ("kappa_max = 2", "kappa_max = 0", "basis.kappa_max: must be at least 1, but is 0"),
        ('polarization = "x"', 'polarization = "z"', "polarization: must be along x"),
        ("Z = 1", "Z = 140", "model.terms.1.Z: must be below c = 137.036 for a point nucleus"),
        ("lmax = 2", "lmax = -1", "model.terms.2.lmax: must be at least 0, but is -1"),
        ("lmax = 2", 'waves = "square"', "model.terms.2.waves: must be one of"),
    ],
)
def test_impossible_values_are_refused(old, new, words):
    with pytest.raises(zt.InputError) as error:
        built(CASE.replace(old, new))
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("rmax = 20.0", "rmax = 1.0", "rmax = 1 is smaller than the path"),
        ("Z = 1", "Z = 92", "20 splines to rmax = 20 are too few for Z = 92"),
    ],
)
def test_doubtful_values_are_warned_of(old, new, words):
    case = cases.read(config.parse(CASE.replace(old, new)))
    with pytest.warns(UserWarning, match=words):
        case.hamiltonian()


def test_observables_of_other_bases_are_refused_before_anything_is_written(tmp_path, capsys):
    path, out = tmp_path / "dirac.toml", tmp_path / "out"
    path.write_text(CASE)
    setting = 'evolve.observables=["Norm", "Dipole"]'
    for more in ([], ["--dry-run"]):
        assert status(["run", str(path), "--set", setting, "--out", str(out), *more]) == 2
        shown = capsys.readouterr().err
        assert "evolve.observables.1: must suit this model, but Dipole cannot be measured" in shown
        assert not out.exists()
