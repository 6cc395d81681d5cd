"""Walkers that draw the samples of an optimization."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import loop
from zitter.qmc import spread, streams
from zitter.qmc.optimizers.judging import Sampled
from zitter.qmc.optimizers.tables import Data, Draws, energies, sample
from zitter.qmc.walk import variational
from zitter.qmc.wavefunction import Wavefunction


class Drawing(NamedTuple):
    """Walkers, and what is stored of their last draws, (draws, walkers, …), where they are."""

    walk: variational.State
    data: Data
    done: Any  # draws


class Source:
    """Walkers that give samples of whatever parameters they are asked for."""

    def __init__(self, psi, walkers, draws, stride, seed, progress):
        self.draws, self.stride, self.progress = draws, stride, progress
        key = streams.seeded(seed, streams.OPTIMIZATION)
        self.state = variational.first_state(psi, walkers, key, jnp.float64)
        form = eqx.filter_eval_shape(_stored, psi, self.state)
        self.data = spread.placed_rows(
            jax.tree.map(lambda x: jnp.zeros((draws, *x.shape), x.dtype), form)
        )
        self.settled = False

    def sampled(self, psi: Wavefunction, times: int, label: str) -> Sampled:
        """`times` × `draws` draws of every walker."""
        if not self.settled:
            self.draw(psi, 16, True, "equilibrating")
            self.settled = True
        # Walkers come from other parameters: let them settle in these.
        fresh = variational.fresh_walkers(psi, self.state.walkers.r, jnp.float64)
        self.state = eqx.tree_at(lambda s: s.walkers, self.state, fresh)
        self.draw(psi, 8, True, "settling")
        pieces = [self.draw(psi, self.draws, False, label) for _ in range(times)]
        draws = Draws.all(pieces[0] if times == 1 else _joined(pieces))
        energy, log = energies(psi, psi.parameters, draws)
        walkers = self.state.walkers.r.shape[0]
        return Sampled(psi, draws, energy, log, np.arange(len(energy)) % walkers)

    def begun(self, psi: Wavefunction, tune: bool) -> tuple[variational.Context, Drawing]:
        """What stays the same from draw to draw, and what they begin with."""
        stride = jnp.asarray(self.stride, jnp.int32)
        fixed = variational.Context(psi, stride, jnp.asarray(tune), (), jnp.float64)
        return fixed, Drawing(self.state, self.data, jnp.zeros((), jnp.int32))

    def draw(self, psi, draws, tune, label) -> Data:
        run = loop.drive(
            step, *self.begun(psi, tune), draws, label=label, guard=_guard, progress=self.progress
        )
        self.state, self.data, _ = run.state
        return self.data


@eqx.filter_jit  # so that it is traced once for all draws of an optimization
def step(context: variational.Context, state: Drawing):
    """A VMC step that stores what optimization needs of each walker; the oldest draw gives way."""
    walk, _ = variational.step(context, state.walk)
    row = state.done % state.data.fixed.shape[0]
    now = _stored(context.psi, walk)
    data = spread.placed_rows(jax.tree.map(lambda b, v: b.at[row].set(v), state.data, now))
    return Drawing(walk, data, state.done + 1), ()


def _stored(psi: Wavefunction, state: variational.State) -> Data:
    own = streams.apart(state.key, streams.STORED_SAMPLES)
    keys = jax.random.split(own, state.walkers.log.shape[0])
    return spread.each_walker(sample, psi, state.walkers, keys)


@jax.jit
def _joined(pieces: list[Data]) -> Data:
    return spread.placed_rows(jax.tree.map(lambda *parts: jnp.concatenate(parts), *pieces))


def _guard(state: Drawing, done: int) -> str | None:
    if bool(jnp.all(jnp.isfinite(state.walk.walkers.log))):
        return None
    return f"ln|Ψ| of a walker became infinite or NaN by draw {done}: start from other parameters."
