"""Spinors on many devices: products, runs, and what the compiler makes of a product."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import zitter as zt
from mesh import devices
from zitter import runtime
from zitter.bases.spinor.folded import FoldedChain
from zitter.propagators.spline_crank_nicolson import SplineCrankNicolson

METHODS = {
    "levels": zt.CrankNicolson(),
    "collocation": zt.GaussCollocation(3, 1e-12),
    "splines": SplineCrankNicolson(1e-13),
}


def main(what: str, *arguments):
    return {"products": products, "runs": runs, "programs": programs}[what](*arguments)


def hamiltonian(kappa_max: int, mu_max: float | None = None, splines: int = 12) -> Any:
    basis = zt.SpinorBasis(zt.RadialBSplines(splines, 4, 6.0), kappa_max, mu_max)
    pulse = zt.SineSquared(amplitude=50.0, frequency=20.0, cycles=1)
    model = zt.Model([zt.Dirac(), zt.Coulomb(10.0), zt.DiracLight(pulse, lmax=2)])
    return zt.discretize(model, basis)


def products(cases: list, counts: list[int]) -> list[dict]:
    """How far light, field-free part and overlap are from those on one device."""
    rows = []
    for kappa_max, mu_max in cases:
        zt.configure()
        H = hamiltonian(kappa_max, mu_max)
        numbers = np.random.default_rng(0).standard_normal((2, *H.basis.shape))
        psi = numbers[0] + 1j * numbers[1]
        time = 0.1
        one = [H.fixed.apply(psi), H.changing[0].at(time).apply(psi), H.basis.overlap(psi)]
        scale = [float(np.max(np.abs(x))) for x in one]
        for count in counts:
            zt.configure(mesh={"angular": count})
            many = H.divided()
            given = many.basis.divide(psi)
            assert len({s.data.shape for s in given.addressable_shards}) == 1
            assert given.addressable_shards[0].data.shape[0] * count == given.shape[0]
            np.testing.assert_array_equal(many.basis.join(given), psi)
            images = [
                many.fixed.apply(given),
                many.changing[0].at(time).apply(given),
                many.basis.overlap(given),
            ]
            assert all(image.sharding == given.sharding for image in images)
            errors = [
                float(np.max(np.abs(np.asarray(many.basis.join(b)) - np.asarray(a)))) / s
                for a, b, s in zip(one, images, scale, strict=True)
            ]
            shares = many.basis.shares["angular"]
            rows.append(
                {
                    "case": [kappa_max, mu_max, count],
                    "errors": errors,
                    "shares": shares,
                    "scale": scale,
                }
            )
    return rows


def runs(kappa_max: int, counts: list[int], names: list[str]) -> dict:
    found = {}
    for name in names:
        zt.configure()
        one = evolve(kappa_max, METHODS[name])
        for count in counts:
            zt.configure(mesh={"angular": count})
            many = evolve(kappa_max, METHODS[name])
            assert many.info["mesh"] == str({"angular": count}), many.info
            pairs = [(one.final, many.final)]
            pairs += [(one.observables[k], many.observables[k]) for k in one.observables]
            found[f"{name} {count}"] = max(
                float(np.max(np.abs(np.asarray(a) - np.asarray(b)))) for a, b in pairs
            )
    return found


def evolve(kappa_max: int, method):
    H = hamiltonian(kappa_max)
    state = np.zeros(H.basis.shape, complex)
    state[H.basis.channel(-1, 0.5)] = np.exp(-np.linspace(0, 4, H.basis.shape[1]))
    state = jnp.asarray(state)
    state = state / jnp.sqrt(jnp.real(H.basis.inner(state, state)))
    return zt.evolve(H, state, (0.0, 0.02), 0.002, method, [zt.Norm(), zt.Ionization(4.0)])


def programs(kappa_max: int, splines: int, counts: list[int]) -> list[dict]:
    """One product with the light, compiled only."""
    rows = []
    for count in counts:
        zt.configure()
        light = hamiltonian(kappa_max, splines=splines).changing[0].operator
        mesh = runtime.make_mesh({"angular": count}, jax.devices()[0])
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
                "collectives": devices.collectives(compiled.as_text()),
            }
        )
    return rows
