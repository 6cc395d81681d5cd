"""Light on spinors: the matrix-free product against the assembled matrix, and its fields."""

from __future__ import annotations

import warnings

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zitter as zt
from systems.kronecker import Kronecker, assembled
from zitter.bases.spinor import light as spinor_light
from zitter.bases.spinor.light import points
from zitter.terms.dirac_light import FewComponentsWarning, ResidualPotentialWarning

PULSE = zt.SineSquared(
    amplitude=100.0, frequency=50.0, cycles=15, cep=0.3, phase_origin="start", polarization="x"
)
RADIAL = zt.RadialBSplines(16, 7, 40.0)


def hamiltonian(basis, *args, **options):
    terms = [zt.Dirac(), zt.Coulomb(Z=1), zt.DiracLight(*args, **options)]
    return zt.discretize(zt.Model(terms), basis)


apply = eqx.filter_jit(lambda operator, psi: operator.apply(psi))


def random_state(shape, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


@pytest.fixture(scope="module")
def case():
    basis = zt.SpinorBasis(RADIAL, 3)
    H = hamiltonian(basis, PULSE, 4)
    return H, assembled(H.at(0.7).operator)


def test_product_equals_the_assembled_matrix(case):
    H, matrix = case
    psi = random_state(H.shape)
    expected = (matrix @ psi.reshape(-1)).reshape(H.shape)
    for operator in (H.at(0.7).operator, H.fixed + Kronecker(H.changing[0].at(0.7))):
        image = apply(operator, psi)
        # Rounding of a few hundred terms in each row.
        assert np.abs(image - expected).max() <= 1e-13 * np.abs(expected).max()
    assert abs(matrix - matrix.getH()).max() <= 1e-13 * abs(matrix).max()


def test_product_does_not_depend_on_order_or_packing(case, monkeypatch):
    H, _ = case
    psi = random_state(H.shape)
    expected = H.basis.by_kappa(apply(H.mix([1.0], [0.7]), psi))
    scale = np.abs(expected).max()
    other = zt.SpinorBasis(RADIAL, 3, order="mu")
    same = other.packed(H.basis.by_kappa(psi))
    image = apply(hamiltonian(other, PULSE, 4).mix([1.0], [0.7]), same)
    np.testing.assert_allclose(other.by_kappa(image), expected, atol=1e-14 * scale)
    # Other tiles, classes of μ and chunks of the radial axis: the tables are made anew.
    for name, value in (("TILE", 3), ("CLASSES", 1), ("CACHED", 5000)):
        monkeypatch.setattr(spinor_light, name, value)
    spinor_light._layout_within.cache_clear()
    try:
        image = eqx.filter_jit(lambda o: o.apply(psi))(
            hamiltonian(H.basis, PULSE, 4).mix([1.0], [0.7])
        )
    finally:
        spinor_light._layout_within.cache_clear()
    np.testing.assert_allclose(H.basis.by_kappa(image), expected, atol=1e-14 * scale)


def test_few_mu_are_a_part_of_all(case):
    """With |μ| ≤ ½ the product is that of the full basis between these channels."""
    H, matrix = case
    small = zt.SpinorBasis(RADIAL, 3, 0.5)
    rows = [H.basis.channel(k, m) for k, m in zip(small.kappas, small.mus, strict=True)]
    unknowns = np.add.outer(np.asarray(rows) * H.shape[1], np.arange(H.shape[1])).reshape(-1)
    psi = random_state(small.shape)
    image = apply(hamiltonian(small, PULSE, 4).mix([1.0], [0.7]), psi)
    expected = (matrix[unknowns][:, unknowns] @ psi.reshape(-1)).reshape(small.shape)
    assert np.abs(image - expected).max() <= 1e-13 * np.abs(expected).max()


def test_operator_contract(case):
    H, _ = case
    light = H.changing[0].at(0.7)
    psi, phi = random_state(H.shape), random_state(H.shape, 1)
    image = apply(light, psi)
    assert np.vdot(phi, image) == pytest.approx(np.vdot(apply(light, phi), psi), rel=1e-12)
    np.testing.assert_allclose(apply(light.scaled(0.5), psi), 0.5 * image, rtol=1e-13)
    turned = light.scaled(2j)
    assert light.hermitian and not turned.hermitian and turned.merged(light) is None
    np.testing.assert_allclose(apply(turned, psi), 2j * image, rtol=1e-13)
    low, high = light.bounds()
    assert low <= np.real(np.vdot(psi, image)) / np.vdot(psi, psi).real <= high
    # Two times mix into one operator, as Magnus schemes need.
    mixed = H.mix([0.25, 0.75], [0.6, 0.7])
    early, late = (apply(H.mix([1.0], [t]), psi) for t in (0.6, 0.7))
    expected = 0.25 * early + 0.75 * late
    np.testing.assert_allclose(apply(mixed, psi), expected, atol=1e-12 * np.abs(expected).max())
    assert len(mixed.parts) == 2


@pytest.mark.parametrize("cep", [0.0, 1.1, np.pi])
@pytest.mark.parametrize("origin", ["start", "center"])
def test_field_at_every_point(cep, origin):
    """With enough l both forms are c A(t − z/c), for any carrier–envelope phase."""
    pulse = zt.SineSquared(amplitude=100.0, frequency=50.0, cycles=15, cep=cep, phase_origin=origin)
    basis = zt.SpinorBasis(RADIAL, 2)
    r, x = points(basis, 40)
    t = 0.9  # the pulse covers the box: 40/c < t < duration − 40/c
    exact = basis.c * np.asarray(pulse.vector_potential(t - x[:, None, None] * r / basis.c))
    for waves in ("plane", "retarded"):
        field = hamiltonian(basis, pulse, 40, waves).changing[0].at(t).field
        # j_40(14.6) ~ 1e-13 is left out.
        np.testing.assert_allclose(field, exact, atol=1e-11 * np.abs(exact).max())


def test_dipole_approximation():
    basis = zt.SpinorBasis(RADIAL, 1)
    field = hamiltonian(basis, PULSE, 0).changing[0].at(0.7).field
    np.testing.assert_allclose(field, basis.c * float(PULSE.vector_potential(0.7)), rtol=1e-14)


def test_other_envelopes_and_sums():
    """Any pulse is projected on P_l; a sum of sin² pulses keeps its plane waves."""
    basis = zt.SpinorBasis(RADIAL, 2)
    flat = zt.Trapezoid(amplitude=50.0, frequency=50.0, ramp_cycles=2, plateau_cycles=8)
    r, x = points(basis, 40)
    exact = basis.c * np.asarray(flat.vector_potential(0.8 - x[:, None, None] * r / basis.c))
    field = hamiltonian(basis, flat, 40).changing[0].at(0.8).field
    np.testing.assert_allclose(field, exact, atol=1e-9 * np.abs(exact).max())  # plateau only
    both = PULSE + 0.5 * zt.SineSquared(
        amplitude=10.0, frequency=80.0, duration=PULSE.duration, polarization="x"
    )
    fields = [hamiltonian(basis, both, 30, w).changing[0].at(0.9).field for w in (None, "retarded")]
    np.testing.assert_allclose(fields[0], fields[1], atol=1e-9 * np.abs(fields[1]).max())


def test_field_is_over_after_the_pulse():
    basis = zt.SpinorBasis(RADIAL, 1)
    end = float(PULSE.duration)
    H = hamiltonian(basis, PULSE, 4)
    assert not np.any(H.changing[0].at(end + 1e-9).field)
    late = hamiltonian(basis, PULSE, 4, "retarded").changing[0]
    assert np.any(np.abs(late.at(end + 20 / basis.c).field) > 1e-3)  # still leaving the box
    assert np.abs(late.at(end + 41 / basis.c).field).max() < 1e-20


def test_gradient_with_respect_to_the_field_strength():
    basis = zt.SpinorBasis(RADIAL, 1)
    psi = random_state(basis.shape)

    def energy(amplitude):
        pulse = zt.SineSquared(amplitude=amplitude, frequency=50.0, cycles=15)
        operator = hamiltonian(basis, pulse, 2).changing[0].at(0.7)
        return jnp.real(jnp.vdot(psi, operator.apply(psi)))

    slope = jax.jit(jax.grad(energy))(100.0)
    assert slope == pytest.approx(float(jax.jit(energy)(1.0)), rel=1e-10)  # linear in E₀


def test_what_cannot_be_is_refused():
    grid = zt.Grid(32, 0.5)
    with pytest.raises(zt.Unsupported, match="SpinorBasis"):
        zt.discretize(zt.Model([zt.Kinetic(), zt.DiracLight(PULSE)]), grid)
    across = zt.SineSquared(amplitude=1.0, frequency=50.0, cycles=15, polarization="y")
    with pytest.raises(zt.InputError, match="polarization: must be along x"):
        zt.DiracLight(across)
    turning = zt.SineSquared(amplitude=1.0, frequency=50.0, cycles=15, ellipticity=0.5)
    with pytest.raises(zt.InputError, match="linearly polarized"):
        zt.DiracLight(turning)
    chirped = zt.SineSquared(amplitude=1.0, frequency=50.0, cycles=15, chirp=1.0)
    with pytest.raises(zt.InputError, match="retarded"):
        zt.DiracLight(chirped, waves="plane")


def test_small_boxes_are_warned_of():
    basis = zt.SpinorBasis(zt.RadialBSplines(16, 7, 5.0), 1)
    with pytest.warns(UserWarning, match="path of the fastest electrons"):
        hamiltonian(basis, PULSE, 2)
    # In a sum the fastest part counts.
    slower = zt.SineSquared(amplitude=1.0, frequency=25.0, cycles=1, polarization="x")
    bump = zt.HalfCycle(amplitude=1e-3, duration=1.0, polarization="x")
    for mixed in (PULSE + bump, 0.5 * PULSE + slower):
        with pytest.warns(UserWarning, match="path of the fastest .*, 18.* bohr"):
            hamiltonian(basis, mixed, 2)
    slow = zt.SineSquared(amplitude=1.0, frequency=0.05, cycles=4)
    with pytest.warns(UserWarning, match="reach of the pulse"):
        hamiltonian(basis, slow, 2)


def test_few_components_are_warned_of():
    """ωr/c + 3 with r = 7.5 bohr, the path of one-photon electrons: 2.7 + 3."""
    basis = zt.SpinorBasis(zt.RadialBSplines(16, 7, 20.0), 1)
    pulse = zt.SineSquared(amplitude=1.0, frequency=50.0, cycles=6, polarization="x")
    for light in (pulse, 0.5 * pulse + pulse):
        with pytest.warns(FewComponentsWarning, match="take lmax = 5 or more") as seen:
            hamiltonian(basis, light, 4)
        assert {warning.filename for warning in seen} == {__file__}
    for enough in (5, 0):  # 0 is the dipole approximation
        with warnings.catch_warnings():
            warnings.simplefilter("error", FewComponentsWarning)
            hamiltonian(basis, pulse, enough)
            # ωr/c = 0.007: what one component leaves out is (ωr/c)²/3.
            hamiltonian(basis, zt.SineSquared(amplitude=1e-3, frequency=0.05, cycles=2), 1)


def test_a_vector_potential_that_stays_is_warned_of():
    basis = zt.SpinorBasis(zt.RadialBSplines(16, 7, 20.0), 1)
    with pytest.warns(ResidualPotentialWarning, match="A is not zero after the pulse but 1 of"):
        hamiltonian(basis, zt.HalfCycle(amplitude=1.0, duration=1.0, polarization="x"), 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResidualPotentialWarning)
        hamiltonian(basis, PULSE, 2)
