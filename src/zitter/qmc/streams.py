"""Random numbers of one seed that never meet.

`vmc`, `dmc` and `optimize` of the same seed would begin with the same walkers and take the same
steps: parameters chosen on one walk would then be judged on that walk again. So each verb but VMC
folds a number of its own into the key of its seed. In JAX fold_in(key, i) is split(key, n)[i];
numbers that no split reaches are new keys.
"""

from __future__ import annotations

from typing import Any

import jax

_BEYOND_SPLITS = 2**31
DIFFUSION, OPTIMIZATION, T_MOVES, STORED_SAMPLES = range(_BEYOND_SPLITS, _BEYOND_SPLITS + 4)


def seeded(seed: int, stream: int | None = None) -> Any:
    """The key of a seed, for one of the streams above; VMC has none."""
    key = jax.random.PRNGKey(seed)
    return key if stream is None else apart(key, stream)


def apart(key: Any, stream: int) -> Any:
    """A key that no split of `key` gives."""
    return jax.random.fold_in(key, stream)
