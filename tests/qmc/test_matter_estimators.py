"""What is measured of matter: densities on grids, dipole moments, fluctuations, parts, files."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from zitter import checks
from zitter.plot import montecarlo
from zitter.qmc import (
    Crystal,
    Density,
    DipoleMoment,
    ElectronGas,
    Electrons,
    MomentumDensity,
    Nucleus,
    PairCorrelation,
    PlaneWaves,
    RadialDensity,
    Samples,
    SlaterJastrow,
    StructureFactor,
    Trap,
    dmc,
    vmc,
)
from zitter.qmc import measured as measured_parts
from zitter.qmc.estimators.base import average
from zitter.qmc.statistics import judged, reblock, reblock_all
from zitter.qmc.wavefunction import Walker

TILTED = [[4.0, 0.0, 0.0], [1.0, 5.0, 0.0], [-0.5, 0.7, 6.0]]


def hydrogens(vectors=TILTED):
    return Crystal(vectors, [Nucleus(1), Nucleus(1, (1.0, 1.2, 1.5))], (1, 1))


def measured(estimator, r, shares=None):
    """One block of walkers at positions r (walkers, d, N)."""
    walkers = Walker(jnp.asarray(r), jnp.ones(len(r)), jnp.zeros(len(r)))
    found = jax.vmap(lambda w: estimator.evaluate(None, w, None))(walkers)
    shares = np.full(len(r), 1 / len(r)) if shares is None else shares
    return np.asarray(estimator.reduce(found, jnp.asarray(shares)))


def test_tables_are_reblocked_as_their_columns():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(77, 5))
    table[:, 1] = np.cumsum(table[:, 1])  # correlated over the whole run
    table[:, 2] = np.convolve(rng.normal(size=96), np.ones(20), "valid")
    table[:, 3] = 4.0
    weights = rng.uniform(0.5, 1.5, 77)
    means, errors = reblock_all(table, weights)
    for column, mean, error in zip(table.T, means, errors, strict=True):
        one = reblock(column, weights)
        assert mean == pytest.approx(one.mean, rel=1e-13)
        assert error == pytest.approx(judged(one).error, rel=1e-12, abs=1e-15)
    assert np.isinf(reblock_all(table[:1])[1]).all()
    with pytest.raises(checks.InputError, match="must hold numbers"):
        reblock_all(table[:0])


def test_density_of_walkers_counts_electrons_in_voxels_of_the_cell():
    crystal = hydrogens()
    density = Density((3, 4, 5)).prepare(crystal)
    rng = np.random.default_rng(1)
    turns = rng.uniform(-2, 3, (7, 3, 2))
    shares = rng.uniform(size=7)
    shares /= shares.sum()
    counts = measured(density, np.einsum("wan,ab->wbn", turns, np.asarray(TILTED)), shares)
    expected = np.zeros((2, 3, 4, 5))
    for walker, share in zip(turns, shares, strict=True):
        for spin in (0, 1):
            i, j, k = np.floor(walker[:, spin] % 1 * np.array([3, 4, 5])).astype(int)
            expected[spin, i, j, k] += share
    np.testing.assert_allclose(counts, expected, atol=1e-14)
    found = density.finalize(np.stack([counts, counts]), np.ones(2))
    steps = found["steps"]
    voxel = abs(np.linalg.det(steps))
    np.testing.assert_allclose(steps * np.array([[3], [4], [5]]), TILTED)
    assert voxel * found["mean"][0].sum() == pytest.approx(2.0, rel=1e-13)
    assert voxel * found["mean"][1].sum() == pytest.approx(0.0, abs=1e-13)


def test_density_of_a_supercell_in_its_primitive_cell():
    primitive = np.asarray(TILTED)
    moves = np.array([[2, 0, 0], [1, 1, 0], [0, 0, 1]])
    crystal = hydrogens(moves @ primitive)
    density = Density((3, 4, 5), vectors=primitive).prepare(crystal)
    turns = np.array([0.4, 0.6, 0.1])
    r = ((turns + np.array([[5, -1, 2], [0, 0, 0]])) @ primitive).T[None]
    counts = measured(density, r)
    assert counts[0, 1, 2, 0] == counts[1, 1, 2, 0] == 1
    found = density.finalize(np.stack([counts, counts]), np.ones(2))
    # Two electrons in two primitive cells: one in each.
    voxel = abs(np.linalg.det(found["steps"]))
    assert voxel * found["mean"][0].sum() == pytest.approx(1.0, rel=1e-13)
    with pytest.raises(checks.InputError, match="must be of a cell that fills"):
        Density(2, vectors=1.1 * primitive).prepare(crystal)
    with pytest.raises(checks.InputError, match="must be given with a cell only"):
        Density(2, vectors=primitive).prepare(Electrons((1, 0), [Nucleus(1)]))


def test_density_without_a_cell_reaches_beyond_the_nuclei():
    molecule = Electrons((1, 0), [Nucleus(1), Nucleus(1, (0, 0, 2.0))])
    density = Density((2, 2, 4), margin=3.0).prepare(molecule)
    places = np.array([[-2.9, 2.9, 4.9], [0.1, 0.1, 0.1], [3.1, 0, 0], [0, 0, -3.1]])
    counts = measured(density, places[:, :, None])
    assert counts[0, 0, 1, 3] == 0.25
    assert counts[0, 1, 1, 1] == 0.25
    assert counts.sum() == 0.5  # the other two are outside
    found = density.finalize(np.stack([counts, 2 * counts]), np.ones(2))
    # Half an electron in one block, none in the other.
    assert found["outside"] == 0.25
    assert 0.25 <= found["outside_error"] < 10
    # Of 2 × 2 × 4 voxels within 3 bohr of the nuclei, each by its middle.
    np.testing.assert_allclose(found["origin"], [-1.5, -1.5, -2.0], rtol=1e-14)
    np.testing.assert_allclose(found["steps"], np.diag([3.0, 3.0, 2.0]), rtol=1e-14)
    slab = Density(4, margin=2.0).prepare(hydrogens(4 * np.eye(3)[:2]))
    np.testing.assert_allclose(np.diag(slab.edges), [4.0, 4.0, 5.5])
    with pytest.raises(checks.InputError, match=r"estimators\.shape: must be one number, or 3"):
        Density((2, 2)).prepare(molecule)


def test_dipole_moment():
    molecule = Electrons((1, 1), [Nucleus(1), Nucleus(1, (0, 0, 2.0))])
    dipole = DipoleMoment().prepare(molecule)
    r = np.array([[[0.5, 0.0], [0.0, 0.0], [1.0, 2.5]]])
    np.testing.assert_allclose(measured(dipole, r), [-0.5, 0.0, -1.5])
    with pytest.raises(checks.InputError, match="must not hold DipoleMoment"):
        DipoleMoment().prepare(hydrogens())


def test_fluctuations_have_no_bragg_peaks():
    """Electrons that are independent of each other: S(k) without ⟨ρ_k⟩ is 1 − |⟨e^{ikr}⟩|²."""
    crystal = hydrogens()
    rng = np.random.default_rng(2)
    n, width = 4000, 0.5
    r = width * rng.normal(size=(n, 3, 2))
    plain = StructureFactor(stars=2).prepare(crystal)
    clean = StructureFactor(stars=2, subtract_mean=True).prepare(crystal)
    blocks = np.split(r, 20)
    of = lambda e: e.finalize(np.stack([measured(e, b) for b in blocks]), np.ones(20))  # noqa: E731
    all_of_it, fluctuating = of(plain), of(clean)
    k2 = all_of_it["x"] ** 2
    peak = np.exp(-k2 * width**2)  # |⟨e^{ikr}⟩|² of a Gaussian
    sigma = 4 * fluctuating["error"]
    assert np.all(np.abs(fluctuating["mean"] - (1 - peak)) < sigma)
    assert np.all(np.abs(all_of_it["mean"] - (1 + peak)) < 4 * all_of_it["error"])
    assert np.all(sigma < 0.1)


def test_pairs_in_a_slab_are_counted_by_their_distance_in_the_plane():
    slab = hydrogens([[4.0, 0, 0], [0, 4.0, 0]])
    pairs = PairCorrelation(bins=4).prepare(slab)
    psi = _Holder(slab)
    r = jnp.array([[0.0, 0.7], [0.0, 0.0], [0.0, 50.0]])
    counts = pairs.evaluate(psi, Walker(r, jnp.ones(()), jnp.zeros(())), None)
    np.testing.assert_array_equal(counts, [[0, 0, 0, 0], [0, 2, 0, 0]])
    ring = np.pi * (1.0**2 - 0.5**2)
    assert pairs.expected[1, 1] == pytest.approx(2 * ring / 16)
    found = pairs.finalize(np.stack([counts, counts]), np.ones(2))
    # Bins up to half of 4 bohr, by their middles; 16/ring of the density where the pair is.
    np.testing.assert_allclose(found["x"], [0.25, 0.75, 1.25, 1.75], rtol=1e-14)
    np.testing.assert_allclose(found["mean"], [[0, 16 / ring, 0, 0]], rtol=1e-14)
    with pytest.raises(checks.InputError, match="must not hold MomentumDensity for a slab"):
        MomentumDensity().prepare(slab)


@pytest.mark.parametrize("spins", [(1, 1), (1, 0)])
def test_occupations_count_for_each_spin(spins):
    """One plane wave, k = 0, for one spin or for both: Ψ is constant, and n(0) = 1 in each walk."""
    crystal = Crystal(TILTED, [Nucleus(1)], spins)
    psi = SlaterJastrow(crystal, orbitals=PlaneWaves(crystal.cell, 1))
    momenta = MomentumDensity(1.5).prepare(crystal)

    @jax.jit
    def found(r, key):
        return momenta.evaluate(psi, psi.start(r), key)

    start = crystal.start(jax.random.PRNGKey(0), 3)
    for r, key in zip(start, jax.random.split(jax.random.PRNGKey(1), 3), strict=True):
        assert float(found(r, key)[0]) == pytest.approx(1.0, rel=1e-12)
    assert momenta.finalize(np.ones((2, 1 + max(momenta.star))), np.ones(2))["x"][0] == 0


@pytest.mark.parametrize("polarization", [0.0, 1.0])
@pytest.mark.parametrize("dimension", [2, 3])
def test_momenta_are_told_in_those_of_fermi(dimension, polarization):
    """k_F r_s = (9π/4)^(1/3), in the plane √2; of one spin alone 2^(1/d) times as much."""
    rs, per_spin = 3.0, {2: 5, 3: 7}[dimension]
    gas = ElectronGas(
        per_spin * (1 if polarization else 2), rs, dimension, polarization=polarization
    )
    momenta = MomentumDensity(1.5).prepare(gas)
    fermi = {2: 2**0.5, 3: (9 * np.pi / 4) ** (1 / 3)}[dimension] / rs
    fermi *= 2 ** (1 / dimension) if polarization else 1
    assert momenta.fermi == pytest.approx(fermi, rel=1e-12)
    x = momenta.finalize(np.ones((2, 1 + max(momenta.star))), np.ones(2))["x"]
    shortest = 2 * np.pi / float(gas.cell.volume) ** (1 / dimension)  # of a square or cubic cell
    np.testing.assert_allclose(x[:3], shortest / fermi * np.sqrt([0, 1, 2]), rtol=1e-12)
    assert x[1] < 1 < x[2]  # all electrons are within


@pytest.mark.parametrize("dimension", [2, 3])
def test_density_in_shells_around_a_point(dimension):
    """One electron in the inner half of a ball, one in the outer shell, one beyond."""
    trap, center = Trap(frequency=1.0, dimension=dimension), np.arange(dimension) - 0.5
    shells = RadialDensity(2.0, bins=2, center=center).prepare(trap)
    r = jnp.asarray(center[:, None] + np.outer(np.eye(dimension)[1], [-0.4, 1.9, 2.1]))
    counts = shells.evaluate(_Holder(trap), Walker(r, jnp.ones(()), jnp.zeros(())), None)
    np.testing.assert_array_equal(counts, [1, 1])
    found = shells.finalize(np.stack([counts, counts]), np.ones(2))
    np.testing.assert_allclose(found["x"], [0.5, 1.5], rtol=1e-14)
    inner = {2: np.pi, 3: 4 * np.pi / 3}[dimension]
    volumes = [inner, (2**dimension - 1) * inner]
    np.testing.assert_allclose(found["mean"] * volumes, 1, rtol=1e-14)


class _Holder(eqx.Module):
    system: Any


@pytest.fixture(scope="module")
def run() -> Samples:
    """Plane waves in a crystal: the density is uniform, and the nuclei attract nothing."""
    crystal = hydrogens()
    psi = SlaterJastrow(crystal, orbitals=PlaneWaves(crystal.cell, 1))
    return vmc(
        psi,
        walkers=32,
        blocks=40,
        stride=2,
        equilibration=20,
        estimators=[Density((3, 2, 2)), PairCorrelation(bins=3), StructureFactor(stars=2)],
    )


def test_a_uniform_crystal(run):
    crystal = hydrogens()
    volume = float(crystal.cell.volume)
    density = run.estimators["density"]
    assert np.all(np.abs(density["mean"][0] - 2 / volume) < 5 * density["error"][0])
    assert np.all(np.abs(density["mean"][1]) < 5 * density["error"][1])
    pairs = run.estimators["pair_correlation"]
    assert np.all(np.abs(pairs["mean"] - 1) < 5 * pairs["error"])
    structure = run.estimators["structure_factor"]
    assert np.all(np.abs(structure["mean"] - 1) < 5 * structure["error"])
    parts = run.parts
    assert set(parts) == {"kinetic", "electron_electron", "electron_nucleus", "nucleus_nucleus"}
    # v_E has the mean 0: two electrons keep their own images, the nuclei attract nothing.
    attraction = parts["electron_nucleus"]
    assert abs(attraction.mean) < 4 * attraction.error
    repulsion = parts["electron_electron"]
    images = float(crystal.coulomb.ewald.madelung)
    assert abs(repulsion.mean - images) < 4 * repulsion.error
    assert parts["nucleus_nucleus"].error == 0
    assert parts["kinetic"].mean == pytest.approx(0.0, abs=1e-12)


def test_numbers_and_summary_tell_the_parts(run):
    numbers = run.numbers()
    assert set(numbers["parts"]) == set(run.parts)
    total = sum(part["energy"] for part in numbers["parts"].values())
    assert total == pytest.approx(run.energy, abs=1e-12)
    assert "electron nucleus" in run.summary()


def test_grids_in_files_and_cubes(run, tmp_path):
    run.save(tmp_path / "run.h5")
    again = Samples.load(tmp_path / "run.h5")
    for part, values in run.estimators["density"].items():
        np.testing.assert_array_equal(again.estimators["density"][part], values)
    assert again.to_xarray()["density__mean"].dims[-3:] == (
        "density__a",
        "density__b",
        "density__c",
    )
    again.write_cube(tmp_path / "n.cube")
    lines = (tmp_path / "n.cube").read_text().splitlines()
    density = run.estimators["density"]
    assert lines[2].split()[0] == "2"
    np.testing.assert_allclose(
        [float(x) for x in lines[2].split()[1:]], density["origin"], atol=1e-7
    )
    rows = [[float(x) for x in line.split()] for line in lines[3:6]]
    assert [row[0] for row in rows] == [3, 2, 2]
    np.testing.assert_allclose([row[1:] for row in rows], density["steps"], atol=1e-7)
    np.testing.assert_allclose([float(x) for x in lines[7].split()[2:]], [1.0, 1.2, 1.5])
    values = np.array(" ".join(lines[8:]).split(), float)
    np.testing.assert_allclose(values, density["mean"][0].ravel(), rtol=1e-6)
    run.write_cube(tmp_path / "spin.cube", spin=True)
    with pytest.raises(checks.InputError, match="must hold a Density"):
        plain = Samples(run.traces, run.weights, 0, run.units, run.info)
        plain.write_cube(tmp_path / "no.cube")


def test_pictures(run):
    figure = montecarlo.overview(run)
    # Energy, parts, density with its color bar, pairs, structure factor.
    assert len(figure.axes) == 6
    image = montecarlo.density(run, spin=True, index=1).axes[0].collections[0]
    np.testing.assert_allclose(
        np.asarray(image.get_array()).ravel(),
        run.estimators["density"]["mean"][1][:, :, 1].ravel(),
    )
    with pytest.raises(checks.InputError, match="index: must"):
        montecarlo.density(run, index=2)


def _samples(density):
    return Samples({}, np.ones(4), 0, "hartree", {"method": "VMC"}, {"density": density})


@pytest.mark.parametrize(("along", "axis"), [(0, 2), (1, 2), (2, 1)])
def test_the_picture_of_a_molecule_holds_its_bond(along, axis):
    """A bond along any axis lies in the plane that is drawn, not across it."""
    molecule = Electrons((1, 0), [Nucleus(1), Nucleus(1, 2.0 * np.eye(3)[along])])
    density = Density((6, 8, 10), margin=3.0).prepare(molecule)
    counts = np.random.default_rng(0).random((2, 6, 8, 10)) / 480
    found = density.finalize(np.stack([counts, counts]), np.ones(2))
    axes = montecarlo.density(_samples(found)).axes[0]
    shown = np.asarray(axes.collections[0].get_array())
    middle = counts.shape[1 + axis] // 2  # nuclei are on the lower face of this layer
    np.testing.assert_array_equal(
        shown.ravel(), np.take(found["mean"][0], middle, axis=axis).ravel()
    )
    drawn = [a for a in range(3) if a != axis]
    assert along in drawn
    labels = axes.get_xlabel(), axes.get_ylabel()
    assert labels == tuple(f"{'xyz'[a]} (bohr)" for a in drawn)
    assert f"{'xyz'[axis]} = " in axes.get_title()


def test_what_a_density_missed_is_in_tables_and_averages():
    molecule = Electrons((1, 1), [Nucleus(2)])
    density = Density(2, margin=1.0).prepare(molecule)
    counts = np.full((2, 2, 2, 2), 1 / 16)  # half an electron of each spin
    counts = np.stack([counts, counts, 1.2 * counts, 0.8 * counts])
    found = density.finalize(counts, np.ones(4))
    assert float(found["outside"]) == pytest.approx(1.0)
    told = measured_parts.told({"density": found})["outside the density"]
    assert told.endswith("electrons: beyond the box of its grid") and told.startswith("1.0")
    numbers = measured_parts.numbers({"density": found})
    assert numbers["density_outside"] == pytest.approx(1.0)
    assert numbers["density_outside_error"] == pytest.approx(float(found["outside_error"]))
    stored = measured_parts.variables({"density": found})["density__outside"]
    assert (stored.dims, stored.units) == ((), "1")
    # Weights add up to the electrons but for rounding.
    whole = np.stack([2 * counts[0] * (1 + 1e-15), 2 * counts[0] * (1 - 2e-15)])
    assert np.all(2 - whole.reshape(2, -1).sum(axis=1) != 0)
    whole = density.finalize(whole, np.ones(2))
    assert float(whole["outside"]) == float(whole["outside_error"]) == 0
    # A grid that fills its cell misses nothing, and says nothing.
    assert "outside" not in Density(2).prepare(ElectronGas(2, 1.0)).finalize(counts, np.ones(4))


@pytest.mark.slow
def test_weights_of_walkers_count_in_dmc():
    """The electron of hydrogen: all of it is in the box, and its mean place is the nucleus."""
    psi = SlaterJastrow(Electrons((1, 0), [Nucleus(1)]))
    run = dmc(
        psi,
        timestep=0.05,
        walkers=32,
        blocks=20,
        equilibration=5,
        estimators=[Density(3, margin=12.0), DipoleMoment()],
    )
    density = run.estimators["density"]
    voxel = abs(np.linalg.det(density["steps"]))
    for row in (0, 1):
        # e^{−24} of the density is outside.
        assert voxel * density["mean"][row].sum() == pytest.approx(1.0, rel=1e-9)
    dipole = run.estimators["dipole_moment"]
    assert np.all(np.abs(dipole["mean"]) < 5 * dipole["error"])
    assert "dipole moment" in run.summary()
    assert len(run.numbers()["dipole_moment"]) == 3


def test_density_in_a_plane():
    density = Density(3).prepare(Trap(frequency=1.0, dimension=2))
    counts = measured(density, np.zeros((1, 2, 1)))
    assert counts.shape == (2, 3, 3)
    assert counts[0, 1, 1] == 1
    mean, _ = average(np.stack([counts, counts]), np.ones(2))
    np.testing.assert_array_equal(mean, counts)
    with pytest.raises(checks.InputError, match="must not hold PairCorrelation"):
        PairCorrelation().prepare(Trap(frequency=1.0))
    assert Density(2).prepare(ElectronGas(2, 1.0)).periodic == 3


def test_the_error_of_fluctuations_is_that_of_leaving_blocks_out():
    """⟨|ρ|²⟩ − |⟨ρ⟩|²: where ρ of a block strays, both terms do, and mostly cancel."""
    clean = StructureFactor(stars=2, subtract_mean=True).prepare(hydrogens())
    count, blocks = len(np.asarray(clean.vectors)), 64
    real = 1.0 + 0.15 * np.random.default_rng(2).normal(size=(blocks, 1)) * np.ones(count)
    rows = np.stack([real**2 + 0.3, real, 0 * real], axis=1)
    found = clean.finalize(rows, np.ones(blocks))
    without = [np.delete(rows, k, axis=0) for k in range(blocks)]
    means = np.array([clean.finalize(part, np.ones(blocks - 1))["mean"] for part in without])
    jackknife = np.sqrt((blocks - 1) / blocks * np.sum((means - means.mean(axis=0)) ** 2, axis=0))
    # Both stray by a tenth with 64 blocks, and error bars of few blocks are widened.
    np.testing.assert_allclose(found["error"], jackknife, rtol=0.35)
