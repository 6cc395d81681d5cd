"""H2+ in light along its axis: both gauges, explicit and implicit steps, absorbers."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import zitter as zt
from systems import two_centers
from zitter.hamiltonian import Driven, Hamiltonian

NUCLEI = zt.Coulomb(Z=[1, 1], centers=[[0, 0, -1], [0, 0, 1]])
Z_AXIS = (0.0, 0.0, 1.0)

# E = 0.05 sin²(πt/T) sin(ωt), T = 8π/ω, and A = −∫E.
OMEGA, WIDTH = 0.3, 8 * np.pi / 0.3


def electric(t):
    return 0.05 * jnp.sin(np.pi * t / WIDTH) ** 2 * jnp.sin(OMEGA * t)


def potential(t):
    side = 2 * np.pi / WIDTH
    parts = [(1.0, OMEGA), (-0.5, OMEGA + side), (-0.5, OMEGA - side)]
    return 0.025 * sum(c * (jnp.cos(w * t) - 1) / w for c, w in parts)


@pytest.mark.slow
@pytest.mark.parametrize("gauge", ["length", "velocity"])
def test_population_after_a_pulse(gauge):
    basis = zt.ProlateSpheroidal(2.0, rmax=70.0, nodes=10, eta=12)
    light = {
        "length": lambda: Driven(electric, basis.position(Z_AXIS)),
        "velocity": lambda: Driven(potential, basis.momentum(Z_AXIS)),
    }[gauge]()
    atom = zt.discretize(zt.Model([zt.Kinetic(), NUCLEI]), basis)
    ground = zt.eigenstates(atom, 1).states[0]
    H = Hamiltonian(basis, atom.operator, (light,))
    method = zt.Lanczos(order=20, scheme=zt.CommutatorFree4())
    run = zt.evolve(H, ground, (0.0, WIDTH), 0.05, method)
    found = abs(np.vdot(ground, run.final)) ** 2
    # Ten digits are known; steps of 0.05 leave 2e-11, this box 1e-12.
    assert abs(found - two_centers.POPULATION) < 1e-10


@pytest.fixture(scope="module")
def short():
    """Half a cycle, strong enough that steps matter; reference by a converged Lanczos run."""
    basis = zt.ProlateSpheroidal(2.0, rmax=30.0, nodes=8, eta=10)
    pulse = zt.SineSquared(cycles=1, wavelength="100 nm", intensity="1e15 W/cm^2")

    def hamiltonian(light):
        terms = [zt.Kinetic(), NUCLEI, light(pulse), zt.ComplexAbsorber(10.0)]
        return zt.discretize(zt.Model(terms), basis)

    H = hamiltonian(zt.LengthGauge)
    ground = zt.eigenstates(H.static, 1).states[0]

    def evolved(H, dt, method):
        return np.asarray(zt.evolve(H, ground, (0.0, float(pulse.duration)), dt, method).final)

    method = zt.Lanczos(order=24, scheme=zt.CommutatorFree4())
    return (
        hamiltonian,
        evolved,
        {
            light: evolved(hamiltonian(light), 0.05, method)
            for light in (zt.LengthGauge, zt.VelocityGauge)
        },
    )


@pytest.mark.parametrize(
    ("method", "light"),
    [
        (zt.AngularSplit(), zt.LengthGauge),
        pytest.param(zt.AngularSplit(radial_order=4), zt.LengthGauge, marks=pytest.mark.slow),
        (zt.CrankNicolson(), zt.LengthGauge),
        (zt.CrankNicolson(), zt.VelocityGauge),
    ],
)
def test_implicit_steps_are_of_second_order(short, method, light):
    hamiltonian, evolved, reference = short
    errors = [
        np.linalg.norm(evolved(hamiltonian(light), dt, method) - reference[light])
        for dt in (0.1, 0.05)
    ]
    assert 1.8 < np.log2(errors[0] / errors[1]) < 2.3
    assert errors[1] < 2e-2


def test_both_gauges_agree(short):
    """|⟨1sσg|ψ⟩|² after the pulse, where A = 0; the small basis leaves differences of 1e-4."""
    _, _, reference = short
    length, velocity = reference.values()
    assert abs(np.linalg.norm(length) - np.linalg.norm(velocity)) < 1e-4


@pytest.mark.slow
def test_gauges_agree_in_an_infrared_pulse():
    """Two cycles of 800 nm at 2e14 W/cm²: dipole and ionization to 1e-6 at every record.

    e^{iA·r} with A = 1.3 in a box of 35 bohr asks for 56 functions of η and 16 nodes an element;
    the steps leave 5e-7 in the dipole.
    """
    basis = zt.ProlateSpheroidal(2.0, rmax=35.0, nodes=16, eta=56)
    pulse = zt.SineSquared(cycles=2, wavelength="800 nm", intensity="2e14 W/cm^2")
    end, courses = float(pulse.duration), []
    for light, method, steps in (
        (zt.LengthGauge, zt.AngularSplit(radial_order=4), 22_000),
        (zt.VelocityGauge, zt.GaussCollocation(3, tol=1e-11), 4_400),
    ):
        H = zt.discretize(zt.Model([zt.Kinetic(), NUCLEI, light(pulse)]), basis)
        ground = zt.eigenstates(H.static, 1).states[0]
        watched = [zt.Dipole(), zt.Ionization(10.0)]
        run = zt.evolve(H, ground, (0.0, end), end / steps, method, watched, steps // 100)
        courses.append(run.observables)
    for name in ("dipole", "ionization"):
        np.testing.assert_allclose(courses[0][name], courses[1][name], rtol=0, atol=1e-6)


def test_generic_observables():
    basis = zt.ProlateSpheroidal(2.0, rmax=30.0, nodes=8, eta=10)
    pulse = zt.SineSquared(cycles=1, wavelength="100 nm", intensity="1e14 W/cm^2")
    model = zt.Model([zt.Kinetic(), NUCLEI, zt.LengthGauge(pulse), zt.MaskAbsorber(10.0)])
    H = zt.discretize(model, basis)
    ground = zt.eigenstates(H.static, 2)
    run = zt.evolve(
        H,
        ground.states[0],
        (0.0, float(pulse.duration)),
        0.05,
        zt.AngularSplit(radial_order=4),
        observables=[zt.Norm(), zt.Dipole(), zt.Momentum(), zt.Acceleration(), zt.Energy(),
                     zt.Ionization(15.0), zt.Flux(15.0), zt.Populations(ground.states),
                     zt.Density()],
        save_every=8,
    )  # fmt: skip
    dipole, t = run.observables["dipole"][:, 2], run.times
    assert np.all(run.observables["dipole"][:, :2] == 0)
    # Ehrenfest: ⟨z̈⟩ = −d̈ is the force of the nuclei minus E; d̈ by differences of the record,
    # whose error is h²/12 of the fourth derivative, 2 % for waves of the 1sσg–2pσu distance.
    second = -np.gradient(np.gradient(dipole, t), t)[3:-3]
    field = np.asarray(pulse.electric_field(t))[3:-3]
    acceleration = run.observables["acceleration"][3:-3, 2] - field
    np.testing.assert_allclose(acceleration, second, atol=0.05 * np.abs(acceleration).max())
    assert run.observables["density"].shape == (len(t), 161, 161)
    assert 0 < run.info["last_eta_population"] < 1e-6


def test_a_field_off_the_axis_is_refused():
    basis = zt.ProlateSpheroidal(2.0, rmax=20.0, nodes=6, eta=6)
    pulse = zt.SineSquared(cycles=1, wavelength="100 nm", amplitude=0.1, polarization=[1, 0, 0])
    model = zt.Model([zt.Kinetic(), NUCLEI, zt.LengthGauge(pulse)])
    with pytest.raises(zt.Unsupported, match="take light polarized along z"):
        zt.discretize(model, basis)
    tilted = zt.Model([zt.Kinetic(), zt.Coulomb(Z=1)])
    with pytest.raises(zt.InputError, match=r"centers: must be \[0, 0, ±R/2\]"):
        zt.discretize(tilted, basis)
