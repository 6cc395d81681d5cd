"""Nodes and weights of prolate spheroidal coordinates about two nuclei, a = R/2:

    z = aξη,   ρ = a √((ξ²−1)(1−η²)),   dV = a³(ξ²−η²) dξ dη dφ

η has Gauss–Legendre nodes. ξ is cut into elements: Gauss–Radau nodes in the first (none at ξ = 1,
where odd m have a square root), Gauss–Lobatto nodes in the others, joints shared, and the node at
the outer wall left out. Element e then holds the nodes e(n−1) … e(n−1) + n−1 of all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.special


class Rule(NamedTuple):
    """Points of a quadrature in each element, (elements, points); `q` is ξ²−1 or 1−η², without the
    cancellation at its zeros."""

    points: np.ndarray
    q: np.ndarray
    weights: np.ndarray


class Axis(NamedTuple):
    """One coordinate: the nodes, and a finer Gauss rule at which the Lagrange polynomials χ_j of
    the nodes have `values[e, p, j]` and `slopes[e, p, j]`.

    `total` are the weights of the functions: at a joint those of both sides.
    """

    nodes: Rule
    total: np.ndarray
    fine: Rule
    values: np.ndarray
    slopes: np.ndarray


class Layout(NamedTuple):
    """Both coordinates, and a³(ξ²−η²) at the nodes that are kept."""

    xi: Axis
    eta: Axis
    real: np.ndarray  # ξ − 1 of the nodes in elements, before exterior scaling
    volume: np.ndarray

    @property
    def kept_xi(self) -> np.ndarray:
        return kept(self.xi.nodes.points)

    @property
    def kept_eta(self) -> np.ndarray:
        return self.eta.nodes.points[0]


def kept(values: np.ndarray) -> np.ndarray:
    """One value for each ξ function, from values in elements: joints once, the wall left out."""
    return values[:, :-1].reshape(-1)


def layout(
    a: float, edges: tuple[float, ...], nodes: int, eta: int, turn: tuple[int, float] | None
) -> Layout:
    """`edges` are ξ−1 of the element ends; from element `turn[0]` on, ξ turns by `turn[1]` rad."""
    rules = [gauss_radau(nodes)] + [gauss_lobatto(nodes)] * (len(edges) - 2)
    phase, start = np.ones((len(rules), 1)), 0.0
    if turn is not None:
        phase, start = phase.astype(complex), edges[turn[0]]
        phase[turn[0] :] = np.exp(1j * turn[1])
    left, length = np.asarray(edges[:-1])[:, None], np.diff(edges)[:, None]

    def placed(x: np.ndarray, weights: np.ndarray) -> Rule:
        """A rule on [−1, 1] for each element, on the contour."""
        beyond = left + 0.5 * length * (1 + x)
        beyond = np.where(phase == 1, beyond, start + (beyond - start) * phase)  # ξ − 1
        return Rule(1 + beyond, beyond * (2 + beyond), 0.5 * length * phase * weights)

    x, weights = (np.stack([rule[i] for rule in rules]) for i in range(2))
    real = left + 0.5 * length * (1 + x)
    at_nodes, fine = placed(x, weights), placed(*gauss_legendre(nodes + 1))
    total = at_nodes.weights.copy()
    total[1:, 0] += total[:-1, -1]
    total[:-1, -1] = total[1:, 0]
    tables = [lagrange(row, gauss_legendre(nodes + 1)[0]) for row in x]
    values, slopes = (np.stack([table[i] for table in tables]) for i in range(2))
    xi_axis = Axis(at_nodes, total, fine, values, slopes / (0.5 * length * phase)[:, :, None])
    eta_axis = _eta_axis(eta)
    volume = a**3 * (kept(at_nodes.q)[:, None] + eta_axis.nodes.q[0][None, :])
    return Layout(xi_axis, eta_axis, real, volume)


def _eta_axis(count: int) -> Axis:
    rules = []
    for points in (count, count + 1):
        x, w = gauss_legendre(points)
        rules.append(Rule(x[None], ((1 - x) * (1 + x))[None], w[None]))
    values, slopes = lagrange(rules[0].points[0], rules[1].points[0])
    return Axis(rules[0], rules[0].weights, rules[1], values[None], slopes[None])


def gauss_legendre(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Symmetric to the last bit, so that parity is exact for equal charges."""
    x, w = scipy.special.roots_legendre(count)
    return 0.5 * (x - x[::-1]), 0.5 * (w + w[::-1])


def gauss_radau(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights on [−1, 1] with a node at 1 and none at −1."""
    x, w = scipy.special.roots_jacobi(count - 1, 1, 0)
    return np.append(x, 1.0), np.append(w / (1 - x), 2 / count**2)


def gauss_lobatto(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights on [−1, 1] with nodes at both ends."""
    x, w = scipy.special.roots_jacobi(count - 2, 1, 1)
    end = 2 / (count * (count - 1))
    return np.r_[-1.0, x, 1.0], np.r_[end, w / (1 - x**2), end]


def barycentric(x: np.ndarray) -> np.ndarray:
    """1/Π_{k≠j}(x_j − x_k), up to a common factor."""
    difference = x[:, None] - x[None, :] + np.eye(len(x))
    logs = -np.sum(np.log(np.abs(difference)), axis=1)
    return np.prod(np.sign(difference), axis=1) * np.exp(logs - logs.max())


def lagrange(nodes: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """χ_j(x_p) and χ_j′(x_p) of the Lagrange polynomials on the nodes, as [p, j]."""
    weights = barycentric(nodes)
    difference = nodes[:, None] - nodes[None, :] + np.eye(len(nodes))
    slopes = weights[None, :] / weights[:, None] / difference  # at the nodes themselves
    np.fill_diagonal(slopes, 0.0)
    np.fill_diagonal(slopes, -np.sum(slopes, axis=1))
    distance = x[:, None] - nodes[None, :]
    exact = distance == 0
    shares = weights / np.where(exact, 1.0, distance)
    values = shares / np.sum(shares, axis=1, keepdims=True)
    hit = np.any(exact, axis=1)
    values[hit] = exact[hit]
    return values, values @ slopes
