"""Whether lmax and the box were large enough, judged from a state."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.bases.eigen.basis import EigenBasis
from zitter.bases.spherical.basis import SphericalBasis
from zitter.linalg.bands import banded_product

EDGE = 0.95  # of rmax; what lies beyond has reached the wall


class ConvergenceWarning(UserWarning):
    """A result that a larger basis would change."""


def last_l_population(basis: SphericalBasis | EigenBasis, psi: Any) -> Any:
    """The probability of the highest l: a number, or an array where ψ is traced."""
    rows = jnp.asarray(psi)[basis.l == basis.l.max()]
    return _number(jnp.real(jnp.vdot(rows, basis.overlap(rows))))


def splines_of(basis: SphericalBasis | EigenBasis) -> SphericalBasis | None:
    """The basis itself or, of eigenstates, the one they were found on, where it is known."""
    if isinstance(basis, SphericalBasis):
        return basis
    return None if basis.vectors is None else basis.parent


def wall_population(basis: SphericalBasis | EigenBasis, psi: Any) -> Any:
    """The probability beyond EDGE · rmax: a number, or an array where ψ is traced."""
    home = splines_of(basis)
    assert home is not None
    if isinstance(basis, EigenBasis):
        psi = basis.on_parent(psi)
    radial = home.radial
    with jax.ensure_compile_time_eval():
        bands = radial.matrix(1.0 * (radial.points > EDGE * radial.rmax), hermitian=True)
    psi = jnp.asarray(psi)
    return _number(jnp.real(jnp.vdot(psi, banded_product(jnp.real(bands), psi))))


def _number(value: jax.Array) -> Any:
    return value if checks.is_traced(value) else float(value)


# What the runs of a scan have reported, innermost scan last; empty outside of scans.
_scans: list[dict[str, tuple[float, Any]]] = []


@contextlib.contextmanager
def collected() -> Iterator[dict[str, tuple[float, Any]]]:
    """Name → (largest value of all traced runs inside, its basis), complete after
    `jax.effects_barrier()`.
    """
    _scans.append({})
    try:
        yield _scans[-1]
    finally:
        _scans.pop()


def report(basis: Any, populations: dict[str, Any]) -> None:
    """From a traced run, which has no numbers to warn of yet, to the scan around it, if any."""
    if not _scans:
        return
    found = _scans[-1]
    for name, population in populations.items():

        def keep(value: Any, name: str = name) -> None:
            found[name] = (max(float(value), found.get(name, (0.0, None))[0]), basis)

        _send(keep, jax.lax.stop_gradient(population))


def _send(keep: Any, value: jax.Array) -> None:
    """keep(value) on the host; under `vmap` once, with the largest value."""

    @jax.custom_batching.custom_vmap
    def send(value):
        jax.debug.callback(keep, value)
        return value

    @send.def_vmap
    def send_largest(size, batched, values):
        jax.debug.callback(keep, jnp.max(values))
        return values, True

    send(value)


def warn_of_small_lmax(basis: Any, population: float, limit: float, stacklevel: int = 3) -> None:
    if population > limit:
        warnings.warn(
            f"lmax = {np.max(basis.l)} is too small: the last l holds {population:.1e} of the "
            f"probability (limit {limit:.0e})",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )


def warn_of_wall(basis: Any, population: float, limit: float, stacklevel: int = 3) -> None:
    home = splines_of(basis)
    if home is not None and population > limit:
        warnings.warn(
            f"rmax = {home.radial.rmax:g} bohr is too small: {population:.1e} of the probability "
            f"is at the wall (limit {limit:.0e}); take a larger box or an absorber",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )
