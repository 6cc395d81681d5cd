"""Which images of Gaussian functions reach a cell.

The cell is that of coordinates within ±½ along (reduced) lattice vectors. A primitive function with
coefficient c reaches to the distance where |c| r^l e^{−αr²} falls below the tolerance. Images are
put into a few tiers by their distance to the cell, each with those functions only that reach it.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from zitter.qmc.orbitals import angular
from zitter.qmc.orbitals.gaussian_basis import GaussianBasis
from zitter.qmc.orbitals.gaussians import GaussianGroup, GroupedFunctions, grouped

MOST_TIERS = 4


class FoundTier(NamedTuple):
    """Functions of images (centers × images), and where they come from."""

    group: GaussianGroup
    images: np.ndarray  # (images, 3): lattice vectors T
    places: np.ndarray  # (functions × centers,) in the basis
    norms: np.ndarray  # (functions × centers,)
    homes: np.ndarray  # (functions × centers, 3): what brought the center into the cell


def tiers(
    basis: GaussianBasis, vectors: np.ndarray, inverse: np.ndarray, tolerance: float
) -> list[FoundTier]:
    """The tiers of all groups of equal centers."""
    found = []
    for functions in grouped(basis):
        group = functions.group
        homes = -np.round(group.centers @ inverse) @ vectors
        reach = reaches(group, basis.cartesian, tolerance)
        images, distances = images_near(group.centers + homes, vectors, inverse, np.max(reach))
        for low, high in zip(*_bounds(reach, distances, group), strict=True):
            inside = (distances > low) & (distances <= high)
            # At the least distance of the tier: what does not reach there reaches none of it.
            kept = reach >= np.min(distances[inside])
            found.append(_tier(functions, basis.cartesian, homes, images[inside], kept))
    return found


def reaches(group: GaussianGroup, cartesian: bool, tolerance: float) -> np.ndarray:
    """How far each exponential reaches, in any of the functions it belongs to."""
    r = np.linspace(0.0, 1.0, 400)[:, None]
    degrees = [l for l, number in enumerate(group.numbers) for _ in range(number)]
    found = np.zeros(len(group.exponents))
    for l, weights in zip(degrees, np.abs(group.weights), strict=True):
        size = angular.norm(l, cartesian) * weights
        # ln(size r^l e^{−αr²}/tolerance) < 0 beyond this radius for any l up to g.
        far = np.sqrt((np.log1p(size / tolerance) + 30) / group.exponents)
        radius = r * far
        amplitude = size * radius**l * np.exp(-group.exponents * radius**2)
        found = np.maximum(found, np.max(np.where(amplitude > tolerance, radius, 0.0), axis=0))
    return found


def images_near(
    centers: np.ndarray, vectors: np.ndarray, inverse: np.ndarray, radius: float
) -> tuple[np.ndarray, np.ndarray]:
    """Lattice vectors T with a center + T within `radius` of the cell, and their distances to it.

    Distances are those to the nearest of the centers, in the directions that are periodic.
    """
    # |n_i| ≤ |dual_i| × length of the point n·a.
    length = radius + np.sum(np.linalg.norm(vectors, axis=1))
    limits = np.ceil(length * np.linalg.norm(inverse, axis=0)).astype(int)
    steps = np.stack(np.meshgrid(*(np.arange(-m, m + 1) for m in limits), indexing="ij"), -1)
    images = steps.reshape(-1, len(vectors)) @ vectors
    distances = np.min(
        [distances_to_cell((center + images) @ inverse, vectors) for center in centers], axis=0
    )
    near = np.argsort(distances, kind="stable")
    near = near[distances[near] <= radius]
    return images[near], distances[near]


def distances_to_cell(coordinates: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Distances of points, given along the lattice vectors, to the nearest point of the cell.

    The nearest point minimizes a convex function over a box: one coordinate is minimized after
    another. Vectors are reduced, so few rounds suffice; what might be missing is subtracted.
    """
    metric = vectors @ vectors.T
    nearest = np.clip(coordinates, -0.5, 0.5)
    for _ in range(40):
        for i in range(len(vectors)):
            pull = (coordinates - nearest) @ metric[:, i] / metric[i, i]
            nearest[:, i] = np.clip(nearest[:, i] + pull, -0.5, 0.5)
    difference = coordinates - nearest
    return np.maximum(np.sqrt(np.einsum("pi,ij,pj->p", difference, metric, difference)) - 1e-3, 0)


def _bounds(
    reach: np.ndarray, distances: np.ndarray, group: GaussianGroup
) -> tuple[list[float], list[float]]:
    """Lower and upper distances of tiers, chosen so that the fewest functions are evaluated."""
    used = group.weights != 0

    def cost(low: float, high: float) -> float:
        inside = (distances > low) & (distances <= high)
        if not np.any(inside):
            return 0.0
        kept = reach >= np.min(distances[inside])
        active = np.any(used[:, kept], axis=1)
        degrees = np.repeat(np.arange(len(group.numbers)), group.numbers)
        return np.sum(inside) * (np.sum(kept) + np.sum(2 * degrees[active] + 1))

    # Distances of images without gap are one choice; the reaches of exponentials are the others.
    choices = np.unique(reach[reach > 0])[:-1]
    last = float(np.max(reach))
    best, least = (), np.inf
    for count in range(MOST_TIERS):
        for cuts in itertools.combinations(choices, count):
            edges = [-1.0, *cuts, last]
            total = sum(cost(a, b) for a, b in itertools.pairwise(edges))
            if total < 0.97 * least:
                best, least = cuts, total
    edges = [-1.0, *best, last]
    full = [
        (a, b) for a, b in itertools.pairwise(edges) if np.any((distances > a) & (distances <= b))
    ]
    return [a for a, _ in full], [b for _, b in full]


def _tier(
    functions: GroupedFunctions,
    cartesian: bool,
    homes: np.ndarray,
    images: np.ndarray,
    kept: np.ndarray,
) -> FoundTier:
    """The functions of a group with the exponentials `kept`, at all images of its centers."""
    group = functions.group
    active = np.any(group.weights[:, kept] != 0, axis=1)
    numbers, places, norms = [], [], []
    first = 0
    for l, number in enumerate(group.numbers):
        here = active[first : first + number]
        first += number
        numbers.append(int(np.sum(here)))
        places.append(functions.places[l][:, here].reshape(-1))
        norms.append(np.full(places[-1].size, angular.norm(l, cartesian)))
    while numbers[-1] == 0:
        numbers.pop()
    centers = (group.centers + homes)[:, None] + images
    chosen = GaussianGroup(
        centers=centers.reshape(-1, 3),
        exponents=group.exponents[kept],
        weights=group.weights[active][:, kept],
        numbers=tuple(numbers),
    )
    joined = np.concatenate(places)
    return FoundTier(
        chosen,
        images,
        joined,
        np.concatenate(norms),
        np.tile(homes, (joined.size // len(homes), 1)),
    )
