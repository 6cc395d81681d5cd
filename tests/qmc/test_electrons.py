"""Electrons without boundaries: atoms and dots with exact answers, and totals."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from walker_programs import begin, local_energies

from zitter import checks, io
from zitter.qmc import (
    ElectronGas,
    Electrons,
    Nodeless,
    Nucleus,
    PairCorrelation,
    RadialDensity,
    Samples,
    SlaterJastrow,
    vmc,
)
from zitter.qmc.walk.dynamics import DriftDiffusion
from zitter.qmc.walk.sweep import sweep

TWO: Any = 2  # neither a pair of numbers nor a nucleus
PAGE = Path(__file__).parents[2] / "docs" / "quantum-monte-carlo.md"


@pytest.mark.slow
def test_hydrogen_away_from_the_origin():
    """The exact orbital: no variance, and the density e^{−2r}/π around the nucleus."""
    place = (0.5, -1.0, 2.0)
    atom = Electrons((1, 0), [Nucleus(1, place)])
    measured = [RadialDensity(2.0, 4, place)]
    out = vmc(SlaterJastrow(atom), walkers=256, blocks=60, estimators=measured)
    assert out.energy == pytest.approx(-0.5, abs=1e-12)
    assert out.variance < 1e-20
    found = out.estimators["radial_density"]
    edges = np.linspace(0, 2, 5)
    inside = 1 - np.exp(-2 * edges) * (1 + 2 * edges + 2 * edges**2)  # probability within r
    exact = np.diff(inside) / (4 * np.pi / 3 * np.diff(edges**3))
    # Four bins of one run: 4σ of each, with error bars that are themselves noisy.
    assert np.all(np.abs(found["mean"] - exact) < 4 * found["error"])
    assert np.all(found["error"] < 0.1 * exact)


def test_parts_of_the_coulomb_energy():
    nuclei = [Nucleus(3, (0.0, 0.0, 0.0)), Nucleus(1, (0.0, 0.0, 3.0))]
    molecule = Electrons((2, 2), nuclei)
    psi = SlaterJastrow(molecule, orbitals=_two_orbitals())
    r = molecule.start(jax.random.PRNGKey(1), 1)
    parts = local_energies(psi, begin(psi, r))
    x = np.asarray(r[0]).T
    places, charges = np.array([[0, 0, 0], [0, 0, 3.0]]), np.array([3.0, 1.0])
    pairs = sum(1 / np.linalg.norm(x[i] - x[j]) for i in range(4) for j in range(i))
    attraction = -np.sum(charges / np.linalg.norm(x[:, None] - places[None], axis=-1))
    assert float(parts["electron_electron"][0]) == pytest.approx(pairs, rel=1e-12)
    assert float(parts["electron_nucleus"][0]) == pytest.approx(attraction, rel=1e-12)
    assert float(parts["nucleus_nucleus"][0]) == pytest.approx(1.0, rel=1e-12)
    total = sum(float(v[0]) for name, v in parts.items() if name != "energy")
    assert float(parts["energy"][0]) == pytest.approx(total, rel=1e-12)


def _two_orbitals():
    """Two orbitals of one set, from two of one: 1s at each nucleus."""
    from zitter.qmc import Orbitals

    class Both(Orbitals):
        both: tuple[Nodeless, Nodeless]
        count: int = eqx.field(static=True)
        is_complex: bool = eqx.field(static=True)

        def __init__(self, *both):
            self.both, self.count, self.is_complex = both, 2, False

        def values(self, r, dtype):
            return self.derivatives(r, dtype)[0]

        def derivatives(self, r, dtype):
            each = [orbital.derivatives(r, dtype) for orbital in self.both]
            return tuple(jnp.concatenate(pair, axis=-1) for pair in zip(*each, strict=True))

    return Both(Nodeless(2.7), Nodeless(1.0, center=(0.0, 0.0, 3.0)))


def test_different_orbitals_for_up_and_down():
    """e^{−ζ₁r₁ − ζ₂r₂} in the field of Z: E_L = −½(ζ₁² + ζ₂²) + Σ(ζ − Z)/r + 1/r₁₂ exactly."""
    atom = Electrons((1, 1), [Nucleus(2)])
    zetas = (2.2, 1.2)
    psi = SlaterJastrow(atom, orbitals=[Nodeless(z) for z in zetas])
    walkers = begin(psi, atom.start(jax.random.PRNGKey(2), 4))
    moved, tally = eqx.filter_jit(sweep)(
        psi, DriftDiffusion(jnp.asarray(0.05)), walkers, jax.random.PRNGKey(3)
    )
    assert np.all(np.asarray(tally.accepted) > 0)
    np.testing.assert_allclose(moved.log, begin(psi, moved.r).log, atol=1e-12)
    r = np.asarray(moved.r)
    distance = np.linalg.norm(r, axis=1)  # (walkers, 2)
    apart = np.linalg.norm(r[:, :, 0] - r[:, :, 1], axis=1)
    z = np.asarray(zetas)
    exact = -0.5 * np.sum(z**2) + np.sum((z - 2) / distance, axis=1) + 1 / apart
    np.testing.assert_allclose(local_energies(psi, moved)["energy"], exact, rtol=1e-11)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Electrons((1, 2), [Nucleus(3)]), "spins: must hold electrons, at least as many"),
        (lambda: Electrons(TWO, [Nucleus(2)]), "spins: must be two numbers, up and down, but is 2"),
        (lambda: Electrons((1, 1)), "nuclei: must hold one, or terms one that binds electrons"),
        (lambda: Electrons((1, 1), [TWO]), "nuclei.0: must be a Nucleus, but is 2"),
        (lambda: Electrons((1, 1), [Nucleus(2, (0, 0))]), r"nuclei.0.position: must have shape"),
        (lambda: Nucleus(-1), "Z: must be positive, but is -1"),
        (lambda: SlaterJastrow(Electrons((2, 1), [Nucleus(3)])), "orbitals: must be given"),
    ],
)
def test_input_that_cannot_work_is_refused_in_one_sentence(make, sentence):
    with pytest.raises(checks.InputError, match=sentence):
        make()


def test_walkers_begin_with_neutral_atoms():
    """Far apart atoms exchange no electrons: walkers that begin as ions stay ions."""
    each = (((1, 1), (1, 1)), ((2, 2), (3, 1)), ((5, 5), (8, 1, 1)), ((9, 7), (8, 8)))
    for spins, charges in each:
        nuclei = [Nucleus(Z, (0.0, 0.0, 20.0 * i)) for i, Z in enumerate(charges)]
        r = Electrons(spins, nuclei).start(jax.random.PRNGKey(0), 1)
        nearest = np.rint(np.asarray(r[0, 2]) / 20).astype(int)
        assert tuple(np.bincount(nearest, minlength=len(charges))) == charges


def test_totals_stand_beside_values_per_electron(tmp_path):
    gas = SlaterJastrow(ElectronGas(2, 5.0))
    out = vmc(gas, walkers=8, blocks=8, equilibration=10, estimators=[PairCorrelation(4)])
    assert out.total_energy == pytest.approx(2 * out.energy, rel=1e-15)
    assert out.total_energy_error == pytest.approx(2 * out.energy_error, rel=1e-15)
    told = out.numbers()
    assert (told["total_energy"], told["energy"]) == (out.total_energy, out.energy)
    assert re.search(r"total energy +\S+\(\d+\) hartree\n", out.summary())
    out.save(tmp_path / "result.h5")
    loaded = Samples.load(tmp_path / "result.h5")
    assert loaded.total_energy == out.total_energy
    assert float(out.dataset().attributes["total_energy"]) == out.total_energy
    # A file of an earlier version does not tell how many electrons it is for.
    old = out.dataset()
    del old.attributes["divisor"]
    io.write(tmp_path / "earlier.h5", old)
    earlier = Samples.load(tmp_path / "earlier.h5")
    assert earlier.energy == out.energy
    assert "total_energy" not in earlier.numbers()
    with pytest.raises(checks.InputError, match="total_energy: must be in the file"):
        _ = earlier.total_energy


@pytest.mark.slow
def test_the_page_on_ones_own_wave_function_runs():
    """Hooke's atom of the documentation: the exact Ψ has the energy 2 and no variance."""
    text = PAGE.read_text(encoding="utf-8").split("## Your own system")[1].split("\n## ")[0]
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    assert len(blocks) >= 2
    names: dict = {}
    exec(compile("\n".join(blocks), str(PAGE), "exec", dont_inherit=True), names)
    exact, walled = names["exact"], names["walled"]
    assert exact.energy == pytest.approx(2.0, abs=1e-9)
    assert exact.variance < 1e-14
    assert walled.energy > 2.0
    assert walled.estimate("wall").mean > 0


def test_radial_densities_stay_inside_the_cell():
    """Beyond, the nearest images do not fill a shell."""
    gas = ElectronGas(14, 1.0)
    with pytest.raises(checks.InputError, match=r"estimators\.rmax: must be at most 1\.94"):
        RadialDensity(5.0, 10).prepare(gas)
    RadialDensity(1.9, 10).prepare(gas)


def test_two_nuclei_at_one_place_are_refused():
    with pytest.raises(checks.InputError, match="must be at different places"):
        Electrons((1, 1), [Nucleus(1), Nucleus(1)])
