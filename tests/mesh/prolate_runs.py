"""Prolate spheroidal coordinates on many devices: products, runs, levels, compiled steps."""

from __future__ import annotations

import functools
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
    "length": (zt.LengthGauge, zt.CrankNicolson()),
    "velocity": (zt.VelocityGauge, zt.CrankNicolson()),
    "collocation": (zt.VelocityGauge, zt.GaussCollocation(3)),
    "lanczos": (zt.LengthGauge, zt.Lanczos(order=16)),
    "taylor": (zt.VelocityGauge, zt.Taylor(4)),
}
IMPLICIT = ("length", "velocity", "collocation")
NUCLEI = zt.Coulomb(Z=[1, 1], centers=[[0, 0, -1], [0, 0, 1]])


def main(what: str, *arguments):
    table = {"products": products, "runs": runs, "programs": programs}
    return (table | {"continued": continued, "levels": levels})[what](*arguments)


def hamiltonian(gauge, elements: int = 5, m: int = 0, nodes: int = 7, eta: int = 9, **options):
    """Five elements divide by none of 2, 3, 4; the absorber separates, light does not."""
    ends = [0.0, 1.5, *np.linspace(4.0, 20.0, elements - 1)]
    basis = zt.ProlateSpheroidal(2.0, m, elements=ends, nodes=nodes, eta=eta, **options)
    terms = [zt.Kinetic(), NUCLEI]
    if gauge is not None:
        terms.append(gauge(zt.SineSquared(amplitude=0.2, frequency=1.0, cycles=1)))
    if gauge is zt.LengthGauge:
        terms.append(zt.ComplexAbsorber(6.0))
    return zt.discretize(zt.Model(terms), basis)


def products(counts: list[int], cases: list) -> list[dict]:
    """How far operators and resolvents are from those on one device, for (m, whether the contour
    turns); 0 for the same bits."""
    rows = []
    for m, scaling in cases:
        zt.configure()
        options: dict[str, Any] = {"m": m}
        if scaling:  # at a joint
            radius = 1.0 + float(np.linspace(4.0, 20.0, 4)[1])
            options["scaling"] = zt.ExteriorScaling(radius, 0.4)
        atoms = [hamiltonian(gauge, **options) for gauge in (None, zt.VelocityGauge)]
        if not scaling:
            atoms.append(hamiltonian(zt.LengthGauge, **options))
        real, imaginary = np.random.default_rng(0).standard_normal((2, *atoms[0].basis.shape))
        psi = jnp.asarray(real + 1j * imaginary)
        one = images(atoms, psi)
        for count in counts:
            zt.configure(mesh={"space": count})
            many = [atom.divided() for atom in atoms]
            given = many[0].basis.divide(psi)
            share = -(-5 // count) * 6
            found = images(many, given)
            for name, image in found.items():
                if image.ndim == 2 and "plane" not in name:
                    shapes = {shard.data.shape for shard in image.addressable_shards}
                    assert shapes == {(share, psi.shape[1])}, (name, shapes)
            errors = differences.of_images(one, found, many[0].basis)
            rows.append({"case": [m, scaling, count], "errors": errors})
    return rows


@eqx.filter_jit
def images(atoms: list, psi: Any) -> dict[str, Any]:
    basis = atoms[0].basis
    known = basis.separate(atoms[0].fixed)[0]
    found = {"H0": atoms[0].fixed.apply(psi), "plane": basis.density(psi)}
    found["resolvent"] = basis.resolvents(known).at(0.05j).solve(psi)
    found["bounds"] = jnp.stack(known.bounds()) if known.real else jnp.ones(1)
    for i, atom in enumerate(atoms[1:]):
        if atom.absorber is not None:
            found["absorber"] = atom.absorber.apply(psi)
        for j, piece in enumerate(atom.changing):
            found[f"light {i} {j}"] = piece.at(1.3).apply(psi)
    return found


def runs(counts: list[int], names: list[str], elements: int) -> dict:
    """Of six rows each: seven nodes, of which the first is that of the element before."""
    found = {}
    for name in names:
        zt.configure()
        one = evolve(name, elements=elements)
        for count in counts:
            zt.configure(mesh={"space": count})
            many = evolve(name, elements=elements)
            share = -(-elements // count) * 6
            held = [max(0, min(share, 6 * elements - d * share)) for d in range(count)]
            assert many.info["mesh"] == str({"space": count}), many.info
            assert many.info["shares"] == str({"space": held}), many.info
            found[f"{name} {count}"] = differences.of_runs(one, many)
    return found


def evolve(name: str, few: bool = False, elements: int = 5, **options):
    gauge, method = METHODS[name]
    H = hamiltonian(gauge, elements)
    dt = 0.05 if name in IMPLICIT else 0.001
    start = np.exp(-np.linspace(0, 6, H.basis.size)).reshape(H.basis.shape)
    state = H.basis.normalize(jnp.asarray(start))
    watched = [zt.Norm(), zt.Dipole()] if few else [
        zt.Norm(), zt.Energy(), zt.Dipole(), zt.Momentum(), zt.Acceleration(), zt.Density(),
        zt.Populations(state[None]), zt.Ionization(8.0), zt.Flux(8.0),
    ]  # fmt: skip
    return zt.evolve(H, state, (2.5, 2.5 + 10 * dt), dt, method, watched, 2, **options)


def continued(names: list[str], counts: list[list[int]]) -> dict:
    """Runs whose second half has another number of devices."""
    found = {}
    for name in names:
        run = functools.partial(evolve, name, few=True)
        zt.configure()
        one = run()
        for before, after in counts:
            many = in_halves(run, {"space": before}, {"space": after})
            found[f"{name} {before} {after}"] = differences.of_runs(one, many)
    return found


def levels(counts: list[int]) -> dict:
    found, solver = {}, zt.ChebyshevFilter(tol=1e-7)
    zt.configure()
    one = zt.eigenstates(hamiltonian(None), 2, solver)
    for count in counts:
        zt.configure(mesh={"space": count})
        many = zt.eigenstates(hamiltonian(None), 2, solver)
        assert many.info["mesh"] == str({"space": count}), many.info
        found[str(count)] = float(np.max(np.abs(many.energies - one.energies)))
    return found


def programs(counts: list[int], names: list[str]) -> list[dict]:
    """The loop of a run with 16 elements, compiled only."""
    rows = []
    for name in names:
        gauge, method = METHODS[name]
        for count in counts:
            zt.configure(mesh={"space": count})
            H = hamiltonian(gauge, 16, nodes=12, eta=20)
            plan = evolution.prepare(H, jnp.complex128, (0.0, 1.0), 0.05, method)
            psi = jax.ShapeDtypeStruct(plan.context.H.shape, plan.dtype)
            state = segments.placed_shapes(course.begin, plan.context, psi)
            held = [
                leaf.size / np.prod(leaf.sharding.shard_shape(leaf.shape))
                for leaf in jax.tree.leaves(state)
                if leaf.size > 20 * 20
            ]
            rows.append(
                {
                    "name": name,
                    "devices": count,
                    "bytes": plan.program.memory,
                    "state": 16 * H.basis.size,
                    "held": sorted(set(held)),
                    "collectives": devices.collectives(plan.program.call.as_text()),  # type: ignore[attr-defined]
                }
            )
    return rows
