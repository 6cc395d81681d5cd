"""Operators of a grid on several numbers of devices: where they differ, and how they were cut."""

from __future__ import annotations

import equinox as eqx
import jax
import numpy as np

import zitter as zt
from zitter import runtime

apply = eqx.filter_jit(lambda operator, psi: operator.apply(psi))


def main(counts: list[int], shapes: list[list[int]], orders: list) -> list[dict]:
    rows = []
    for boundary in ("zero", "periodic"):
        for shape in shapes:
            grid = zt.Grid(shape, 0.4, boundary)
            numbers = np.random.default_rng(0)
            psi = numbers.standard_normal(shape) + 1j * numbers.standard_normal(shape)
            unit = np.asarray([0.3, 0.5, 0.7][: grid.dimension])
            for order in orders:
                named = {
                    "kinetic": grid.kinetic(1.0, order),
                    "momentum": grid.momentum(unit, order),
                }
                for name, operator in named.items():
                    about = {"boundary": boundary, "shape": shape, "order": order, "name": name}
                    rows.append(about | compared(grid, operator, psi, counts))
    return rows


def compared(grid, operator, psi, counts) -> dict:
    plain = np.asarray(apply(operator, psi))
    images, cut = [], []
    for devices in counts:
        mesh = runtime.make_mesh({"space": devices}, jax.devices()[0])
        assert mesh is not None
        basis = grid.divided(mesh)
        image = apply(basis.divide_operator(operator), basis.divide(psi))
        parts = [s.data.shape[0] for s in image.addressable_shards]
        cut.append(parts == [-(-psi.shape[0] // devices)] * devices)
        assert not np.any(np.asarray(image)[psi.shape[0] :])  # the padding stays zero
        images.append(np.asarray(basis.join(image)))
    size = np.max(np.abs(plain))
    return {
        "cut": all(cut),
        "same_bits": all(np.array_equal(image, images[0]) for image in images),
        "plain_bits": np.array_equal(images[0], plain),
        "error": max(float(np.max(np.abs(image - plain)) / size) for image in images),
    }
