"""Functions of a distance that end smoothly at a cutoff, and where that cutoff lies.

    g(r) = (1 − x)^C Θ(1 − x) Σ_l β_l x^l,   x = r/L

In x coefficients are of one size, and conditions on slopes do not depend on L, so that L itself may
be a parameter. With C = 3 g'' is continuous, and energies are differentiable in L.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.qmc.systems import System

REACH = 5.0  # bohr: about where the density of light atoms has died off


def cut_off(distance: Any, length: Any, smoothness: int, beta: Sequence[Any]) -> tuple:
    """g, g' and g'' at distances; the entries of `beta` broadcast against them."""
    scale = 1 / jnp.asarray(length).astype(distance.dtype)
    x = distance * scale
    inside = x < 1
    y = jnp.where(inside, 1 - x, 0)
    p = beta[-1] + 0 * x
    p1 = p2 = jnp.zeros_like(p)
    for b in beta[-2::-1]:
        p2 = p2 * x + 2 * p1
        p1 = p1 * x + p
        p = p * x + b
    c = smoothness
    top = jnp.where(inside, y ** (c - 2), 0)  # y⁰ would be 1 beyond the cutoff
    value = top * y * y * p
    slope = scale * top * y * (y * p1 - c * p)
    curvature = scale**2 * top * (y * y * p2 - 2 * c * y * p1 + c * (c - 1) * p)
    return value, slope, curvature


def with_slope(free: Any, slope: Any, length: Any, smoothness: int) -> Any:
    """β (…, order+1) from the free β₀, β₂, β₃, …: β₁ is what makes g'(0) = `slope` (…)."""
    first = free[..., :1]
    second = (slope * length)[..., None] + smoothness * first
    return jnp.concatenate([first, second, free[..., 1:]], axis=-1)


def fitted(target: Any, slope: float, length: float, order: int, c: int) -> np.ndarray:
    """The free coefficients of g nearest to target(r), with g'(0) = `slope` held."""
    r = np.linspace(1e-3, 1, 200) * length
    wanted = target(r)
    wanted = wanted - wanted[-1]
    x = r / length
    powers = [l for l in range(order + 1) if l != 1]
    columns = [(1 - x) ** c * x**l for l in powers]
    columns[0] = columns[0] + c * x * (1 - x) ** c
    fixed = slope * length * x * (1 - x) ** c
    matrix = np.stack(columns, axis=1) * x[:, None]
    ridge = 1e-6 * np.eye(len(powers))
    return np.linalg.solve(matrix.T @ matrix + ridge, matrix.T @ ((wanted - fixed) * x))


def chosen_cutoff(system: System, given: Any, share: float = 1.0) -> tuple[Any, bool]:
    """The cutoff of a term, and whether optimizers vary it: where it was not given and no cell
    bounds it. `share` is the part of the radius of the sphere inside the Wigner–Seitz cell that a
    term may use."""
    if system.cell is None:
        if given is not None:
            return given, False
        return np.float64(REACH if system.nuclei.count else REACH * system.length), True
    limit = np.float64(share * system.cell.inradius)
    if given is None:
        return limit, False
    if float(given) > limit * (1 + 1e-12):
        part = "" if share == 1.0 else f"{share:g} of "
        raise checks.InputError(
            "cutoff",
            f"must not exceed {part}the radius {system.cell.inradius:.6g} of the sphere inside the "
            f"Wigner–Seitz cell, but is {float(given):g}",
        )
    return given, False
