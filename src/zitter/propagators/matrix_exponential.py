"""The full matrix exp(−iΔtH), no structure of H assumed, and ways to sum it.

The paper (Choi & Stegailov) sums Aⁿ/n! with real and imaginary parts as four real products each:
36 products for order 10. For a real symmetric H the exponential is cos(HΔt) − i sin(HΔt), a
polynomial in X² and X times one, which Paterson & Stockmeyer evaluate with few products.
"""

from __future__ import annotations

import abc
import math
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from zitter import checks, runtime
from zitter.hamiltonian import Driven, Hamiltonian
from zitter.linalg.base import Unsupported, real_like, total
from zitter.linalg.sums import add
from zitter.linalg.tiles import AXES, Matrices, Tiled, Tiles, WholeMatrices
from zitter.propagators.base import (
    Propagator,
    check_stability,
    require_orthonormal,
    scheme_or_default,
    spectral_bounds,
    spectral_radius,
)
from zitter.propagators.schemes import Midpoint, TimeScheme
from zitter.propagators.taylor import growth

Pair = tuple[jax.Array, jax.Array]  # real and imaginary part of a matrix


class Summation(eqx.Module):
    """A way to evaluate exp(−iX), as (real part, imaginary part)."""

    # Whether the middle of the spectrum is taken out of X first, which halves its norm.
    centered: eqx.AbstractClassVar[bool]
    # Whether X must be real and symmetric.
    real_only: eqx.AbstractClassVar[bool]

    @abc.abstractmethod
    def for_norm(self, norm: float | None, dtype_tol: float) -> Summation:
        """The same way with order and scaling fixed for ‖X‖₂ ≤ norm (None: traced, unknown)."""

    @abc.abstractmethod
    def matrix(self, x: jax.Array, on: Matrices) -> Pair:
        """`on` says where matrices lie, and multiplies them."""

    @abc.abstractmethod
    def growth(self, x: float) -> float:
        """|exp(−ix)| as this way sums it: the amplification of a wave with ωΔt = x."""

    @abc.abstractmethod
    def products(self) -> int:
        """Real N×N×N products spent on one exponential."""


class TaylorSum(Summation):
    """The paper's sum: Aⁿ = A·Aⁿ⁻¹/n as four real products, n = 2 … k, added term by term."""

    terms: int = eqx.field(static=True)
    centered: ClassVar[bool] = False
    real_only: ClassVar[bool] = False

    def __init__(self, terms: int = 10):
        self.terms = checks.integer("terms", terms, 1, 200)

    def for_norm(self, norm, dtype_tol):
        return self

    def matrix(self, x, on):
        # A = −iX. The paper's code knows nothing of the zero real part that a real X gives; the
        # barrier keeps the compiler from using it, so that cost and result are the general sum's.
        a = (jax.lax.optimization_barrier(jnp.imag(x)), -jnp.real(x))
        term, series = a, (on.identity(a[1]) + a[0], a[1])
        for n in range(2, self.terms + 1):
            real = (on.product(a[0], term[0]) - on.product(a[1], term[1])) / n
            imag = (on.product(a[0], term[1]) + on.product(a[1], term[0])) / n
            term = (real, imag)
            series = (series[0] + real, series[1] + imag)
        return series

    def growth(self, x):
        return growth(self.terms, x)

    def products(self):
        return 4 * (self.terms - 1)


class CosSin(Summation):
    """cos X = Σ(−1)ⁿX²ⁿ/(2n)! and sin X = X Σ(−1)ⁿX²ⁿ/(2n+1)!, summed by powers of X²."""

    terms: int = eqx.field(static=True)
    centered: ClassVar[bool] = True
    real_only: ClassVar[bool] = True

    def __init__(self, terms: int = 10):
        self.terms = checks.integer("terms", terms, 1, 200)

    def for_norm(self, norm, dtype_tol):
        return self

    def matrix(self, x, on):
        square = on.product(x, x)
        one = on.identity(x)
        power, cosine, sine = one, one, one
        for n in range(1, self.terms // 2 + 1):
            power = square if n == 1 else on.product(power, square)
            sign = (-1) ** n
            cosine = cosine + sign / math.factorial(2 * n) * power
            sine = sine + sign / math.factorial(2 * n + 1) * power
        return cosine, -on.product(x, sine)

    def growth(self, x):
        return growth(2 * (self.terms // 2) + 1, x)

    def products(self):
        return 1 + max(self.terms // 2 - 1, 0) + 1


class PatersonStockmeyer(Summation):
    """cos and sin by the Paterson–Stockmeyer scheme, with scaling and doubling.

    With q powers Y, …, Y^q of Y = X² a polynomial of degree qs in Y takes s − 1 products more.
    Where no `degree` is given, `tol` (relative to 1 = ‖exp‖) picks degree m, q and the number of
    doublings cos 2X = 2cos²X − 1, sin 2X = 2 sin X cos X that cost least, from the bound on ‖X‖:
    the neglected terms are below ‖X‖^{2m+2}/(2m+2)!.
    """

    tol: float | None = eqx.field(static=True)
    degree: int | None = eqx.field(static=True)
    powers: int = eqx.field(static=True)
    doublings: int = eqx.field(static=True)
    centered: ClassVar[bool] = True
    real_only: ClassVar[bool] = True

    def __init__(
        self,
        tol: float | None = None,
        degree: int | None = None,
        powers: int = 2,
        doublings: int = 0,
    ):
        self.tol = None if tol is None else float(checks.positive("tol", tol))
        self.degree = None if degree is None else checks.integer("degree", degree, 1, 60)
        self.powers = checks.integer("powers", powers, 1, 12)
        self.doublings = checks.integer("doublings", doublings, 0, 40)

    def for_norm(self, norm, dtype_tol):
        if self.degree is not None:
            return self
        if norm is None:
            raise checks.InputError("degree", "must be given when the Hamiltonian is being traced")
        tol = self.tol if self.tol is not None else dtype_tol
        plans = [
            PatersonStockmeyer(tol, m, q, s)
            for s in range(0, 30)
            for m in range(1, 25)
            for q in range(1, 7)
            if q <= m and remainder(norm / 2**s, m) * 4**s <= tol  # d cos 2X = 4 cos X · d cos X
        ]
        if not plans:
            raise checks.InputError("dt", f"must be smaller: |H|·dt = {norm:.3g} is out of reach")
        return min(plans, key=lambda plan: (plan.products(), plan.doublings, plan.degree))

    def matrix(self, x, on):
        assert self.degree is not None  # chosen by for_norm
        x = x / 2**self.doublings
        powers = [on.identity(x), on.product(x, x)]
        while len(powers) <= self.powers:
            powers.append(on.product(powers[-1], powers[1]))
        signs = [(-1.0) ** n for n in range(self.degree + 1)]
        cosine = polynomial([s / math.factorial(2 * n) for n, s in enumerate(signs)], powers, on)
        sine = polynomial(
            [s / math.factorial(2 * n + 1) for n, s in enumerate(signs)], powers, on, cosine
        )
        sine = on.product(x, sine)
        for _ in range(self.doublings):
            sine = 2 * on.product(sine, cosine)
            cosine = 2 * on.product(cosine, cosine, after=sine) - powers[0]
        return cosine, -sine

    def growth(self, x):
        assert self.degree is not None
        return growth(2 * self.degree + 1, x / 2**self.doublings) ** 2**self.doublings

    def products(self):
        assert self.degree is not None
        blocks = -(-self.degree // self.powers)  # q powers per block, Horner over the blocks
        return 1 + (self.powers - 1) + 2 * (blocks - 1) + 1 + 2 * self.doublings


def polynomial(
    coefficients: list[float], powers: list[jax.Array], on: Matrices, after: Any = None
) -> jax.Array:
    """Σ c_n Yⁿ from the powers 1, Y, …, Y^q: Horner in Y^q over blocks of q coefficients.

    It is begun `after` another matrix is made.
    """
    q = len(powers) - 1
    degree = len(coefficients) - 1
    start = q * ((degree - 1) // q) if degree else 0
    # The top block may use Y^q itself, so a degree that is a multiple of q saves one product.
    result = total(c * powers[i] for i, c in enumerate(coefficients[start:]))
    result = result if after is None else on.after(result, after)
    for first in range(start - q, -1, -q):
        block = total(c * powers[i] for i, c in enumerate(coefficients[first : first + q]))
        result = on.product(result, powers[q]) + block
    return result


def remainder(norm: float, degree: int) -> float:
    """Bound on the neglected part of cos and sin for ‖X‖ ≤ norm."""
    n = 2 * degree + 2
    log_term = n * math.log(max(norm, 1e-300)) - math.lgamma(n + 1)
    return 2 * math.exp(log_term) if log_term < 300 else math.inf


class MatrixExponential(Propagator):
    """exp(−iΔtH) as a full matrix, then one matrix–vector product, with no structure assumed.

    H is centred first (the middle of its spectrum is taken out as a phase), which halves the norm,
    but for `TaylorSum`. A static H is exponentiated once. `summation` is the way to sum:
    `PatersonStockmeyer()` picks order and scaling from the norm, `TaylorSum(10)` is the paper's.
    """

    summation: Summation
    scheme: TimeScheme
    center: Any
    matrices: Matrices

    def __init__(self, summation: Summation | None = None, scheme: TimeScheme = Midpoint()):
        given = PatersonStockmeyer() if summation is None else summation
        self.summation = checks.instance("summation", given, Summation)
        self.scheme = scheme_or_default(scheme)
        self.center = jnp.zeros(())
        self.matrices = WholeMatrices()

    def convergence_order(self, H: Hamiltonian) -> int:
        return self.scheme.order if H.time_dependent else 1

    @property
    def nodes(self):
        return self.scheme.nodes

    def long_step(self, H):
        return H.time_dependent  # else its exponential is there, and a step is one product

    def divided(self, H):
        """Matrices in tiles; ψ, a vector, stays whole on every device."""
        mesh = runtime.mesh_for(AXES, "the matrix of MatrixExponential")
        if mesh is None:
            return H
        tiles = Tiles(H.basis.size, mesh)
        changing = tuple(
            Driven(c.factor, tiles.light(c.operator)) if isinstance(c, Driven) else c
            for c in H.changing
        )
        absorber = None if H.absorber is None else tiles.light(H.absorber)
        return Hamiltonian(H.basis, tiles.tiled(H.fixed), changing, absorber, H.mask, H.origin)

    def shares(self, H):
        return self.matrices.shares if isinstance(self.matrices, Tiles) else {}

    def prepare(self, H, t, dt):
        require_orthonormal("MatrixExponential", H)
        if self.summation.real_only and not _real_symmetric(H, t[0]):
            raise Unsupported(
                f"{type(self.summation).__name__} sums exponentials of real symmetric matrices, "
                "but this Hamiltonian is complex (velocity gauge or a complex absorber); use "
                "MatrixExponential(TaylorSum(10)), which assumes nothing"
            )
        if self.summation.real_only:
            low, high = spectral_bounds(H, t)
        else:
            high = spectral_radius(H, t)
            low = -high
        traced = checks.is_traced(low)
        weights = self.scheme.stages[0][0] if H.time_dependent else (1.0,)
        middle = 0.5 * (low + high) if self.summation.centered else jnp.zeros(())
        radius = jnp.maximum(high - middle, middle - low) * sum(map(abs, weights))
        norm = None if traced else float(radius) * abs(dt)
        tol = 1e-13 if H.fixed.dtype == jnp.float64 else 1e-7
        summation = self.summation.for_norm(norm, tol)
        check_stability(type(summation).__name__, summation.growth, radius, t, dt)
        matrices = H.fixed.tiles if isinstance(H.fixed, Tiled) else self.matrices
        ready = MatrixExponential(summation, self.scheme)
        made = (middle * sum(weights), matrices)
        return eqx.tree_at(lambda p: (p.center, p.matrices), ready, made)

    def init(self, H, psi, t, dt):
        """The matrix of the unchanging part; for a static H its exponential."""
        always = H.fixed if H.absorber is None else add([H.fixed, H.absorber])
        matrix = self.matrices.matrix(always)
        if not _real_symmetric(H, t):
            matrix = matrix.astype(psi.dtype)
        return matrix if H.time_dependent else self._exponentiate(matrix, dt)

    def step(self, H, psi, t, dt, state):
        if not H.time_dependent:
            return self._multiply(state, psi, dt), state
        for weights, nodes in self.scheme.stages:
            matrix = sum(weights) * state
            for weight, node in zip(weights, nodes, strict=True):
                for piece in H.changing:
                    matrix = self.matrices.plus(matrix, piece.at(t + node * dt).scaled(weight))
            psi = self._multiply(self._exponentiate(matrix, dt), psi, dt)
        return psi, state

    def _exponentiate(self, matrix: jax.Array, tau: Any) -> Pair:
        """Real and imaginary part of exp(−iτ(H − c))."""
        centered = self.matrices.plus_diagonal(matrix, -real_like(self.center, matrix))
        return self.summation.matrix(real_like(tau, matrix) * centered, self.matrices)

    def _multiply(self, pair: Pair, psi: jax.Array, tau: Any) -> jax.Array:
        """e^{−iτc} (real + i·imag) ψ."""
        real, imag = pair
        flat = psi.reshape(-1)
        on = self.matrices
        result = on.times(real, flat) + 1j * on.times(imag, flat)
        phase = jnp.exp(-1j * real_like(tau, psi) * real_like(self.center, psi))
        return (phase * result).reshape(psi.shape).astype(psi.dtype)

    def report(self, state):
        return {"real_products": self.summation.products()}


def _real_symmetric(H: Hamiltonian, t: Any) -> bool:
    return H.hermitian and H.mix([1.0], [t]).real
