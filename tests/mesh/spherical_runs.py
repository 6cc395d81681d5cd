"""Splines times harmonics on many devices: products, runs, and what compilers make of a step."""

from __future__ import annotations

import functools
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import zitter as zt
from mesh import devices, differences
from mesh.halves import in_halves
from zitter import segments
from zitter.solve import course, evolution

METHODS = {
    "split": (zt.LengthGauge, zt.AngularSplit()),
    "split4": (zt.LengthGauge, zt.AngularSplit(radial_order=4)),
    "length": (zt.LengthGauge, zt.CrankNicolson()),
    "velocity": (zt.VelocityGauge, zt.CrankNicolson()),
    "collocation": (zt.VelocityGauge, zt.GaussCollocation(3)),
}


def main(what: str, *arguments):
    table = {"products": products, "runs": runs, "programs": programs, "continued": continued}
    return table[what](*arguments)


def hamiltonian(lmax: int, m: Any, gauge, absorbs: bool = False, splines: int = 24) -> Any:
    """Light along z, or turning around z where every m is there."""
    basis = zt.SphericalBasis(zt.RadialBSplines(splines, 5, 15.0), lmax, m)
    field: dict[str, Any] = {"amplitude": 0.2, "frequency": 1.0, "cycles": 1}
    if m == "all":
        field |= {"polarization": (1.0, 0.5, 1.0), "ellipticity": 0.6}
    terms = [zt.Kinetic(), zt.Coulomb(1.0), gauge(zt.SineSquared(**field))]
    if absorbs:
        terms.append(zt.ComplexAbsorber(width=5.0))
    return zt.discretize(zt.Model(terms), basis)


def products(cases: list, counts: list[int]) -> list[dict]:
    """How far H₀, both gauges, S and S⁻¹ are from those on one device; 0 for the same bits."""
    rows = []
    for lmax, m in cases:
        zt.configure()
        atoms = [hamiltonian(lmax, m, gauge) for gauge in (zt.LengthGauge, zt.VelocityGauge)]
        real, imaginary = np.random.default_rng(0).standard_normal((2, *atoms[0].basis.shape))
        psi = jnp.asarray(real + 1j * imaginary)
        one = images(atoms, psi)
        for count in counts:
            zt.configure(mesh={"l": count})
            many = [atom.divided() for atom in atoms]
            given = many[0].basis.divide(psi)
            share = -(-psi.shape[0] // count)
            found = images(many, given)
            for image in (given, *found.values()):
                shapes = {shard.data.shape for shard in image.addressable_shards}
                assert shapes == {(share, psi.shape[1])}, shapes
                assert len(image.sharding.device_set) == count
            errors = differences.of_images(one, found, many[0].basis)
            rows.append({"case": [lmax, m, count], "errors": errors})
    return rows


@eqx.filter_jit
def images(atoms: list, psi: Any) -> dict[str, Any]:
    basis = atoms[0].basis
    found = {"H0": atoms[0].fixed.apply(psi), "S": basis.overlap(psi)}
    found["inverse"] = basis.solve_overlap(psi)
    for name, atom in zip(("length", "velocity"), atoms, strict=True):
        for i, piece in enumerate(atom.changing):
            found[f"{name} {i}"] = piece.at(1.3).apply(psi)
    return found


def runs(lmax: int, m: Any, counts: list[int], names: list[str]) -> dict:
    """How far runs are from those on one device, records and edges included."""
    found = {}
    for name in names:
        zt.configure()
        one = evolve(lmax, m, *METHODS[name])
        for count in counts:
            zt.configure(mesh={"l": count})
            many = evolve(lmax, m, *METHODS[name])
            channels = one.final.shape[0]
            share = -(-channels // count)
            held = [max(0, min(share, channels - d * share)) for d in range(count)]
            assert many.info["mesh"] == str({"l": count}), many.info
            assert many.info["shares"] == str({"l": held}), many.info
            found[f"{name} {count}"] = differences.of_runs(one, many)
    return found


def evolve(lmax: int, m: Any, gauge, method, few: bool = False, **options):
    H = hamiltonian(lmax, m, gauge, absorbs=method == METHODS["split4"][1])
    basis = H.basis
    states = np.zeros((2, *basis.shape))
    states[0, 0], states[1, 1] = np.exp(-np.linspace(0, 6, basis.shape[1])), 1.0
    states = [basis.normalize(jnp.asarray(state)) for state in states]
    watched = [zt.Density(), zt.Dipole()] if few else [
        zt.Norm(), zt.Energy(), zt.Dipole(), zt.Momentum(), zt.Acceleration(), zt.Density(),
        zt.Populations(jnp.stack(states)), zt.Ionization(8.0), zt.Flux(8.0), zt.Surface(8.0),
    ]  # fmt: skip
    run = zt.evolve(H, states[0], (2.5, 3.0), 0.05, method, watched, 2, **options)
    assert np.max(np.abs(run.observables["dipole"])) > 1e-3  # light has done something
    return run


def continued(names: list[str], counts: list[list[int]]) -> dict:
    """Runs whose second half has another number of devices."""
    found = {}
    for name in names:
        run = functools.partial(evolve, 6, 0, *METHODS[name], few=True)
        zt.configure()
        one = run()
        for before, after in counts:
            many = in_halves(run, {"l": before}, {"l": after})
            found[f"{name} {before} {after}"] = differences.of_runs(one, many)
    return found


def programs(lmax: int, splines: int, counts: list[int], names: list[str]) -> list[dict]:
    """The loop of a run, compiled only: what it sends, and what it takes on each device."""
    rows = []
    for name in names:
        gauge, method = METHODS[name]
        for count in counts:
            zt.configure(mesh={"l": count})
            H = hamiltonian(lmax, 0, gauge, splines=splines)
            plan = evolution.prepare(H, jnp.complex128, (0.0, 1.0), 0.05, method)
            program = plan.program
            psi = jax.ShapeDtypeStruct(plan.context.H.shape, plan.dtype)
            state = segments.placed_shapes(course.begin, plan.context, psi)
            for leaf in jax.tree.leaves(state):  # ψ, the last step, factors
                held = math.prod(leaf.sharding.shard_shape(leaf.shape))
                assert leaf.ndim == 0 or held * count == math.prod(leaf.shape), leaf
            text = program.call.as_text()  # type: ignore[attr-defined]
            rows.append(
                {
                    "name": name,
                    "devices": count,
                    "bytes": program.memory,
                    "state": 16 * H.basis.size,
                    "collectives": devices.collectives(text),
                }
            )
    return rows
