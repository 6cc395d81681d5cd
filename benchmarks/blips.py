"""Blip orbitals of all electrons, against the time to read the coefficients they touch once.

Silicon 2×2×2 (32 orbitals, 34³ points) and a 9×9 monolayer of boron nitride (324 orbitals, 22²·198
points), complex, with random coefficients kept in float32 or float64. A position touches 64 of
them for each orbital; the bound is what reading as many bytes takes by the record of this device
(device_bounds.py). Electrons go in blocks, as in a sweep. Below that the forms of the sums, one
beside the other.

    python benchmarks/blips.py --json FILE          (--quick for a small machine)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from bounds import Bounds, of_this_device
from common import arguments, median_seconds
from records import finish, record

import zitter as zt
from zitter.qmc.orbitals import blip_sums

BLOCK = 32  # electrons that are moved together


class Case(NamedTuple):
    """Electrons in a supercell of a crystal."""

    name: str
    grid: tuple[int, int, int]
    cells: int
    bands: int

    @property
    def orbitals(self) -> int:
        return self.cells * self.bands

    def blips(self, stored: str) -> zt.qmc.Blips:
        """Random coefficients and wave vectors; what they are does not change the cost."""
        rng = np.random.default_rng(0)
        shape = (*self.grid, self.orbitals)
        c = rng.standard_normal(shape, np.float32) + 1j * rng.standard_normal(shape, np.float32)
        k = np.repeat(rng.normal(size=(self.cells, 3)), self.bands, axis=0)
        return zt.qmc.Blips(c, np.diag([5.0, 5.0, 10.0]), k, stored)


CASES = [Case("Si 2x2x2", (34, 34, 34), 8, 4), Case("hBN 9x9", (22, 22, 198), 81, 4)]
QUICK = [Case("Si 2x2x2", (34, 34, 34), 8, 4), Case("hBN 9x9, a third", (22, 22, 66), 81, 4)]


def positions(walkers: int, electrons: int) -> jax.Array:
    """(blocks, walkers, 3, BLOCK)."""
    shape = (-(-electrons // BLOCK), walkers, 3, BLOCK)
    return jnp.asarray(np.random.default_rng(1).uniform(-20, 20, size=shape))


def rows_of(case: Case, walkers: int, electrons: int, bound: Bounds | None) -> list[dict[str, Any]]:
    r = positions(walkers, electrons)
    found = []
    for stored, dtypes in (("float32", (jnp.float32, jnp.float64)), ("float64", (jnp.float64,))):
        blips = case.blips(stored)
        touched = r.size // 3 * 64 * blips.table.shape[1] * blips.table.dtype.itemsize
        least = None if bound is None else touched / bound.read
        about = {
            "case": case.name,
            "orbitals": case.orbitals,
            "grid": "x".join(map(str, case.grid)),
            "walkers": walkers,
            "electrons": r.shape[0] * BLOCK,
            "stored": stored,
            "coefficients_MiB": blips.table.nbytes / 2**20,
            "touched_GiB": touched / 2**30,
            **({} if least is None else {"read_once_milliseconds": 1e3 * least}),
        }

        def measured(what: str, precision: str, action: Any, about=about, least=least) -> None:
            seconds = median_seconds(action)
            row = {"evaluated": what, "precision": precision, "milliseconds": 1e3 * seconds}
            ratio = {} if least is None else {"ratio": seconds / least}
            found.append({**about, **row, **ratio})
            print(found[-1], flush=True)

        for dtype in dtypes:
            for word in ("values", "slopes", "derivatives"):
                measured(word, jnp.dtype(dtype).name, evaluation(blips, r, word, dtype))
        for form in forms() if stored == "float32" else ():
            for order in (0, 2):
                what = f"{form.__name__}, order {order}"
                measured(what, "float32", bare_sums(blips, r, form, order))
    return found


def forms() -> list[Any]:
    """The forms of the sums that may run here."""
    if jax.default_backend() == "cpu":
        return [blip_sums.sums_in_turn, blip_sums.sums_together]
    return [blip_sums.sums_together]


def evaluation(blips: zt.qmc.Blips, r: jax.Array, word: str, dtype: Any) -> Any:
    """Orbitals of all walkers, one block of electrons after another."""

    @jax.jit
    def whole(blips, r):
        one = lambda x: getattr(blips, word)(x, dtype)  # noqa: E731
        return jax.lax.map(jax.vmap(one), r)

    return lambda: whole(blips, r)


def bare_sums(blips: zt.qmc.Blips, r: jax.Array, form: Any, order: int) -> Any:
    """The sums alone in one of their forms, without phases."""

    @jax.jit
    def whole(blips, r):
        def block(x):
            x = jnp.moveaxis(x, 1, 0).reshape(3, -1)
            around, t = blip_sums.located(x, blips.inverse, blips.grid, jnp.float32)
            rows = blip_sums.rows_around(around, blips.grid)
            weights = blip_sums.weights(t, blips.inverse, blips.grid, order)
            return form(blips.table, rows, weights)

        return jax.lax.map(block, r)

    return lambda: whole(blips, r)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--quick", action="store_true", help="few walkers, less boron nitride")
    options = parser.parse_args()
    zt.configure()
    bound = of_this_device()
    rows = [] if bound is None else [bound.row()]
    for case in QUICK if options.quick else CASES:
        electrons = BLOCK if options.quick else 2 * case.orbitals
        walkers = 4 if options.quick else max(256, 2**17 // electrons)
        rows += rows_of(case, walkers, electrons, bound)
    question = "How near are blip orbitals to one read of the coefficients they touch?"
    finish(record("blips", question, rows), options.json)


if __name__ == "__main__":
    main()
