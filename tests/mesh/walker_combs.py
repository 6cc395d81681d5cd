"""The comb on several devices against the comb on one."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

import zitter as zt
from zitter.qmc import spread
from zitter.qmc.walk.branching import comb


def main(counts: list[int], trials: int, spreads: list[float]) -> dict:
    """Whether all slots have the same walkers, and the copies of each are its weight's."""
    walkers = 48
    rng = np.random.default_rng(0)
    cases = [np.exp(rng.normal(size=walkers) * s) for s in spreads for _ in range(trials)]
    cases += [np.eye(walkers)[i] for i in (0, 20, 47)]  # one walker takes every slot
    cases.append(np.where(np.arange(walkers) % 7 == 0, 1.0, 0.0))
    load = {"number": np.arange(walkers), "matrix": rng.normal(size=(walkers, 3, 2))}
    found = {}
    for devices in counts:
        zt.configure(mesh={"walkers": devices})
        here = spread.placed(load, False)
        draw = jax.jit(lambda key, w, load: comb(key, w, load))
        found[devices] = []
        for seed, weights in enumerate(cases):
            w = spread.placed(jnp.asarray(weights), False)
            drawn = draw(jax.random.PRNGKey(seed), w, here)
            shards = drawn["matrix"].addressable_shards
            assert [s.data.shape[0] for s in shards] == [walkers // devices] * devices
            chosen = np.asarray(drawn["number"])
            copies = np.bincount(chosen, minlength=walkers)
            assert np.all(np.abs(copies - weights / weights.mean()) < 1 + 1e-9)
            np.testing.assert_array_equal(drawn["matrix"], load["matrix"][chosen])
            found[devices].append(chosen.tolist())
    first = found[counts[0]]
    return {str(devices): chosen == first for devices, chosen in found.items()}
