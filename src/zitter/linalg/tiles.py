"""Full matrices on one device, and in tiles on many: sums, products, and products with a vector.

    device (r, c) of R × C holds rows r·N/R … and columns c·N/C … of an N × N matrix

A product is summed over panels of the inner index (SUMMA: van de Geijn & Watts, Concurrency 9, 255
(1997)): each device gathers a few columns of the tiles beside it and a few rows of the tiles above
and below it, and multiplies them. Left to itself the compiler would gather all of them at once, and
memory would fall only with the root of the number of devices. One product sends
8N²[(C − 1)/(RC) + (R − 1)/(RC)] bytes of real numbers from each device.
"""

from __future__ import annotations

import abc
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from zitter import checks
from zitter.linalg.base import Operator, keeps_hermitian, real_like, total
from zitter.linalg.dense import Dense
from zitter.linalg.diagonal import Diagonal
from zitter.linalg.pairs import times_vector
from zitter.linalg.sums import parts_of
from zitter.runtime import placed

PANELS = 8  # per tile at least: what is gathered at a time is that part of one
STRIPS = 8  # of a tile, in which products are added to it: a whole one more would have to be kept


class Matrices(eqx.Module):
    """What can be done with full matrices, wherever they lie."""

    @abc.abstractmethod
    def matrix(self, operator: Operator) -> jax.Array:
        """An operator as a matrix."""

    @abc.abstractmethod
    def plus(self, matrix: jax.Array, operator: Operator) -> jax.Array:
        """matrix + O."""

    @abc.abstractmethod
    def plus_diagonal(self, matrix: jax.Array, values: jax.Array) -> jax.Array:
        """matrix + diag(values), or a number on all of the diagonal."""

    @abc.abstractmethod
    def identity(self, like: jax.Array) -> jax.Array: ...

    @abc.abstractmethod
    def product(self, a: jax.Array, b: jax.Array, after: jax.Array | None = None) -> jax.Array:
        """ab, perhaps not begun before another matrix is made."""

    def after(self, matrix: jax.Array, done: jax.Array) -> jax.Array:
        """The same matrix, not made before `done` is: where room for both makings is scarce."""
        return matrix

    @abc.abstractmethod
    def times(self, matrix: jax.Array, vector: jax.Array) -> jax.Array:
        """matrix @ vector."""


class WholeMatrices(Matrices):
    """On one device."""

    def matrix(self, operator):
        return operator.as_matrix()

    def plus(self, matrix, operator):
        return operator.added_to(matrix)

    def plus_diagonal(self, matrix, values):
        place = jnp.arange(len(matrix))
        return matrix.at[place, place].add(values)

    def identity(self, like):
        return jnp.eye(len(like), dtype=like.dtype)

    def product(self, a, b, after=None):
        """ab by the library's matrix product.

        The barrier keeps sums from being fused into it, which on GPUs costs five times what it
        saves.
        """
        a, b = jax.lax.optimization_barrier((a, b))
        return a @ b

    def times(self, matrix, vector):
        return times_vector(matrix, vector)


class Tiles(Matrices):
    """On a mesh with the axes rows, columns or both, padded with zeros to a size that suits."""

    whole: int = eqx.field(static=True)
    mesh: Mesh = eqx.field(static=True)
    panels: int = eqx.field(static=True)
    width: int = eqx.field(static=True)  # of a chunk of a panel; there are `chunks` of them

    def __init__(self, whole: int, mesh: Mesh):
        self.whole = whole
        self.mesh = mesh
        rows, columns = self.tiling
        if max(rows, columns) > whole:
            axis = "rows" if rows >= columns else "columns"
            raise checks.InputError(
                f"mesh.{axis}", f"must be at most {whole}, the size of the matrix, but is "
                f"{max(rows, columns)}",
            )  # fmt: skip
        share = -(-whole // self.chunks)
        self.width = -(-share // (PANELS * max(rows, columns)))
        self.panels = -(-share // self.width)

    @property
    def tiling(self) -> tuple[int, int]:
        return self.mesh.shape.get("rows", 1), self.mesh.shape.get("columns", 1)

    @property
    def chunks(self) -> int:
        """Parts of the inner index, so many that each tile, of rows or columns, has whole ones."""
        return math.lcm(*self.tiling)

    @property
    def size(self) -> int:
        """That of the padded matrix."""
        return self.chunks * self.panels * self.width

    @property
    def spec(self) -> PartitionSpec:
        return PartitionSpec(*(axis if axis in self.mesh.shape else None for axis in AXES))

    @property
    def shares(self) -> dict[str, list[int]]:
        """Rows and columns of the matrix itself in the tiles."""
        found = {}
        for axis, count in zip(AXES, self.tiling, strict=True):
            if axis in self.mesh.shape:
                ends = np.minimum(np.arange(count + 1) * (self.size // count), self.whole)
                found[axis] = np.diff(ends).tolist()
        return found

    def _map(
        self, function: Any, *specs: PartitionSpec | None, out: PartitionSpec | None = None
    ) -> Any:
        out = self.spec if out is None else out
        return jax.shard_map(function, mesh=self.mesh, in_specs=specs, out_specs=out)

    def _index(self, axis: str) -> Any:
        return jax.lax.axis_index(axis) if axis in self.mesh.shape else 0

    def _own(self) -> tuple[jax.Array, jax.Array]:
        """The rows and the columns of the matrix in this device's tile."""
        rows, columns = (self.size // count for count in self.tiling)
        return (
            self._index("rows") * rows + jnp.arange(rows),
            self._index("columns") * columns + jnp.arange(columns),
        )

    # Making them.

    def divide(self, matrix: Any) -> jax.Array:
        """A matrix in tiles."""
        missing = self.size - self.whole
        if missing and checks.is_traced(matrix):
            matrix = jnp.pad(matrix, (0, missing))
        elif missing:  # on the host: no device need hold the padded whole
            matrix = np.pad(np.asarray(matrix), (0, missing))
        return placed(matrix, NamedSharding(self.mesh, self.spec))

    def join(self, matrix: jax.Array) -> np.ndarray:
        """The inverse of `divide`, on the host."""
        return np.asarray(matrix)[: self.whole, : self.whole]

    def tiled(self, operator: Operator) -> Operator:
        """An operator whose matrix, where it is kept as one, lies in tiles."""
        return Tiled(self, _made(self, operator), operator.shape, operator.hermitian,
                     operator.bounds())  # fmt: skip

    def light(self, operator: Operator) -> Operator:
        """The same for what changes with time: only full matrices are worth tiles."""
        return self.tiled(operator) if isinstance(operator, Dense) else operator

    def matrix(self, operator):
        return total(self._part(part) for part in parts_of(operator))

    def _part(self, part: Operator) -> jax.Array:
        if isinstance(part, Tiled):
            return part.matrix
        if isinstance(part, Dense):
            return self.divide(part.matrix)
        arrays, static = eqx.partition(part, eqx.is_array)

        def tile(arrays):
            """Each device applies the operator to the unit vectors of its own columns."""
            applied = eqx.combine(arrays, static)
            rows, columns = self._own()

            def one(column):
                unit = (jnp.arange(self.whole) == column).astype(part.dtype)
                image = applied.apply(unit.reshape(part.shape)).reshape(-1).astype(part.dtype)
                return jnp.pad(image, (0, self.size - self.whole))[rows]

            return jax.lax.map(one, columns, batch_size=min(columns.size, 256)).T

        specs = jax.tree.map(lambda _: PartitionSpec(), arrays)
        return self._map(tile, specs)(arrays)

    def plus(self, matrix, operator):
        for part in parts_of(operator):
            if isinstance(part, Diagonal):
                matrix = self.plus_diagonal(matrix, part.full().reshape(-1))
            else:
                matrix = matrix + self._part(part)
        return matrix

    def plus_diagonal(self, matrix, values):
        """The padding stays zero: on its diagonal even a number could be larger than all of H."""
        values = jnp.pad(jnp.broadcast_to(values, (self.whole,)), (0, self.size - self.whole))

        def add(tile, values):
            rows, columns = self._own()
            return tile + jnp.where(rows[:, None] == columns, values[rows][:, None], 0)

        return self._map(add, self.spec, PartitionSpec())(matrix, values)

    def identity(self, like):
        def ones(tile):
            rows, columns = self._own()
            return jnp.where(rows[:, None] == columns, jnp.ones_like(tile), 0)

        return self._map(ones, self.spec)(like)

    # Using them.

    def product(self, a, b, after=None):
        rows, columns = self.tiling
        chunks, length, width = self.chunks, self.panels * self.width, self.width

        def multiply(x, y, done):
            y = x if y is None else y

            def panel(s):
                # Both show the chunks of the inner index that they hold; a panel is a part of each.
                xs = x.reshape(x.shape[0], chunks // columns, length)
                ys = y.reshape(chunks // rows, length, y.shape[1])
                px = jax.lax.dynamic_slice_in_dim(xs, s * width, width, 2)
                py = jax.lax.dynamic_slice_in_dim(ys, s * width, width, 1)
                px = self._beside(_after(px.reshape(x.shape[0], -1), done))
                return px, self._above(py.reshape(-1, y.shape[1]))

            def add(s, result):
                px, py = panel(s)
                strips = math.gcd(py.shape[1], STRIPS)
                wide = py.shape[1] // strips

                def add_strip(j, result):
                    old = jax.lax.dynamic_slice_in_dim(result, j * wide, wide, 1)
                    new = old + px @ jax.lax.dynamic_slice_in_dim(py, j * wide, wide, 1)
                    return jax.lax.dynamic_update_slice_in_dim(result, new, j * wide, 1)

                return jax.lax.fori_loop(0, strips, add_strip, result)

            px, py = panel(0)  # not from zeros, of which the compiler would keep a tile
            return jax.lax.fori_loop(1, self.panels, add, px @ py)

        # Handed over twice, a square would keep a copy.
        given = (a, None if a is b else b, after)
        return self._map(multiply, *(None if x is None else self.spec for x in given))(*given)

    def _beside(self, panel: jax.Array) -> jax.Array:
        """The panels of all tiles of a row, side by side.

        They are gathered one after another and then turned: gathered side by side, the compiler
        would keep a transposed copy of the whole tile.
        """
        if "columns" not in self.mesh.shape:
            return panel
        panels = jax.lax.all_gather(panel, "columns")
        return jnp.moveaxis(panels, 0, 1).reshape(panel.shape[0], -1)

    def _above(self, panel: jax.Array) -> jax.Array:
        """The panels of all tiles of a column, one above the other."""
        if "rows" not in self.mesh.shape:
            return panel
        return jax.lax.all_gather(panel, "rows", axis=0, tiled=True)

    def after(self, matrix, done):
        return self._map(_after, self.spec, self.spec)(matrix, done)

    def times(self, matrix, vector):
        """The vector is whole on every device, and so is the result."""
        padded = jnp.pad(vector, (0, self.size - self.whole))

        def multiply(tile, vector):
            image = times_vector(tile, vector[self._own()[1]])
            return jax.lax.psum(image, "columns") if "columns" in self.mesh.shape else image

        out = PartitionSpec(self.spec[0])
        image = self._map(multiply, self.spec, PartitionSpec(), out=out)(matrix, padded)
        whole = NamedSharding(self.mesh, PartitionSpec())
        return jax.lax.with_sharding_constraint(image, whole)[: self.whole]


def _after(part: jax.Array, done: jax.Array | None) -> jax.Array:
    """No barrier holds the compiler for CPUs to an order, only a value that it has to know."""
    return part if done is None else part + 0 * done[0, 0]


AXES = ("rows", "columns")
_made = eqx.filter_jit(lambda tiles, operator: tiles.matrix(operator))


class Tiled(Operator):
    """A full matrix in tiles, on flattened coefficients that are whole on every device."""

    tiles: Tiles
    matrix: jax.Array
    shape: tuple[int, ...] = eqx.field(static=True)
    assumed_hermitian: bool = eqx.field(static=True)
    limits: tuple[jax.Array, jax.Array]

    def __init__(
        self,
        tiles: Tiles,
        matrix: jax.Array,
        shape: tuple[int, ...],
        assumed_hermitian: bool,
        limits: tuple[jax.Array, jax.Array],
    ):
        self.tiles = tiles
        self.matrix = matrix
        self.shape = shape
        self.assumed_hermitian = assumed_hermitian
        self.limits = limits

    @property
    def hermitian(self) -> bool:
        return self.assumed_hermitian

    def apply(self, psi: jax.Array) -> jax.Array:
        return self.tiles.times(self.matrix, psi.reshape(-1)).reshape(self.shape)

    def scaled(self, factor: Any) -> Tiled:
        hermitian = self.assumed_hermitian and keeps_hermitian(factor)
        matrix = real_like(factor, self.matrix) * self.matrix
        low, high = (jnp.real(real_like(factor, limit) * limit) for limit in self.limits)
        limits = (jnp.minimum(low, high), jnp.maximum(low, high))
        return Tiled(self.tiles, matrix, self.shape, hermitian, limits)

    def merged(self, other: Operator) -> Tiled | None:
        if not isinstance(other, Tiled):
            return None
        both = self.assumed_hermitian and other.assumed_hermitian
        limits = (self.limits[0] + other.limits[0], self.limits[1] + other.limits[1])
        return Tiled(self.tiles, self.matrix + other.matrix, self.shape, both, limits)

    def bounds(self) -> tuple[jax.Array, jax.Array]:
        """Those of the operator that it was made from."""
        return self.limits
