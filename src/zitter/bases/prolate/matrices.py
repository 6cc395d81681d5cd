"""Matrices of kinetic energy and momentum between the functions f_i(ξ) and g_k(η).

    f_i = χ_i(ξ)/√w_i for even m,   √(q/q_i) χ_i(ξ)/√w_i for odd m,   q = ξ²−1 (1−η² for η)

χ_i are the Lagrange polynomials of an element; the square root is how ψ starts at the axis. With
Gauss points one more than the nodes the integrals of derivatives are exact: on the nodes alone the
highest function in η has, for odd m, a kinetic energy far too low, and becomes a false bound state.
Matrices are stored by elements [e, i, j].
"""

from __future__ import annotations

import numpy as np

from zitter.bases.prolate.coordinates import Axis


def stiffness(axis: Axis, m: int, sign: int) -> np.ndarray:
    """K_ij = ∫ q f_i′ f_j′ + m² f_i f_j/q, `sign` that of q′ = ±2ξ.

    For odd m √q f_j′ = (±ξ χ_j + q χ_j′)/√(q_j w_j), a polynomial. The last term is a function of
    place, so diagonal; at a joint each side gives its share of the weight.
    """
    rule = axis.fine
    if m % 2:
        images = sign * rule.points[:, :, None] * axis.values + rule.q[:, :, None] * axis.slopes
        found = _summed(rule.weights, images, images)
    else:
        found = _summed(rule.weights * rule.q, axis.slopes, axis.slopes)
    found = 0.5 * (found + found.transpose(0, 2, 1))  # products may differ in the last bit
    centrifugal = m**2 / np.where(axis.nodes.q == 0, 1.0, axis.nodes.q)
    share = axis.nodes.weights / axis.total
    return found * _scales(axis, m) + (share * centrifugal)[:, :, None] * np.eye(share.shape[1])


def derivative(axis: Axis, m: int) -> np.ndarray:
    """B_ij = ½ ∫ q (f_i f_j′ − f_i′ f_j), antisymmetric."""
    weights = axis.fine.weights * axis.fine.q ** (2 if m % 2 else 1)
    found = _summed(weights, axis.values, axis.slopes)
    return 0.5 * (found - found.transpose(0, 2, 1)) * _scales(axis, m)


def _summed(weights: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Σ_p w_p L_pi R_pj in each element."""
    return left.transpose(0, 2, 1) @ (weights[:, :, None] * right)


def _scales(axis: Axis, m: int) -> np.ndarray:
    """1/√(w_i w_j), for odd m with q_i q_j as well."""
    norms = 1 / np.sqrt(axis.total * (axis.nodes.q if m % 2 else 1.0))
    return norms[:, :, None] * norms[:, None, :]


def dense(blocks: np.ndarray) -> np.ndarray:
    """The matrix among all kept ξ functions, from that of each element."""
    elements, n = blocks.shape[:2]
    full = np.zeros((elements * (n - 1) + 1,) * 2, blocks.dtype)
    for e, block in enumerate(blocks):
        here = slice(e * (n - 1), e * (n - 1) + n)
        full[here, here] += block
    return full[:-1, :-1]
