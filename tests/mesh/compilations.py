"""How many programs a run on a mesh compiles: the driver's segment, and no second one for a state
that comes back from the first.
"""

from __future__ import annotations

import logging

import jax
import numpy as np

import zitter as zt

FINISHED = "Finished XLA compilation of jit(_carried)"  # of zitter.segments


def main() -> dict[str, int]:
    messages: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda line: messages.append(line.getMessage())
    logging.getLogger("jax").addHandler(handler)
    counts = {}
    with jax.log_compiles():
        for name, axis, run in (("evolve", "space", evolve), ("dmc", "walkers", dmc)):
            zt.configure(mesh={axis: 2})
            messages.clear()
            run()
            counts[name] = sum(message.startswith(FINISHED) for message in messages)
    return counts


def evolve() -> None:
    grid = zt.Grid((13, 8), 0.5)
    pulse = zt.SineSquared(amplitude=0.1, frequency=1.0, cycles=1)
    model = zt.Model([zt.Kinetic(), zt.SoftCoulomb(), zt.LengthGauge(pulse)])
    psi = np.exp(-sum(x**2 for x in grid.coordinates())).astype(complex)
    psi /= grid.norm(psi)
    options = {"propagator": zt.SplitOperator(), "observables": [zt.Norm(), zt.Dipole()]}
    zt.evolve(zt.discretize(model, grid), psi, (0, 1), 0.02, step_check=False, **options)


def dmc() -> None:
    gas = zt.qmc.ElectronGas(2, 5.0)
    psi = zt.qmc.SlaterJastrow(gas, [zt.qmc.U(order=3)])
    zt.qmc.dmc(psi, 2.0, walkers=8, blocks=4, steps=2, equilibration=2)
