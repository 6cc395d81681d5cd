"""The light on spinors as a sum of Kronecker products, Σ_l (angular matrix l) ⊗ (radial matrix l).

    ⟨κ'μ'i'|α_x F|κμi⟩ = i Σ_l [Θ_l(κ'μ', −κμ) ∫ F_l P_i' Q_i dr − Θ_l(−κ'μ', κμ) ∫ F_l Q_i' P_i dr]
    Θ_l(κ'μ', κμ) = ⟨X_κ'μ'|σ_x P_l(cos θ)|X_κμ⟩,        F(r, θ) = Σ_l F_l(r) P_l(cos θ)

by Wigner 3j symbols, with radial matrices g⁰ + κ'g¹ + κg² + κ'κg³. This is how the elements are
written in the literature, independent of the quadrature in `SpinorLight`, and the way to an
assembled sparse matrix: the oracle of the tests and the peer of the benchmarks.
"""

from __future__ import annotations

import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse

from zitter.bases import angular
from zitter.bases.spinor.basis import SpinorBasis
from zitter.bases.spinor.blocks import SpinorBlocks
from zitter.bases.spinor.kinetic_balance import allowed, doublets, integrals
from zitter.bases.spinor.light import SpinorLight, angles
from zitter.linalg.bands import banded_product
from zitter.linalg.base import Operator, keeps_hermitian, real_like, total


class Kronecker(Operator):
    """i Σ_l Σ_ab (κ'ᵃ Θ_l κᵇ) ⊗ g_lab, less its transpose; dense in the channels."""

    angular: jax.Array  # (l, channels, channels)
    radial: jax.Array  # (l, a, b, 2p + 1, 2n)
    basis: SpinorBasis = eqx.field(static=True)

    def __init__(self, light: SpinorLight):
        self.basis = light.basis
        moments = legendre_moments(light)
        self.angular = jnp.asarray(angular_matrices(self.basis, light.lmax))
        self.radial = jnp.asarray(radial_matrices(self.basis, moments))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.basis.shape

    @property
    def hermitian(self) -> bool:
        return keeps_hermitian(self.radial)

    @property
    def dtype(self) -> Any:
        return jnp.result_type(self.radial, jnp.complex64)

    def apply(self, psi: jax.Array) -> jax.Array:
        real = jnp.finfo(self.radial.dtype).dtype
        kappa = jnp.asarray(self.basis.kappas, real)[:, None]
        used = jnp.asarray(allowed(self.basis.kappas, self.basis.radial.n), real)
        powers = jnp.stack([used, kappa * used])  # of κ, for unknowns in use
        states = powers * psi  # (power, channels, 2n)
        forth = banded_product(self.radial[:, :, :, None], states[None, None])
        back = banded_product(transposed(self.radial)[:, :, :, None], states[None, :, None])
        image = jnp.einsum("acn,lcd,labdn->cn", powers, self.angular, forth)
        image = image - jnp.einsum("bcn,ldc,labdn->cn", powers, self.angular, back)
        return 1j * image

    def scaled(self, factor: Any) -> Kronecker:
        radial = real_like(factor, self.radial) * self.radial
        return eqx.tree_at(lambda o: o.radial, self, radial)

    def merged(self, other: Operator) -> Kronecker | None:
        if not isinstance(other, Kronecker) or other.basis != self.basis:
            return None
        if self.angular.shape != other.angular.shape:
            return None
        return eqx.tree_at(lambda o: o.radial, self, self.radial + other.radial)

    def bounds(self) -> tuple[jax.Array, jax.Array]:
        """±2 Σ of products of row sums."""
        kappa = float(self.basis.kappa_max)
        radial = jnp.max(jnp.sum(jnp.abs(self.radial), axis=3), axis=3)  # (l, a, b)
        powers = np.asarray([[1, kappa], [kappa, kappa**2]])
        rows = jnp.max(jnp.sum(jnp.abs(self.angular), axis=2), axis=1)
        columns = jnp.max(jnp.sum(jnp.abs(self.angular), axis=1), axis=1)
        reach = 2 * jnp.sum(jnp.sum(radial * powers, axis=(1, 2)) * jnp.maximum(rows, columns))
        return -reach, reach

    def as_csr(self) -> scipy.sparse.csr_matrix:
        """The whole matrix, with complex entries; its size grows as channels × κ × 2n × 62."""
        table, radial = np.asarray(self.angular), np.asarray(self.radial)
        blocks: list[list[Any]] = []
        kappas, n = self.basis.kappas, self.shape[1]
        used = allowed(kappas, self.basis.radial.n) > 0
        for row, k in enumerate(kappas):
            line: list[Any] = []
            for column, q in enumerate(kappas):
                forth, back = table[:, row, column], table[:, column, row]
                if not (np.any(forth) or np.any(back)):
                    line.append(None)
                    continue
                bands = np.einsum("l,labkn->abkn", forth, radial)
                bands = sum(k**a * q**b * bands[a, b] for a, b in np.ndindex(2, 2))
                other = np.einsum("l,labkn->abkn", back, radial)
                other = sum(q**a * k**b * other[a, b] for a, b in np.ndindex(2, 2))
                block = sparse_from_bands(1j * (bands - np.asarray(transposed(other))))
                keep = [scipy.sparse.diags(used[i].astype(float)) for i in (row, column)]
                line.append(keep[0] @ block @ keep[1])
            line[row] = scipy.sparse.csr_matrix((n, n)) if line[row] is None else line[row]
            blocks.append(line)
        return scipy.sparse.csr_matrix(scipy.sparse.bmat(blocks, format="csr"))


def assembled(operator: Operator) -> scipy.sparse.csr_matrix:
    """H₀ and the light of a spinor Hamiltonian as one sparse matrix, for small cases."""
    parts = getattr(operator, "parts", (operator,))
    return total(_assembled_part(part) for part in parts).tocsr()


def _assembled_part(part: Operator) -> scipy.sparse.csr_matrix:
    if isinstance(part, SpinorBlocks):
        places = {int(k): i for i, k in enumerate(part.basis.distinct_kappas)}
        bands = np.asarray(part.bands())
        blocks = [sparse_from_bands(bands[places[int(k)]]) for k in part.basis.kappas]
        return scipy.sparse.csr_matrix(scipy.sparse.block_diag(blocks, format="csr"))
    if isinstance(part, SpinorLight):
        return Kronecker(part).as_csr()
    raise TypeError(f"{type(part).__name__} is no operator on spinors")


def legendre_moments(light: SpinorLight) -> np.ndarray:
    """F_l at the radial points of the matrix elements, (l, intervals, points)."""
    x, weights = angles(light.basis, light.lmax)
    field = np.asarray(light.scale * light.field).reshape(len(x), -1)
    polynomials = np.polynomial.legendre.legvander(x, light.lmax)
    norms = np.arange(light.lmax + 1) + 0.5
    moments = norms[:, None] * ((polynomials * weights[:, None]).T @ field)
    r = _points(light.basis).r
    return moments[:, : r.size].reshape(-1, *r.shape)


def radial_matrices(basis: SpinorBasis, moments: np.ndarray) -> np.ndarray:
    """g_lab, bands of ∫ F_l P_a Q_b dr with P = P_0 + κ'P_1 and Q = Q_0 + κQ_1."""
    d = _points(basis)

    def bands(values, a, b):
        pairs = [(values, d.P[a : a + 1], d.Q[b : b + 1])]
        return integrals(basis.radial, pairs, d.weights)[0]

    return np.stack([[[bands(f, a, b) for b in (0, 1)] for a in (0, 1)] for f in moments])


def _points(basis: SpinorBasis):
    return doublets(basis.radial, basis.c, basis.radial.degree + 1)


def angular_matrices(basis: SpinorBasis, lmax: int) -> np.ndarray:
    """Θ_l(κ'μ', −κμ), (l, channels, channels)."""
    kappas, mus = basis.kappas, basis.mus
    matrices = np.zeros((lmax + 1, len(kappas), len(kappas)))
    for row, column in np.argwhere(np.abs(mus[:, None] - mus) == 1):
        matrices[:, row, column] = angular_element(
            int(kappas[row]), float(mus[row]), -int(kappas[column]), float(mus[column]), lmax
        )
    return matrices


def angular_element(kappa: int, mu: float, other: int, nu: float, lmax: int) -> np.ndarray:
    """⟨X_κμ|σ_x P_l|X_κ'ν⟩ for l = 0 … lmax."""
    (up, down), (other_up, other_down) = (
        angular.spin_coefficients(kappa, mu),
        angular.spin_coefficients(other, nu),
    )
    # σ_x turns the spin over, and P_l keeps m.
    m, weight = (nu + 0.5, up * other_down) if mu > nu else (nu - 0.5, down * other_up)
    l, k = int(angular.orbital(kappa)), int(angular.orbital(other))
    if abs(m) > min(l, k):
        return np.zeros(lmax + 1)
    return float(weight) * np.asarray([_gaunt(l, k, p, round(m)) for p in range(lmax + 1)])


@functools.lru_cache(maxsize=200_000)
def _gaunt(l: int, k: int, p: int, m: int) -> float:
    """⟨l m|P_p|k m⟩ = (−1)^m √((2l+1)(2k+1)) (l p k; 0 0 0)(l p k; −m 0 m)."""
    root = np.sqrt((2 * l + 1) * (2 * k + 1))
    symbols = angular.wigner_3j(l, p, k, 0, 0, 0) * angular.wigner_3j(l, p, k, -m, 0, m)
    return float((-1) ** m * root * symbols)


def transposed(bands: Any) -> jax.Array:
    """Bands of the transposed matrix: Oᵀ[j, j + k] = O[j + k, j]."""
    p, n = bands.shape[-2] // 2, bands.shape[-1]
    wide = jnp.pad(bands, [(0, 0)] * (bands.ndim - 1) + [(p, p)])
    rows = [wide[..., p - k, p + k : p + k + n] for k in range(-p, p + 1)]
    return jnp.stack(rows, axis=-2)


def sparse_from_bands(bands: np.ndarray) -> scipy.sparse.csr_matrix:
    """bands[p + k, j] = O[j, j + k] as a sparse matrix."""
    p, n = bands.shape[0] // 2, bands.shape[1]
    diagonals = [bands[p + k, max(0, -k) : n - max(0, k)] for k in range(-p, p + 1)]
    offsets: Any = list(range(-p, p + 1))
    return scipy.sparse.csr_matrix(scipy.sparse.diags(diagonals, offsets, (n, n)))
