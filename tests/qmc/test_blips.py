"""Blips against the plane waves that they come from."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from walker_programs import begin, local_energies

from zitter import checks
from zitter.linalg.kernels import triton_calls
from zitter.qmc import (
    Blips,
    ElectronGas,
    InterpolatingFilter,
    LeastSquaresFilter,
    MatchedFilter,
    Nodeless,
    PlaneWaves,
    RealParts,
    SlaterJastrow,
    blips_from_plane_waves,
    to_blips,
    vmc,
)
from zitter.qmc.orbitals import blip_waves

VECTORS = np.array([[4.0, 0.3, 0.0], [1.0, 5.0, 0.2], [-0.5, 0.4, 6.0]])
RECIPROCAL = 2 * np.pi * np.linalg.inv(VECTORS).T
K = np.array([[0.2, -0.1, 0.3], [0.0, 0.0, 0.0], [0.2, -0.1, 0.3]])
FILTERS = [InterpolatingFilter(), LeastSquaresFilter(), MatchedFilter()]


def plane_waves():
    """Amplitudes (3, G) of three orbitals and integers (G, 3) up to |m| = 2."""
    rng = np.random.default_rng(3)
    m = np.stack(np.meshgrid(*[np.arange(-2, 3)] * 3, indexing="ij"), -1).reshape(-1, 3)
    c = rng.normal(size=(3, len(m))) + 1j * rng.normal(size=(3, len(m)))
    return c / (1 + np.sum(m**2, axis=1)) ** 2, m


def exact(r):
    """Value, gradient and Laplacian of the sums themselves, at r (3, P)."""
    c, m = plane_waves()
    waves = K[:, None] + m @ RECIPROCAL  # (orbital, G, 3)
    each = c * np.exp(1j * np.einsum("jga,ap->pjg", waves, r))
    gradient = np.einsum("pjg,jga->apj", 1j * each, waves)
    return each.sum(-1), gradient, -np.einsum("pjg,jga->pj", each, waves**2)


def points(count=300, seed=0):
    """Places in several cells, near and far."""
    return (np.random.default_rng(seed).uniform(-3, 3, size=(count, 3)) @ VECTORS).T


@eqx.filter_jit
def evaluated(orbitals, r):
    """Value, gradient and Laplacian at r (3, …)."""
    return orbitals.derivatives(r)


@eqx.filter_jit
def values(orbitals, r):
    return orbitals.values(r)


@eqx.filter_jit
def by_differentiation(orbitals, r):
    """Slopes (d, orbitals) and Laplacian at one place, by ∂² along each axis."""
    value = lambda x: orbitals.values(x[:, None])[0]  # noqa: E731
    slope = lambda x, axis: jax.jvp(value, (x,), (axis,))[1]  # noqa: E731
    second = lambda axis: jax.jvp(lambda x: slope(x, axis), (r,), (axis,))  # noqa: E731
    slopes, seconds = jax.lax.map(second, jnp.eye(3))
    return slopes, jnp.sum(seconds, axis=0)


@eqx.filter_jit
def by_other_paths(orbitals, r):
    """Values and slopes without Laplacians, and the derivative that is taken backwards."""
    backward = jax.grad(lambda x: jnp.sum(orbitals.values(x).real))(r)
    return orbitals.slopes(r), backward


def random_blips(stored="float64"):
    rng = np.random.default_rng(1)
    c = rng.normal(size=(2, 5, 6, 7, 3))
    return Blips(c[0] + 1j * c[1], VECTORS, K, stored)


@pytest.mark.parametrize("kind", FILTERS, ids=lambda kind: type(kind).__name__)
def test_orders_of_convergence(kind):
    """Values O(h⁴), slopes O(h³), Laplacians O(h²), measured in a cell with no right angle."""
    c, m = plane_waves()
    r = points(3000)
    errors = []
    for n in (32, 64):
        blips = blips_from_plane_waves(c, m, VECTORS, K, grid=(n, n, n), filter=kind)
        found = evaluated(blips, jnp.asarray(r))
        errors.append(
            [
                np.linalg.norm(a - b) / np.linalg.norm(b)
                for a, b in zip(found, exact(r), strict=True)
            ]
        )
    orders = np.log2(np.array(errors[0]) / np.array(errors[1]))
    # The next powers of h are two orders higher, and 3000 points know the mean to 2 %.
    assert orders == pytest.approx([4, 3, 2], abs=0.1)


# Relative r.m.s. errors of one plane wave: t/π → value interpolated, value by least squares,
# gradient, Laplacian.
ONE_WAVE = {
    1 / 2: (1.9e-2, 1.3e-2, 4e-2, 1.2e-1),
    1 / 4: (7.5e-4, 4.4e-4, 3.3e-3, 2.5e-2),
    1 / 8: (4.1e-5, 2.3e-5, 3.6e-4, 5.9e-3),
    1 / 16: (2.5e-6, 1.4e-6, 4.4e-5, 1.4e-3),
}


@pytest.mark.parametrize("t", ONE_WAVE)
def test_errors_of_one_plane_wave(t):
    """Amplitudes of a wave along one lattice vector, known in closed form for each filter."""
    n = round(2 / t)  # one period on n points
    cell = np.diag([1.0, 1.0, 1.0])
    x = (np.arange(512) + 0.5) / 512
    r = np.stack([x, 0 * x, 0 * x])
    wave, k = np.exp(2j * np.pi * x), 2 * np.pi
    interpolated, squares, gradient, laplacian = ONE_WAVE[t]
    for kind, value in zip(FILTERS, (interpolated, squares, squares), strict=True):
        blips = blips_from_plane_waves([[1.0]], [[1, 0, 0]], cell, grid=(n, 4, 4), filter=kind)
        found = evaluated(blips, jnp.asarray(r))
        errors = [
            np.sqrt(np.mean(np.abs(found[0][:, 0] - wave) ** 2)),
            np.sqrt(np.mean(np.abs(found[1][0, :, 0] - 1j * k * wave) ** 2)) / k,
            np.sqrt(np.mean(np.abs(found[2][:, 0] + k**2 * wave) ** 2)) / k**2,
        ]
        # Two digits are known, of gradients and Laplacians for the filters together.
        assert errors[0] == pytest.approx(value, rel=0.06)
        assert errors[1] == pytest.approx(gradient, rel=0.15)
        assert errors[2] == pytest.approx(laplacian, rel=0.15)


def test_interpolation_is_exact_on_grid_points():
    c, m = plane_waves()
    n = (9, 10, 12)
    blips = blips_from_plane_waves(c, m, VECTORS, K, grid=n, filter=InterpolatingFilter())
    on_grid = np.random.default_rng(0).integers(-20, 20, size=(50, 3)) / np.array(n)
    r = (on_grid @ VECTORS).T
    np.testing.assert_allclose(values(blips, jnp.asarray(r)), exact(r)[0], atol=1e-13)


def test_derivatives_are_those_of_the_values():
    """Against differentiation; slopes and values are the same numbers by other paths."""
    blips = random_blips()
    r = jnp.asarray(points(24)).reshape(3, 24)
    value, gradient, laplacian = evaluated(blips, r)
    for place in range(3):
        slope, trace = by_differentiation(blips, r[:, place])
        np.testing.assert_allclose(gradient[:, place], slope, atol=1e-13)
        np.testing.assert_allclose(laplacian[place], trace, atol=1e-11)
    np.testing.assert_allclose(values(blips, r), value, atol=1e-15)
    slopes, backward = by_other_paths(blips, r)
    for found, expected in zip(slopes, (value, gradient), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-14)
    np.testing.assert_allclose(backward, jnp.sum(gradient.real, axis=-1), atol=1e-13)


def test_bloch_periodicity():
    blips = random_blips()
    r = points(20)
    for vector in VECTORS:
        moved = values(blips, jnp.asarray(r + vector[:, None]))
        turned = values(blips, jnp.asarray(r)) * np.exp(1j * K @ vector)
        np.testing.assert_allclose(moved, turned, atol=1e-12)


@pytest.mark.slow
def test_walkers_and_electrons_are_points_alike():
    """However positions are shaped or mapped over, a point has the values it has alone."""
    blips = random_blips("float32")
    r = jnp.asarray(points(24)).reshape(3, 2, 3, 4)
    value, gradient, laplacian = evaluated(blips, r)
    assert value.shape == laplacian.shape == (2, 3, 4, 3)
    assert gradient.shape == (3, 2, 3, 4, 3)
    one = lambda x: blips.derivatives(x)  # noqa: E731
    mapped = jax.jit(jax.vmap(jax.vmap(one, 1, (0, 1, 0)), 2, (1, 2, 1)))(r)
    for one, other in zip(mapped, (value, gradient, laplacian), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
    alone = evaluated(blips, r[:, 1, 2, 3])
    np.testing.assert_allclose(alone[0], value[1, 2, 3], atol=1e-13)


def test_large_tables_go_in_batches():
    """More points than a batch holds, and no multiple of it."""
    rng = np.random.default_rng(2)
    blips = Blips(rng.normal(size=(4, 4, 4, 200)), VECTORS)
    r = jnp.asarray(points(53))
    whole = evaluated(blips, r)
    for i in (0, 20, 52):
        alone = evaluated(blips, r[:, i])
        np.testing.assert_allclose(whole[0][i], alone[0], atol=1e-13)
        np.testing.assert_allclose(whole[2][i], alone[2], atol=1e-11)
    assert whole[0].dtype == jnp.float64


def test_single_precision_knows_its_place():
    """Fractions are made in double: far from the origin values keep the digits of float32."""
    blips = random_blips("float32")
    near = points(20)
    far = near + 1000 * VECTORS.sum(axis=0)[:, None]
    phase = np.exp(1000j * K @ VECTORS.sum(axis=0))
    found = eqx.filter_jit(lambda b, r: b.values(r, jnp.float32))(blips, jnp.asarray(far))
    assert found.dtype == jnp.complex64
    np.testing.assert_allclose(found, evaluated(blips, jnp.asarray(near))[0] * phase, atol=3e-6)


@pytest.mark.gpu
@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("kind", ["real", "real with k", "complex", "many"])
def test_the_kernel_of_gpus_makes_the_same_waves(kind, order):
    rng = np.random.default_rng(5)
    count = 150 if kind == "many" else 3
    c = rng.normal(size=(7, 9, 8, count)) + 1j * rng.normal(size=(7, 9, 8, count))
    c = c.real if kind.startswith("real") else c
    blips = Blips(c, VECTORS, None if kind == "real" else np.resize(K, (count, 3)))
    assert triton_calls.has_triton()
    index = blips.index if blips.is_complex else ()
    shape = blip_waves.Shape(blips.grid, count, index, order, jnp.float64)
    rest = (blips.table, jnp.asarray(blips.inverse), jnp.asarray(blips.waves))
    r = jnp.asarray(points(60).reshape(3, 5, 12).swapaxes(0, 1))  # mapped over the first axis

    def both(form):
        at = jax.vmap(lambda x: form(shape, *rest, x))
        return jax.jit(lambda r: jax.jvp(at, (r,), (jnp.sin(r),)))(r)

    found, expected = both(blip_waves.bloch_waves), both(blip_waves._by_sums)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert one.shape == other.shape == (5, 12, count)
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-13 * np.max(np.abs(other)))


def gas_in_blips(stored="float64", twist=(), grid=(24, 24, 24)):
    gas = ElectronGas(14 if len(twist) == 0 else 8, 1.0, twist=twist, allow_open_shell=True)
    waves = gas.default_orbitals()
    k = None
    if len(twist):
        k = np.tile(np.asarray(twist) @ gas.cell.reciprocal, (waves.count, 1))
    made = to_blips(waves, gas.cell.vectors, k, grid=grid, stored=stored)
    return gas, SlaterJastrow(gas, orbitals=made.blips)


@pytest.mark.slow
@pytest.mark.parametrize("twist", [(), (0.1, 0.2, 0.3)], ids=["real", "complex"])
def test_an_electron_gas_in_blips_has_its_hartree_fock_energy(twist):
    gas, psi = gas_in_blips(twist=twist)
    assert psi.is_complex == bool(twist)
    out = vmc(psi, walkers=128, blocks=40, equilibration=60, stride=4, seed=1)
    # Blips on 24 points are 1e-5 from plane waves in value, 1e-8 in energy.
    assert abs(out.energy - gas.hartree_fock()[0]) < 3 * out.energy_error
    assert out.energy_error < 0.01


@pytest.mark.slow
def test_coefficients_in_single_precision_change_the_energy_little():
    """Correlated samples: the same walkers, weighted by |Ψ'/Ψ|²; 1e-4 hartree per electron."""
    gas, double = gas_in_blips()
    _, single = gas_in_blips("float32")
    out = vmc(double, walkers=128, blocks=4, equilibration=60, stride=1)
    walkers = [begin(psi, out.positions) for psi in (double, single)]
    energies = [
        local_energies(psi, w)["energy"] for psi, w in zip((double, single), walkers, strict=True)
    ]
    weights = np.exp(2 * np.asarray(walkers[1].log - walkers[0].log))
    change = np.average(energies[1], weights=weights) - np.mean(energies[0])
    assert abs(change) / gas.electrons < 1e-5  # float32 has 6e-8, curvature times (n/2π)² of it
    assert abs(change) > 0
    assert np.std(energies[0] - energies[1]) < 1e-2


def test_conversion_states_its_errors():
    gas = ElectronGas(14, 1.0)
    waves = PlaneWaves(gas.cell, 7)
    made = to_blips(waves, gas.cell.vectors, error=1e-3)
    r = jnp.asarray(np.random.default_rng(9).uniform(size=(3, 500)) * gas.cell.vectors[0, 0])
    for mine, theirs, stated in zip(
        evaluated(made.blips, r),
        evaluated(waves, r),
        (made.value_error, made.gradient_error, made.laplacian_error),
        strict=True,
    ):
        miss = mine - theirs
        axes = tuple(range(miss.ndim - 1))
        size = jnp.sqrt(jnp.mean(theirs**2, axis=axes))
        relative = jnp.sqrt(jnp.mean(miss**2, axis=axes)) / jnp.where(size > 0, size, 1)
        # 400 other points: the mean of squares is known to a few percent.
        assert float(jnp.max(relative)) == pytest.approx(stated, rel=0.15)
    assert made.value_error <= 1e-3
    assert not made.blips.is_complex
    assert made.last_shell < 1e-20  # the plane waves have |m| = 1, far inside
    assert "7 orbitals as blips on" in made.summary()
    coarse = to_blips(waves, gas.cell.vectors, grid=(4, 4, 4))
    assert coarse.value_error > 10 * made.value_error


def test_the_last_shell_is_what_a_coarse_grid_cuts_off():
    c, m = plane_waves()
    fine = blips_from_plane_waves(c, m, VECTORS, K, multiplicity=4)
    assert to_blips(fine, VECTORS, K, grid=(5, 5, 5)).last_shell > 1e-4
    assert to_blips(fine, VECTORS, K, grid=(14, 14, 14)).last_shell < 1e-6


def test_real_parts_are_converted_as_what_they_are_parts_of():
    c, m = plane_waves()
    fine = blips_from_plane_waves(c, m, VECTORS, K, multiplicity=4)
    parts = RealParts(fine, [(0, 0), (0, 1), (2, 1)])
    made = to_blips(parts, VECTORS, K, grid=(20, 20, 20))
    assert isinstance(made.orbitals, RealParts)
    assert made.blips.is_complex
    r = jnp.asarray(points(24))
    exact, found = evaluated(parts, r)[0], evaluated(made.orbitals, r)[0]
    scale = float(jnp.max(jnp.abs(exact)))
    # The same grid: least squares applied twice is as near as once, 4e-5 at |m| = 2 of 20.
    np.testing.assert_allclose(found, exact, atol=5e-4 * scale)


def test_grids_of_plane_waves():
    c, m = plane_waves()
    assert blips_from_plane_waves(c, m, VECTORS, K).grid == (10, 10, 10)
    assert blips_from_plane_waves(c, m, VECTORS, K, multiplicity=1).grid == (6, 6, 6)
    each = blips_from_plane_waves(list(c), [m, m, m], VECTORS, K)
    shared = blips_from_plane_waves(c, m, VECTORS, K)
    np.testing.assert_array_equal(each.table, shared.table)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Blips(np.ones((3, 8, 8, 1)), VECTORS), "coefficients: must have 4 grid points"),
        (lambda: Blips(np.ones((8, 8, 8, 1)), np.ones((3, 3))), "vectors: must span the space"),
        (lambda: Blips(np.ones((8, 8, 8, 2)), VECTORS, [[0, 0, 0]]), "k: must have shape"),
        (
            lambda: Blips(np.ones((8, 8, 8, 2)), VECTORS, stored="float16"),
            "stored: must be one of 'float64', 'float32', but is 'float16'",
        ),
        (
            lambda: random_blips().at_twist(None, (0.1, 0, 0)),
            "twists: cannot move Blips to other wave vectors: make them",
        ),
        (
            lambda: blips_from_plane_waves(*plane_waves(), VECTORS, K, grid=(4, 8, 8)),
            "grid.0: must be at least 5 for these plane waves, but is 4",
        ),
        (
            lambda: blips_from_plane_waves([[1.0]], [[0.5, 0, 0]], VECTORS),
            "integers: must be whole numbers",
        ),
        (
            lambda: to_blips(random_blips(), VECTORS, K + 0.1),
            "k: must be that of each orbital, but orbital . changes by another factor",
        ),
        (lambda: to_blips(Nodeless(a=1.0), VECTORS), "k: must be that of each orbital"),
        (lambda: to_blips(random_blips(), VECTORS, K, error=-1.0), "error: must be positive"),
    ],
)
def test_what_blips_refuse(make, sentence):
    with pytest.raises(checks.InputError, match=sentence):
        make()


def test_the_twist_that_changes_nothing_is_taken():
    blips = random_blips()
    assert blips.at_twist(None, (0.0, 0.0, 0.0)) is blips
    assert eqx.tree_equal(blips, blips)
