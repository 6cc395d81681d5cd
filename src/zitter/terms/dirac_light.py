"""Light on spinors with its dependence on space: H_I = c α·A(t − z/c), electron charge −1.

The field is polarized along x, also where the pulse names no direction, and travels along z. In
Legendre components

    A(t − z/c) = Σ_l A_l(r, t) P_l(cos θ),   l ≤ lmax

and for sin² pulses, three plane waves of frequencies ω_j = ω, ω ± 2π/T,

    sin(ω_j(t − z/c) + δ) = sin(ω_j t + δ) cos k_j z − cos(ω_j t + δ) sin k_j z,   k_j = ω_j/c
    e^{ikz} = Σ_l iˡ (2l + 1) j_l(kr) P_l(cos θ)

so that A_l holds six factors of time, three for even and three for odd l. Other pulses are taken
apart at each time by quadrature, with the front of the pulse where it is.
"""

from __future__ import annotations

import math
import warnings
from typing import Any, ClassVar, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import factorial2, spherical_jn

from zitter import checks
from zitter.bases.base import Basis
from zitter.bases.edges import SmallBoxWarning
from zitter.fields import Field, FieldSum, SineSquared, polarization
from zitter.fields.base import RESIDUAL_SHARE
from zitter.fields.pulse import CarrierPulse
from zitter.hamiltonian import Contribution, Driven, TimeDependent
from zitter.keywords import caller
from zitter.linalg.base import Operator, cast_reals
from zitter.terms.base import Term

Waves = Literal["plane", "retarded"]


class FewComponentsWarning(UserWarning):
    """Too few Legendre components for the wave length and the radius that electrons reach."""


class ResidualPotentialWarning(UserWarning):
    """A is not zero after the pulse."""


class DiracLight(Term):
    """c α_x A(t − z/c) with Legendre components up to `lmax`; 0 is the dipole approximation, A(t).

    `waves` = "plane" continues the three plane waves of a sin² pulse over the whole box from the
    pulse's start to its end (the default where the pulse is one, or a sum of such); "retarded"
    takes any pulse where it is at each time, so that it enters at z = −rmax before t = 0 and has
    left at t = duration + rmax/c.
    """

    moves: ClassVar[bool] = False
    pulse: Field
    lmax: int = eqx.field(static=True)
    waves: Waves | None = eqx.field(static=True)

    def __init__(self, pulse: Field, lmax: int = 10, waves: Waves | None = None):
        self.pulse = checks.instance("pulse", pulse, Field)
        self.lmax = checks.integer("lmax", lmax, 0)
        if waves is not None:
            checks.choice("waves", waves, ("plane", "retarded"))
        self.waves = waves
        polarization.require_along_x(pulse)
        if waves == "plane" and _sine_squared(pulse) is None:
            raise checks.InputError(
                "waves", 'must be "retarded" for a pulse that is not SineSquared without chirp'
            )

    def discretize(self, basis: Basis) -> list[Contribution]:
        light = basis.travelling_light(self.lmax)
        self._check(light)
        parts = _sine_squared(self.pulse)
        retarded = self.waves == "retarded" or parts is None or checks.is_traced(self.pulse)
        if self.lmax == 0:
            field: Any = _Uniform(self.pulse, light)
        elif retarded or parts is None:
            field = _Retarded(self.pulse, light, self.lmax)
        else:
            field = _PlaneWaves(parts, light, self.lmax)
        return [Wave(field, light)]

    def _check(self, light: Any) -> None:
        """Warn where electrons would reach the wall, or `lmax` not suffice, during the pulse, and
        where A stays behind: field-free states are then no longer those of the atom."""
        if checks.is_traced(self.pulse) or not math.isfinite(float(self.pulse.duration)):
            return
        left = self.pulse.residual_share
        if left > RESIDUAL_SHARE:
            warnings.warn(
                f"A is not zero after the pulse but {left:.2g} of its largest value: spectra, "
                "populations and momenta taken there are shifted by it; take a pulse with "
                "∫E dt = 0",
                ResidualPotentialWarning,
                stacklevel=caller(),
            )
        rmax, duration = light.reach, float(self.pulse.duration)
        reach = _reach(self.pulse, duration, light.c)
        if reach > rmax:
            warnings.warn(
                f"rmax = {rmax:g} is smaller than the reach of the pulse: a free electron is "
                f"carried up to {reach:.3g} bohr away; take a larger rmax",
                SmallBoxWarning,
                stacklevel=caller(),
            )
        frequency = _highest_frequency(self.pulse)
        if frequency is None:
            return
        # One photon: E = ω for electrons that were weakly bound.
        momentum = math.sqrt(2 * frequency + (frequency / light.c) ** 2)
        path = duration * momentum / math.sqrt(1 + (momentum / light.c) ** 2)
        if path > rmax:
            warnings.warn(
                f"rmax = {rmax:g} is smaller than the path of the fastest electrons that one "
                f"photon sets free during the pulse, {path:.3g} bohr: they come back from the wall",
                SmallBoxWarning,
                stacklevel=caller(),
            )
        # Components fall off beyond l = kr and are small from kr + 3 on; (2l + 1) j_l(x) is at most
        # xˡ/(2l − 1)!!, which ends sooner for slow light. 0 is the dipole approximation, by choice.
        radius = min(path, rmax)
        x, l = frequency * radius / light.c, self.lmax + 1
        needed, neglected = int(x) + 3, x**l / float(factorial2(2 * l - 1))
        if 0 < self.lmax < needed and neglected > 1e-3:
            warnings.warn(
                f"lmax = {self.lmax} is too small for the {radius:.3g} bohr that electrons reach "
                f"during the pulse: take lmax = {needed} or more (ωr/c + 3)",
                FewComponentsWarning,
                stacklevel=caller(),
            )


def _highest_frequency(pulse: Field) -> float | None:
    """That of a pulse or, in a sum, of the fastest part; None where no part has a carrier."""
    terms = pulse.terms if isinstance(pulse, FieldSum) else ((pulse, 1.0),)
    parts = [part for part, factor in terms if factor != 0]
    found = [float(part.frequency) for part in parts if isinstance(part, CarrierPulse)]
    return max(found, default=None)


def _reach(pulse: Field, duration: float, c: float) -> float:
    """The farthest a classical electron gets that starts at rest at any time of the pulse.

    p = A(t) − A(t₀), v = p/√(1 + p²/c²), along the polarization.
    """
    times = np.linspace(0.0, duration, 1025)
    potential = np.asarray(pulse.vector_potential(times))
    momentum = np.triu(potential - potential[:, None])  # rows: t₀
    speed = momentum / np.sqrt(1 + (momentum / c) ** 2)
    return float(np.abs(np.cumsum(speed, axis=1)).max() * (times[1] - times[0]))


class Wave(Driven):
    """t ↦ α_x F(r, θ, t): `factor` gives F at the operator's points."""

    factor: Any
    operator: Any

    def at(self, t: Any) -> Operator:
        return self.operator.with_field(self.factor(t))

    def astype(self, real_dtype: Any) -> Wave:
        return Wave(self.factor, cast_reals(self.operator, real_dtype))

    def divided(self, basis: Basis) -> Wave:
        return Wave(self.factor, basis.divide_operator(self.operator))

    def bounds(self, start: Any, end: Any) -> tuple[jax.Array, jax.Array]:
        return TimeDependent.bounds(self, start, end)


class _Uniform(eqx.Module):
    """c A(t) everywhere."""

    pulse: Field
    shape: tuple[int, ...] = eqx.field(static=True)
    c: float = eqx.field(static=True)

    def __init__(self, pulse: Field, light: Any):
        r, x = light.places()
        self.pulse, self.c, self.shape = pulse, light.c, (len(x), *r.shape)

    def __call__(self, t: Any) -> jax.Array:
        amplitude = self.c * self.pulse.vector_potential(jnp.asarray(t, jnp.float64))
        return jnp.broadcast_to(amplitude, self.shape)


class _PlaneWaves(eqx.Module):
    """c Σ_l P_l Σ_j f_j(t) (2l + 1) j_l(k_j r) with f_j of the parity of l."""

    pulses: tuple[tuple[SineSquared, Any], ...]
    bessel: jax.Array  # (waves, l, points of r): signs and 2l + 1 included
    legendre: jax.Array  # (θ, l)
    shape: tuple[int, ...] = eqx.field(static=True)
    c: float = eqx.field(static=True)

    def __init__(self, pulses, light: Any, lmax: int):
        self.pulses, self.c = pulses, light.c
        r, x = light.places()
        self.shape = (len(x), *r.shape)
        l = np.arange(lmax + 1)
        self.legendre = jnp.asarray(np.polynomial.legendre.legvander(x, lmax))
        waves = [float(w) for pulse, _ in pulses for w in _frequencies(pulse)]
        # iˡ: 1, i, −1, −i, …; cos takes the real, sin the imaginary ones.
        weight = ((-1) ** (l // 2) * (2 * l + 1))[:, None]
        flat = r.reshape(1, -1)
        tables = [weight * spherical_jn(l[:, None], w / light.c * flat) for w in waves]
        self.bessel = jnp.asarray(np.stack(tables))

    def __call__(self, t: Any) -> jax.Array:
        t = jnp.asarray(t, jnp.float64)
        sines, cosines = [], []
        for pulse, factor in self.pulses:
            s = t - pulse.carrier.start
            inside = (s >= 0) & (s <= pulse.length)
            size = -factor * pulse.amplitude / pulse.frequency * inside
            phase = pulse.carrier.cep - pulse.frequency * pulse.carrier.origin(pulse.length)
            shares = (0.5, -0.25, -0.25)  # sin²(πs/T) = ½ − ¼(e^{iΩs} + e^{−iΩs})
            for share, frequency in zip(shares, _frequencies(pulse), strict=True):
                sines.append(share * size * jnp.sin(frequency * s + phase))
                cosines.append(-share * size * jnp.cos(frequency * s + phase))
        even = jnp.einsum("j,jlr->lr", jnp.stack(sines), self.bessel[:, 0::2])
        odd = jnp.einsum("j,jlr->lr", jnp.stack(cosines), self.bessel[:, 1::2])
        field = self.legendre[:, 0::2] @ even + self.legendre[:, 1::2] @ odd
        return self.c * field.reshape(self.shape)


class _Retarded(eqx.Module):
    """c Π_lmax A(t − r cos θ/c) with the projection Π on P_0 … P_lmax by quadrature."""

    pulse: Field
    projection: jax.Array  # (θ, quadrature points)
    delays: jax.Array  # (quadrature points, points of r): r cos θ/c
    shape: tuple[int, ...] = eqx.field(static=True)
    c: float = eqx.field(static=True)

    def __init__(self, pulse: Field, light: Any, lmax: int):
        self.pulse, self.c = pulse, light.c
        r, x = light.places()
        self.shape = (len(x), *r.shape)
        nodes, weights = np.polynomial.legendre.leggauss(lmax + 64)
        norms = np.arange(lmax + 1) + 0.5
        here, there = (np.polynomial.legendre.legvander(y, lmax) for y in (x, nodes))
        self.projection = jnp.asarray((here * norms) @ (there * weights[:, None]).T)
        self.delays = jnp.asarray(nodes[:, None] * r.reshape(1, -1) / light.c)

    def __call__(self, t: Any) -> jax.Array:
        values = self.pulse.vector_potential(jnp.asarray(t, jnp.float64) - self.delays)
        return self.c * (self.projection @ values).reshape(self.shape)


def _frequencies(pulse: SineSquared) -> tuple[Any, Any, Any]:
    """ω, ω + Ω, ω − Ω with Ω = 2π/T."""
    side = 2 * math.pi / pulse.length
    return pulse.frequency, pulse.frequency + side, pulse.frequency - side


def _sine_squared(pulse: Field) -> tuple[tuple[SineSquared, Any], ...] | None:
    """The pairs (pulse, factor) of a sum of sin² pulses without chirp, or None."""
    terms = pulse.terms if isinstance(pulse, FieldSum) else ((pulse, np.float64(1.0)),)
    for part, _ in terms:
        if not isinstance(part, SineSquared) or checks.is_traced(part.carrier.chirp):
            return None
        if part.carrier.chirp != 0:
            return None
    return terms  # type: ignore[return-value]
