"""Spinors on many devices: products, runs, and what the compiler makes of a product."""

from __future__ import annotations

import functools
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import zitter as zt
from mesh import devices
from mesh.halves import in_halves
from zitter import runtime, segments
from zitter.bases.spinor.folded import FoldedChain
from zitter.propagators.spline_crank_nicolson import SplineCrankNicolson
from zitter.solve import course, evolution

METHODS = {
    # To rounding: a residual would let one iteration more or less show.
    "levels": zt.CrankNicolson(1e-14),
    "collocation": zt.GaussCollocation(3, 1e-12),
    "splines": SplineCrankNicolson(1e-13),
}


def main(what: str, *arguments):
    table = {"products": products, "runs": runs, "programs": programs, "steps": steps}
    return (table | {"continued": continued})[what](*arguments)


def hamiltonian(kappa_max: int, mu_max: float | None = None, splines: int = 12) -> Any:
    basis = zt.SpinorBasis(zt.RadialBSplines(splines, 4, 6.0), kappa_max, mu_max)
    pulse = zt.SineSquared(amplitude=50.0, frequency=20.0, cycles=1)
    model = zt.Model([zt.Dirac(), zt.Coulomb(10.0), zt.DiracLight(pulse, lmax=2)])
    return zt.discretize(model, basis)


def products(cases: list, counts: list) -> list[dict]:
    """How far light, field-free part and overlap are from those on one device."""
    rows = []
    for kappa_max, mu_max in cases:
        zt.configure()
        H = hamiltonian(kappa_max, mu_max)
        numbers = np.random.default_rng(0).standard_normal((2, *H.basis.shape))
        psi = numbers[0] + 1j * numbers[1]
        time = 0.1
        one = images(H, psi, time)
        scale = [float(np.max(np.abs(x))) for x in one]
        for mesh in map(as_mesh, counts):
            zt.configure(mesh=mesh)
            many = H.divided()
            given = many.basis.divide(psi)
            assert len({s.data.shape for s in given.addressable_shards}) == 1
            held = given.addressable_shards[0].data.shape[0]
            assert held * math.prod(mesh.values()) == given.shape[0]
            np.testing.assert_array_equal(many.basis.join(given), psi)
            found = images(many, given, time)
            assert all(image.sharding == given.sharding for image in found if image.ndim == 2)
            errors = [
                float(np.max(np.abs(np.asarray(many.basis.join(b)) - np.asarray(a)))) / s
                for a, b, s in zip(one, found, scale, strict=True)
            ]
            rows.append(
                {
                    "case": [kappa_max, mu_max, mesh],
                    "errors": errors,
                    "shares": many.basis.shares,
                    "held": held,
                    "scale": scale,
                }
            )
    return rows


def as_mesh(counts: int | list[int]) -> dict[str, int]:
    """Over μ only, or [over μ, over r]; an axis of one device is none."""
    sizes = counts if isinstance(counts, list) else [counts, 1]
    return {axis: n for axis, n in zip(("angular", "space"), sizes, strict=True) if n > 1}


@eqx.filter_jit
def images(H: Any, psi: Any, time: float) -> list:
    """Field-free part, light, S, S⁻¹, ⟨p⟩ and dP/dr."""
    basis = H.basis
    moments = [basis.mean_momentum(psi), basis.density(psi)]
    products = [H.fixed.apply(psi), H.changing[0].at(time).apply(psi), basis.overlap(psi)]
    return [*products, basis.solve_overlap(psi), *moments]


def runs(kappa_max: int, counts: list, names: list[str]) -> dict:
    found = {}
    for name in names:
        zt.configure()
        one = evolve(kappa_max, METHODS[name])
        for count in counts:
            zt.configure(mesh=as_mesh(count))
            many = evolve(kappa_max, METHODS[name])
            assert many.info["mesh"] == str(as_mesh(count)), many.info
            found[f"{name} {count}"] = distance(one, many)
    return found


def distance(one: Any, many: Any) -> float:
    """The largest difference of two runs; of energies, which are those of 2c², relative to them.

    That of states is the norm of their difference: coefficients of splines that nearly depend on
    one another show rounding some hundred times as large as the states do.
    """
    states = [(one.final, many.final)]
    if one.states is not None:
        states += zip(one.states, many.states, strict=True)
    apart = [np.asarray(a) - np.asarray(b) for a, b in states]
    norms = [float(one.basis.norm(jnp.asarray(difference))) for difference in apart]
    return max(
        *norms,
        *(
            float(np.max(np.abs(many.observables[k] - a))) / max(1.0, float(np.max(np.abs(a))))
            for k, a in one.observables.items()
        ),
    )


def evolve(kappa_max: int, method, **options):
    H = hamiltonian(kappa_max)
    state = np.zeros(H.basis.shape, complex)
    state[H.basis.channel(-1, 0.5)] = np.exp(-np.linspace(0, 4, H.basis.shape[1]))
    state = jnp.asarray(state)
    state = state / jnp.sqrt(jnp.real(H.basis.inner(state, state)))
    watched = [
        zt.Norm(), zt.Energy(), zt.Momentum(), zt.Density(), zt.Ionization(4.0),
        zt.Populations(state[None]), zt.KappaPopulations(),
    ]  # fmt: skip
    return zt.evolve(H, state, (0.0, 0.02), 0.002, method, watched, 2, **options)


def continued(kappa_max: int, names: list[str], counts: list) -> dict:
    """Runs whose second half has another number of devices."""
    found = {}
    for name in names:
        run = functools.partial(evolve, kappa_max, METHODS[name], save_states=True)
        zt.configure()
        one = run()
        for before, after in counts:
            many = in_halves(run, as_mesh(before), as_mesh(after))
            found[f"{name} {before} {after}"] = distance(one, many)
    return found


def steps(kappa_max: int, splines: int, counts: list, name: str) -> list[dict]:
    """The loop of a run, compiled only: what each device holds, and what it sends."""
    rows = []
    for count in counts:
        zt.configure(mesh=as_mesh(count))
        H = hamiltonian(kappa_max, splines=splines)
        plan = evolution.prepare(H, jnp.complex128, (0.0, 1.0), 0.05, METHODS[name])
        psi = jax.ShapeDtypeStruct(plan.context.H.shape, plan.dtype)
        state = segments.placed_shapes(course.begin, plan.context, psi)
        held = {
            leaf.size // math.prod(leaf.sharding.shard_shape(leaf.shape))
            for leaf in jax.tree.leaves((state, plan.context.propagator))
            if leaf.size > 4 * splines * splines
        }
        rows.append(
            {
                "devices": count,
                "bytes": plan.program.memory,
                "state": 16 * H.basis.size,
                "held": sorted(held),
                "collectives": devices.collectives(plan.program.call.as_text()),  # type: ignore[attr-defined]
            }
        )
    return rows


def segment_bytes(layout: FoldedChain) -> list[int]:
    """What comes to a device when M + 2 pairs take segments of r, and when M go back."""
    pairs, cut = layout.pairs, layout.segments
    if cut is None:
        return []
    row = 16 * 3 * cut.length  # three numbers for each spline
    return [each * pairs.together * row for each in (pairs.each + 2, pairs.each)]


def programs(kappa_max: int, splines: int, counts: list) -> list[dict]:
    """One product with the light, compiled only."""
    rows = []
    for count in counts:
        zt.configure()
        light = hamiltonian(kappa_max, splines=splines).changing[0].operator
        mesh = runtime.make_mesh(as_mesh(count), jax.devices()[0])
        layout = None if mesh is None else FoldedChain(light.basis, mesh)
        operator = light if layout is None else light.divided(layout)
        place = None if layout is None else layout.sharding()
        given = jax.ShapeDtypeStruct(operator.shape, jnp.complex128, sharding=place)
        compiled = jax.jit(lambda o, x: o.apply(x)).lower(operator, given).compile()
        rows.append(
            {
                "devices": count,
                "bytes": devices.bytes_of(compiled),
                "state": 16 * light.basis.shape[0] * light.basis.shape[1],
                "pair": 0 if layout is None else 16 * layout.pairs.rows * light.basis.shape[1],
                "segments": [] if layout is None else segment_bytes(layout),
                "collectives": devices.collectives(compiled.as_text()),
            }
        )
    return rows
