"""Ψ = e^J D↑D↓, kept as (phase, ln|Ψ|), and everything that is known of one walker."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from zitter import checks, io, runtime
from zitter.qmc.jastrow import JastrowTerm, PreparedTerm
from zitter.qmc.orbitals import Orbitals
from zitter.qmc.slater import Slater
from zitter.qmc.systems import System

# Memory that measuring local energies may take: on a CPU what its caches hold.
PAIR_BYTES = {"cpu": 2**25, "gpu": 2**31}
PAIR_TABLES = 12  # arrays of N × N numbers it takes for each walker


def listed(key: str, values: Any, kind: type) -> None:
    """Refuse what is no list of objects of a kind."""
    if not isinstance(values, list | tuple):
        raise checks.InputError(key, f"must be a list of {kind.__name__}s, but is {values!r}")
    for position, value in enumerate(values):
        checks.instance(f"{key}.{position}", value, kind)


class Walker(eqx.Module):
    """One walker; drivers carry many of them with the walkers as first axis."""

    r: Any  # (d, N)
    inverse: Any  # (species, n, n)
    phase: Any
    log: Any
    memory: tuple[Any, ...]  # of each Jastrow term


class SlaterJastrow(eqx.Module):
    """A Slater–Jastrow wave function of a system.

    `jastrow` lists terms such as `U(order=8)`; without any, Ψ is the bare determinant. Orbitals are
    the system's own unless given.
    """

    system: System
    slater: Slater
    terms: tuple[PreparedTerm, ...]

    def __init__(
        self,
        system: System,
        jastrow: Sequence[JastrowTerm] = (),
        orbitals: Orbitals | None = None,
        delay: int | None = None,
    ):
        self.system = checks.instance("system", system, System)
        listed("jastrow", jastrow, JastrowTerm)
        if delay is not None:
            checks.integer("delay", delay, 1)
        self.slater = Slater(orbitals or system.default_orbitals(), system.spins, delay)
        prepared = []
        for position, term in enumerate(jastrow):
            try:
                prepared.append(term.prepare(system))
            except checks.InputError as error:
                raise error.under(f"jastrow.{position}") from None
        self.terms = tuple(prepared)
        if sum(term.cusped for term in prepared) > 1:
            raise checks.InputError(
                "jastrow",
                "must hold one term with Kato's cusps, but holds several, whose sum would double "
                "them: raise the order of one U instead",
            )

    # Parameters as one vector, for the optimizers.

    @property
    def parameters(self) -> jax.Array:
        return ravel_pytree([term.parameters for term in self.terms])[0]

    def with_parameters(self, vector: Any) -> SlaterJastrow:
        unravel = ravel_pytree([term.parameters for term in self.terms])[1]
        return eqx.tree_at(
            lambda psi: [term.parameters for term in psi.terms], self, unravel(vector)
        )

    def save_parameters(self, path: str | os.PathLike[str]) -> None:
        """Write all Jastrow parameters to a file."""
        io.write(path, io.Dataset(self.stored_parameters(), {"kind": "jastrow"}))

    def stored_parameters(self) -> dict[str, io.Variable]:
        """The Jastrow parameters as files name them, term by term."""
        variables = {}
        for position, term in enumerate(self.terms):
            values = np.asarray(term.parameters)
            name = f"jastrow_{position}_{type(term).__name__.removeprefix('Prepared').lower()}"
            dims = tuple(f"{name}_{axis}" for axis in range(values.ndim))
            variables[name] = io.Variable(values, dims, "1", "Jastrow parameters")
        return variables

    def load_parameters(self, path: str | os.PathLike[str]) -> SlaterJastrow:
        """The same wave function with the parameters that `save_parameters` wrote."""
        stored = io.read(path).variables
        vector = []
        for position, term in enumerate(self.terms):
            name = f"jastrow_{position}_{type(term).__name__.removeprefix('Prepared').lower()}"
            shape = np.shape(term.parameters)
            if name not in stored or stored[name].data.shape != shape:
                raise checks.InputError(
                    "file", f"must hold {name} of shape {shape}, but {os.fspath(path)} does not"
                )
            vector.append(stored[name].data.ravel())
        return self.with_parameters(jnp.asarray(np.concatenate(vector)))

    # One walker.

    def start(self, r: Any, dtype: Any = jnp.float64) -> Walker:
        inverse, phase, log = self.slater.fresh(r, dtype)
        memory = tuple(term.start(r, dtype) for term in self.terms)
        for term in self.terms:
            log = log + term.derivatives(r, dtype)[0]
        return Walker(r, inverse, phase, log, memory)

    def jastrow_derivatives(self, r: Any, dtype: Any = jnp.float64) -> tuple[Any, Any, Any]:
        """J, ∇_iJ (d, N) and Σ∇_i²J."""
        total, gradient, laplacian = jnp.zeros(()), jnp.zeros(r.shape), jnp.zeros(())
        for term in self.terms:
            j, g, l = term.derivatives(r, dtype)
            total, gradient, laplacian = total + j, gradient + g, laplacian + l
        return total, gradient, laplacian

    def local_energy(self, walker: Walker, dtype: Any = jnp.float64) -> dict[str, Any]:
        """The parts of HΨ/Ψ by name, and their sum as "energy"; real parts of complex ones.

        −½∇²Ψ/Ψ = −½ Σ_i [∇²D/D + 2∇J·∇lnD + |∇J|² + ∇²J].
        """
        slope, curvature = self.slater.derivatives(walker.r, walker.inverse, dtype)
        _, gradient, laplacian = self.jastrow_derivatives(walker.r, dtype)
        kinetic = -0.5 * (
            curvature + jnp.sum(2 * gradient * slope) + jnp.sum(gradient**2) + laplacian
        )
        parts = {"kinetic": jnp.real(kinetic), **self.system.potential(walker.r, dtype)}
        return {"energy": sum(parts.values()), **parts}

    def local_energies(self, walkers: Walker, dtype: Any = jnp.float64) -> dict[str, Any]:
        """`local_energy` of many walkers, of as many at once as their tables of pairs allow."""
        count, n = walkers.r.shape[0], self.system.electrons
        allowed = PAIR_BYTES.get(runtime.settings().device.platform, PAIR_BYTES["gpu"])
        at_once = max(1, allowed // (PAIR_TABLES * 8 * n * n))
        one = lambda walker: self.local_energy(walker, dtype)  # noqa: E731
        if at_once >= count:
            return jax.vmap(one)(walkers)
        return jax.lax.map(one, walkers, batch_size=at_once)

    def __repr__(self) -> str:
        names = [type(term).__name__.removeprefix("Prepared").lower() for term in self.terms]
        kind = type(self.system).__name__
        up, down = self.system.spins
        factor = f"e^({' + '.join(names)}) " if names else ""
        return (
            f"SlaterJastrow: {factor}D↑D↓ of {up} + {down} electrons ({kind}), "
            f"{self.parameters.size if names else 0} parameters"
        )
