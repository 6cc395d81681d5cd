"""Does Monte Carlo of atoms and crystals keep what theory says of it?

be-seeds, he-seeds, c-seeds  the optimizer from its default start, ten seeds: VMC energies beside
               published ones
quadratures    the nonlocal energy of carbon with ccECP by rules of 4 to 50 points
localizations  DMC of carbon with T-moves, locality and determinant locality
jastrows       DMC of beryllium with ccECP with a poor and a good Jastrow factor, beside full CI
time-steps     DMC of all-electron beryllium at four time steps
pairs          DMC of two beryllium atoms with ccECP 30 bohr apart, and twice that of one
gamma-phases, twist-phases  VMC and DMC of diamond at Γ, with real orbitals, and at a twist, with
               a fixed phase

    python benchmarks/matter_checks.py --json FILE [NAME…]
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from common import arguments
from records import finish, record

import zitter as zt
from zitter.qmc import (
    Chi,
    F,
    SlaterJastrow,
    StochasticReconfiguration,
    U,
    dmc,
    from_pyscf,
    optimize,
    vmc,
)
from zitter.qmc.optimizers.judging import Gain, gain_over
from zitter.qmc.optimizers.source import Source
from zitter.reproduce import qmc_matter

FOLDER = Path(__file__).parents[1] / "tests" / "data" / "orbitals"
BE_FULL_CI = -1.009923  # PySCF, ccecp-cc-pvqz, both electrons
Rows = Iterator[dict[str, Any]]


def optimized(file: Path, walkers: int, jastrow: tuple = (), seed: int = 0) -> SlaterJastrow:
    psi = from_pyscf(file, jastrow or (U(), Chi(), F()))
    return optimize(psi, walkers=walkers, seed=seed).wavefunction


def seeds(name: str, walkers: int) -> Rows:
    """The first seed by a VMC run, the others beside it on the same samples, which tell them apart
    far below the error bar of the energy."""
    atoms = next(atoms for atoms in qmc_matter.ATOMS if atoms.name == name)
    assert atoms.variational is not None
    published, energy, error, source = atoms.variational[0], 0.0, 0.0, None
    for seed in range(10):
        psi = from_pyscf(qmc_matter.ORBITALS / f"{name}.chk", (U(), Chi(), F()))
        found = optimize(psi, walkers=min(walkers, 4096), seed=seed)
        psi, gain = found.wavefunction, Gain(0.0, 0.0)
        if source is None:
            # As many samples with few walkers as with many.
            out = vmc(psi, walkers, max(150, 2**20 // walkers), seed=100)
            energy, error = out.energy, out.energy_error
            drawn = Source(psi, walkers, 64, 4, 101, False)
            source = drawn.sampled(psi, max(1, 2**11 // walkers), "")
        else:
            gain = gain_over(np.asarray(psi.parameters), source, StochasticReconfiguration())
        yield {
            "what": f"VMC of {atoms.label}, seed {seed}",
            "energy": energy + gain.value,
            "error": math.hypot(error, gain.error),
            "published": published,
            "above_mHa": 1e3 * (energy + gain.value - published),
            "above_first_seed_mHa": 1e3 * gain.value,
            "its_error_mHa": 1e3 * gain.error,
            "verdict": found.verdict,
        }


def quadratures(walkers: int) -> Rows:
    """Every rule on the same walkers, turned twenty times: their differences are far below the
    error bar of the energy, which the spread of the nonlocal part alone makes large."""
    file, jastrow = qmc_matter.ORBITALS / "c.chk", (U(), Chi(), F())
    psi = optimized(file, min(walkers, 4096))
    out = vmc(psi, walkers, 200, seed=1)
    yield _row("VMC of C, 12 points", out)

    @eqx.filter_jit
    def nonlocal_energies(psi, term, r, key):
        one = lambda r, k: term.evaluate(psi, psi.start(r), k)["pseudopotential_nonlocal"]  # noqa: E731
        return jax.vmap(one)(r, jax.random.split(key, len(r)))

    finest = np.zeros(walkers)
    for points in (50, 26, 12, 6, 4):
        other = from_pyscf(file, jastrow, quadrature=points).with_parameters(psi.parameters)
        (term,) = (term for term in other.system.energies if term.moves_electrons)
        turned = [
            nonlocal_energies(other, term, jnp.asarray(out.positions), jax.random.PRNGKey(turn))
            for turn in range(20)
        ]
        found = np.mean(np.asarray(turned), axis=0)
        finest = found if points == 50 else finest
        yield {
            "what": f"nonlocal energy of C, {points} points",
            "energy": float(np.mean(found)),
            "spread_by_turns": float(np.mean(np.std(np.asarray(turned), axis=0))),
            "above_50_points": float(np.mean(found - finest)),
            "error": float(np.std(found - finest) / math.sqrt(walkers)),
        }


def localizations(walkers: int) -> Rows:
    psi = optimized(qmc_matter.ORBITALS / "c.chk", min(walkers, 4096))
    for method in (zt.qmc.TMoves(), zt.qmc.Locality(), zt.qmc.DeterminantLocality()):
        for tau in (0.01, 0.02):
            out = dmc(psi, tau, walkers, 100, steps=round(0.2 / tau), localization=method)
            yield _row(f"DMC of C, {type(method).__name__}, τ = {tau}", out)


def jastrows(walkers: int) -> Rows:
    """Its s channel repels and Ψ has no node: no T-move is ever possible, all of the potential is
    localized, and the error of that is of second order in the error of Ψ."""
    file = FOLDER / "beryllium-core.chk"
    poor, good = from_pyscf(file, (U(),)), optimized(file, min(walkers, 4096))
    for label, psi in (("u as it begins", poor), ("u + χ + f", good)):
        before = vmc(psi, walkers, 150, seed=1)
        yield _row(f"VMC of Be with ccECP, {label}", before) | {"full_ci": BE_FULL_CI}
        for tau in (0.02, 0.05):
            out = dmc(psi, tau, walkers, 150, steps=round(0.5 / tau), start=before.positions)
            yield _row(f"DMC of Be with ccECP, {label}, τ = {tau}", out) | {"full_ci": BE_FULL_CI}


def time_steps(walkers: int) -> Rows:
    psi = optimized(qmc_matter.ORBITALS / "be.chk", min(walkers, 4096))
    for tau in (0.0025, 0.005, 0.01, 0.02):
        out = dmc(psi, tau, walkers, 100, steps=round(0.2 / tau))
        yield _row(f"DMC of Be, τ = {tau}", out)


def pairs(walkers: int) -> Rows:
    one = optimized(FOLDER / "beryllium-core.chk", min(walkers, 4096))
    both = from_pyscf(FOLDER / "beryllium-core-pair.chk", (U(), Chi(), F()))
    both = both.with_parameters(one.parameters)
    for verb, run in (
        ("VMC", lambda psi: vmc(psi, walkers, 150)),
        ("DMC, τ = 0.02", lambda psi: dmc(psi, 0.02, walkers, 150)),
    ):
        single, double = run(one), run(both)
        yield _row(f"{verb} of Be", single)
        yield _row(f"{verb} of two Be", double)
        gap = double.energy - 2 * single.energy
        error = math.hypot(double.energy_error, 2 * single.energy_error)
        yield {"what": f"{verb}: two Be less twice one", "energy": gap, "error": error}


def phases(name: str, walkers: int) -> Rows:
    psi = optimized(FOLDER / f"{name}.chk", 1024, (U(4), Chi(4)))
    before = vmc(psi, walkers // 8, 150, seed=1)
    yield _row(f"VMC of {name}", before)
    for tau in (0.04, 0.02):
        out = dmc(psi, tau, walkers // 8, 80, start=before.positions)
        yield _row(f"DMC of {name}, τ = {tau}", out)


def _row(what: str, out: zt.qmc.Samples) -> dict[str, Any]:
    return {"what": what, "energy": out.energy, "error": out.energy_error}


CHECKS = {
    **{f"{name}-seeds": functools.partial(seeds, name) for name in ("be", "he", "c")},
    "quadratures": quadratures,
    "localizations": localizations,
    "jastrows": jastrows,
    "time-steps": time_steps,
    "pairs": pairs,
    **{
        f"{name}-phases": functools.partial(phases, f"diamond-{name}")
        for name in ("gamma", "twist")
    },
}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("names", nargs="*", default=list(CHECKS))
    parser.add_argument("--walkers", type=int, default=1024)
    options = parser.parse_args()
    zt.configure(precision="double")
    rows = []
    for name in options.names:
        for row in CHECKS[name](options.walkers):
            rows.append({"check": name, "walkers": options.walkers} | row)
            print(rows[-1], flush=True)
            finish(record("matter_checks", (__doc__ or "").splitlines()[0], rows), options.json)


if __name__ == "__main__":
    main()
