"""Forces on nuclei: the derivative of the energy, with electrons that go along.

A nucleus I that moves by u_I takes its orbitals and Jastrow functions with it, and each electron by
Σ_I ω_I(r) u_I, ω_I = r_I⁻⁴ / Σ_J r_J⁻⁴ (space warp; Umrigar 1989, Filippi and Umrigar, Phys. Rev. B
61, R16291). With D_I the derivative along that way, the energy ⟨E_L⟩ over |Ψ|² has

    F_I = −⟨D_I E_L⟩ − ⟨(E_L − ⟨E_L⟩)(2 D_I ln|Ψ| + Σ_i ∇_i ω_I(r_i))⟩ .

The first term holds the force of Hellmann and Feynman, the second that of Pulay.

An electron near a nucleus moves with it, 1 − ω = O(r⁴), so that Z/r² never appears. Where Ψ = 0, a
distance d away, both terms grow as 1/d²: their mean exists, their variance does not. Each is
therefore multiplied by f(d/ε), f(x) = 9x² − 15x⁴ + 7x⁶ for x < 1 and 1 beyond, with
d = 1/|∇ ln Ψ| (Pathak and Wagner, AIP Advances 10, 085213 (2020)). ∫(1 − f)dx = 0 leaves a bias of
O(ε³).
"""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks, runtime
from zitter.qmc.energies import local_energy
from zitter.qmc.estimators.base import Estimator, Prepared, average

NEAR_NODES = 0.05  # ε in units of the system's length
# Electrons whose energies are differentiated together, which takes some 100 kB for each.
TOGETHER = {"cpu": 2**11, "gpu": 2**16}


class Forces(Estimator):
    """The force on each nucleus of an atom or a molecule, in hartree/bohr.

    It is minus the derivative of the energy of Ψ whose orbitals and Jastrow functions follow the
    nuclei, Pulay's terms included; with its coefficients as they are, which is the whole derivative
    where the energy is stationary in them. `distance` is ε in bohr, how near to nodes of Ψ terms
    are damped: 0.05 times the length of the system unless given.

    Nuclei may be bare or have pseudopotentials. In DMC it is a mixed estimate, with derivatives of
    Ψ for those of the projected state (Reynolds' approximation).
    """

    distance: float | str | None = None
    at_twists: ClassVar[bool] = False

    def prepare(self, system):
        if system.cell is not None:
            raise checks.InputError(
                "estimators",
                "must not hold Forces for a system with a cell, whose Ewald sums do not follow "
                "nuclei: take differences of energies",
            )
        if system.nuclei.count == 0:
            raise checks.InputError("estimators", "must not hold Forces where there is no nucleus")
        if self.distance is None:
            near = NEAR_NODES * system.length
        else:
            near = checks.positive("distance", self.distance, "length")
        return _Forces(system.nuclei.positions, system.nuclei.charges, np.asarray(near, np.float64))

    def check(self, psi):
        psi.displaced(np.zeros(np.shape(psi.system.nuclei.positions)))


class _Forces(Prepared):
    positions: Any  # (nuclei, d)
    charges: Any
    near: Any  # ε
    name: ClassVar[str] = "forces"

    def at_once(self, psi):
        allowed = TOGETHER.get(runtime.settings().device.platform, TOGETHER["gpu"])
        return max(allowed // psi.system.electrons, 1)

    def evaluate(self, psi, walker, key):
        """E_L, then f·D E_L, f·w and f·E_L w, each (nuclei, d), w = 2 D ln|Ψ| + Σ_i ∇_i ω(r_i)."""
        shares = jax.vmap(self.shares, in_axes=1)(walker.r)  # (N, nuclei)

        def at(shift: Any) -> tuple[Any, Any]:
            moved = psi.displaced(shift)
            there = moved.start(walker.r + (shares @ shift).T)
            return local_energy(moved, there, key)["energy"], there.log

        # Backwards: one energy, and derivatives in all directions.
        (energy, _), slopes = jax.vjp(at, jnp.zeros(np.shape(self.positions)))
        (along,), (log,) = slopes((1.0, 0.0)), slopes((0.0, 1.0))
        spread = jnp.sum(jax.vmap(jax.jacfwd(self.shares), in_axes=1)(walker.r), axis=0)
        weight = 2 * log + spread
        damping = self.damping(psi.derivatives(walker)[0])
        terms = damping * jnp.stack([along, weight, energy * weight])
        return jnp.concatenate([energy[None], terms.reshape(-1)])

    def shares(self, place: Any) -> Any:
        """ω_I (nuclei,) of an electron at a place (d,)."""
        square = jnp.sum((place - self.positions) ** 2, axis=1)
        return jax.nn.softmax(-2 * jnp.log(square))

    def damping(self, gradient: Any) -> Any:
        """f(d/ε), with ∇_i ln Ψ (d, N)."""
        square = jnp.minimum(1 / (self.near**2 * jnp.sum(jnp.abs(gradient) ** 2)), 1.0)
        return square * (9 + square * (7 * square - 15))

    def finalize(self, blocks, weights):
        shape = (len(blocks), 3, *self.positions.shape)
        energy, terms = blocks[:, 0, None, None], blocks[:, 1:].reshape(shape)
        along, weight, product = np.moveaxis(terms, 1, 0)
        E, w = (np.average(x, axis=0, weights=weights) for x in (energy, weight))
        # Linear around the means, so that blocks hold the fluctuations of ⟨E_L⟩ as well.
        mean, error = average(-(along + product - E * weight - w * (energy - E)), weights)
        nuclei = np.column_stack([self.charges, self.positions])
        x = np.arange(1, len(nuclei) + 1)
        return {"x": x, "mean": mean.T, "error": error.T, "nuclei": nuclei}
