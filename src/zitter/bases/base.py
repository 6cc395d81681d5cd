"""What a state is expanded in, and the words in which everything else speaks to it.

A basis says what its coefficients mean (shape, metric) and makes what physics and methods are
written with: kinetic energy, multiplication by V(r), position, momentum, absorbers, densities,
resolvents, edges. Nobody else asks for its type: a word that a basis does not know is refused by
the method here, in a sentence that says what would do.
"""

from __future__ import annotations

import abc
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding

from zitter import checks, runtime, stored
from zitter.bases.edges import Edge
from zitter.bases.field_free import FieldFreeLevels
from zitter.bases.places import Places
from zitter.bases.plane_waves import PlaneWaves
from zitter.bases.split import LightSplit, diagonal_split
from zitter.linalg.base import Operator, Unsupported
from zitter.linalg.diagonal import Diagonal
from zitter.linalg.resolvents import (
    BandedResolvents,
    DenseResolvents,
    DiagonalResolvents,
    Resolvents,
)
from zitter.linalg.slabs import Slabs

DENSE_STEPS = 4096  # unknowns up to which an implicit step may use a full inverse


class Refused(Unsupported):
    """A word that a basis does not know; `advice` says what would do."""

    def __init__(self, basis: Basis, what: str, advice: str = ""):
        self.advice = advice
        text = f"{what} cannot be written on {checks.with_article(type(basis).__name__)}"
        super().__init__(f"{text}: {advice}" if advice else text)


def check_something_outside(radius: float, end: float) -> None:
    """A sphere around everything divides nothing."""
    if radius >= end:
        raise checks.InputError(
            "radius", f"must leave a part of the box outside, below {end:g}, but is {radius:g}"
        )


def check_norm(key: str, basis: Basis, psi: jax.Array) -> None:
    """Refuse a state whose ‖ψ‖², by which much is divided, is no number of its precision."""
    square, limits = float(jnp.abs(basis.inner(psi, psi))), np.finfo(psi.dtype)
    if not limits.tiny <= square <= limits.max:
        size = "small" if square < 1 else "large"
        raise checks.InputError(
            key, f"must have a norm that can be squared, but it is too {size}: normalize the state"
        )


class Basis(eqx.Module):
    """Coefficients live in an array of `shape`; the metric (overlap) lives here, not in operators.

    ⟨φ|ψ⟩ = φ† S ψ. For grids S is a number (the cell volume); for B-splines a banded matrix.
    Where S is a matrix, operators are the matrices ⟨B_i|O|B_j⟩ and the state Oψ is S⁻¹(O ψ).
    """

    shape: eqx.AbstractVar[tuple[int, ...]]
    # (l, number of states of that l below) of the valence shell, where it is made of an atom's.
    valence: ClassVar[Any] = None

    def __check_init__(self):
        # Whoever wrote the basis: precision is chosen before its first operator is made.
        runtime.settings()

    # The metric.

    @property
    @abc.abstractmethod
    def orthonormal(self) -> bool:
        """Whether S is a multiple of one, so that Hψ needs no solve with S."""

    @abc.abstractmethod
    def inner(self, bra: jax.Array, ket: jax.Array) -> jax.Array:
        """⟨bra|ket⟩."""

    @abc.abstractmethod
    def axes(self) -> dict[str, Any]:
        """Names and coordinate values of the axes, as they are written to files."""

    def overlap(self, psi: jax.Array) -> jax.Array:
        """Sψ, for S ≠ 1; on a grid operators leave the cell volume out, so ψ itself."""
        return psi

    def solve_overlap(self, image: jax.Array) -> jax.Array:
        """S⁻¹ of what an operator made of ψ: the coefficients of that state."""
        return image

    def braket(self, bra: jax.Array, image: jax.Array) -> jax.Array:
        """⟨bra|O|ket⟩ from image = O ket, as operators of this basis give it."""
        return self.inner(bra, image)

    def sparse_overlap(self) -> Any:
        """S as a sparse matrix (SciPy), None for one."""
        if self.orthonormal:
            return None
        raise Refused(self, "a sparse overlap")

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def checked(self, psi: Any) -> Any:
        """ψ, refused where it is not an array of `shape`."""
        if np.shape(psi) != self.shape:
            raise checks.InputError(
                "psi", f"must have the shape of the basis {self.shape}, but has {np.shape(psi)}"
            )
        return psi if checks.is_traced(psi) else runtime.native(psi)

    def norm(self, psi: jax.Array) -> jax.Array:
        """‖ψ‖ = √⟨ψ|ψ⟩."""
        return jnp.sqrt(jnp.real(self.inner(psi, psi)))

    def normalize(self, psi: jax.Array) -> jax.Array:
        return psi / self.norm(psi).astype(jnp.real(psi).dtype)

    # Space: where functions of place are multiplied, and in which directions things may point.

    @property
    def dimension(self) -> int:
        """Space dimension of one particle."""
        return 3

    @property
    def directions(self) -> tuple[int, ...]:
        """The Cartesian components that a mean vector may have; others are zero by symmetry."""
        return tuple(range(self.dimension))

    @property
    def lattice(self) -> tuple[float, ...] | None:
        """Spacings of a uniform lattice, which cannot hold a pole; None where the basis can."""
        return None

    @property
    def complex_scaled(self) -> bool:
        """Whether r leaves the real axis: operators are then symmetric instead of Hermitian, and
        mean values are not those of the electron."""
        return False

    @property
    def l(self) -> np.ndarray:  # noqa: E743
        """The angular momentum of each row of coefficients."""
        raise Refused(self, "a dependence on l", "it needs a SphericalBasis")

    def places(self) -> Places:
        """Where `multiply` wants the values of a function of space."""
        raise Refused(self, "a function of space")

    def sample(self, function: Callable[..., Any]) -> jax.Array:
        """ψ from a function of the coordinates (not normalized)."""
        raise Refused(self, "a function of the coordinates", "it needs a Grid")

    # Operators.

    def multiply(self, values: Any) -> Operator:
        """Multiplication by the function with these values at `places`; complex ones absorb."""
        raise Refused(self, "multiplication by a function of space")

    def kinetic(self, mass: Any = 1.0, order: Any = "spectral") -> Operator:
        """−∇²/2m; `order` of differences where the basis is a lattice."""
        raise Refused(self, "the kinetic energy")

    def position(self, unit: Any) -> Operator:
        """u·r, summed over the particles; `unit` has `dimension` components."""
        raise Refused(self, "the position")

    def momentum(self, unit: Any, order: Any = "spectral") -> Operator:
        """u·p = −i u·∇, summed over the particles."""
        raise Refused(self, "the momentum")

    def binding(self, operator: Operator) -> Operator | None:
        """The part of a field-free H whose commutator with p is the force, None for none."""
        return operator

    @property
    def carries_phase(self) -> bool:
        """Whether A²/2 of the velocity gauge, which turns the phase of the whole state and nothing
        else, is kept."""
        return False

    def depths(self, width: float) -> list[tuple[np.ndarray, float]]:
        """For each open end (0 … 1 over the outer `width` at `places`, spacing there)."""
        raise Refused(self, "an absorber")

    def absorber(self, width: float, strength: Callable[[np.ndarray, float], Any]) -> Operator:
        """−iW, W the sum of strength(depth, spacing) over the open ends."""
        found = [strength(depth, spacing) for depth, spacing in self.depths(width)]
        return self.multiply(-1j * sum(found[1:], found[0]))

    def mask_depths(self, width: float) -> list[np.ndarray]:
        """Depths as in `depths`, shaped to multiply coefficients."""
        raise Refused(self, "a mask", "take ComplexAbsorber, which acts in H")

    def sphere(self, radius: float) -> Operator:
        """1 within `radius` of the middle for every particle, 0 outside."""
        places = self.places()
        squares = [
            np.asarray(sum(np.asarray(x) ** 2 for x in places.of_particle(p)))
            for p in range(places.particles)
        ]
        check_something_outside(radius, max(np.sqrt(square.max()) for square in squares))
        inside = functools.reduce(np.logical_and, [square <= radius**2 for square in squares])
        return self.multiply(np.where(inside, 1.0, 0.0))

    def field_free(self) -> Operator:
        """The whole atom, where the basis is made of its states."""
        raise Refused(self, "FieldFree", "write the atom as Kinetic() and a potential")

    def matrix(self, matrix: Any) -> Operator:
        """A matrix between numbered states."""
        raise Refused(self, "a matrix", "matrices act on zt.Levels(n)")

    def dirac(self) -> Operator:
        """c α·p + (β − 1)c²."""
        raise Refused(self, "Dirac", "it needs a SpinorBasis; elsewhere use Kinetic()")

    def travelling_light(self, lmax: int) -> Any:
        """α_x F(r, θ) with Legendre components up to `lmax`, for any F at its `places`."""
        raise Refused(
            self, "DiracLight", "it needs a SpinorBasis; elsewhere use LengthGauge or VelocityGauge"
        )

    @property
    def periodic(self) -> bool:
        """Whether space closes on itself, so that r is no operator that suits it."""
        return False

    @property
    def light_advice(self) -> str:
        """What to use instead of a gauge that does not fit."""
        return ""

    def check_nuclei(self, charges: Any, positions: Any, rms: Any = None, potential: Any = None):
        """Refuse point charges (of finite size with `rms`) that the basis cannot follow, and warn
        where it follows them badly."""

    # Implicit steps.

    @property
    def stiff(self) -> bool:
        """Whether explicit steps do not suit: S is a matrix, or energies reach far beyond those of
        the physics."""
        return not self.orthonormal

    def separate(self, operator: Operator) -> tuple[Operator | None, Operator | None]:
        """(the part whose resolvents the basis knows, the rest), None for nothing."""
        return operator, None

    def resolvents(self, operator: Operator) -> Resolvents:
        """(S + zH₀)⁻¹ of a part that `separate` gave."""
        if isinstance(operator, Diagonal) and self.orthonormal:
            return DiagonalResolvents(operator.full())
        try:
            if self.orthonormal:
                return BandedResolvents(operator.as_banded())
            reason = f"{type(self).__name__} has an overlap matrix"
        except Unsupported as refusal:
            reason = str(refusal)
        if self.size > DENSE_STEPS:
            raise Unsupported(reason)
        overlap = None if self.orthonormal else jnp.asarray(dense_overlap(self))
        return DenseResolvents(operator.as_matrix(), overlap)

    def factored_resolvents(self, operator: Operator) -> Resolvents:
        """The same by factors among the splines of a basis too large to diagonalize."""
        raise Refused(
            self, "SplineCrankNicolson", "it needs a SpinorBasis; elsewhere use CrankNicolson"
        )

    def light_split(self, atom: Operator, lights: Sequence[Operator]) -> LightSplit:
        """Kicks e^{−iθO} by each of the operators that fields multiply, beside implicit steps of
        the field-free part (`AngularSplit`)."""
        if not self.orthonormal:
            raise Refused(
                self, "AngularSplit", "it needs light that is diagonal; use CrankNicolson"
            )
        return diagonal_split(lights)

    # Stationary states.

    def finds_states(self, operator: Operator) -> bool:
        """Whether `stationary` finds the lowest states of H, at any size."""
        return False

    def stationary(
        self, operator: Operator, n: int, near: float | None
    ) -> tuple[np.ndarray, Any, str] | None:
        """(energies, states, how) of the lowest n states, or those nearest to an energy, where the
        structure of the basis finds them; None where it has none."""
        return None

    def kappa_states(self, operator: Operator, kappa: int) -> tuple[np.ndarray, np.ndarray]:
        """All energies of one κ, positrons first, and the states as columns."""
        raise Refused(self, "states of one κ", "it needs a SpinorBasis")

    def named_state(
        self, operator: Operator, l: int, below: int, m: int | None
    ) -> tuple[float, jax.Array]:
        """(energy, ψ) of the state of angular momentum l with `below` others of that l below it.

        Where m is not given it is the only one that the basis has, or 0.
        """
        raise Refused(
            self, "states named by n and l", "count them by energy instead: state = 0, 1, …"
        )

    def box_errors(
        self, operator: Operator, energies: Any, states: Any
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """(energy shifts by the walls, densities there), None where no wall matters."""
        return None

    def image_errors(self, operator: Operator, energies: Any, states: Any) -> np.ndarray | None:
        """About what a single system's energies owe to its images where space closes on itself,
        None where it does not. Of a crystal they are no error."""
        return None

    def coarser(self, operator: Operator) -> tuple[Basis, Operator, Callable[[Any], Any]]:
        """(a basis of twice the spacing in the same box, H there, states back to this basis)."""
        raise Refused(self, "a coarser basis", "coarse_levels needs a Grid")

    def rescaled(self, factor: float) -> Basis:
        """The same box with about `factor` times the spacing."""
        raise Refused(self, "another spacing", "it needs a Grid")

    def moved(self, parts: Sequence[float]) -> tuple[Basis, Callable[[Any], np.ndarray]] | None:
        """(a basis of points that are a part of the spacing further along each axis of the same
        box, states there), None where operators are integrals instead of values at points."""
        return None

    def closer(self) -> Basis | None:
        """The same functions with more points for integrals, None where these are none."""
        return None

    def poorer(self, operator: Operator) -> dict[str, tuple[Basis, ...]]:
        """Bases that are poorer in one respect each, by its name: what the levels of H change by on
        them tells their errors. What cannot be poorer is richer, so that nothing is left out, and
        what converges by a factor with each function may be."""
        raise Refused(self, "another basis to compare with")

    def richer(self, name: str) -> Basis | None:
        """A basis that is richer in that respect of `poorer`, where the poorer one says too little:
        None where there is no other, or where it would tell no more."""
        return None

    def one_more_channel(self, operator: Operator) -> tuple[Basis, int, str] | None:
        """Where the operator keeps l: this basis with one l more, that l, and its key."""
        return None

    # Measuring and showing.

    def mean_position(self, psi: jax.Array) -> jax.Array:
        """⟨r⟩, summed over the particles, not divided by the norm."""
        self._require_whole_state()
        return self._vector(psi, lambda unit: self._mean(psi, self.position(unit)))

    def mean_momentum(self, psi: jax.Array) -> jax.Array:
        """⟨−i∇⟩."""
        self._require_whole_state()
        return self._vector(psi, lambda unit: self._mean(psi, self.momentum(unit)))

    def force(self, operator: Operator, psi: jax.Array) -> jax.Array:
        """d⟨p⟩/dt = i⟨[H₀, p]⟩ = −2 Im⟨H₀ψ|pψ⟩: the slope of the discrete ⟨p⟩ without light."""
        self._require_whole_state()
        real = jnp.finfo(psi.dtype).dtype
        binding = self.binding(operator)
        if binding is None:
            return self._vector(psi, lambda unit: jnp.zeros((), real))
        pulled = self.solve_overlap(binding.apply(psi))

        def along(unit):
            image = self.momentum(unit).astype(real).apply(psi)
            return -2 * jnp.imag(self.braket(pulled, image))

        return self._vector(psi, along)

    def _require_whole_state(self) -> None:
        if self.complex_scaled:
            raise Unsupported(
                "mean values of r, p and forces need all of the state, but beyond the radius of "
                "ExteriorScaling it is not that of the electron; record Ionization or Surface "
                "within it, or absorb by ComplexAbsorber instead"
            )

    def _mean(self, psi: jax.Array, operator: Operator) -> jax.Array:
        operator = operator.astype(jnp.finfo(psi.dtype).dtype)
        return jnp.real(self.braket(psi, operator.apply(psi)))

    def _vector(self, psi: jax.Array, along: Callable[[np.ndarray], jax.Array]) -> jax.Array:
        """Components along the axes; on a line one number."""
        units, zero = np.eye(self.dimension), jnp.zeros((), jnp.finfo(psi.dtype).dtype)
        found = [along(units[c]) if c in self.directions else zero for c in range(self.dimension)]
        return found[0] if self.dimension == 1 else jnp.stack(found)

    def density(self, psi: jax.Array) -> jax.Array:
        """The probability density on `density_axes`."""
        raise Refused(self, "a density")

    def density_axes(self) -> dict[str, np.ndarray]:
        """Names and points of what `density` gives: a line, a plane, space, or r for dP/dr."""
        raise Refused(self, "a density")

    def evaluate(self, psi: jax.Array, x: Any, y: Any, z: Any) -> Any:
        """ψ at places in space, for cube files and pictures."""
        raise Refused(self, "values at places in space")

    def on_sphere(self, psi: jax.Array, radius: float) -> jax.Array:
        """Radial functions and their slopes at a radius, (channels, 2)."""
        raise Refused(self, "a surface", "it needs a SphericalBasis")

    def kappa_weights(self, psi: jax.Array) -> tuple[np.ndarray, jax.Array]:
        """(κ, weight of each in ⟨ψ|ψ⟩)."""
        raise Refused(self, "weights of κ", "it needs a SpinorBasis")

    # Spectra.

    def channels_of(self, operator: Operator | None = None) -> Any:
        """Radial functions, l and m of the channels; with a field-free H its radial matrices."""
        raise Refused(self, "radial channels", "it needs a SphericalBasis")

    def levels_of(self, operator: Operator | None = None) -> FieldFreeLevels:
        """The levels of a field-free H, or those the basis is made of: populations are spectra."""
        raise Refused(self, "field-free levels", "it needs an EigenBasis or a SpinorBasis")

    def plane_waves(self, psi: Any) -> PlaneWaves:
        """The overlaps of ψ with plane waves."""
        raise Refused(self, "a momentum distribution", "it needs a SpinorBasis")

    # Edges.

    def edges(self, driven: bool, open_end: bool) -> tuple[Edge, ...]:
        """Where a run may reach the end of the basis: under light (`driven`), and at a wall that
        nothing absorbs before (`open_end`)."""
        return ()

    # Files.

    def kept(self) -> dict[str, Any]:
        """What a file keeps of it: its fields, less those that follow from others."""
        return stored.fields_of(self)

    @classmethod
    def restored(cls, parts: dict[str, Any]) -> Basis:
        """The same basis from what `kept` gave."""
        return stored.with_fields(cls, parts)

    # Devices.

    @property
    def mesh_axes(self) -> tuple[str, ...]:
        """The axes of a mesh that can divide it."""
        return ()

    def divided(self, mesh: Mesh) -> Basis:
        """The same basis with its coefficients on many devices, in arrays that may be padded."""
        raise Refused(self, "coefficients on many devices")

    @property
    def whole(self) -> tuple[int, ...]:
        """The shape of states without padding."""
        return self.shape

    @property
    def shares(self) -> dict[str, list[int]]:
        """For each mesh axis in use, how many rows of coefficients each device holds."""
        return {}

    @property
    def slabs(self) -> Slabs | None:
        """How a divided grid lies on the devices, for transforms along its axes."""
        return None

    @property
    def even_cut(self) -> NamedSharding | None:
        """How whole states lie in parts on the devices of the mesh, None where they do not."""
        return None

    def cut_evenly(self, array: Any) -> Any:
        """States, or what broadcasts over them, cut like that where they can be: whole on one
        device they would have to fit it."""
        place = self.even_cut
        return array if place is None else runtime.cut_like(array, self.shape, place)

    def divide(self, array: Any) -> Any:
        """States of shape `whole`, with axes before theirs or none, as states of this basis."""
        return array

    def keep(self, array: Any) -> Any:
        """States of this basis, held on the devices where they belong."""
        return array

    def join(self, array: Any) -> Any:
        """The inverse of `divide`."""
        return array

    def in_order(self, array: Any) -> Any:
        """An array of a run, if it holds states, as checkpoints keep it for any number of devices;
        padding may follow."""
        return array

    def from_order(self, values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """The inverse, for an array of this `shape`; padding at its end may be missing."""
        return values

    def divide_operator(self, operator: Operator) -> Operator:
        """An operator of the basis that this one divides, on this one."""
        return operator


def dense_overlap(basis: Basis) -> np.ndarray:
    """S as a full matrix."""
    unit = jnp.eye(basis.size).reshape(basis.size, *basis.shape)
    columns = jax.lax.map(basis.overlap, unit, batch_size=256)
    return np.asarray(columns).reshape(basis.size, basis.size).T
