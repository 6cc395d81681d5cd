"""Implicit methods on a basis from outside the package, and the split step on a line."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import zitter as zt
from systems import propagate
from systems.sinc import SincDVR
from zitter.hamiltonian import Driven, Hamiltonian
from zitter.linalg import add

END = 6.0
PULSE = zt.SineSquared(amplitude=0.6, frequency=2 * np.pi / 3, cycles=2)


def sinc() -> Hamiltonian:
    zt.configure(precision="double")
    basis = SincDVR((40,), 0.4)
    well = basis.multiply(-1 / np.sqrt(basis.x**2 + 2))
    light = Driven(PULSE.electric_field, basis.position((1.0,)))
    return Hamiltonian(basis, add([basis.kinetic(), well]), (light,))


def line() -> Hamiltonian:
    terms = [zt.Kinetic(order=4), zt.SoftCoulomb(softening=2.0), zt.LengthGauge(PULSE)]
    return zt.discretize(zt.Model(terms), zt.Grid(40, 0.4))


METHODS = {
    "crank-nicolson": (zt.CrankNicolson(), 2, (60, 120)),
    "collocation": (zt.GaussCollocation(3), 6, (48, 96)),
    "split": (zt.AngularSplit(), 2, (60, 120)),
    "split, field-free part of order 4": (zt.AngularSplit(4), 2, (60, 120)),
}


@pytest.fixture(scope="module", params=[sinc, line], ids=["sinc", "line"])
def problem(request):
    """H, a wave packet of it, and where it ends by a converged series."""
    H = request.param()
    x = 0.4 * (np.arange(40) - 19.5)
    psi = H.basis.normalize(jnp.asarray(np.exp(-((x - 0.5) ** 2) / 2 + 0.3j * x)))
    method = zt.Taylor(tol=1e-13, scheme=zt.CommutatorFree4())
    return H, psi, propagate(H, psi, method, (0.0, END), 1200)


@pytest.mark.parametrize("name", METHODS)
def test_orders(problem, name):
    H, psi, exact = problem
    method, order, steps = METHODS[name]
    assert method.convergence_order(H) == order  # by which evolve's step check judges
    ends = [propagate(H, psi, method, (0.0, END), n) for n in steps]
    assert float(H.basis.norm(ends[-1])) == pytest.approx(1.0, abs=1e-10)
    errors = [float(H.basis.norm(end - exact)) for end in ends]
    assert errors[-1] > 1e-10, "the reference would hide the order"
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.1 * order), errors


@pytest.mark.parametrize(
    "name",
    ["crank-nicolson", *(pytest.param(n, marks=pytest.mark.slow) for n in list(METHODS)[1:])],
)
def test_info_names_what_was_chosen(problem, name):
    H, psi, _ = problem
    method = METHODS[name][0]
    run = zt.evolve(H, psi, (0.0, 0.2), 0.1, method)
    assert run.info["propagator"] == type(method).__name__


def test_velocity_gauge_is_refused_by_the_split_step():
    terms = [zt.Kinetic(order=4), zt.SoftCoulomb(), zt.VelocityGauge(PULSE, order=4)]
    H = zt.discretize(zt.Model(terms), zt.Grid(40, 0.4))
    with pytest.raises(zt.Unsupported, match="AngularSplit needs light in length gauge"):
        zt.AngularSplit().prepare(H, (0.0, 1.0), 0.1)
