"""The relativistic strong-field approximation: from a bound state straight to a Volkov state.

    M(p) = −i ∫ dt ⟨ψ_p^V| cα·A |φ₀⟩,    d³P/dp³ = Σ_spin |M(p)|²

(H. R. Reiss, J. Opt. Soc. Am. B 7, 574 (1990)). For light A(η) x̂, η = t − z/c, and electrons of
charge −1 (H = cα·(p + A) + βc²) the Volkov state that ends as a plane wave with spinor u is

    ψ_p^V = (2π)^{−3/2} [1 + A (1 + α_z)α_x / 2Λ] u exp(i p·r − iE_p t + (ic/Λ) ∫_η^∞ (p_x A + ½A²))

with Λ = E_p/c − p_z. In the variables (η, r) the integral over space is the Fourier transform of φ₀
at q = p − ẑ (E_p − E₀)/c: the light gives its momentum together with its energy. What is left is

    M = −ic u†[I₁ α_x + I₂ (1 − α_z)/2Λ] φ̃₀(q),   I_n = ∫ Aⁿ e^{iΦ} dη,
    Φ = (E_p − E₀) η + (c/Λ) ∫^η (p_x A + ½A²)

As c → ∞ this becomes the ordinary amplitude −i ∫ dt (p_x A + ½A²) e^{iΦ} φ̃₀(p).
"""

from __future__ import annotations

import abc
import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import gamma as gamma_function

from zitter import checks, runtime, units
from zitter.bases.plane_waves import kinetic_energy, plane_wave_components, sigma_dot
from zitter.fields import Field, polarization
from zitter.fields.base import RESIDUAL_SHARE
from zitter.spectra.momentum_distribution import MomentumDistribution, MomentumGrid

PANEL_POINTS = 16
PANEL_PHASE = 2 * np.pi  # the most that Φ may turn within a panel: 16 points resolve it to 1e-14


class BoundState(abc.ABC):
    """What the approximation needs of φ₀."""

    energy: float  # without the rest energy
    c: float

    @abc.abstractmethod
    def transformed(self, q: np.ndarray) -> np.ndarray:
        """φ̃₀(q) = (2π)^{−3/2} ∫ e^{−iq·r} φ₀ d³r for vectors q (…, 3): four components (…, 4)."""


@dataclasses.dataclass
class HydrogenGroundState(BoundState):
    """1s½ of a point charge Z: P ∝ r^γ e^{−Zr}, Q = −P (Z/c)/(1 + γ), γ² = 1 − (Z/c)²."""

    charge: float = 1.0
    mu: float = 0.5
    c: float = units.SPEED_OF_LIGHT

    def __post_init__(self):
        self.charge = float(checks.positive("charge", self.charge))
        self.c = float(checks.positive("c", self.c))
        if self.charge >= self.c:
            raise checks.InputError("charge", f"must be below c = {self.c:g}, but is {self.charge}")
        checks.choice("mu", self.mu, (0.5, -0.5))

    @property
    def gamma(self) -> float:
        return float(np.sqrt(1 - (self.charge / self.c) ** 2))

    @property
    def energy(self) -> float:  # type: ignore[override]
        """c²(γ − 1), without cancellation."""
        return -(self.charge**2) / (1 + self.gamma)

    def transformed(self, q: np.ndarray) -> np.ndarray:
        q = np.asarray(q, float)
        size = np.linalg.norm(q, axis=-1)
        gamma, ratio = self.gamma, (self.charge / self.c) / (1 + self.gamma)
        norm = (2 * self.charge) ** (gamma + 0.5) / np.sqrt(
            gamma_function(2 * gamma + 1) * (1 + ratio**2)
        )
        factor = norm * np.sqrt(4 * np.pi) / (2 * np.pi) ** 1.5
        large, small = _power_transforms(self.charge, gamma, size)
        spin = np.array([1.0, 0.0]) if self.mu > 0 else np.array([0.0, 1.0])
        upper = factor * large[..., None] * spin
        # small holds one power of q less: σ·q̂ j₁ is smooth at q = 0.
        lower = factor * ratio * small[..., None] * sigma_dot(q, spin)
        return np.concatenate([upper + 0j, lower], axis=-1)


def volkov_amplitudes(pulse: Field, momenta: Any, state: BoundState | None = None) -> np.ndarray:
    """M(p) for vectors p (…, 3): two components (…, 2), one for each spin of the plane wave."""
    runtime.settings()  # double precision, for A(t) as well
    state = HydrogenGroundState() if state is None else state
    _check_light(pulse)
    p = np.asarray(checks.array("momenta", momenta), float)
    if p.shape[-1:] != (3,):
        raise checks.InputError("momenta", f"must be vectors (…, 3), but has shape {p.shape}")
    return _amplitudes(pulse, p.reshape(-1, 3), state).reshape(*p.shape[:-1], 2)


def strong_field_distribution(
    pulse: Field, grid: MomentumGrid, state: BoundState | None = None
) -> MomentumDistribution:
    """d³P/dp³ of the electrons that the pulse sets free, spins of the plane waves summed.

    The default `state` is hydrogen's 1s½ with μ = ½, as is the first one of `eigenstates`.
    """
    checks.instance("grid", grid, MomentumGrid)
    amplitudes = volkov_amplitudes(pulse, grid.vectors, state)
    return MomentumDistribution(grid, np.sum(np.abs(amplitudes) ** 2, axis=-1))


def _amplitudes(pulse: Field, p: np.ndarray, state: BoundState) -> np.ndarray:
    c = state.c
    kinetic = kinetic_energy(np.linalg.norm(p, axis=-1), c)
    gained = kinetic - state.energy  # E_p − E₀
    light_cone = c + kinetic / c - p[:, 2]  # Λ
    q = p - gained[:, None] / c * np.array([0.0, 0.0, 1.0])
    bound = state.transformed(q)
    first, second = phase_integrals(pulse, gained, p[:, 0], c / light_cone)
    ahead = (0.5 * second / light_cone)[:, None]
    image = first[:, None] * alpha_x(bound) + ahead * (bound - alpha_z(bound))
    return -1j * c * plane_wave_components(p, image, c)


def phase_integrals(
    pulse: Field, gained: np.ndarray, px: np.ndarray, stretch: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """I₁ and I₂ by Gauss–Legendre panels; `stretch` is c/Λ."""
    duration = float(pulse.duration)
    peak = float(np.max(np.abs(pulse.vector_potential(np.linspace(0.0, duration, 2049)))))
    fastest = np.max(np.abs(gained) + stretch * (np.abs(px) * peak + 0.5 * peak**2), initial=0.0)
    panels = 64 + int(np.ceil(fastest * duration / PANEL_PHASE))
    x, w = np.polynomial.legendre.leggauss(PANEL_POINTS)
    half = 0.5 * duration / panels
    times = half * (2 * np.arange(panels)[:, None] + 1 + x)
    a = np.asarray(pulse.vector_potential(times.ravel()), float).reshape(times.shape)
    along, quiver = (_cumulative(f, x, w, half).ravel() for f in (a, 0.5 * a**2))
    a, times, weights = a.ravel(), times.ravel(), np.tile(half * w, panels)
    tables = (times, along, quiver, weights * a, weights * a**2)
    first, second = _oscillating(tables, gained, px, stretch)
    return np.asarray(first), np.asarray(second)


@jax.jit
def _oscillating(tables, gained, px, stretch):
    times, along, quiver, light, light_squared = tables

    def integrals(electron):
        gained, px, stretch = electron
        wave = jnp.exp(1j * (gained * times + stretch * (px * along + quiver)))
        return wave @ light, wave @ light_squared

    return jax.lax.map(integrals, (gained, px, stretch), batch_size=64)


def _cumulative(values: np.ndarray, x: np.ndarray, w: np.ndarray, half: float) -> np.ndarray:
    """∫₀^t at the nodes of each panel, by the Legendre series of each panel."""
    n = len(x)
    table = np.polynomial.legendre.legvander(x, n)
    # ∫_{−1}^x P_k = (P_{k+1} − P_{k−1})/(2k + 1), and x + 1 for k = 0
    integrated = np.empty((n, n))
    integrated[:, 0] = x + 1
    k = np.arange(1, n)
    integrated[:, 1:] = (table[:, 2:] - table[:, : n - 1]) / (2 * k + 1)
    within = half * values @ (integrated @ np.linalg.inv(table[:, :n])).T
    before = np.concatenate([[0.0], np.cumsum(half * values @ w)[:-1]])
    return before[:, None] + within


def alpha_x(spinor: np.ndarray) -> np.ndarray:
    return spinor[..., [3, 2, 1, 0]]


def alpha_z(spinor: np.ndarray) -> np.ndarray:
    return spinor[..., [2, 3, 0, 1]] * np.array([1, -1, 1, -1])


def _power_transforms(charge: float, gamma: float, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """∫ r^{γ+1} e^{−Zr} j₀(qr) dr and ∫ r^{γ+1} e^{−Zr} j₁(qr)/q dr."""
    angle, size = np.arctan2(q, charge), np.hypot(q, charge)
    with np.errstate(divide="ignore", invalid="ignore"):
        rise = gamma_function(gamma) * np.sin(gamma * angle) / (q**2 * size**gamma)
        turn = gamma_function(gamma + 1) / (q * size ** (gamma + 1))
        zeroth, first = (
            turn * np.sin((gamma + 1) * angle),
            rise - turn * np.cos((gamma + 1) * angle),
        )
        first = first / q
    # Series in q/Z where the two parts of j₁ cancel: j₁(x)/x = 1/3 − x²/30 + x⁴/840 − x⁶/45360
    near = q < 0.02 * charge
    moments = [gamma_function(gamma + k) / charge ** (gamma + k) for k in (2, 3, 4, 5, 6, 7, 8, 9)]
    s = q**2
    zero = moments[0] - s * moments[2] / 6 + s**2 * moments[4] / 120 - s**3 * moments[6] / 5040
    one = moments[1] / 3 - s * moments[3] / 30 + s**2 * moments[5] / 840
    one = one - s**3 * moments[7] / 45360
    return np.where(near, zero, zeroth), np.where(near, one, first)


def _check_light(pulse: Field) -> None:
    checks.instance("pulse", pulse, Field)
    polarization.require_along_x(pulse)
    if not np.isfinite(float(pulse.duration)):
        raise checks.InputError("pulse", "must end, but its duration is infinite")
    left = pulse.residual_share
    if left > RESIDUAL_SHARE:
        raise checks.InputError(
            "pulse",
            f"must leave no vector potential behind, but A at its end is {left:.2g} of the largest "
            "A: the plane waves of the amplitude, and p itself, would be shifted by it",
        )
