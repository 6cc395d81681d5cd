"""A basis that the package has never heard of: sinc functions on a line (`systems/sinc.py`).

Terms, gauges, absorbers, observables, propagators and eigensolvers speak to the words of
`zitter.bases.base` only, so those few lines are all that it takes. Numbers are those of the same
problem on a grid of a third of the spacing.
"""

from __future__ import annotations

import numpy as np
import pytest

import zitter as zt
from systems.sinc import SincDVR

OWN = SincDVR((201,), 0.4)
GRID = zt.Grid(605, 0.4 / 3)  # the same box, and the radius of 10.2 between points on both
ATOM = (zt.Kinetic(), zt.SoftCoulomb(softening=2.0), zt.Potential(expression="0.1*exp(-x**2)"))
PULSE = zt.SineSquared(cycles=3, frequency=0.8, amplitude=0.5)


def test_levels_are_those_of_the_grid():
    own, grid = (
        zt.eigenstates(zt.discretize(zt.Model(ATOM), basis), 4, zt.Direct())
        for basis in (OWN, GRID)
    )
    # Both converge faster than any power of h; 1/√(x² + 2) is analytic for |Im x| < √2, so that
    # h = 0.4 leaves e^{−2π√2/h} = 2e-10.
    np.testing.assert_allclose(own.energies, grid.energies, atol=2e-9)
    assert own.residuals.max() < 1e-11
    density = np.abs(np.asarray(own.states[0])) ** 2 / OWN.spacing
    np.testing.assert_allclose(density, np.abs(grid.states[0][2::3]) ** 2, atol=1e-7)


def run(basis, gauge, *absorbers, observables=(), duration=60.0, propagator=None, dt=0.1):
    H = zt.discretize(zt.Model([*ATOM, gauge(PULSE), *absorbers]), basis)
    ground = zt.eigenstates(H.static, 1, zt.Direct()).states[0]
    method = zt.Lanczos(order=24) if propagator is None else propagator
    return zt.evolve(H, ground, (0.0, duration), dt, method, observables, save_every=5)


@pytest.fixture(scope="module")
def runs():
    observables = [zt.Norm(), zt.Energy(), zt.Position(), zt.Dipole(), zt.Momentum()]
    observables += [zt.Acceleration(), zt.Ionization(10.2), zt.Flux(10.2), zt.Populations(n=3)]
    absorber = zt.ComplexAbsorber(12.0)
    return {
        basis: run(basis, zt.LengthGauge, absorber, observables=observables)
        for basis in (OWN, GRID)
    }


@pytest.mark.slow
def test_a_run_gives_every_record_of_the_grid(runs):
    own, grid = runs[OWN].observables, runs[GRID].observables
    # Where the absorber is cut depends on the spacing: slow electrons come back a little
    # differently. What stays bound does not see it.
    for name in ("norm", "energy", "position", "dipole", "momentum", "acceleration"):
        np.testing.assert_allclose(own[name], grid[name], atol=3e-5, err_msg=name)
    np.testing.assert_allclose(own["populations"], grid["populations"], atol=1e-8)
    # A sum over points cuts a sphere with an error of h²/24 dρ/dx.
    np.testing.assert_allclose(own["ionization"], grid["ionization"], atol=2e-5)
    np.testing.assert_allclose(own["flux"], grid["flux"], atol=1e-5)
    assert own["norm"][-1] < 0.99 and np.ptp(own["position"]) > 1 and own["ionization"].max() > 0.03


def test_flux_is_the_slope_of_the_ionization(runs):
    own = runs[OWN].observables
    slope = np.gradient(own["ionization"], runs[OWN].times, edge_order=2)
    # Central differences of records half a unit of time apart, until the absorber takes something.
    assert np.abs(own["flux"]).max() > 3e-3
    np.testing.assert_allclose(own["flux"][3:60], slope[3:60], atol=3e-5)


def test_gauges_agree():
    length, velocity = (
        run(OWN, gauge, observables=[zt.Position(), zt.Acceleration()], duration=24.0)
        for gauge in (zt.LengthGauge, zt.VelocityGauge)
    )
    for name in ("position", "acceleration"):
        size = np.abs(length.observables[name]).max()
        # The midpoint rule in time, dt = 0.1, differs between the gauges.
        np.testing.assert_allclose(
            length.observables[name], velocity.observables[name], atol=1e-3 * size, err_msg=name
        )
    # After the pulse A = 0 and both states are the same up to a phase.
    assert abs(OWN.inner(length.final, velocity.final)) == pytest.approx(1, abs=1e-10)


def test_a_mask_absorbs_as_on_the_grid():
    own, grid = (
        run(basis, zt.LengthGauge, zt.MaskAbsorber(15.0), observables=[zt.Norm()])
        for basis in (OWN, GRID)
    )
    assert own.observables["norm"][-1] < 0.99
    np.testing.assert_allclose(own.observables["norm"], grid.observables["norm"], atol=1e-7)


def test_implicit_steps_come_to_explicit_ones_as_their_square():
    end = run(OWN, zt.LengthGauge, duration=12.0, dt=0.01).final
    errors = []
    for dt in (0.1, 0.05):
        found = run(OWN, zt.LengthGauge, propagator=zt.CrankNicolson(), duration=12.0, dt=dt)
        assert found.info["propagator"] == "CrankNicolson"
        errors.append(float(OWN.norm(found.final - end)))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.1)


def test_what_it_does_not_know_is_refused_by_name():
    H = zt.discretize(zt.Model(ATOM), OWN)
    for term, words in (
        (zt.Dirac(), "Dirac cannot be written on a SincDVR: it needs a SpinorBasis"),
        (zt.Coulomb(), "on a line the bare"),
        (zt.FieldFree(), "write the atom as Kinetic"),
        (zt.Repulsion(), "particles=2"),
    ):
        with pytest.raises(zt.Unsupported, match=words):
            zt.discretize(zt.Model([term]), OWN)
    with pytest.raises(zt.Unsupported, match="Surface cannot be measured on a SincDVR: it needs"):
        zt.Surface(5.0).prepare(H, zt.eigenstates)
    with pytest.raises(zt.Unsupported, match="another basis to compare with"):
        zt.energy_errors(zt.Model(ATOM), OWN, zt.eigenstates(H, 1, zt.Direct()))
