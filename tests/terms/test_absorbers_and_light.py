"""Absorbing boundaries, and coupling to light in both gauges."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import systems
import zitter as zt


def packet(grid, start, momentum, width):
    x = grid.points(0)
    psi = np.exp(-((x - start) ** 2) / (4 * width**2) + 1j * momentum * x)
    return grid.normalize(jnp.asarray(psi))


@pytest.mark.parametrize("ratio", [1.3, 2.0, 4.0])
def test_complex_absorber_reflects_less_than_promised(ratio):
    """δ = 0.2: below 1 % for k ≥ k_min = c/(2δ·width); the packet's own spread in k is small."""
    width = 12.0
    k_min = 2.62206 / (2 * 0.2 * width)
    k = ratio * k_min
    grid = zt.Grid(500, 0.3)
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.ComplexAbsorber(width)]), grid)
    psi = packet(grid, 0.0, k, 14.0)
    # The centre travels to the wall and as far back: what is left has been reflected.
    end = 2 * 75.0 / k
    left = systems.propagate(H, psi, zt.SplitOperator(), (0.0, end), round(end / 0.1))
    assert float(grid.norm(left)) ** 2 < 0.01


def test_the_absorber_is_the_one_without_transmission():
    """y(x) = x + O(x³) and y = 4/(c − x)² + O(c − x)²: a, b and c are what makes it so.

    Of b = (1 − n/c³)/c², n = 17 alone leaves nothing at the edge; n = 16 would leave 1/c² = 0.15.
    """
    c, width = 2.62206, 12.0
    scale = (c / (2 * 0.2 * width)) ** 2 / 2
    depth = np.array([1e-4, 1 - 1e-3])
    y = zt.ComplexAbsorber(width)._strength(depth, 1e-6) / scale
    assert y[0] == pytest.approx(c * depth[0], rel=1e-6)  # x² of what comes next
    # The next powers have the factors 0.003, as c has six digits, and 0.08.
    assert abs(y[1] - 4 / (c - c * depth[1]) ** 2) < 1e-4


def test_the_absorber_of_a_heavy_particle():
    """−iE_min y goes with the kinetic energy, 1/m, so that the same waves are absorbed."""
    m = 4.0
    light = zt.discretize(
        zt.Model([zt.Kinetic(), zt.ComplexAbsorber(4.0)]), zt.Grid(64, 0.25)
    ).absorber
    heavy = zt.discretize(
        zt.Model([zt.Kinetic(mass=m), zt.ComplexAbsorber(4.0, mass=m)]), zt.Grid(64, 0.25)
    ).absorber
    assert light is not None and heavy is not None
    np.testing.assert_allclose(m * np.asarray(heavy.full()), light.full(), rtol=1e-12)


def test_mask_absorbs_the_same_whatever_the_step():
    """M^{Δt/τ}: the loss over a run converges with Δt instead of growing with the step count."""
    grid = zt.Grid(160, 0.4)
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.MaskAbsorber(10.0)]), grid)
    psi = packet(grid, 5.0, 1.5, 2.0)
    left = []
    for dt in (0.1, 0.05, 0.025):
        final = zt.evolve(H, psi, (0.0, 30.0), dt, zt.SplitOperator()).final
        left.append(float(grid.norm(final)) ** 2)
    assert left[-1] < 0.1
    # First-order splitting between mask and H: halving Δt halves the difference.
    assert abs(left[1] - left[2]) < 0.6 * abs(left[0] - left[1])
    assert abs(left[1] - left[2]) < 0.02 * left[2]


def test_absorbers_sit_at_the_edges_only():
    grid = zt.Grid((20, 24), 0.5)
    for term in (zt.ComplexAbsorber(3.0), zt.MaskAbsorber(3.0)):
        H = zt.discretize(zt.Model([zt.Kinetic(), term]), grid)
        if H.absorber is not None:
            strength = -np.imag(np.asarray(H.absorber.full()))
        else:
            strength = -np.broadcast_to(np.asarray(H.mask.log_rate), grid.shape)
        x, y = grid.coordinates()
        inside = (abs(x) < 20 * 0.25 - 3) & (abs(y) < 24 * 0.25 - 3)
        assert np.all(strength >= 0)
        assert np.all(strength[inside] == 0)
        assert strength[0, 0] > 0.1
        assert zt.eigenstates(H.static, 1).energies[0] > 0  # H.static knows no absorber


def test_absorber_wider_than_the_box_is_refused():
    for term in (zt.ComplexAbsorber(10.0), zt.MaskAbsorber(10.0)):
        with pytest.raises(zt.InputError, match="width: must be below half the box"):
            zt.discretize(zt.Model([zt.Kinetic(), term]), zt.Grid(40, 0.5))


PULSE = zt.SineSquared(amplitude=0.1, frequency=1.0, cycles=3)


def coupled(gauge, pulse=PULSE, mass=1.0, grid=None):
    grid = grid or zt.Grid(240, 0.3)
    kinetic = zt.Kinetic(mass=mass)
    return zt.discretize(zt.Model([kinetic, zt.SoftCoulomb(), gauge]), grid)


@pytest.mark.parametrize("mass", [pytest.param(1.0, marks=pytest.mark.slow), 1.5])
@pytest.mark.parametrize("boundary", ["zero", pytest.param("periodic", marks=pytest.mark.slow)])
def test_gauge_invariance_of_dipole_and_final_populations(boundary, mass):
    """ψ_length = e^{iA·x} ψ_velocity, and A = 0 at both ends: both runs agree to 1e-8.

    Steps of 0.05 with the fourth-order scheme; ±36 bohr hold what is set free in 19 a.u.
    """
    grid = zt.Grid(240, 0.3, boundary)
    results = []
    for gauge in (zt.LengthGauge(PULSE), zt.VelocityGauge(PULSE, mass=mass)):
        H = coupled(gauge, mass=mass, grid=grid)
        states = zt.eigenstates(H.static, 4).states
        results.append(
            zt.evolve(
                H,
                states[0],
                (0.0, float(PULSE.duration)),
                0.05,
                zt.Lanczos(14, zt.CommutatorFree4()),
                [zt.Dipole(), zt.Populations(states)],
                save_every=20,
            )
        )
    length, velocity = (r.observables for r in results)
    assert np.abs(length["dipole"]).max() > 0.02
    assert length["populations"][-1][0] < 0.999  # something has happened
    np.testing.assert_allclose(velocity["dipole"], length["dipole"], atol=1e-8)
    np.testing.assert_allclose(velocity["populations"][-1], length["populations"][-1], atol=1e-8)


def test_length_gauge_is_e_times_x_and_velocity_gauge_a_times_p():
    grid = zt.Grid(48, 0.4)
    t = 7.0
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.LengthGauge(PULSE)]), grid)
    values = np.asarray(H.changing[0].at(t).full())
    np.testing.assert_allclose(values, float(PULSE.electric_field(t)) * grid.points(0), rtol=1e-13)
    V = zt.discretize(zt.Model([zt.Kinetic(), zt.VelocityGauge(PULSE)]), grid)
    psi = packet(grid, 0.0, 1.1, 1.0)
    a = float(PULSE.vector_potential(t))
    found = V.at(t).apply(psi) - V.static.apply(psi)
    # −iψ′ = (1.1 + ix/2)ψ for this packet.
    x = grid.points(0)
    expected = (a * (1.1 + 0.5j * x) + 0.5 * a**2) * np.asarray(psi)
    np.testing.assert_allclose(np.asarray(found), expected, atol=1e-8)


def test_velocity_gauge_of_light_that_turns():
    """A·p + A²/2 with both components of A."""
    grid = zt.Grid((44, 48), 0.42)
    x, y = grid.coordinates()
    psi = grid.normalize(jnp.exp(-(x**2 + y**2) / 4 + 1j * (1.1 * x - 0.7 * y)))
    turning = zt.SineSquared(
        amplitude=0.3, frequency=0.5, cycles=2, polarization="x", ellipticity=0.8
    )
    t = 11.0
    ax, ay, _ = np.asarray(turning.vector_potential_xyz(t))
    assert abs(ax) > 0.05 and abs(ay) > 0.05
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.VelocityGauge(turning)]), grid)
    found = H.at(t).apply(psi) - H.static.apply(psi)
    # −i∇ψ = (k + ir/2)ψ for this packet, e^{−20} of which is beyond the box.
    along = ax * (1.1 + 0.5j * x) + ay * (-0.7 + 0.5j * y)
    expected = (along + 0.5 * (ax**2 + ay**2)) * np.asarray(psi)
    np.testing.assert_allclose(np.asarray(found), expected, atol=1e-8)


def test_polarization_in_two_dimensions():
    grid = zt.Grid((12, 14), 0.4)
    x, y = grid.coordinates()
    tilted = zt.SineSquared(amplitude=0.1, frequency=0.5, cycles=2, polarization=(3.0, 4.0, 0.0))
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.LengthGauge(tilted)]), grid)
    e = float(tilted.electric_field(5.0))
    np.testing.assert_allclose(
        np.asarray(H.changing[0].at(5.0).full()), e * (0.6 * x + 0.8 * y), atol=1e-14
    )
    circular = zt.SineSquared(
        amplitude=0.1, frequency=0.5, cycles=2, polarization=(1.0, 0.0, 0.0), ellipticity=1.0
    )
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.LengthGauge(circular)]), grid)
    ex, ey, _ = np.asarray(circular.electric_field_xyz(5.0))
    total = sum(np.asarray(c.at(5.0).full()) for c in H.changing)
    np.testing.assert_allclose(total, ex * x + ey * y, atol=1e-14)
    with pytest.raises(zt.InputError, match="polarization: must lie in"):
        zt.discretize(zt.Model([zt.Kinetic(), zt.LengthGauge(PULSE_Z)]), grid)


@pytest.mark.parametrize("gauge", [zt.LengthGauge, zt.VelocityGauge])
def test_light_that_leaves_the_plane_is_refused(gauge):
    """Circular light turns from z to x unless told otherwise: half of it would be lost."""
    circular = zt.SineSquared(amplitude=0.1, frequency=0.5, cycles=2, ellipticity=1.0)
    in_plane = zt.SineSquared(amplitude=0.1, frequency=1.0, cycles=4, polarization="x")
    grid = zt.Grid((12, 14), 0.4)
    for pulse in (circular, in_plane + PULSE_Z):
        with pytest.raises(zt.InputError, match="polarization: must keep the field in"):
            zt.discretize(zt.Model([zt.Kinetic(), gauge(pulse)]), grid)
        zt.discretize(zt.Model([zt.Kinetic(), gauge(pulse)]), zt.Grid((4, 5, 6), 0.4))


PULSE_Z = zt.SineSquared(amplitude=0.1, frequency=0.5, cycles=2, polarization=(0.0, 0.0, 1.0))
