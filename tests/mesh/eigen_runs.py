"""Blocks between eigenstates on many devices: runs, and what the compiler makes of a product."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np

import zitter as zt
from mesh import devices
from mesh.halves import in_halves
from zitter import runtime
from zitter.linalg.blocks import DipoleBlocks
from zitter.linalg.chain import Chain

METHODS = {
    "lanczos": (zt.LengthGauge, zt.Lanczos(8)),
    "taylor": (zt.VelocityGauge, zt.Taylor(10)),
    "crank-nicolson": (zt.LengthGauge, zt.CrankNicolson()),
}


def main(what: str, *arguments):
    table = {"runs": runs, "continued": continued, "programs": programs}
    return table[what](*arguments)


def runs(channels: int, counts: list[int], names: list[str]) -> dict:
    """How far runs are from those on one device."""
    found = {}
    for name in names:
        zt.configure()
        one = evolve(channels, *METHODS[name])
        for count in counts:
            zt.configure(mesh={"l": count})
            many = evolve(channels, *METHODS[name])
            share = -(-channels // count)
            held = [max(0, min(share, channels - d * share)) for d in range(count)]
            assert many.info["shares"] == str({"l": held}), many.info
            pairs = [(one.final, many.final)]
            pairs += [(one.observables[k], many.observables[k]) for k in one.observables]
            found[f"{name} {count}"] = max(
                float(np.max(np.abs(np.asarray(a) - np.asarray(b)))) for a, b in pairs
            )
            edge = "last_l_population"
            assert abs(one.info[edge] - many.info[edge]) < 1e-12
    return found


def continued(channels: int, counts: list[list[int]], names: list[str]) -> dict:
    """How far runs are whose second half has another number of devices."""
    found = {}
    for name in names:
        run = functools.partial(evolve, channels, *METHODS[name])
        zt.configure()
        one = run()
        for before, after in counts:
            many = in_halves(run, {"l": before}, {"l": after})
            error = np.max(np.abs(np.asarray(one.final) - np.asarray(many.final)))
            found[f"{name} {before} {after}"] = float(error)
    return found


def evolve(channels: int, gauge, method, **options):
    n, numbers = 6, np.random.default_rng(0)
    energies = np.sort(numbers.standard_normal((channels, n)), axis=1)
    basis = zt.EigenBasis(energies, *0.2 * numbers.standard_normal((2, channels - 1, n, n)))
    pulse = zt.SineSquared(amplitude=0.05, frequency=1.0, cycles=1)
    H = zt.discretize(zt.Model([zt.FieldFree(), gauge(pulse)]), basis)
    states = jnp.stack([basis.state(0), basis.state(1)])
    watched = [zt.Norm(), zt.Energy(), zt.Dipole(), zt.Momentum(), zt.Populations(states)]
    return zt.evolve(H, basis.state(0), (0.0, 0.5), 0.02, method, watched, **options)


def programs(channels: int, n: int, counts: list[int]) -> list[dict]:
    """One product with the light of l ≤ channels − 1, compiled only."""
    zt.configure()
    rows = []
    for count in counts:
        mesh = runtime.make_mesh({"l": count}, jax.devices()[0])
        layout = None if mesh is None else Chain((channels, n), mesh)
        shape = (channels, n) if layout is None else layout.shape
        blocks = channels - 1 if layout is None else shape[0]
        place = None if layout is None else layout.sharding()

        def apply(upper, psi, layout=layout):
            return DipoleBlocks(upper, layout=layout).apply(psi)

        given = (
            jax.ShapeDtypeStruct((blocks, n, n), jnp.float64, sharding=place),
            jax.ShapeDtypeStruct(shape, jnp.complex128, sharding=place),
        )
        compiled = jax.jit(apply).lower(*given).compile()
        rows.append(
            {
                "devices": count,
                "bytes": devices.bytes_of(compiled),
                "collectives": devices.collectives(compiled.as_text()),
            }
        )
    return rows
