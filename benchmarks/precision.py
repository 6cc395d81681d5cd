"""What is lost in single precision, and with TF32, by every method?

Each method runs the same short case in double and in the other precisions: how far the final state,
its norm and a number made of it (the population of the ground state) are from those in double. For
eigensolvers it is the state and its energy, for Monte Carlo the energy of the same walk beside its
error bar, for optimizers that of one walk with what they found. TF32 exists on GPUs only; elsewhere
its column stays empty.

    python benchmarks/precision.py --json FILE [--only WORD …] [--jobs 8]
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from common import arguments, chosen_names, rows_of_children
from records import finish, record

import zitter as zt

PULSE = {"amplitude": 0.05, "frequency": 0.5, "cycles": 2}
STEPS = 400


def on_a_line(method: Any, order: Any = "spectral") -> Callable[[], dict[str, Any]]:
    """Soft-core hydrogen in a short pulse, 128 points."""

    def run() -> dict[str, Any]:
        pulse = zt.SineSquared(**PULSE)
        terms = [zt.Kinetic(order=order), zt.SoftCoulomb(softening=2.0), zt.LengthGauge(pulse)]
        return _evolved(zt.discretize(zt.Model(terms), zt.Grid(128, 0.4)), pulse, method)

    return run


def atom(method: Any) -> Callable[[], dict[str, Any]]:
    """Hydrogen on splines, l ≤ 4."""

    def run() -> dict[str, Any]:
        pulse = zt.SineSquared(**PULSE)
        radial = zt.RadialBSplines(50, 7, 50.0, "graded", first=0.3)
        model = zt.Model([zt.Kinetic(), zt.Coulomb(Z=1), zt.LengthGauge(pulse)])
        return _evolved(zt.discretize(model, zt.SphericalBasis(radial, 4)), pulse, method)

    return run


def eigen(method: Any) -> Callable[[], dict[str, Any]]:
    """Hydrogen among its own states, l ≤ 4."""

    def run() -> dict[str, Any]:
        pulse = zt.SineSquared(**PULSE)
        radial = zt.RadialBSplines(50, 7, 50.0, "graded", first=0.3)
        atom = zt.Model([zt.Kinetic(), zt.Coulomb(Z=1)])
        states = zt.eigenbasis(zt.discretize(atom, zt.SphericalBasis(radial, 4)), 40)
        model = zt.Model([zt.FieldFree(), zt.LengthGauge(pulse)])
        return _evolved(zt.discretize(model, states), pulse, method)

    return run


def molecule(method: Any) -> Callable[[], dict[str, Any]]:
    """H2+ in spheroidal coordinates."""

    def run() -> dict[str, Any]:
        pulse = zt.SineSquared(**PULSE)
        nuclei = zt.Coulomb(Z=[1, 1], centers=[[0, 0, -1], [0, 0, 1]])
        model = zt.Model([zt.Kinetic(), nuclei, zt.LengthGauge(pulse)])
        basis = zt.ProlateSpheroidal(2.0, 0, rmax=30.0)
        return _evolved(zt.discretize(model, basis), pulse, method)

    return run


def spinor(method: Any) -> Callable[[], dict[str, Any]]:
    """Hydrogen by Dirac's equation, κ = ±1, ±2, for 20 steps."""

    def run() -> dict[str, Any]:
        pulse = zt.SineSquared(amplitude=5.0, frequency=20.0, cycles=2)
        radial = zt.RadialBSplines(30, 7, 15.0, "exponential", first=1e-2)
        model = zt.Model([zt.Dirac(), zt.Coulomb(Z=1), zt.DiracLight(pulse, 2)])
        H = zt.discretize(model, zt.SpinorBasis(radial, 2, 0.5))
        return _evolved(H, pulse, method, 0.02, 20)

    return run


def levels(solver: Any, order: Any = "spectral") -> Callable[[], dict[str, Any]]:
    """The ground state of an anharmonic well in the plane, 32² points."""

    def run() -> dict[str, Any]:
        well = zt.Potential(expression="0.5*(x**2 + y**2) + 0.1*x**4")
        H = zt.discretize(zt.Model([zt.Kinetic(order=order), well]), zt.Grid((32, 32), 0.35))
        eig = zt.eigenstates(H, 1, solver)
        state = np.asarray(eig.states[0])
        state = state * np.sign(state.ravel()[np.argmax(np.abs(state))])
        return {"final": state, "norm": _norm(H, state), "number": float(eig.energies[0])}

    return run


def stark() -> dict[str, Any]:
    """Hydrogen in a constant field of 0.06, whose radius turns at 12 bohr: the width of 1s."""
    scaling = zt.ExteriorScaling(12.0, 0.5)
    radial = zt.RadialBSplines(36, 6, 30.0, "graded", first=0.4, scaling=scaling)
    light = zt.LengthGauge(zt.Static(amplitude=0.06, ramp=1.0))
    H = zt.discretize(
        zt.Model([zt.Kinetic(), zt.Coulomb(Z=1), light]), zt.SphericalBasis(radial, 6)
    )
    eig = zt.eigenstates(H.at(2.0), 1, zt.Resonances(near=-0.51))
    return {"number": -2 * float(np.imag(eig.energies[0]))}


def walk(kind: str) -> Callable[[], dict[str, Any]]:
    """Fourteen electrons of a gas; pair functions follow the precision, sums do not."""

    def run() -> dict[str, Any]:
        gas = zt.qmc.ElectronGas(n=14, rs=2.0, dimension=3, lattice="sc")
        psi = zt.qmc.SlaterJastrow(gas, jastrow=[zt.qmc.U(order=4)])
        if kind == "vmc":
            out = zt.qmc.vmc(psi, walkers=32, blocks=20, seed=1)
        else:
            out = zt.qmc.dmc(psi, timestep=0.05, walkers=32, blocks=20, seed=1)
        return {"number": float(out.energy), "error_bar": float(out.energy_error)}

    return run


def optimized(method: Any) -> Callable[[], dict[str, Any]]:
    """The Jastrow factor of the same electrons: the energy with it, of one walk in double."""

    def run() -> dict[str, Any]:
        gas = zt.qmc.ElectronGas(n=14, rs=2.0, dimension=3, lattice="sc")
        psi = zt.qmc.SlaterJastrow(gas, jastrow=[zt.qmc.U(order=4)])
        found = zt.qmc.optimize(psi, method, walkers=64, seed=1).wavefunction
        zt.configure(precision="double")
        doubled = psi.with_parameters(np.asarray(found.parameters, float))
        out = zt.qmc.vmc(doubled, walkers=32, blocks=20, seed=1)
        return {"number": float(out.energy), "error_bar": float(out.energy_error)}

    return run


CASES: dict[str, Callable[[], dict[str, Any]]] = {
    "Lanczos, line": on_a_line(zt.Lanczos(12)),
    "Taylor, line": on_a_line(zt.Taylor(10)),
    "Chebyshev, line": on_a_line(zt.Chebyshev()),
    "SplitOperator(2), line": on_a_line(zt.SplitOperator(2)),
    "SplitOperator(4), line": on_a_line(zt.SplitOperator(4)),
    "MatrixExponential, line": on_a_line(zt.MatrixExponential()),
    "CrankNicolson, line": on_a_line(zt.CrankNicolson(), 8),
    "GaussCollocation, line": on_a_line(zt.GaussCollocation(), 8),
    "RungeKutta4, line": on_a_line(zt.RungeKutta4(), 8),
    "RungeKuttaFehlberg45, line": on_a_line(zt.RungeKuttaFehlberg45(), 8),
    "AngularSplit, splines": atom(zt.AngularSplit()),
    "CrankNicolson, splines": atom(zt.CrankNicolson()),
    "GaussCollocation, splines": atom(zt.GaussCollocation()),
    "GaussCollocation, spinors": spinor(zt.GaussCollocation()),
    "SplineCrankNicolson, spinors": spinor(zt.SplineCrankNicolson()),
    "CrankNicolson, spinors": spinor(zt.CrankNicolson()),
    "CrankNicolson, spheroidal": molecule(zt.CrankNicolson()),
    "AngularSplit, spheroidal": molecule(zt.AngularSplit()),
    "Lanczos, eigenstates": eigen(zt.Lanczos(12)),
    "MatrixExponential, eigenstates": eigen(zt.MatrixExponential()),
    "Direct": levels(zt.Direct()),
    "Direct, near": levels(zt.Direct(near=1.0), 4),
    "LOBPCG": levels(zt.LOBPCG()),
    "ChebyshevFilter": levels(zt.ChebyshevFilter()),
    "ImaginaryTime": levels(zt.ImaginaryTime(dtau=0.02), 2),
    "Resonances": stark,
    "vmc": walk("vmc"),
    "dmc": walk("dmc"),
    "LinearMethod": optimized(zt.qmc.LinearMethod(4)),
    "StochasticReconfiguration": optimized(zt.qmc.StochasticReconfiguration(4)),
    "VarianceMinimization": optimized(zt.qmc.VarianceMinimization(2)),
}


def _evolved(
    H: Any, pulse: Any, method: Any, end: float | None = None, steps: int = STEPS
) -> dict[str, Any]:
    ground = zt.eigenstates(H.static, 1).states[0]
    end = float(pulse.duration) if end is None else end
    sol = zt.evolve(H, ground, (0.0, end), end / steps, method)
    final = np.asarray(sol.final).astype(complex)
    overlap = complex(H.basis.inner(np.asarray(ground).astype(complex), final))
    return {"final": final, "norm": _norm(H, final), "number": abs(overlap) ** 2, "basis": H.basis}


def _norm(H: Any, state: np.ndarray) -> float:
    return float(H.basis.norm(state.astype(complex)))


def lost(name: str, run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    row: dict[str, Any] = {"method": name}
    found = {}
    for precision in ("double", "single", "tf32"):
        if precision == "tf32" and jax.default_backend() != "gpu":
            continue
        zt.configure(precision=precision)
        try:
            found[precision] = run()
        except (zt.RunError, zt.InputError, zt.Unsupported) as reason:
            row[f"{precision}_refused"] = str(reason)[:120]
        finally:
            zt.configure(precision="double")
    if "double" not in found:
        return row
    exact = found["double"]
    if "norm" in exact:
        row["double_norm"] = abs(exact["norm"] - 1)
    if "error_bar" in exact:
        row["error_bar"] = exact["error_bar"]
    for precision in found.keys() - {"double"}:
        other = found[precision]
        if "final" in exact:
            change = np.asarray(other["final"]).astype(complex) - exact["final"]
            basis = exact.get("basis")
            size = np.linalg.norm(change) / np.linalg.norm(exact["final"])
            row[f"{precision}_state"] = float(size if basis is None else basis.norm(change))
            row[f"{precision}_norm"] = abs(other["norm"] - 1)
        row[f"{precision}_number"] = abs(other["number"] - exact["number"])
    return row


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--only", nargs="*", help="cases whose names hold one of these words")
    parser.add_argument("--jobs", type=int, default=1, help="cases at a time")
    options = parser.parse_args()
    zt.configure(precision="double")
    warnings.simplefilter("ignore")
    names = chosen_names(CASES, options.only)

    def kept(rows: list[dict[str, Any]]) -> None:
        finish(record("precision", (__doc__ or "").splitlines()[0], rows), options.json)

    if options.jobs > 1:
        rows_of_children([[__file__, "--only", name] for name in names], options.jobs, kept)
        return
    rows = []
    for name in names:
        rows.append(lost(name, CASES[name]))
        kept(rows)


if __name__ == "__main__":
    main()
