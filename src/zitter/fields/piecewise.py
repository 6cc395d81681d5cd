"""Polynomials on adjoining intervals: splines through samples, and integrals of functions."""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from zitter import checks

TOLERANCE = 1e-13  # of the largest value of the integrand
_DEGREE = 7  # powers up to here are well conditioned on [−1, 1]: no digits are lost
_PANELS = 16
# Panels with a kink or a jump are halved down to this part of the whole. In single precision they
# must still be wider than the rounding of t.
_NARROWEST = 2.0**-20
_MOST_PANELS = 2**16


class Piecewise(eqx.Module):
    """f(t) = Σₖ cₖᵢ xᵏ,   x = (t − oᵢ)/wᵢ,   on tᵢ ≤ t ≤ tᵢ₊₁; constant before and after."""

    knots: Float[np.ndarray, " n"]  # tᵢ
    origins: Float[np.ndarray, " n-1"]  # oᵢ
    scales: Float[np.ndarray, " n-1"]  # wᵢ
    coefficients: Float[np.ndarray, "order n-1"]  # highest power first

    def __call__(self, t: Array) -> Array:
        first, last = self.knots[0], self.knots[-1]
        t = jnp.where(t < first, first, jnp.where(t > last, last, t))
        piece = jnp.clip(jnp.searchsorted(self.knots, t, side="right") - 1, 0, len(self.knots) - 2)
        x = (t - self.origins[piece]) / self.scales[piece]
        return jnp.polyval(self.coefficients[:, piece], x)


def spline(knots: np.ndarray, coefficients: np.ndarray) -> Piecewise:
    """From coefficients in powers of t − tᵢ, as SciPy has them."""
    return Piecewise(knots, knots[:-1], np.ones(len(knots) - 1), coefficients)


def integral(key: str, function: Callable[[np.ndarray], np.ndarray], length: float) -> Piecewise:
    """F(t) = ∫₀ᵗ f dt′, with f interpolated at Chebyshev points of panels that are halved where
    the interpolation misses f by more than `TOLERANCE` in between."""
    nodes = np.cos(np.pi * (np.arange(_DEGREE + 1) + 0.5) / (_DEGREE + 1))
    between = np.cos(np.pi * np.arange(_DEGREE + 2) / (_DEGREE + 1))
    to_powers = np.linalg.inv(np.vander(nodes)).T
    edges = np.linspace(0.0, length, _PANELS + 1)
    middle, half = (edges[:-1] + edges[1:]) / 2, np.full(_PANELS, length / _PANELS / 2)
    peak, count, done = 0.0, 0, []
    while len(middle):
        values = function(middle[:, None] + half[:, None] * np.append(nodes, between))
        peak = max(peak, float(np.max(np.abs(values))))
        powers = values[:, : len(nodes)] @ to_powers
        missed = np.abs(powers @ np.vander(between, len(nodes)).T - values[:, len(nodes) :])
        good = (missed.max(axis=1) <= TOLERANCE * peak) | (half < _NARROWEST * length)
        done.append((middle[good], half[good], powers[good]))
        count += len(middle)
        if count > _MOST_PANELS:
            raise checks.InputError(
                key, f"must be smooth between 0 and {length:g}, but cannot be integrated there"
            )
        half = np.repeat(half[~good] / 2, 2)
        middle = np.repeat(middle[~good], 2) + np.tile([-1.0, 1.0], len(half) // 2) * half
    middle, half, powers = (np.concatenate(parts) for parts in zip(*done, strict=True))
    order = np.argsort(middle)
    return _antiderivative(middle[order], half[order], powers[order], length)


def _antiderivative(
    middle: np.ndarray, half: np.ndarray, powers: np.ndarray, length: float
) -> Piecewise:
    """∫ of Σₖ cₖ xᵏ on each panel, joined without steps."""
    exponents = np.arange(powers.shape[1], 0, -1)
    raised = half[:, None] * powers / exponents
    before = np.sum(raised * (-1.0) ** exponents, axis=1)  # at x = −1, less the constant
    gains = np.sum(raised, axis=1) - before
    constants = np.cumsum(gains) - gains - before
    knots = np.append(middle - half, length)
    return Piecewise(knots, middle, half, np.vstack([raised.T, constants]))
