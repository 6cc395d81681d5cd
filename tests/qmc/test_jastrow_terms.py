"""Jastrow terms around nuclei: closed forms against differentiation, moves against whole values."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import h5py
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jastrow_systems import NUCLEI, SYSTEMS, molecule, places, random_jastrow, solid
from walker_programs import begin, scattered

from marks import slow
from zitter import checks, io
from zitter.qmc import Chi, ElectronGas, Electrons, F, H, Nodeless, Nucleus, Q, SlaterJastrow, U
from zitter.qmc.jastrow import Jastrow, Move, Moves
from zitter.qmc.jastrow.f_constraints import free_tensors
from zitter.qmc.walk.dynamics import DriftDiffusion, GaussianSteps
from zitter.qmc.walk.sweep import sweep

KEY = jax.random.PRNGKey(0)
TERMS = {
    "molecule": [U(order=4), Chi(order=4), F(2, 3)],
    "solid": [U(order=3), Chi(order=3, by_spin=True, cusp=True), F(3, 2), Q(2)],
}


@pytest.fixture(scope="module", params=list(TERMS))
def jastrow(request):
    return random_jastrow(SYSTEMS[request.param](), TERMS[request.param])


@eqx.filter_jit
def by_differentiation(jastrow, r):
    value = lambda x: jastrow.derivatives(x.reshape(r.shape))[0]  # noqa: E731
    flat = r.ravel()
    laplacian = jnp.trace(jax.hessian(value)(flat))
    return value(flat), jax.grad(value)(flat).reshape(r.shape), laplacian


@eqx.filter_jit
def closed_forms(jastrow, r, dtype=jnp.float64):
    return jastrow.derivatives(r, dtype)


@pytest.mark.parametrize("jastrow", ["molecule", slow("solid")], indirect=True)
def test_derivatives_by_closed_forms(jastrow):
    r = places(jastrow.terms[0].system)
    for found, expected in zip(
        closed_forms(jastrow, r), by_differentiation(jastrow, r), strict=True
    ):
        scale = 1 + float(jnp.max(jnp.abs(expected)))
        np.testing.assert_allclose(found, expected, atol=1e-11 * scale)


@eqx.filter_jit
def all_ways(jastrow, r, electron, points):
    """Many places and one for an electron, and whole values there and before."""
    memory = jastrow.start(r, jnp.float64)
    spin = (electron >= jastrow.terms[0].system.spins[0]).astype(jnp.int32)
    rest = Move(electron, spin, r[:, electron], r[:, electron])
    many = jastrow.changes(r, memory, rest, points, jnp.float64)
    one = jastrow.change(r, memory, rest._replace(new=points[:, 0]), True, jnp.float64)
    moved = jax.vmap(lambda p: r.at[:, electron].set(p), in_axes=1)(points)
    return many, one, jax.vmap(jastrow.derivatives)(moved), jastrow.derivatives(r)


@pytest.mark.parametrize("electron", [1, 4])  # one of each spin
def test_changes_are_differences_of_whole_values(jastrow, electron):
    r = places(jastrow.terms[0].system)
    points = r[:, electron, None] + jax.random.normal(KEY, (3, 4), jnp.float64)
    many, one, whole, before = all_ways(jastrow, r, jnp.asarray(electron), points)
    np.testing.assert_allclose(many, whole[0] - before[0], atol=1e-11)
    assert float(one.value) == pytest.approx(float(many[0]), abs=1e-11)
    np.testing.assert_allclose(one.gradient_old, before[1][:, electron], atol=1e-11)
    np.testing.assert_allclose(one.gradient_new, whole[1][0][:, electron], atol=1e-11)


def test_couplings_tell_what_a_block_of_moves_does(jastrow):
    """Moves 0 and 2 of spin up are accepted: the change of all is the sum of what is told."""
    system = jastrow.terms[0].system
    r = places(system)
    electrons = jnp.arange(3)
    new = r[:, :3] + 0.7 * jax.random.normal(KEY, (3, 3), jnp.float64)
    accepted = jnp.asarray([True, False, True])

    @eqx.filter_jit
    def block(jastrow, r):
        memory = jastrow.start(r, jnp.float64)
        moves = Moves(electrons, 0, r[:, :3], new)
        told = jastrow.couplings(r, memory, moves, jnp.float64)
        after = r.at[:, :3].set(jnp.where(accepted, new, r[:, :3]))
        kept = jastrow.update_block(memory, moves, told.news, accepted)
        change = jastrow.derivatives(after)[0] - jastrow.derivatives(r)[0]
        return told, change, kept, jastrow.start(after, jnp.float64)

    told, change, kept, fresh = block(jastrow, r)
    expected = told.values[0] + told.values[2] + told.pairs[2, 0]
    assert float(expected) == pytest.approx(float(change), abs=1e-11)
    np.testing.assert_allclose(told.pairs, told.pairs.T, atol=1e-11)
    for updated, computed in zip(jax.tree.leaves(kept), jax.tree.leaves(fresh), strict=True):
        np.testing.assert_allclose(updated, computed, atol=1e-12)


def test_single_precision(jastrow):
    r = places(jastrow.terms[0].system)
    double, single = closed_forms(jastrow, r), closed_forms(jastrow, r, jnp.float32)
    for a, b in zip(double, single, strict=True):
        assert b.dtype == jnp.float64
        # Rounding 6e-8 of a few hundred terms.
        np.testing.assert_allclose(a, b, atol=2e-5 * (1 + float(jnp.max(jnp.abs(a)))))


@pytest.mark.parametrize(("other", "slope"), [(1, 0.25), (3, 0.5)], ids=["like", "opposite"])
def test_u_has_the_cusps_of_kato(other, slope):
    """u′(0) = ¼ between like and ½ between opposite spins, whatever the parameters."""
    jastrow, r = random_jastrow(molecule(), [U(order=4)]), places(molecule())
    h = 1e-5
    near = [r.at[:, other].set(r[:, 0] + d * jnp.asarray([0.6, 0.0, 0.8])) for d in (h, 2 * h)]
    one, two = (float(closed_forms(jastrow, place)[0]) for place in near)
    # The other electrons change the value by h times slopes of a few.
    away = [r.at[:, other].set(r[:, 0] - d * jnp.asarray([0.6, 0.0, 0.8])) for d in (h, 2 * h)]
    three, four = (float(closed_forms(jastrow, place)[0]) for place in away)
    assert 0.5 * (two - one + four - three) / h == pytest.approx(slope, abs=1e-3)


def test_chi_slopes_at_nuclei():
    """−Z of bare nuclei with `cusp`, zero without, for any free parameters."""
    for cusp, slopes in ((True, [-3.0, -1.0]), (False, [0.0, 0.0])):
        (term,) = random_jastrow(molecule(), [Chi(order=5, cusp=cusp)]).terms
        beta = np.asarray(term.coefficients())[:, 0]
        found = (beta[:, 1] - term.smoothness * beta[:, 0]) / float(term.length)
        np.testing.assert_allclose(found, slopes, atol=1e-12)


@pytest.mark.parametrize(("dimension", "slope"), [(3, -3.0), (2, -6.0)])
def test_the_cusp_of_chi_is_that_of_the_exact_atom(dimension, slope):
    """e^{−Zr} in space and e^{−2Zr} in the plane: ψ″ + (d − 1)ψ′/r has −2Zψ/r to cancel."""
    atom = Electrons((1, 1), [Nucleus(3, (0.0,) * dimension)], dimension=dimension)
    (term,) = random_jastrow(atom, [Chi(order=4, cusp=True)]).terms
    r, h = jnp.full((dimension, 2), 0.7), 1e-6
    value = [float(term.derivatives(r.at[:, 0].set(0.0).at[0, 0].set(d), jnp.float64)[0])
             for d in (h, 2 * h)]  # fmt: skip
    # χ″ of some ten adds h times that.
    assert (value[1] - value[0]) / h == pytest.approx(slope, abs=1e-3)


@pytest.mark.parametrize("channel", [0, 1], ids=["up", "down"])
def test_each_spin_has_its_own_chi(channel):
    """Coefficients of one spin only: electrons of the other do not feel them, at rest or moved."""
    system, L = molecule(), 4.0  # three up and two down
    (term,) = Jastrow(system, [Chi(order=2, cutoff=L, by_spin=True)]).terms
    beta = np.zeros(term.parameters.shape)
    beta[:, channel] = [[0.7, -0.4], [0.3, 0.9]]
    term = eqx.tree_at(lambda t: t.parameters, term, jnp.asarray(beta))
    r = places(system)
    own = range(3) if channel == 0 else range(3, 5)

    def chi(place):  # (1 − x)³ (β₀ + 3β₀ x + β₂ x²), which has no slope at the nucleus
        x = np.linalg.norm(np.asarray(place)[:, None] - system.nuclei.positions.T, axis=0) / L
        b0, b2 = beta[np.asarray(system.nuclei.species), channel].T
        return np.sum(np.where(x < 1, (1 - x) ** 3, 0.0) * (b0 + 3 * b0 * x + b2 * x**2))

    expected = [chi(r[:, i]) if i in own else 0.0 for i in range(5)]
    assert float(term.derivatives(r, jnp.float64)[0]) == pytest.approx(sum(expected), rel=1e-12)
    for electron, spin in ((1, 0), (4, 1)):
        new = r[:, electron] + 0.5
        move = Move(jnp.asarray(electron), jnp.asarray(spin), r[:, electron], new)
        change = float(term.change(r, (), move, False, jnp.float64).value)
        moved = chi(new) - expected[electron] if spin == channel else 0.0
        assert change == pytest.approx(moved, abs=1e-12)


@pytest.mark.parametrize(
    ("en", "ee", "free", "distinct"), [(2, 2, 8, 5), (3, 3, 26, 21), (4, 4, 57, 50), (3, 2, 17, 13)]
)
def test_free_parameters_of_f(en, ee, free, distinct):
    """Unknowns less the rank of the conditions, by hand: 18 − 10, 40 − 14, 75 − 18, 30 − 13."""
    assert len(free_tensors(en, ee, 3, False)) == free
    assert len(free_tensors(en, ee, 3, True)) == distinct


def test_f_brings_no_cusps():
    """Slopes at coalescence vanish for random free parameters, and not for any γ."""
    system = Electrons((1, 1), [Nucleus(2, symbol="He")])
    (term,) = random_jastrow(system, [F(3, 3)]).terms
    place, unit, h = jnp.asarray([0.7, -0.4, 0.5]), jnp.asarray([0.6, 0.0, 0.8]), 1e-4

    @eqx.filter_jit
    def slope(term, a, b):
        # ½[f(h) + f(−h)] − f(0): odd parts cancel, a cusp leaves h times its slope.
        value = lambda x: term.derivatives(jnp.stack([x, b], axis=1), jnp.float64)[0]  # noqa: E731
        return (value(a + h * unit) + value(a - h * unit) - 2 * value(a)) / (2 * h)

    loose = eqx.tree_at(lambda t: t.tensors, term, np.ones_like(term.tensors))
    for a in (place, jnp.zeros(3)):
        # A smooth function leaves h times half its curvature, some 10 here.
        assert abs(float(slope(term, a, place))) < 50 * h
        assert abs(float(slope(loose, a, place))) > 0.1


def test_cutoffs_without_a_cell_are_parameters():
    terms = [U(order=3), Chi(order=3)]
    free = Jastrow(molecule(), terms)
    assert free.parameters.size == 2 * 3 + 1 + 2 * 3 + 1
    assert Jastrow(solid(), terms).parameters.size == 2 * 3 + 2 * 3
    fixed = [U(order=3, cutoff=4.0), Chi(order=3, cutoff=4.0)]
    assert Jastrow(molecule(), fixed).parameters.size == 2 * 3 + 2 * 3
    assert set(free.stored_parameters()) == {
        *("jastrow_0_u", "jastrow_0_u_cutoff", "jastrow_1_chi", "jastrow_1_chi_cutoff")
    }
    # Each entry of the vector is where its name says.
    moved: Any = free.with_parameters(jnp.arange(free.parameters.size, dtype=float))
    assert float(moved.terms[0].length) == 6
    assert float(moved.terms[1].length) == free.parameters.size - 1
    np.testing.assert_array_equal(moved.parameters, np.arange(free.parameters.size))


@pytest.fixture(scope="module")
def hydrogen():
    """H₂ with one orbital at each nucleus, and all terms."""
    system = Electrons((1, 1), [Nucleus(1, (0, 0, -0.7), "H"), Nucleus(1, (0, 0, 0.7), "H")])
    orbitals = [Nodeless(1.0, center=(0, 0, z)) for z in (-0.7, 0.7)]
    terms = [U(order=3), Chi(order=3, by_spin=True), F(2, 2)]
    return scattered(SlaterJastrow(system, terms, orbitals))


@pytest.mark.parametrize(
    "dynamics",
    [pytest.param(GaussianSteps(0.5), marks=pytest.mark.slow), DriftDiffusion(0.05)],
    ids=["gauss", "drift"],
)
def test_sweeps_leave_what_a_fresh_start_gives(hydrogen, dynamics):
    walkers = begin(hydrogen, hydrogen.system.start(KEY, 3))
    dynamics = jax.tree.map(jnp.asarray, dynamics)
    moved, tally = eqx.filter_jit(sweep)(hydrogen, dynamics, walkers, KEY)
    fresh = begin(hydrogen, moved.r)
    assert float(jnp.sum(tally.accepted)) > 0
    for updated, computed in zip(jax.tree.leaves(moved), jax.tree.leaves(fresh), strict=True):
        np.testing.assert_allclose(updated, computed, atol=1e-11)


def test_parameters_and_cutoffs_survive_a_file(tmp_path, hydrogen):
    hydrogen.save_parameters(tmp_path / "jastrow.h5")
    other = hydrogen.with_parameters(jnp.ones_like(hydrogen.parameters))
    loaded = other.load_parameters(tmp_path / "jastrow.h5")
    np.testing.assert_array_equal(loaded.parameters, hydrogen.parameters)


def test_parameters_belong_to_their_cutoffs(tmp_path):
    def pair(*cutoffs):
        u, chi, f, h = cutoffs
        terms = [U(3, cutoff=u), Chi(3, cutoff=chi), F(2, 2, cutoff=f), H(2, cutoff=h)]
        return Jastrow(molecule(), terms)

    file, fixed = tmp_path / "jastrow.h5", pair(5.0, 4.0, 3.0, 2.0)
    stored = fixed.stored_parameters()
    io.write(file, io.Dataset(stored, {"kind": "jastrow"}))
    np.testing.assert_array_equal(fixed.load_parameters(file).parameters, fixed.parameters)
    for index, name in enumerate(("0_u", "1_chi", "2_f", "3_h")):
        cutoffs = [5.0, 4.0, 3.0, 2.0]
        cutoffs[index] += 0.5
        sentence = (
            rf"file: must be for jastrow_{name}_cutoff = {cutoffs[index]:g} bohr, but .*jastrow.h5 "
            rf"is for {cutoffs[index] - 0.5:g} bohr"
        )
        with pytest.raises(checks.InputError, match=sentence):
            pair(*cutoffs).load_parameters(file)
    # Cutoffs that are parameters are taken from the file, too.
    free: Any = pair(None, 4.0, None, 2.0).load_parameters(file)
    assert [float(term.length) for term in free.terms] == [5.0, 4.0, 3.0, 2.0]
    # Files of earlier versions have no fixed ones.
    kept = {k: v for k, v in stored.items() if not k.endswith("cutoff")}
    assert len(kept) == 4
    io.write(tmp_path / "old.h5", io.Dataset(kept, {"kind": "jastrow"}))
    other = pair(6.0, 4.0, 3.0, 2.0).load_parameters(tmp_path / "old.h5")
    np.testing.assert_array_equal(other.parameters, fixed.parameters)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Jastrow(ElectronGas(14, 1.0), [Chi()]), "must not be Chi .* without nuclei"),
        (lambda: Jastrow(solid(), [Chi(cutoff=9.0)]), r"jastrow.0.cutoff: must not exceed .* is 9"),
        (lambda: Jastrow(ElectronGas(14, 1.0), [F()]), "must not be F .* without nuclei"),
        (lambda: Jastrow(solid(), [F(cutoff=2.0)]), r"must not exceed 0.5 of the radius .* is 2"),
        (lambda: Jastrow(molecule(), [Q()]), "must not be Q for a system that is no crystal"),
        (lambda: F(1, 3), "electron_nucleus: must be at least 2, but is 1"),
        (lambda: Chi(order=1), "order: must be at least 2, but is 1"),
        (lambda: Chi(smoothness=1), "smoothness: must be at least 2, but is 1"),
    ],
)
def test_refusals(make, sentence):
    with pytest.raises(checks.InputError, match=sentence):
        make()


def test_nuclei_of_one_kind_share_parameters():
    (term,) = Jastrow(molecule(), [Chi(order=4)]).terms
    assert term.parameters.shape == (2, 1, 4)
    assert len(NUCLEI) == 3


@pytest.mark.parametrize("value", [np.bytes_(b"abc"), np.zeros((2, 3)), h5py.Empty("f8")], ids=repr)
@pytest.mark.parametrize("name", ["jastrow_0_u", "jastrow_0_u_cutoff"])
def test_a_file_of_parameters_may_hold_anything(tmp_path, name, value):
    psi = SlaterJastrow(ElectronGas(2, 1.0), [U(order=4)])
    psi.save_parameters(tmp_path / "u.h5")
    with h5py.File(tmp_path / "u.h5", "r+") as file:
        del file[name]
        file[name] = value
    with pytest.raises(checks.InputError, match=f"file: must (hold|be for) {name} "):
        psi.load_parameters(tmp_path / "u.h5")
