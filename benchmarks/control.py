"""What gradients through a run take, and how far pulses shaped by them get.

Memory is that of compiled programs: blocks of steps done again on the way back, and a plain loop.
"""

from __future__ import annotations

import warnings
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from common import arguments, fastest
from records import finish, record

import zitter as zt
from zitter import segments, solve
from zitter.fields import Field
from zitter.solve import course

SOFT = [zt.Kinetic(), zt.SoftCoulomb(Z=1, softening=2.0)]
HYDROGEN = [zt.Kinetic(), zt.Coulomb(Z=1)]


def soft_core() -> tuple[Any, ...]:
    grid = zt.Grid(255, 0.4)
    states = zt.eigenstates(zt.discretize(zt.Model(SOFT), grid), 2).states
    return grid, SOFT, states[0], states[1], zt.SplitOperator()


def hydrogen(splines: int, lmax: int) -> tuple[Any, ...]:
    radial = zt.RadialBSplines(splines, 7, 0.6 * splines, "graded", first=0.3)
    basis = zt.SphericalBasis(radial, lmax)
    H = zt.discretize(zt.Model(HYDROGEN), basis)
    ends = [zt.Eigenstate(n=n, l=n - 1).on(H) for n in (1, 2)]
    return basis, HYDROGEN, *ends, zt.AngularSplit()


SYSTEMS = {
    "soft-core atom, 255 points": soft_core,
    "hydrogen, 50 splines, l ≤ 3": lambda: hydrogen(50, 3),
    "hydrogen, 150 splines, l ≤ 20": lambda: hydrogen(150, 20),
}


def cost(name: str, steps: int, timed: bool) -> dict[str, Any]:
    """Bytes of a gradient both ways; where it is timed, beside a run without a gradient."""
    basis, atom, start, target, method = SYSTEMS[name]()
    end = 0.1 * steps
    pulse = zt.SineSquared(amplitude=0.01, frequency=0.375, duration=end)
    H = zt.discretize(zt.Model([*atom, zt.LengthGauge(pulse)]), basis)
    plan = solve.prepare(H, jnp.complex128, (0.0, end), 0.1, method, (), steps)

    def population(pulse: Field, psi: jax.Array, plain: bool) -> jax.Array:
        is_field = lambda x: isinstance(x, Field)  # noqa: E731
        context = jax.tree.map(
            lambda x: pulse if is_field(x) else x, plan.context, is_leaf=is_field
        )
        if plain:
            final = course.advance(context, course.begin(context, psi), steps)
        else:
            final = course.course(context, psi, plan.records, plan.tail, None)[0][-1]
        return jnp.abs(basis.inner(target, final.psi)) ** 2

    psi = start.astype(complex)
    gradient = eqx.filter_value_and_grad(population)
    programs = {
        plain: eqx.filter_jit(lambda p, x, plain=plain: gradient(p, x, plain)).lower(pulse, psi)
        for plain in (False, True)
    }
    bytes_of = {
        plain: segments.memory_of(program.compile().compiled) for plain, program in programs.items()
    }
    row = {
        "system": name,
        "steps": steps,
        "state_bytes": 16 * basis.size,
        "gradient_bytes": bytes_of[False],
        "plain_gradient_bytes": bytes_of[True],
    }
    if timed:
        forward = eqx.filter_jit(lambda p, x: population(p, x, False))
        backward = programs[False].compile()
        found = fastest(
            {"run": lambda: forward(pulse, psi), "gradient": lambda: backward(pulse, psi)}
        )
        row |= {f"{what}_seconds": seconds for what, seconds in found.items()}
    return row


def excited(name: str) -> dict[str, Any]:
    """A poor guess, and what becomes of it."""
    if name == "soft-core atom":
        atom, duration, limit = [*SOFT, zt.ComplexAbsorber(20.0)], 1000.0, 0.008
        basis, finer = zt.Grid(255, 0.4), zt.Grid(511, 0.3)
        method: Any = zt.SplitOperator()

        def ends(basis: Any) -> list[Any]:
            return list(zt.eigenstates(zt.discretize(zt.Model(SOFT), basis), 2).states)

        energies = zt.eigenstates(zt.discretize(zt.Model(SOFT), basis), 2).energies
        gap = float(energies[1] - energies[0])
        guess = zt.SineSquared(amplitude=0.005, frequency=0.95 * gap, duration=duration)
        band = (0.9 * gap, 1.1 * gap)
    else:
        atom, duration, limit = [*HYDROGEN, zt.ComplexAbsorber(15.0)], 600.0, 0.03
        basis = zt.SphericalBasis(zt.RadialBSplines(45, 7, 45.0, "graded", first=0.4), 3)
        finer = zt.SphericalBasis(zt.RadialBSplines(80, 7, 60.0, "graded", first=0.3), 5)
        method = zt.AngularSplit(radial_order=4)

        def ends(basis: Any) -> list[Any]:
            H = zt.discretize(zt.Model(HYDROGEN), basis)
            return [zt.Eigenstate(n=n, l=n - 1).on(H) for n in (1, 2)]

        guess = zt.SineSquared(amplitude=0.006, frequency=0.355, duration=duration)
        band = (0.32, 0.43)

    def model(pulse: Field) -> zt.Model:
        return zt.Model([*atom, zt.LengthGauge(pulse)])

    objective = zt.AtEnd(model, basis, *ends(basis), dt=0.2, propagator=method)
    pulse = zt.FreeForm.near(guess, band=band)
    found = zt.control(objective, pulse, fluence=limit, goal=0.992, iterations=40)
    again = zt.AtEnd(model, finer, *ends(finer), dt=0.1, propagator=method)
    return {
        "system": name,
        "duration": duration,
        "fluence_limit": limit,
        "parameters": found.info["parameters"],
        "population_of_guess": found.course.values[0],
        "population": found.value,
        "step_error": found.info["step_error"],
        "population_on_a_finer_basis": float(again(found.pulse)),
        "fluence": found.info["fluence"],
        "iterations": found.info["iterations"],
        "evaluations": found.info["evaluations"],
        "once_seconds": found.info["seconds"],
    }


def main() -> None:
    options = arguments(__doc__).parse_args()
    zt.configure(precision="double")
    warnings.simplefilter("ignore")
    rows = [cost(name, steps, steps == 1000) for name in SYSTEMS for steps in (1000, 10000)]
    rows += [excited(name) for name in ("soft-core atom", "hydrogen")]
    question = (__doc__ or "").splitlines()[0]
    finish(record("control", question, rows), options.json)


if __name__ == "__main__":
    main()
