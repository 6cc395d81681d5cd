"""The words of a prolate spheroidal basis: operators, implicit steps, pictures, refusals."""

from __future__ import annotations

import re
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zitter as zt
from systems import two_centers
from zitter.linalg.base import Unsupported
from zitter.linalg.diagonal import Diagonal

Z_AXIS = (0.0, 0.0, 1.0)


def small(m=0, **others):
    return zt.ProlateSpheroidal(2.0, m, **({"rmax": 20.0, "nodes": 6, "eta": 7} | others))


def random_state(basis, seed=3):
    rng = np.random.default_rng(seed)
    return jnp.asarray(rng.normal(size=basis.shape) + 1j * rng.normal(size=basis.shape))


@pytest.mark.parametrize("m", [0, 1, 2])
@pytest.mark.parametrize("kind", ["kinetic", "momentum"])
def test_operators(m, kind):
    basis = small(m)
    operator = basis.kinetic(2.0) if kind == "kinetic" else basis.momentum(Z_AXIS)
    matrix, psi = np.asarray(operator.as_matrix()), random_state(basis)
    assert operator.hermitian
    np.testing.assert_allclose(matrix, matrix.conj().T, atol=1e-12)
    image = (matrix @ np.asarray(psi).reshape(-1)).reshape(basis.shape)
    np.testing.assert_allclose(operator.apply(psi), image, atol=1e-10)
    np.testing.assert_allclose(operator.as_sparse().toarray(), matrix, atol=1e-12)
    twice = operator.merged(operator.scaled(2.0))
    np.testing.assert_allclose(twice.as_matrix(), 3 * matrix, atol=1e-11)
    low, high = (float(x) for x in operator.bounds())
    eigenvalues = np.linalg.eigvalsh(matrix)
    assert low <= eigenvalues[0] and eigenvalues[-1] <= high
    # Kinetic energies alternate in sign, so that their moduli say all; momenta do not.
    assert high < (1.01 if kind == "kinetic" else 1.7) * eigenvalues[-1]
    single = operator.astype(np.float32).apply(psi.astype(np.complex64))
    assert single.dtype == np.complex64
    np.testing.assert_allclose(single, image, atol=1e-4 * np.abs(image).max())


@pytest.mark.parametrize("m", [0, 1, 2])
def test_momentum_and_position_agree(m):
    """p = i[H, z]: between eigenstates ⟨p⟩ = −iΔE ⟨z⟩, of real and of complex states."""
    basis = zt.ProlateSpheroidal(2.0, m, rmax=41.0)
    operator = two_centers.field_free(basis, 1, 1)
    energies, (first, second), _ = basis.stationary(operator, 2, None)
    z = float(jnp.vdot(first, basis.position(Z_AXIS).apply(second)))
    p = complex(jnp.vdot(first, basis.momentum(Z_AXIS).apply(second)))
    gap = energies[1] - energies[0]
    assert abs(p / gap + 1j * z) < 1e-11
    both = (first + 1j * second) / np.sqrt(2)
    velocity = complex(jnp.vdot(both, basis.momentum(Z_AXIS).apply(both)))
    assert abs(velocity / gap - z) < 1e-11
    if m == 0:
        assert abs(abs(z) - two_centers.DIPOLE) < 1e-11


@pytest.mark.slow
def test_force_is_the_second_derivative_of_the_dipole():
    """⟨z⟩ = d cos(ΔE t) for equal parts of two states, so ⟨z̈⟩ = −ΔE² d at first."""
    basis = zt.ProlateSpheroidal(2.0, rmax=31.0)
    operator = two_centers.field_free(basis, 1, 1)
    energies, states, _ = basis.stationary(operator, 2, None)
    psi = ((states[0] + states[1]) / np.sqrt(2)).astype(complex)
    dipole = basis.mean_position(psi)
    expected = -((energies[1] - energies[0]) ** 2) * dipole
    np.testing.assert_allclose(basis.force(operator, psi), expected, atol=1e-11)
    np.testing.assert_allclose(dipole[:2], 0.0)
    assert abs(abs(dipole[2]) - two_centers.DIPOLE) < 1e-11


@pytest.mark.slow
def test_polarizability():
    """α = 2 Σ |⟨n|z|0⟩|²/(E_n − E₀), from one linear system."""
    basis = zt.ProlateSpheroidal(2.0, rmax=31.0, eta=12)
    operator = two_centers.field_free(basis, 1, 1)
    [energy], [ground], _ = basis.stationary(operator, 1, None)
    z, flat = basis.position(Z_AXIS).apply(ground).reshape(-1), ground.reshape(-1)
    matrix = operator.as_matrix() - energy * jnp.eye(basis.size) + jnp.outer(flat, flat)
    found = 2 * float(z @ jnp.linalg.solve(matrix, z))
    assert abs(found - two_centers.POLARIZABILITY) < 1e-10  # 12 digits are known


@pytest.mark.slow
def test_static_field_width():
    """A complex eigenvalue on a turned contour: the molecule decays in the field."""
    field, energy, width = two_centers.STARK
    basis = zt.ProlateSpheroidal(2.0, rmax=33.0, eta=20, scaling=zt.ExteriorScaling(10.0, 0.4))
    operator = two_centers.field_free(basis, 1, 1) + basis.position(Z_AXIS).scaled(field)
    matrix = np.asarray(operator.as_matrix())
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-10)
    assert not operator.hermitian and basis.complex_scaled
    inverse, vector = np.linalg.inv(matrix - energy * np.eye(basis.size)), np.ones(basis.size)
    for _ in range(8):  # the c-product has no conjugation
        vector = inverse @ vector
        vector = vector / np.sqrt(vector @ vector)
    found = vector @ matrix @ vector
    assert abs(found.real - energy) < 1e-11
    assert abs(-2 * found.imag - width) < 1e-14  # of 1.75e-6


def test_bound_states_stay_where_they_are_on_a_turned_contour():
    basis = zt.ProlateSpheroidal(2.0, rmax=33.0, eta=8, scaling=zt.ExteriorScaling(12.0, 0.3))
    matrix = two_centers.field_free(basis, 1, 1).as_matrix()
    found = np.linalg.eigvals(np.asarray(matrix))
    energy = two_centers.LEVELS[2.0, 1, 1, 0][0, 0]
    lowest = found[np.argmin(abs(found - energy))]
    # eta = 8 leaves 1e-10; the imaginary part is rounding of 300 hartree.
    assert abs(lowest.real - energy) < 1e-9
    assert abs(lowest.imag) < 1e-11


# Implicit steps.


def test_two_charges_in_the_foci_separate():
    basis = zt.ProlateSpheroidal(2.0, rmax=40.0)
    operator = two_centers.field_free(basis, 2, 1)
    known, rest = basis.separate(operator)
    assert rest is None
    psi = random_state(basis)
    np.testing.assert_allclose(known.apply(psi), operator.apply(psi), atol=1e-9)


def test_absorbers_separate():
    basis = zt.ProlateSpheroidal(2.0, rmax=40.0)
    absorber = basis.absorber(10.0, lambda depth, spacing: 0.2 * depth**2)
    values = np.asarray(absorber.full())
    [(depth, _)] = basis.depths(10.0)
    # η² counts as 1/ξ² of the strength, from ξ = 30 on.
    np.testing.assert_allclose(values, -0.2j * depth**2, rtol=1e-3, atol=1e-12)
    operator = two_centers.field_free(basis, 1, 1) + absorber
    known, rest = basis.separate(operator)
    assert rest is None
    psi = random_state(basis)
    np.testing.assert_allclose(known.apply(psi), operator.apply(psi), atol=1e-9)


def test_what_does_not_separate_is_left_over():
    basis = zt.ProlateSpheroidal(2.0, rmax=40.0)
    cloud = basis.multiply(np.exp(-(basis.places().values[2] ** 2)))
    operator = two_centers.field_free(basis, 1, 1) + cloud
    known, rest = basis.separate(operator)
    psi = random_state(basis)
    whole = known.apply(psi) + rest.apply(psi)
    np.testing.assert_allclose(whole, operator.apply(psi), atol=1e-9)


def test_a_field_is_left_over():
    basis = small()
    light = basis.momentum(Z_AXIS)
    known, rest = basis.separate(two_centers.field_free(basis, 1, 1) + light)
    assert known is not None
    np.testing.assert_allclose(rest.as_matrix(), light.as_matrix())
    assert basis.separate(light)[0] is None


def test_rounding_of_a_potential_in_single_precision_is_no_rest():
    """AngularSplit needs all of the field-free part inverted, and was refused in single."""
    operator = two_centers.field_free(small(), 2, 1).astype(np.float32)
    known, rest = small().separate(operator)
    assert known is not None and rest is None


@pytest.mark.parametrize("scaling", [None, zt.ExteriorScaling(12.0, 0.4)])
@pytest.mark.parametrize("m", [0, 1])
def test_resolvents(scaling, m):
    basis = small(m, scaling=scaling)
    operator = two_centers.field_free(basis, 2, 1)
    known, _ = basis.separate(operator)
    family, psi = basis.resolvents(known), random_state(basis)
    matrix = np.asarray(operator.as_matrix())
    for z in (0.005j, 0.3j, 0.1 + 0.05j):
        found = jax.jit(lambda f, z, psi: f.at(z).solve(psi))(family, jnp.asarray(z), psi)
        exact = np.linalg.solve(np.eye(basis.size) + z * matrix, np.asarray(psi).reshape(-1))
        np.testing.assert_allclose(found.reshape(-1), exact, atol=1e-11)
    single = family.at(jnp.asarray(0.3j, np.complex64)).solve(psi.astype(np.complex64))
    assert single.dtype == np.complex64


def test_cayleys_step_keeps_the_norm():
    """W⁻¹ and not Wᵀ: for equal charges B is close to pairwise degenerate."""
    basis = zt.ProlateSpheroidal(2.0, rmax=40.0, eta=30)
    known, _ = basis.separate(two_centers.field_free(basis, 1, 1))
    psi = random_state(basis)

    @jax.jit
    def run(known, psi):
        solver = basis.resolvents(known).at(0.5j * 0.01)
        return jax.lax.fori_loop(0, 100, lambda _, psi: 2 * solver.solve(psi) - psi, psi)

    assert abs(float(basis.norm(run(known, psi)) / basis.norm(psi)) - 1) < 1e-11


@pytest.mark.slow
def test_potentials_may_be_traced():
    basis = small()

    def first(strength):
        values = jnp.asarray(two_centers.potential(basis, 1, 1).values) * strength
        known, rest = basis.separate(basis.kinetic() + Diagonal(values, basis.shape))
        psi = jnp.ones(basis.shape)
        return jnp.vdot(psi, known.apply(psi) + rest.apply(psi))

    slope = jnp.vdot(jnp.ones(basis.shape), two_centers.potential(basis, 1, 1).values)
    np.testing.assert_allclose(jax.grad(first)(1.3), slope, rtol=1e-10)


# Measuring and showing.


@pytest.mark.parametrize("m", [0, 1, -1])
def test_hydrogen_off_the_middle(m):
    """One charge alone: 1s and 2p around the first focus, known everywhere in space."""
    basis = zt.ProlateSpheroidal(2.0, m, rmax=41.0, eta=16)
    [energy], [state], _ = basis.stationary(two_centers.field_free(basis, 1, 0), 1, None)
    assert abs(energy + 0.5 / (1 + abs(m)) ** 2) < 1e-11
    rng = np.random.default_rng(5)
    x, y, z = rng.uniform(-4, 4, (3, 200))
    z[:3], x[:3], y[:3] = (-1.0, 1.0, 0.2), 0.0, 0.0  # both nuclei and a place between them

    def exact(x, y, z):
        r = np.sqrt(x**2 + y**2 + (z + 1) ** 2)
        if m == 0:
            return np.exp(-r) / np.sqrt(np.pi)
        return (x + 1j * m * y) * np.exp(-r / 2) / (8 * np.sqrt(np.pi))

    found = basis.evaluate(state, x, y, z)
    sign = np.sign(np.real(found[5] / exact(x[5], y[5], z[5])))
    # Energies of 1e-11 stand for wave functions of 1e-6.
    np.testing.assert_allclose(sign * found, exact(x, y, z), atol=1e-6)
    sampled = basis.normalize(basis.sample(exact))
    assert abs(abs(jnp.vdot(sampled, state)) - 1) < 1e-11
    assert abs(basis.norm(basis.sample(exact)) - 1) < 1e-9
    assert basis.evaluate(state, 0.0, 0.0, 42.0) == 0  # beyond the wall


def test_density_in_the_plane_of_the_nuclei():
    basis = zt.ProlateSpheroidal(2.0, rmax=21.0)
    _, [state], _ = basis.stationary(two_centers.field_free(basis, 2, 1), 1, None)
    axes, density = basis.density_axes(), jax.jit(basis.density)(state)
    assert list(axes) == ["x", "z"] and density.shape == (161, 161)
    np.testing.assert_array_equal(density, density[::-1])
    i, k = 20, 90
    value = basis.evaluate(state, axes["x"][i], 0.0, axes["z"][k])
    np.testing.assert_allclose(density[i, k], abs(value) ** 2, rtol=1e-10)
    heaviest = axes["z"][int(np.argmax(density[80]))]
    assert abs(heaviest + 1) < 0.1  # the charge of 2 is at z = −1


def test_places_know_the_symmetry():
    places = small().places()
    x, y, z = places.values
    elsewhere = places.elsewhere()
    assert places.names == ("x", "y", "z") and elsewhere is not None
    np.testing.assert_allclose(np.hypot(*elsewhere.values[:2]), np.hypot(x, y))
    np.testing.assert_array_equal(elsewhere.values[2], z)
    assert np.min(np.abs(elsewhere.values[1])) > 0
    # r₁ + r₂ = Rξ and r₁ − r₂ = Rη.
    first, second = (np.sqrt(x**2 + y**2 + (z + s) ** 2) for s in (1.0, -1.0))
    axes = small().axes()
    np.testing.assert_allclose((first + second) / 2, axes["xi"][:, None] + 0 * axes["eta"])
    np.testing.assert_allclose((first - second) / 2, axes["eta"] + 0 * axes["xi"][:, None])


def test_absorbers_begin_where_they_should():
    basis = zt.ProlateSpheroidal(2.0, rmax=40.0)
    [(depth, spacing)] = basis.depths(10.0)
    z = basis.axes()["xi"] * 1.0
    np.testing.assert_allclose(depth[:, 0], np.clip((z - 30) / 10, 0, 1))
    assert 0 < depth[-1, 0] < 1 and 0.3 < spacing < 1
    np.testing.assert_array_equal(basis.mask_depths(10.0)[0], depth)
    inside = basis.sphere(10.0).full()
    x, _, along = basis.places().values
    np.testing.assert_array_equal(inside, np.where(np.hypot(x, along) <= 10, 1.0, 0.0))


@pytest.mark.parametrize("m", [0, 1])
def test_edges_tell_what_is_there(m):
    basis = zt.ProlateSpheroidal(2.0, m, rmax=40.0)
    last, wall = basis.edges(driven=True, open_end=True)
    _, [ground], _ = basis.stationary(two_centers.field_free(basis, 1, 1), 1, None)
    assert last.population(ground) < 1e-20 and wall.population(ground) < 1e-20
    assert basis.edges(driven=False, open_end=False) == ()
    xi, eta = basis.axes().values()
    factor = np.sqrt(1 - eta**2) if m else 1.0
    high = np.polynomial.legendre.legval(eta, np.eye(basis.eta)[-1]) * factor
    wave = basis.sample(lambda x, y, z: np.exp(-((xi - 15.0)[:, None] ** 2)) * high)
    # All of it is the last polynomial; for odd m the nodes see √(1−η²) times it as smaller.
    assert 0.6 < last.population(basis.normalize(wave)) < 1.1
    out = basis.sample(lambda x, y, z: np.exp(-((xi - 39.5)[:, None] ** 2)) + 0 * z)
    out = basis.normalize(out)
    assert wall.population(out) > 0.99
    assert "eta = 13 is too small" in last.sentence(1e-3, 1e-6)
    assert "rmax = 40 bohr is too small" in wall.sentence(1e-3, 1e-6)


# Sizes and refusals.


def test_sizes():
    basis = zt.ProlateSpheroidal(2.0)
    assert basis.shape == ((len(basis.elements) - 1) * 11, 13) and basis.rmax == 81.0
    assert basis.elements[:4] == (0.0, 2.0, 6.0, 13.4)
    assert pytest.approx(1.8897261) == zt.ProlateSpheroidal("1 angstrom").R
    assert zt.ProlateSpheroidal(0.5).elements[1] == 1.0
    assert zt.ProlateSpheroidal(2.0, rmax=2.0).elements == (0.0, 1.0)
    turned = zt.ProlateSpheroidal(2.0, rmax=30.0, scaling=zt.ExteriorScaling(10.0))
    assert 9.0 in turned.elements and turned.elements[-1] == 29.0
    assert "scaled beyond 10" in repr(turned)
    assert hash(basis) == hash(zt.ProlateSpheroidal(2.0)) and basis == zt.ProlateSpheroidal(2.0)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"R": -1.0}, "R: must be positive, but is -1"),
        ({"rmax": 0.5}, "rmax: must be above R/2 = 1, but is 0.5"),
        ({"eta": 3}, "eta: must be at least 4, but is 3"),
        ({"elements": [0, 2, 1]}, "elements: must be at least three distances that rise from 0"),
        ({"elements": [0, 2, 8], "rmax": 10.0}, "elements: must end at rmax − R/2 = 9 bohr"),
        ({"scaling": zt.ExteriorScaling(90.0)}, "scaling.radius: must lie between R/2 = 1 and"),
        (
            {"elements": [0, 2, 8], "scaling": zt.ExteriorScaling(4.0)},
            "elements: must have a joint where the contour turns",
        ),
    ],
)
def test_sizes_that_cannot_be(arguments, sentence):
    with pytest.raises(zt.InputError, match="^" + re.escape(sentence)):
        zt.ProlateSpheroidal(**({"R": 2.0} | arguments))


def test_nuclei_sit_in_the_foci():
    basis = small()
    basis.check_nuclei([1.0, 2.0], np.array([[0, 0, -1.0], [0, 0, 1.0]]))
    basis.check_nuclei([1.0], np.array([[0, 0, 1.0]]))
    with pytest.raises(zt.InputError, match=r"centers: must be \[0, 0, ±R/2\] = \[0, 0, ±1\]"):
        basis.check_nuclei([1.0], np.zeros((1, 3)))


def test_what_leads_to_other_m_is_refused():
    basis = small()
    with pytest.raises(Unsupported, match="the position across the axis cannot be written on a"):
        basis.position([1.0, 0.0, 0.0])
    with pytest.raises(Unsupported, match="the momentum across the axis"):
        basis.momentum([0.0, 1.0, 0.0])
    with pytest.raises(zt.InputError, match="width: must be below rmax − R/2"):
        basis.depths(50.0)


def two_charges(R, Z):
    centers = [[0, 0, -0.5 * R], [0, 0, 0.5 * R]]
    return zt.Model([zt.Kinetic(), zt.Coulomb(Z=Z, centers=centers)])


@pytest.mark.slow
def test_charges_that_outrun_the_polynomials_are_told():
    """With default sizes 1sσ of Z = 8, 1 at R = 4 is wrong by 8e-4 hartree."""
    with pytest.warns(zt.spectra.ConvergenceWarning, match="too few for a nucleus of charge 8"):
        zt.discretize(two_charges(4.0, [8, 1]), zt.ProlateSpheroidal(4.0))
    enough = zt.ProlateSpheroidal(4.0, elements=(0, 0.7, 2, 5, 10, 18), nodes=14, eta=40)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = zt.eigenstates(zt.discretize(two_charges(4.0, [8, 1]), enough), 1)
    # −Z²/2 − 1/R, and what the far charge polarizes: −α/2R⁴ with α = 9/2Z⁴.
    assert found.energies[0] == pytest.approx(-32.25 - 4.5 / 8**4 / (2 * 4.0**4), abs=2e-6)


@pytest.mark.parametrize("R", [0.5, 2.0, 5.0, 20.0])
@pytest.mark.parametrize("Z", [[1, 1], [2, 1], [3, 3]])
def test_default_sizes_suit_the_charges_they_are_made_for(R, Z):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        zt.discretize(two_charges(R, Z), zt.ProlateSpheroidal(R))
