"""The energy of semilocal pseudopotentials, beside −Z/r of the Coulomb energy.

    local:     Σ_iI v_loc(r_iI)
    nonlocal:  Σ_iI Σ_q v_q Ψ(r_i → r_q)/Ψ,   r_q = R_I + r_iI Ω_q,
               v_q = w_q Σ_l (2l+1) v_l(r_iI) P_l(cos ∠(r_i, r_q)),

with a quadrature Ω_q of the sphere that is turned at random for each electron and evaluation, which
makes the mean exact for every rule (Fahy, Wang and Louie, Phys. Rev. B 42, 3503 (1990)).

Only electrons inside a core count, where some |v_l| exceeds `NEGLECTED`. Pairs of electrons and
cores that do are put first, and evaluated in portions until none is left: shapes are fixed, nothing
is dropped, and electrons outside of cores cost little.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.qmc.cells import Cell, squared
from zitter.qmc.energies.base import EnergyTerm, Transitions
from zitter.qmc.energies.cores import Cores, displacements, images_within, reach
from zitter.qmc.energies.portions import Entries, portioned_sum
from zitter.qmc.energies.quadratures import EXACT, legendre, random_rotations, sphere_rule

if TYPE_CHECKING:
    from zitter.qmc.systems.nuclei import Nuclei

NEGLECTED = 1e-5  # hartree: smaller values of v_l(r) far from the nucleus count as 0
NEGLECTED_LOCAL = 1e-8  # of v_loc in periodic cells, where it decides about images


class LocalPseudopotential(EnergyTerm):
    """Σ_iI v_loc(r_iI), as "pseudopotential_local"."""

    positions: tuple[Any, ...]  # of the nuclei of each kind: (C, d)
    radials: tuple[Any, ...]  # v_loc of each kind
    images: Any
    cell: Cell | None
    sees_psi: ClassVar[bool] = False

    @classmethod
    def around(cls, nuclei: Nuclei, cell: Cell | None = None) -> LocalPseudopotential:
        """The term of all nuclei that have pseudopotentials."""
        each = [(k, p.local) for k, p in enumerate(nuclei.pseudopotentials) if p is not None]
        radials = tuple(local for _, local in each)
        positions = tuple(nuclei.positions[np.asarray(nuclei.species) == k] for k, _ in each)
        far = 0.0 if cell is None else reach(radials, NEGLECTED_LOCAL, "pseudopotential.local")
        return cls(positions, radials, images_within(cell, far, nuclei.positions.shape[1]), cell)

    def displaced(self, carry):
        return dataclasses.replace(self, positions=tuple(carry(p) for p in self.positions))

    def evaluate(self, psi, walker, key, dtype=jnp.float64):
        total = jnp.zeros(())
        for positions, radial in zip(self.positions, self.radials, strict=True):
            apart = displacements(walker.r, positions, self.images, self.cell)
            total = total + jnp.sum(radial(jnp.sqrt(squared(list(apart)))))
        return {"pseudopotential_local": total}


class NonlocalPseudopotential(EnergyTerm):
    """Σ_iI Σ_q v_q Ψ(r_i → r_q)/Ψ, as "pseudopotential_nonlocal".

    `NonlocalPseudopotential.around(nuclei, cell, quadrature)` is that of all nuclei of a system;
    `quadrature` is the number of points: 4, 6, 12, 18, 26, 32 or 50.
    """

    cores: Cores
    channels: tuple[tuple[Any, ...], ...]  # v_l of each kind
    directions: Any  # (Q, 3)
    weights: Any  # (Q,)
    with_jastrow: bool = eqx.field(static=True, default=True)  # or ratios of determinants alone
    in_portions: bool = eqx.field(static=True, default=True)  # or all pairs at once
    sees_psi: ClassVar[bool] = True
    takes_ratios: ClassVar[bool] = True
    moves_electrons: ClassVar[bool] = True

    @classmethod
    def around(
        cls, nuclei: Nuclei, cell: Cell | None = None, quadrature: int = 12
    ) -> NonlocalPseudopotential:
        """The term of all nuclei that have nonlocal channels."""
        if nuclei.positions.shape[1] != 3:
            raise checks.InputError(
                "pseudopotential", "must be used in three dimensions, but the system has two"
            )
        directions, weights = sphere_rule(quadrature)
        each = [() if p is None else p.channels for p in nuclei.pseudopotentials]
        kinds = [k for k, channels in enumerate(each) if channels]
        radii = {k: reach(each[k], NEGLECTED, "pseudopotential.channels") for k in kinds}
        here = [i for i, k in enumerate(nuclei.species) if k in kinds]
        species = [nuclei.species[i] for i in here]
        cores = Cores(
            nuclei.positions[here], [radii[k] for k in species], [kinds.index(k) for k in species],
            cell,
        )  # fmt: skip
        return cls(cores, tuple(each[k] for k in kinds), directions, weights)

    def by_determinants(self):
        return dataclasses.replace(self, with_jastrow=False)

    def displaced(self, carry):
        # Portions cannot be differentiated with respect to nuclei.
        return dataclasses.replace(self, cores=self.cores.displaced(carry), in_portions=False)

    def evaluate(self, psi, walker, key, dtype=jnp.float64):
        near = self.cores.near(walker.r)
        electrons, each = near.kind.shape
        pairs = _Pairs(
            inside=near.inside.reshape(-1),
            electron=jnp.repeat(jnp.arange(electrons), each),
            kind=near.kind.reshape(-1),
            displacement=near.displacement.reshape(-1, 3),
            rotation=jnp.repeat(random_rotations(key, electrons), each, axis=0),
        )
        if self.in_portions:
            total = portioned_sum(_energies_of_pairs, (psi, walker), self, dtype, pairs)
        else:
            total = _energies_of_pairs((psi, walker), self, dtype, pairs)
        return {"pseudopotential_nonlocal": total}

    @property
    def sites(self):
        return self.cores.overlap

    def reaches(self, place, site):
        return self.cores.near(place[:, None]).inside[0, site]

    def transitions(self, psi, opened, seat, site, key, dtype=jnp.float64):
        place = jax.lax.dynamic_index_in_dim(opened.r, seat.electron, 1, keepdims=False)
        apart, kind, inside = (x[0, site] for x in self.cores.near(place[:, None]))
        offsets, values = self.shell(apart, kind, inside, random_rotations(key, 1)[0])
        points = place[:, None] + offsets
        ratios = jnp.real(self._ratios(psi, opened, seat, points, dtype))
        return Transitions(points, jnp.where(values == 0, 0.0, values * ratios))

    def shell(self, displacement: Any, kind: Any, inside: Any, rotation: Any) -> tuple[Any, Any]:
        """r_q − r_i (3, Q) and v_q (Q,) of an electron at `displacement` (3,) from a nucleus."""
        distance = jnp.sqrt(jnp.sum(displacement**2))
        directions = self.directions @ rotation.T
        cosines = directions @ displacement / distance
        highest = max(len(channels) for channels in self.channels)
        waves = jnp.stack(legendre(cosines, highest - 1))  # (l, Q)
        radial = jnp.zeros((len(self.channels), highest))
        for k, channels in enumerate(self.channels):
            for l, channel in enumerate(channels):
                radial = radial.at[k, l].set((2 * l + 1) * channel(distance))
        values = self.weights * (radial[kind] @ waves)
        offsets = distance * directions.T - displacement[:, None]
        return offsets, jnp.where(inside, values, 0.0)

    def _ratios(self, psi, opened, seat, points, dtype):
        ask = psi.ratios if self.with_jastrow else psi.determinant_ratios
        return ask(opened, seat, points, dtype)


class _Pairs(Entries):
    """Electrons and the cores they may be in, one after another."""

    inside: Any
    electron: Any
    kind: Any
    displacement: Any
    rotation: Any


def _energies_of_pairs(moving: Any, term: NonlocalPseudopotential, dtype: Any, pairs: Any) -> Any:
    """Σ_q v_q Re Ψ_q/Ψ, summed over some pairs."""
    psi, walker = moving

    def one(pair: _Pairs) -> Any:
        opened, seat = psi.alone(walker, pair.electron)
        offsets, values = term.shell(pair.displacement, pair.kind, pair.inside, pair.rotation)
        points = walker.r[:, pair.electron][:, None] + offsets
        ratios = jnp.real(term._ratios(psi, opened, seat, points, dtype))
        return jnp.sum(jnp.where(values == 0, 0.0, values * ratios))

    return jnp.sum(jax.vmap(one)(pairs))


def pseudopotential_energies(
    nuclei: Nuclei, cell: Cell | None = None, quadrature: int = 12
) -> tuple[EnergyTerm, ...]:
    """The terms that a system with these nuclei has, none where all are bare charges."""
    checks.choice("quadrature", quadrature, EXACT)
    terms: tuple[EnergyTerm, ...] = ()
    if any(p is not None for p in nuclei.pseudopotentials):
        terms += (LocalPseudopotential.around(nuclei, cell),)
    if any(p is not None and p.channels for p in nuclei.pseudopotentials):
        terms += (NonlocalPseudopotential.around(nuclei, cell, quadrature),)
    return terms
