"""Operators that are diagonal after a transform: plane waves (periodic) or sines (zero boundary).

    Oψ = T⁻¹ ( Σ_axes s_axis(k) ) Tψ

The symbol is kept as one short row for each axis, since kinetic energy and momentum are sums over
axes; exponentials of it are products of short rows.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter.linalg.base import Operator, Unsupported, real_like, total
from zitter.linalg.layouts import Layout
from zitter.linalg.slabs import Slabs

# Up to this length a sine transform is one small matrix product, above it an FFT.
MATRIX_SINE_LIMIT = 256


class Transform(eqx.Module):
    """A unitary (up to a constant) change of basis that makes derivatives diagonal.

    With a `layout` grids lie in slabs on many devices, and what `forward` gives is cut along the
    second axis.
    """

    layout: eqx.AbstractVar[Slabs | None]

    @abc.abstractmethod
    def along(self, psi: jax.Array, axes: tuple[int, ...]) -> jax.Array:
        """The transform along some axes."""

    @abc.abstractmethod
    def back_along(self, phi: jax.Array, axes: tuple[int, ...]) -> jax.Array:
        """Its inverse."""

    def forward(self, psi: jax.Array) -> jax.Array:
        if self.layout is None:
            return self.along(psi, tuple(range(psi.ndim)))
        return self.layout.forward(self.along, psi)

    def backward(self, phi: jax.Array) -> jax.Array:
        if self.layout is None:
            return self.back_along(phi, tuple(range(phi.ndim)))
        return self.layout.backward(self.back_along, phi)

    @abc.abstractmethod
    def wave_numbers(self, n: int, spacing: float) -> np.ndarray:
        """k of each coefficient along one axis."""

    @abc.abstractmethod
    def matrix(self, symbol: np.ndarray) -> np.ndarray:
        """T⁻¹ s T along one axis, for a real symbol; of plane waves the real part."""


class Fourier(Transform):
    """Plane waves e^{ikx}, k = 2πm/(nh), in the order of numpy.fft."""

    layout: Slabs | None = None

    def along(self, psi, axes):
        return jnp.fft.fftn(psi, axes=axes)

    def back_along(self, phi, axes):
        return jnp.fft.ifftn(phi, axes=axes)

    def wave_numbers(self, n, spacing):
        return 2 * np.pi * np.fft.fftfreq(n, spacing)

    def matrix(self, symbol):
        unit = np.eye(len(symbol))
        return np.real(np.fft.ifft(symbol[:, None] * np.fft.fft(unit, axis=0), axis=0))


class Sine(Transform):
    """Sines that vanish one spacing beyond the ends: sin(πm(j+1)/(n+1)), m = 1…n (DST-I)."""

    layout: Slabs | None = None

    def along(self, psi, axes):
        for axis in axes:
            psi = sine_transform(psi, axis)
        return psi

    def back_along(self, phi, axes):
        return self.along(phi, axes)  # the orthonormal DST-I is its own inverse

    def wave_numbers(self, n, spacing):
        return np.pi * np.arange(1, n + 1) / ((n + 1) * spacing)

    def matrix(self, symbol):
        waves = _sine_matrix(len(symbol))
        return waves.T @ (symbol[:, None] * waves)


def sine_transform(psi: jax.Array, axis: int) -> jax.Array:
    """Orthonormal DST-I along one axis."""
    n = psi.shape[axis]
    if n <= MATRIX_SINE_LIMIT:
        return along_axis(_sine_matrix(n), psi, axis)
    zero = jnp.zeros_like(jax.lax.slice_in_dim(psi, 0, 1, axis=axis))
    odd = jnp.concatenate([zero, psi, zero, -jnp.flip(psi, axis)], axis)
    if jnp.iscomplexobj(psi):
        wave = 0.5j * jnp.fft.fft(odd, axis=axis)
    else:
        wave = -0.5 * jnp.imag(jnp.fft.rfft(odd, axis=axis))
    part = jax.lax.slice_in_dim(wave, 1, n + 1, axis=axis)
    return part * np.array(np.sqrt(2 / (n + 1)), dtype=jnp.finfo(psi.dtype).dtype)


def along_axis(matrix: Any, psi: jax.Array, axis: int) -> jax.Array:
    """A real matrix applied to one axis; complex ψ as two real arrays, which runs faster."""
    weights = jnp.asarray(matrix, dtype=jnp.finfo(psi.dtype).dtype)

    def product(x):
        return jnp.moveaxis(jnp.tensordot(weights, x, axes=(1, axis)), 0, axis)

    if not jnp.iscomplexobj(psi):
        return product(psi)
    return jax.lax.complex(product(jnp.real(psi)), product(jnp.imag(psi)))


def _sine_matrix(n: int) -> np.ndarray:
    j = np.arange(1, n + 1)
    return np.sqrt(2 / (n + 1)) * np.sin(np.pi * (np.outer(j, j) % (2 * n + 2)) / (n + 1))


class Spectral(Operator):
    """T⁻¹ s T with a separable symbol s(k) = Σ_axes s_axis(k_axis)."""

    transform: Transform
    symbols: tuple[jax.Array, ...]
    shape: tuple[int, ...] = eqx.field(static=True)
    even: bool = eqx.field(static=True)

    def __init__(
        self, transform: Transform, symbols: Any, shape: tuple[int, ...], even: bool = False
    ):
        """`even` says that s(−k) = s(k), which makes the matrix real also for plane waves."""
        self.transform = transform
        self.symbols = tuple(jnp.asarray(s) for s in symbols)
        self.shape = shape
        self.even = even

    @property
    def hermitian(self) -> bool:
        return not any(jnp.iscomplexobj(s) for s in self.symbols)

    @property
    def real(self) -> bool:
        return self.hermitian and (self.even or isinstance(self.transform, Sine))

    @property
    def dtype(self) -> Any:
        symbol = jnp.result_type(*self.symbols)
        return symbol if self.real else jnp.result_type(symbol, jnp.complex64)

    def rows(self, values: tuple[jax.Array, ...]) -> list[jax.Array]:
        """One row for each axis, shaped to broadcast over the grid."""
        ndim, layout = len(self.shape), self.transform.layout
        if layout is not None:
            values = tuple(layout.turned_row(v, axis) for axis, v in enumerate(values))
        return [
            v.reshape([-1 if a == axis else 1 for a in range(ndim)])
            for axis, v in enumerate(values)
        ]

    def divided(self, layout: Layout) -> Operator:
        if not isinstance(layout, Slabs):
            return Operator.divided(self, layout)
        _require_several_axes(layout)
        transform = dataclasses.replace(self.transform, layout=layout)
        return Spectral(transform, self.symbols, layout.shape, self.even)

    def apply(self, psi: jax.Array) -> jax.Array:
        symbol = total(self.rows(self.symbols))
        result = self.transform.backward(symbol * self.transform.forward(psi))
        return jnp.real(result) if self.real and not jnp.iscomplexobj(psi) else result

    def phases(self, tau: Any) -> tuple[jax.Array, ...]:
        """exp(−iτ s_axis), one row for each axis."""
        return tuple(jnp.exp(-1j * real_like(tau, s) * s) for s in self.symbols)

    def apply_phases(self, phases: tuple[jax.Array, ...], psi: jax.Array) -> jax.Array:
        """exp(−iτO)ψ from the rows that `phases` made."""
        phi = self.transform.forward(psi)
        for row in self.rows(phases):
            phi = phi * row
        return self.transform.backward(phi)

    def scaled(self, factor: Any) -> Spectral:
        symbols = [real_like(factor, s) * s for s in self.symbols]
        return Spectral(self.transform, symbols, self.shape, self.even)

    def merged(self, other: Operator) -> Spectral | None:
        if isinstance(other, Spectral) and type(other.transform) is type(self.transform):
            pairs = zip(self.symbols, other.symbols, strict=True)
            even = self.even and other.even
            return Spectral(self.transform, [a + b for a, b in pairs], self.shape, even)
        return None

    def bounds(self) -> tuple[jax.Array, jax.Array]:
        low = total(jnp.min(jnp.real(s)) for s in self.symbols)
        high = total(jnp.max(jnp.real(s)) for s in self.symbols)
        return low, high

    def axis_matrices(self) -> list[np.ndarray]:
        return [self.transform.matrix(np.real(np.asarray(s))) for s in self.symbols]

    def inverse_masses(self, spacing: Sequence[float]) -> np.ndarray:
        found = []
        for symbol, h in zip(self.symbols, spacing, strict=True):
            k = self.transform.wave_numbers(len(symbol), h)[1]
            found.append(2 * float(jnp.real(symbol[1])) / k**2)
        return np.asarray(found)


class PaddedMomentum(Operator):
    """−i d/dx along the axes of a zero-boundary grid: a plane-wave derivative on the doubled box.

    ψ is continued by zeros to length 2(n+1), differentiated there and cut back. The matrix is the
    antisymmetric part of the exact derivative of the sine series that `Sine` uses, so the operator
    is Hermitian, and exact where ψ vanishes at the boundary. `weights` scales each axis.
    """

    weights: jax.Array
    spacing: tuple[float, ...] = eqx.field(static=True)
    shape: tuple[int, ...] = eqx.field(static=True)
    layout: Slabs | None

    def __init__(
        self,
        weights: Any,
        spacing: tuple[float, ...],
        shape: tuple[int, ...],
        layout: Slabs | None = None,
    ):
        self.weights = jnp.asarray(weights)
        self.spacing = spacing
        self.shape = shape
        self.layout = layout

    @property
    def hermitian(self) -> bool:
        return not jnp.iscomplexobj(self.weights)

    @property
    def dtype(self) -> Any:
        return jnp.result_type(self.weights.dtype, jnp.complex64)

    def apply(self, psi: jax.Array) -> jax.Array:
        psi = psi.astype(jnp.result_type(psi.dtype, jnp.complex64))
        layout = self.layout
        if layout is None:
            return total(w * self._along(psi, a) for a, w in enumerate(self.weights))

        def local(slab, weights):
            first = layout.turn_back(self._along(layout.turn(slab), 0))
            others = (weights[a] * self._along(slab, a) for a in range(1, slab.ndim))
            return total([weights[0] * first, *others])

        return layout.local(local, psi, self.weights)

    def _along(self, psi: jax.Array, axis: int) -> jax.Array:
        n = psi.shape[axis]
        k = 2 * np.pi * np.fft.fftfreq(2 * (n + 1), self.spacing[axis])
        k[n + 1] = 0.0  # the Nyquist wave has no partner of opposite sign
        padding = [(0, n + 2) if a == axis else (0, 0) for a in range(psi.ndim)]
        symbol = jnp.asarray(k, dtype=jnp.finfo(psi.dtype).dtype)
        symbol = symbol.reshape([-1 if a == axis else 1 for a in range(psi.ndim)])
        wave = symbol * jnp.fft.fft(jnp.pad(psi, padding), axis=axis)
        return jax.lax.slice_in_dim(jnp.fft.ifft(wave, axis=axis), 0, n, axis=axis)

    def divided(self, layout: Layout) -> Operator:
        if not isinstance(layout, Slabs):
            return Operator.divided(self, layout)
        _require_several_axes(layout)
        return PaddedMomentum(self.weights, self.spacing, layout.shape, layout)

    def scaled(self, factor: Any) -> PaddedMomentum:
        weights = real_like(factor, self.weights) * self.weights
        return PaddedMomentum(weights, self.spacing, self.shape, self.layout)

    def merged(self, other: Operator) -> PaddedMomentum | None:
        if isinstance(other, PaddedMomentum):
            weights = self.weights + other.weights
            return PaddedMomentum(weights, self.spacing, self.shape, self.layout)
        return None

    def bounds(self) -> tuple[jax.Array, jax.Array]:
        largest = jnp.sum(jnp.abs(self.weights) * np.pi / np.asarray(self.spacing))
        return -largest, largest


def _require_several_axes(layout: Slabs) -> None:
    if len(layout.whole) == 1:
        raise Unsupported(
            "a line cannot be divided among devices by waves, each of which needs all of it; take "
            "differences, as in Kinetic(order=8), or one device"
        )
