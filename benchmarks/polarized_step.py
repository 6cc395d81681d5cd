"""How long is one time step of hydrogen in circular light, and how does that grow with lmax?

Length gauge with `AngularSplit` on B-splines of degree 7, between records: one kick by constant
turns and one field-free step. "plane" starts in 1s, whose channels have l + m even; "all m" starts
in 1s and 2p₀, which takes all (lmax + 1)² channels. "line" is linear light from 1s.

The peer is the kick that `AngularSplit` had before, with the eigenvectors of the dense matrices n_x
and n_y between all channels, twice in a step, and one banded solve for each channel. It is timed in
the same run for `--dense-lmax` and the fewest splines, as its cost grows with the square of the
channels.

"velocity" is a step of `CrankNicolson(1e-8)` in velocity gauge and in circular light from 1s, with
l + m even; "velocity line" is the same in linear light with m = 0. Both report how many products
with the light a step took and `us_per_product`: microseconds for each channel and product, which
are alike where a channel of circular light costs what one of linear light does.

`exponent` is the slope of log(time) against log(channels) over all lmax of a row's kind.

    taskset -c 0 python benchmarks/polarized_step.py --json FILE
"""

from __future__ import annotations

import os

os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)

import sys
import time

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from common import arguments, fastest
from records import finish, record

import zitter as zt
from zitter import runtime
from zitter.propagators.base import repeated

STEPS = 50
VELOCITY_STEPS = 10
DT = 0.05
ATOM = (zt.Kinetic(), zt.Coulomb(Z=1))
CIRCULAR = {"polarization": "x", "ellipticity": 1.0}
KINDS = {"line": {}, "plane": CIRCULAR, "all m": CIRCULAR}


def pulse(**options):
    return zt.SineSquared(cycles=2, wavelength="800 nm", intensity="1e14 W/cm^2", **options)


def start(basis, kind):
    """1s, or 1s and 2p₀."""
    radial = basis.radial
    rows = {(0, 0): lambda r: 2 * r * np.exp(-r)}
    if kind == "all m":
        rows[1, 0] = lambda r: r**2 * np.exp(-r / 2)
    psi = jnp.zeros(basis.shape, complex)
    for (l, m), function in rows.items():
        psi = psi.at[basis.row(l, m)].set(radial.project(function))
    return basis.normalize(psi)


@eqx.filter_jit
def marched(H, method, psi, state):
    return method.march(H, psi, lambda k: 50.0 + k * DT, DT, state, STEPS, repeated)[0]


def by_constants(basis, kind):
    """(the action of many steps, channels that are stepped)."""
    H = zt.discretize(zt.Model([*ATOM, zt.LengthGauge(pulse(**KINDS[kind]))]), basis)
    psi = start(basis, kind)
    method = zt.AngularSplit().prepare(H, (0.0, 200.0), DT).starting(psi)
    state = eqx.filter_jit(method.init)(H, psi, 0.0, DT)
    psi = method.enter(psi)
    return lambda: marched(H, method, psi, state), psi.shape[0]


@eqx.filter_jit
def iterated(H, method, psi, state):
    def body(k, carry):
        return method.step(H, carry[0], 50.0 + k * DT, DT, carry[1])

    return jax.lax.fori_loop(0, VELOCITY_STEPS, body, (psi, state))


def by_iteration(basis, light):
    """(the action of some steps in velocity gauge, channels that are stepped, products of a
    step)."""
    H = zt.discretize(zt.Model([*ATOM, zt.VelocityGauge(pulse(**light))]), basis)
    psi = start(basis, "plane")
    method = zt.CrankNicolson(1e-8).prepare(H, (0.0, 200.0), DT).starting(psi)
    state = eqx.filter_jit(method.init)(H, psi, 50.0, DT)
    psi = method.enter(psi)
    products = int(method.report(iterated(H, method, psi, state)[1])["products"])
    stepped = len(method.separated.rows or psi)
    return lambda: iterated(H, method, psi, state), stepped, products / VELOCITY_STEPS


class DenseStep(eqx.Module):
    """The former step: e^{−iθ r n} of each direction by the eigenvectors of n between channels."""

    points: jax.Array
    forward: jax.Array
    values: tuple[jax.Array, ...]
    vectors: tuple[jax.Array, ...]

    def __init__(self, basis, split):
        self.points, self.forward = split.points, split.forward
        found = [np.linalg.eigh(f * N) for f, N, _ in (basis.direction(c) for c in (0, 1))]
        self.values = tuple(jnp.asarray(values) for values, _ in found)
        vectors = (v.real if not np.any(v.imag) else v for _, v in found)
        self.vectors = tuple(jnp.asarray(v) for v in vectors)

    def kick(self, psi, angles, order):
        for j in (0, 1)[::order]:
            turn = (angles[j] * self.values[j])[:, None] * self.points
            cosine, sine = jnp.cos(turn), jnp.sin(turn)
            mixed = _angular(self.vectors[j].conj().T, psi)
            real, imaginary = mixed[:, 0], mixed[:, 1]
            turned = [cosine * real + sine * imaginary, cosine * imaginary - sine * real]
            psi = _angular(self.vectors[j], jnp.stack(turned, axis=1))
        return psi

    def free(self, solver, psi):
        return 2 * _radial(self.forward.T, solver.solve_planes(_radial(self.forward, psi))) - psi


def _radial(matrix, psi):
    return (psi.reshape(-1, psi.shape[2]) @ matrix).reshape(psi.shape)


def _angular(matrix, psi):
    if not jnp.iscomplexobj(matrix):
        return (matrix @ psi.reshape(psi.shape[0], -1)).reshape(psi.shape)
    mixed = matrix @ jax.lax.complex(psi[:, 0], psi[:, 1])
    return jnp.stack([jnp.real(mixed), jnp.imag(mixed)], axis=1)


@eqx.filter_jit
def dense_march(H, step, solver, psi):
    def body(k, psi):
        middle = 50.0 + (k + 0.5) * DT
        angles = [0.5 * DT * piece.factor(middle) for piece in H.changing]
        psi = step.free(solver, step.kick(psi, angles, 1))
        return step.kick(psi, angles, -1)

    return jax.lax.fori_loop(0, STEPS // 10, body, psi)


def dense(basis):
    H = zt.discretize(zt.Model([*ATOM, zt.LengthGauge(pulse(**CIRCULAR))]), basis)
    method = zt.AngularSplit().prepare(H, (0.0, 200.0), DT)
    step = DenseStep(basis, method.split)
    rows = np.arange(basis.shape[0])
    factors = lambda H: basis.resolvents(H.fixed).each(rows).at(jnp.asarray(0.5j * DT))  # noqa: E731
    solver = eqx.filter_jit(factors)(H)
    psi = start(basis, "plane")
    planes = _radial(step.forward.T, jnp.stack([psi.real, psi.imag], axis=1))
    return lambda: dense_march(H, step, solver, planes)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--lmax", type=int, nargs="+", default=[10, 20, 30, 40, 50, 60])
    parser.add_argument("--splines", type=int, nargs="+", default=[150, 300])
    parser.add_argument("--dense-lmax", type=int, nargs="*", default=[10, 20])
    parser.add_argument("--velocity-lmax", type=int, nargs="*", default=[10, 20])
    options = parser.parse_args()
    zt.configure(precision="double")
    alone = runtime.settings().device.platform == "cpu"
    clock = time.process_time if alone else time.perf_counter
    rows: list[dict] = []
    for n in options.splines:
        radial = zt.RadialBSplines(n, 7, 0.5 * n, "graded", first=0.2, grading=10.0)
        for lmax in options.lmax:
            actions, channels, products = {}, {}, {}
            for kind in KINDS:
                basis = zt.SphericalBasis(radial, lmax, m=0 if kind == "line" else "all")
                actions[kind], channels[kind] = by_constants(basis, kind)
            if lmax in options.dense_lmax and n == min(options.splines):
                basis = zt.SphericalBasis(radial, lmax, m="all")
                actions["dense"], channels["dense"] = dense(basis), basis.shape[0]
            if lmax in options.velocity_lmax and n == min(options.splines):
                for kind, m, light in (("velocity line", 0, {}), ("velocity", "all", CIRCULAR)):
                    basis = zt.SphericalBasis(radial, lmax, m=m)
                    actions[kind], channels[kind], products[kind] = by_iteration(basis, light)
            seconds = fastest(actions, clock=clock)
            for kind, best in seconds.items():
                steps = STEPS // 10 if kind == "dense" else STEPS
                steps = VELOCITY_STEPS if kind in products else steps
                row = {"kind": kind, "lmax": lmax, "splines": n, "channels": channels[kind]}
                row["ms_per_step"] = 1e3 * best / steps
                if kind in products:
                    each = products[kind] * channels[kind]
                    row |= {
                        "products_per_step": products[kind],
                        "us_per_product": 1e3 * row["ms_per_step"] / each,
                    }
                rows.append(row)
                print(rows[-1], file=sys.stderr, flush=True)
    for kind in ("plane", "all m"):
        for n in options.splines:
            same = [row for row in rows if row["kind"] == kind and row["splines"] == n]
            if len(same) > 1:
                logs = np.log([[row["channels"], row["ms_per_step"]] for row in same])
                slope = float(np.polyfit(*logs.T, 1)[0])
                rows.append({"kind": kind, "splines": n, "exponent": slope})
    where = "one core" if alone else "one GPU"
    finish(record("polarized_step", f"one step in circular light, {where}", rows), options.json)


if __name__ == "__main__":
    main()
