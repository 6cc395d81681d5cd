"""Full matrices in tiles: products, runs, and what the compiler makes of an exponential."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import zitter as zt
from mesh import devices
from zitter import runtime
from zitter.linalg.tiles import Tiles, WholeMatrices

PULSE = {"amplitude": 0.1, "frequency": 1.0, "cycles": 1}


def tiles(n: int, sizes: dict) -> Any:
    mesh = runtime.make_mesh(sizes, jax.devices()[0])
    return WholeMatrices() if mesh is None else Tiles(n, mesh)


def products(n: int, meshes: list[dict]) -> list[dict]:
    """Largest errors of each operation, and the shapes of the tiles."""
    zt.configure()
    a, b, diagonal = np.random.default_rng(1).standard_normal((3, n, n))
    vector = diagonal[0] + 1j * diagonal[1]
    grid = zt.Grid(n, 0.4)
    operator = grid.kinetic() + grid.multiply(diagonal[2])
    matrix = np.asarray(operator.as_matrix())
    rows = []
    for sizes in meshes:
        on = tiles(n, sizes)
        found = _operations(on, on.divide(a), on.divide(b), jnp.asarray(vector), operator)
        wanted = (a @ b, np.eye(n), a + 2 * np.eye(n), matrix, a + matrix)
        errors = [
            float(np.max(np.abs(on.join(x) - y))) for x, y in zip(found[1:], wanted, strict=True)
        ]
        errors.append(float(np.max(np.abs(found[0] - a @ vector))))
        shapes = {s.data.shape for s in found[1].addressable_shards}
        rows.append({"errors": errors, "tiles": sorted(shapes), "shares": on.shares})
    return rows


@eqx.filter_jit
def _operations(on, a, b, vector, operator):
    return (
        on.times(a, vector),
        on.product(a, b),
        on.identity(a),
        on.plus_diagonal(a, 2.0),
        on.matrix(operator),
        on.plus(a, operator),
    )


def runs(meshes: list[dict]) -> list[float]:
    """How far runs with a static, a driven and a complex H are from those on one device."""
    found = []
    for sizes in [{}, *meshes]:
        zt.configure(mesh=sizes)
        found.append([x for kind in ("static", "length", "velocity") for x in _run(kind, sizes)])
    return [
        max(float(np.max(np.abs(x - y))) for x, y in zip(found[0], other, strict=True))
        for other in found[1:]
    ]


def _run(kind: str, sizes: dict) -> list[np.ndarray]:
    grid, pulse = zt.Grid(53, 0.4), zt.SineSquared(**PULSE)
    terms = [zt.Kinetic(order=4), zt.SoftCoulomb()]
    method = zt.MatrixExponential(zt.TaylorSum(12) if kind == "velocity" else None)
    if kind != "static":
        terms.append({"length": zt.LengthGauge, "velocity": zt.VelocityGauge}[kind](pulse))
    H = zt.discretize(zt.Model(terms), grid)
    psi = grid.normalize(jnp.exp(-((grid.points(0) - 0.2) ** 2) + 0j))
    sol = zt.evolve(H, psi, (0.0, 0.4), 0.02, method, [zt.Energy(), zt.Dipole()])
    assert sol.info["mesh"] == (str(sizes) if sizes else "")
    return [np.asarray(sol.final), *sol.observables.values()]


def programs(n: int, meshes: list[dict]) -> list[dict]:
    """The exponential of a real symmetric matrix, compiled only."""
    zt.configure()
    rows = []
    for sizes in meshes:
        on = tiles(n, sizes)
        whole = isinstance(on, WholeMatrices)
        size = n if whole else on.size
        place = None if whole else jax.sharding.NamedSharding(on.mesh, on.spec)
        x = jax.ShapeDtypeStruct((size, size), jnp.float64, sharding=place)
        method = zt.PatersonStockmeyer(degree=4, powers=2)
        compiled = jax.jit(lambda x, on=on, method=method: method.matrix(x, on)).lower(x).compile()
        rows.append(
            {
                "devices": int(np.prod(list(sizes.values()) or [1])),
                "tile": 8 * size * size // int(np.prod(list(sizes.values()) or [1])),
                "bytes": devices.bytes_of(compiled),
                "collectives": devices.collectives(compiled.as_text()),
            }
        )
    return rows


def main(what: str, *arguments):
    return {"products": products, "runs": runs, "programs": programs}[what](*arguments)
