"""Field-free eigenstates as a basis: any atom enters by its energies and dipole elements only.

    ψ(t) = Σ_{l,i} C_li(t) Φ_li,    (Φ_li | H₀ | Φ_li) = E_li,    D_l = ⟨Φ_l,i| z |Φ_{l+1},j⟩

Coefficients have the shape (channels, n): one row for each l (or whatever else orders the blocks so
that light couples neighbours only). Blocks with fewer states than n are filled up with states that
couple to nothing.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from zitter import checks, io, runtime
from zitter.bases.base import Basis, Refused
from zitter.bases.edges import Edge, LastL
from zitter.bases.eigen import keeping, operators
from zitter.bases.eigen.divided import DividedEigenBasis
from zitter.bases.places import Places
from zitter.bases.spherical.basis import SphericalBasis
from zitter.bases.spherical.edges import Wall
from zitter.linalg.base import Operator
from zitter.linalg.chain import Chain
from zitter.linalg.diagonal import Diagonal
from zitter.linalg.sums import partition

WHOLE_ATOM = "use FieldFree(), which stands for the whole atom"


class EigenBasis(Basis):
    """Energies (channels, n), real blocks ⟨l|z|l+1⟩ and ⟨l|∂_z|l+1⟩ (channels − 1, n, n).

    `vectors` (channels, splines, n) are the states' coefficients on the `parent` basis, where there
    is one: spectra with angles and absorbers need them. `valence` is (l, number of states of that l
    below) of the shell that a run from a file starts from.
    """

    energies: jax.Array
    length: jax.Array | None
    velocity: jax.Array | None
    vectors: jax.Array | None
    parent: SphericalBasis | None = eqx.field(static=True)
    sizes: tuple[int, ...] = eqx.field(static=True)
    first: int = eqx.field(static=True)
    valence: tuple[int, int] | None = eqx.field(static=True)

    def __init__(
        self,
        energies: Any,
        length: Any = None,
        velocity: Any = None,
        *,
        sizes: Sequence[int] | None = None,
        first: int = 0,
        vectors: Any = None,
        parent: SphericalBasis | None = None,
        valence: tuple[int, int] | None = None,
    ):
        runtime.settings()
        energies = checks.array("energies", energies, (None, None))
        channels, n = energies.shape
        if np.iscomplexobj(energies):
            raise checks.InputError("energies", "must be real, but are complex")
        if length is None and velocity is None:
            raise checks.InputError("length", "must be given (or velocity), but both are missing")
        self.sizes = (n,) * channels if sizes is None else tuple(int(s) for s in sizes)
        if len(self.sizes) != channels or not all(1 <= s <= n for s in self.sizes):
            raise checks.InputError(
                "sizes", f"must be {channels} numbers from 1 to {n}, but is {self.sizes}"
            )
        self.energies = jnp.asarray(energies)
        self.length = _blocks("length", length, self.sizes, n)
        self.velocity = _blocks("velocity", velocity, self.sizes, n)
        self.first = checks.integer("first", first, 0)
        self.vectors = None if vectors is None else jnp.asarray(vectors)
        self.parent = parent
        self.valence = None if valence is None else (int(valence[0]), int(valence[1]))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.energies.shape

    @property
    def l(self) -> np.ndarray:  # noqa: E743
        return self.first + np.arange(self.shape[0])

    @property
    def orthonormal(self) -> bool:
        return True

    def inner(self, bra: jax.Array, ket: jax.Array) -> jax.Array:
        return jnp.vdot(bra, ket)

    def axes(self) -> dict[str, Any]:
        return {"l": self.l, "state": np.arange(self.shape[1])}

    def state(self, l: int, index: int = 0) -> jax.Array:
        """One eigenstate, by l and its place among the states of that l."""
        l = checks.integer("l", l, self.first, self.first + self.shape[0] - 1)
        index = checks.integer("index", index, 0, self.sizes[l - self.first] - 1)
        return jnp.zeros(self.shape).at[l - self.first, index].set(1.0)

    def project(self, psi: jax.Array) -> jax.Array:
        """C = cᵀSψ: a state of the parent basis in terms of these eigenstates."""
        if self.vectors is None or self.parent is None:
            raise checks.InputError(
                "basis", "must know its radial functions, but was read without them"
            )
        return jnp.einsum("lin,li->ln", self.vectors, self.parent.overlap(psi))

    def on_parent(self, psi: jax.Array) -> jax.Array:
        """The same state on the basis the eigenstates were found on."""
        if self.vectors is None:
            raise checks.InputError(
                "basis", "must know its radial functions, but was read without them"
            )
        return jnp.einsum("lin,ln->li", self.vectors, psi)

    def named_state(self, operator, l, below, m):
        if m is not None and self.parent is not None and m != self.parent.m:
            raise checks.InputError("m", f"must be that of the basis, {self.parent.m}, but is {m}")
        psi = self.state(l, below)
        return float(self.energies[l - self.first, below]), psi

    # Spectra. What works with this basis imports it, so it is imported when asked for.

    def channels_of(self, operator=None):
        """Those of the basis the states were found on."""
        if operator is not None:
            return Basis.channels_of(self, operator)
        if self.parent is None:
            raise Refused(self, "radial channels", "it was read without its radial functions")
        return self.parent.channels_of()

    def levels_of(self, operator=None):
        from zitter.bases.eigen.levels import EigenLevels

        return EigenLevels(self)

    def kept(self) -> dict[str, Any]:
        return keeping.kept(self)

    @classmethod
    def restored(cls, parts: dict[str, Any]) -> EigenBasis:
        return keeping.restored(cls, parts)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the layout that `read_eigenbasis` describes."""
        variables = {
            "l": io.Variable(self.l, ("l",), "1", "angular momentum"),
            "size": io.Variable(np.asarray(self.sizes), ("l",), "1", "number of states"),
            "energy": io.Variable(np.asarray(self.energies), ("l", "state"), "hartree", "energies"),
        }
        for name, blocks in (("length", self.length), ("velocity", self.velocity)):
            if blocks is not None:
                variables[name] = io.Variable(
                    np.asarray(blocks), ("pair", "state", "state_above"), "a.u.", f"{name} blocks"
                )
        if self.valence is not None:
            shell = np.asarray(self.valence)
            variables["valence"] = io.Variable(shell, ("shell",), "1", "l, states below")
        io.write(path, io.Dataset(variables, {"kind": "eigenbasis"}))

    # Operators.

    @property
    def directions(self) -> tuple[int, ...]:
        return (2,)

    def places(self) -> Places:
        raise Refused(self, "a function of space", WHOLE_ATOM)

    def kinetic(self, mass: Any = 1.0, order: Any = "spectral") -> Operator:
        raise Refused(self, "the kinetic energy", WHOLE_ATOM)

    def field_free(self) -> Operator:
        return Diagonal(self.energies, self.shape)

    def position(self, unit: Any) -> Operator:
        return operators.position(self, unit)

    def momentum(self, unit: Any, order: Any = "spectral") -> Operator:
        return operators.momentum(self, unit)

    def absorber(self, width: float, strength: Callable[[np.ndarray, float], Any]) -> Operator:
        return operators.absorber(self, width, strength)

    # Measuring and showing.

    def density(self, psi: jax.Array) -> jax.Array:
        return self._splines().density(self.on_parent(psi))

    def density_axes(self) -> dict[str, np.ndarray]:
        return self._splines().density_axes()

    def evaluate(self, psi: jax.Array, x: Any, y: Any, z: Any) -> Any:
        return self._splines().evaluate(self.on_parent(psi), x, y, z)

    def sphere(self, radius: float) -> Operator:
        raise Refused(
            self, "a sphere", "populations say what is bound; a sphere needs a SphericalBasis"
        )

    def edges(self, driven: bool, open_end: bool) -> tuple[Edge, ...]:
        last = (LastL(self),) if driven and self.shape[0] > 1 else ()
        if self.parent is None or self.vectors is None or not open_end:
            return last
        scaled = self.parent.complex_scaled
        return last if scaled else (*last, Wall(self.parent.radial, self.on_parent))

    def _splines(self) -> SphericalBasis:
        if self.parent is None or self.vectors is None:
            advice = "the states were read without their radial functions"
            raise Refused(self, "a function of space", advice)
        return self.parent

    # Devices.

    @property
    def mesh_axes(self) -> tuple[str, ...]:
        return ("l",)

    def divided(self, mesh: Mesh) -> DividedEigenBasis:
        return DividedEigenBasis(self, Chain(self.shape, mesh))

    # Implicit steps.

    def separate(self, operator: Operator) -> tuple[Operator | None, Operator | None]:
        """Energies are inverted one by one; light and absorbers are the rest."""
        return partition(operator, lambda part: isinstance(part, Diagonal))

    def __repr__(self) -> str:
        gauges = [g for g in ("length", "velocity") if getattr(self, g) is not None]
        size = sum(b.nbytes for b in (self.length, self.velocity) if b is not None)
        return (
            f"EigenBasis: l = {self.l[0]} … {self.l[-1]}, {self.shape[1]} states each, "
            f"dipoles in {' and '.join(gauges)} form, {size / 2**20:.0f} MiB"
        )


def read_eigenbasis(path: str | os.PathLike[str]) -> EigenBasis:
    """Any atom or molecule from an HDF5 file.

    energy     (channels, n)            hartree
    length     (channels − 1, n, n)     ⟨l,i| Σz |l+1,j⟩, real; and/or
    velocity   (channels − 1, n, n)     ⟨l,i| Σ∂_z |l+1,j⟩, real (p_z = −i∂_z)
    size       (channels,), optional    states in each block; what lies beyond must be zero
    l          (channels,), optional    labels, rising by one
    valence    (2,), optional           l and number of states of that l below the valence shell

    Instead of upper blocks the full matrices (channels, n, channels, n) are accepted: then
    hermiticity and the selection rule l ↔ l ± 1 are checked too.
    """
    data = io.read(checks.path("file", path)).variables
    if "energy" not in data:
        raise checks.InputError("energy", f'must be in the file, but "{path}" has {sorted(data)}')
    energies = checks.array("energy", data["energy"].data, (None, None))
    channels, n = energies.shape
    l = _whole_numbers("l", data, channels) or list(range(channels))
    if np.any(np.diff(l) != 1):
        raise checks.InputError("l", f"must rise by one over {channels} blocks, but is {l}")
    sizes = _whole_numbers("size", data, channels)
    valence = _whole_numbers("valence", data, 2)
    blocks = {}
    for name, sign in (("length", 1.0), ("velocity", -1.0)):
        if name in data:
            blocks[name] = data[name].data
            if np.ndim(blocks[name]) == 4:
                blocks[name] = _upper_blocks(name, blocks[name], (channels, n), sign)
    if not blocks:
        raise checks.InputError("length", f'must be in the file (or velocity), but "{path}" '
                                          f"has {sorted(data)}")  # fmt: skip
    try:
        return EigenBasis(
            energies,
            sizes=sizes,
            first=l[0],
            valence=None if valence is None else (valence[0], valence[1]),
            **blocks,
        )
    except checks.InputError as error:
        raise checks.InputError(_IN_FILES.get(error.key, error.key), error.message) from None


# What the file calls that which the arguments of EigenBasis name otherwise.
_IN_FILES = {"energies": "energy", "sizes": "size", "first": "l"}


def _whole_numbers(key: str, data: dict[str, io.Variable], count: int) -> list[int] | None:
    """As many whole numbers, or None where the file has no such entry."""
    if key not in data:
        return None
    numbers = checks.array(key, data[key].data, (count,))
    if np.iscomplexobj(numbers) or np.any(numbers % 1):
        raise checks.InputError(key, f"must be whole numbers, but is {numbers.tolist()}")
    return [int(x) for x in numbers]


def _blocks(key: str, blocks: Any, sizes: tuple[int, ...], n: int) -> jax.Array | None:
    """Upper blocks with a sentence for each way they can be wrong."""
    if blocks is None:
        return None
    channels = len(sizes)
    if checks.is_traced(blocks):
        return blocks
    blocks = checks.array(key, blocks, (channels - 1, n, n))
    if np.iscomplexobj(blocks):
        if np.any(blocks.imag):
            raise checks.InputError(
                key, "must be real (choose the states' phases so, and leave the −i of p_z out), "
                "but is complex"
            )  # fmt: skip
        blocks = blocks.real
    for i, (low, high) in enumerate(itertools.pairwise(sizes)):
        if np.any(blocks[i, low:]) or np.any(blocks[i, :, high:]):
            raise checks.InputError(
                key, f"must be zero beyond the {low} × {high} states of block {i}, but is not"
            )
    return jnp.asarray(blocks)


def _upper_blocks(key: str, full: np.ndarray, shape: tuple[int, int], sign: float) -> np.ndarray:
    """Upper blocks of a full matrix that is (anti)symmetric and couples neighbours only."""
    channels, n = shape
    full = checks.array(key, full, (channels, n, channels, n))
    scale = np.max(np.abs(full)) or 1.0
    wrong = np.max(np.abs(full - sign * np.transpose(full, (2, 3, 0, 1)))) / scale
    if wrong > 1e-10:
        kind = "symmetric" if sign > 0 else "antisymmetric"
        raise checks.InputError(
            key, f"must be {kind} for a Hermitian operator, but is off by {wrong:.1e} of its size"
        )
    i, j = np.indices((channels, channels))
    forbidden = np.moveaxis(full, 1, 2)[np.abs(i - j) != 1]
    if np.max(np.abs(forbidden), initial=0.0) > 1e-10 * scale:
        raise checks.InputError(
            key, "must couple l with l ± 1 only, but has elements between other blocks"
        )
    return np.stack([full[i, :, i + 1] for i in range(channels - 1)])
