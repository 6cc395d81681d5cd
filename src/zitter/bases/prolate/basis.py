"""One electron around two nuclei at z = ∓R/2, in prolate spheroidal coordinates.

    zt.ProlateSpheroidal(R=2.0)                     σ states of a molecule with this bond length
    zt.ProlateSpheroidal(R=2.0, m=1, rmax=150.0)    π states, in a larger box

    ξ = (r₁ + r₂)/R ≥ 1,   η = (r₁ − r₂)/R,   ψ = F(ξ, η) e^{imφ}/√2π

Coefficients c[i, k] stand for the nodes (ξ_i, η_k) of an orthonormal DVR,

    F = Σ c_ik f_i(ξ) g_k(η) / √(a³(ξ_i²−η_k²)),   a = R/2,

in which functions of place are diagonal and the volume factor cancels the poles at the nuclei: what
is left of −Z₁/r₁ − Z₂/r₂ is a polynomial, so energies converge exponentially with the nodes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from zitter import checks, runtime
from zitter.bases.base import Basis, Refused, check_something_outside
from zitter.bases.bsplines import ExteriorScaling
from zitter.bases.edges import Edge
from zitter.bases.places import Places
from zitter.bases.prolate import implicit, matrices, pictures, sizes, states
from zitter.bases.prolate.coordinates import Layout, kept, layout
from zitter.bases.prolate.divided import DividedProlate
from zitter.bases.prolate.edges import LastEta, OuterWall
from zitter.bases.prolate.elements import Elements
from zitter.bases.prolate.operators import Momentum, Separable
from zitter.linalg.base import Operator
from zitter.linalg.diagonal import Diagonal
from zitter.linalg.resolvents import Resolvents

ELSEWHERE = 1.0  # rad of azimuth: any angle shows whether a function depends on it
FOCUS = 1e-9  # how well a nucleus must sit in its focus, relative to R


class ProlateSpheroidal(Basis):
    """Functions of ξ and η with one m, for nuclei at z = −R/2 and z = R/2; S is one.

    With the sizes chosen here the four lowest levels of m = 0, 1 and 2 are right to 1e-10 for R
    from 0.5 to 20 and charges up to 3.

    - `rmax`: where ψ vanishes, the largest z; R/2 + 80 bohr by default.
    - `elements`: ends of the elements in ξ as distances a(ξ−1) beyond the nuclei, from 0 to
      rmax − R/2; by default lengths that double from min(2, R + 1/2) bohr up to 8.
    - `nodes`: in each element, 12 by default.
    - `eta`: functions of η, by default 10 + 1.2R, and as many more as m is above 2.
    - `scaling`: an `ExteriorScaling`; beyond z = radius the contour of ξ turns.

    Light needs more functions of η than levels do: a run tells what the last ones hold.
    """

    R: float = eqx.field(static=True)
    m: int = eqx.field(static=True)
    rmax: float = eqx.field(static=True)
    elements: tuple[float, ...] = eqx.field(static=True)
    nodes: int = eqx.field(static=True)
    eta: int = eqx.field(static=True)
    scaling: ExteriorScaling | None = eqx.field(static=True)

    def __init__(
        self,
        R: float | str,
        m: int = 0,
        *,
        rmax: float | str | None = None,
        elements: Sequence[float] | None = None,
        nodes: int = sizes.NODES,
        eta: int | None = None,
        scaling: ExteriorScaling | None = None,
    ):
        runtime.settings()
        self.R = float(checks.positive("R", R, "length"))
        self.m = checks.integer("m", m)
        self.nodes = checks.integer("nodes", nodes, sizes.LEAST, sizes.MOST_NODES)
        least = sizes.LEAST + abs(self.m)
        if eta is None:
            self.eta = sizes.default_eta(self.R, self.m)
        else:
            self.eta = checks.integer("eta", eta, least)
        if self.eta > sizes.MOST_ETA:
            raise checks.InputError(
                "R" if eta is None else "eta",
                f"must have at most {sizes.MOST_ETA} functions of η, but "
                + (f"needs {self.eta}" if eta is None else f"is {checks.shown(eta)}"),
            )
        if rmax is not None:
            self.rmax = float(checks.positive("rmax", rmax, "length"))
        elif elements is not None:
            self.rmax = 0.5 * self.R + float(np.max(checks.array("elements", elements)))
        else:
            self.rmax = 0.5 * self.R + sizes.REACH
        reach = self.rmax - 0.5 * self.R
        if not reach > 0:
            raise checks.InputError(
                "rmax", f"must be above R/2 = {0.5 * self.R:g}, but is {self.rmax:g}"
            )
        if reach > sizes.FARTHEST:
            raise checks.InputError(
                "rmax", f"must be at most {sizes.FARTHEST:g}, but is {self.rmax:g}"
            )
        turn = sizes.distance_of_turn(scaling, self.R, self.rmax)
        if elements is None:
            self.elements = sizes.default_elements(self.R, reach, turn)
        else:
            self.elements = sizes.given_elements(elements, reach, turn)
        self.scaling = scaling
        # On the way to the matrices there are eight of their size.
        runtime.require_memory("eta", self.eta * max(64 * self.eta, 16 * self.shape[0]))

    @property
    def shape(self) -> tuple[int, ...]:
        return ((len(self.elements) - 1) * (self.nodes - 1), self.eta)

    @property
    def layout(self) -> Layout:
        """Nodes and weights of both coordinates."""
        return _layout(self)

    @property
    def separated_volume(self) -> tuple[np.ndarray, np.ndarray]:
        """a³(ξ²−1) in elements and a³(1−η²), whose sum is the volume factor."""
        cube = (0.5 * self.R) ** 3
        return cube * self.layout.xi.nodes.q[:, :-1], cube * self.layout.eta.nodes.q[0]

    @property
    def scale(self) -> np.ndarray:
        """D = [a³(ξ²−η²)]^{−1/2} at the nodes."""
        return 1 / np.sqrt(self.layout.volume)

    # The metric.

    @property
    def orthonormal(self) -> bool:
        return True

    def inner(self, bra: jax.Array, ket: jax.Array) -> jax.Array:
        """⟨bra|ket⟩ = Σ bra* ket; with exterior scaling the integral over the real coordinate."""
        return jnp.vdot(bra, ket)

    def axes(self) -> dict[str, np.ndarray]:
        return {"xi": 1 + kept(self.layout.real), "eta": self.layout.kept_eta}

    # Space.

    @property
    def directions(self) -> tuple[int, ...]:
        return (2,)

    @property
    def complex_scaled(self) -> bool:
        return self.scaling is not None

    def places(self) -> Places:
        rho, z = self._cylindrical()
        turned = (rho * np.cos(ELSEWHERE), rho * np.sin(ELSEWHERE), z)
        return Places(("x", "y", "z"), (rho, np.zeros_like(rho), z), equal_at=turned)

    def _cylindrical(self) -> tuple[np.ndarray, np.ndarray]:
        """(ρ, z) of the nodes, complex where the contour is."""
        a, nodes = 0.5 * self.R, self.layout
        rho = a * np.sqrt(kept(nodes.xi.nodes.q)[:, None] * nodes.eta.nodes.q[0])
        return rho, a * nodes.kept_xi[:, None] * nodes.kept_eta

    def sample(self, function: Callable[..., Any]) -> jax.Array:
        """ψ from a function of x, y, z at φ = 0, where e^{imφ} is one (not normalized)."""
        rho, z = self._cylindrical()
        weights = 2 * np.pi * kept(self.layout.xi.total)[:, None] * self.layout.eta.total[0]
        return function(rho, np.zeros_like(rho), z) * jnp.asarray(
            np.sqrt(weights * self.layout.volume)
        )

    # Operators.

    def multiply(self, values: Any) -> Operator:
        return Diagonal(values, self.shape)

    def kinetic(self, mass: Any = 1.0, order: Any = "spectral") -> Operator:
        a = 0.5 * self.R
        along = matrices.stiffness(self.layout.xi, self.m, 1)
        across = matrices.stiffness(self.layout.eta, self.m, -1)[0]
        return Separable(self.scale, 0.5 * a * along, 0.5 * a * across).scaled(1 / mass)

    def position(self, unit: Any) -> Operator:
        along = self.share_of_z(unit, "position")
        return self.multiply(along * self._cylindrical()[1])

    def momentum(self, unit: Any, order: Any = "spectral") -> Operator:
        along = self.share_of_z(unit, "momentum")
        a, nodes = 0.5 * self.R, self.layout
        parts = (matrices.derivative(axis, self.m) for axis in (nodes.xi, nodes.eta))
        xi, eta = (along * a**2 * part for part in parts)
        return Momentum(self.scale, xi, eta[0], (nodes.kept_xi[:, None], nodes.kept_eta))

    def share_of_z(self, unit: Any, what: str) -> float:
        """The component along z of a direction that has no other."""
        if np.any(np.abs(np.asarray(unit)[:2]) > 1e-12):
            advice = "it leads from one m to others; take z, as for light"
            raise Refused(self, f"the {what} across the axis", advice)
        return float(np.asarray(unit)[2])

    @property
    def light_advice(self) -> str:
        return "take light polarized along z, the axis of the nuclei"

    def depths(self, width: float) -> list[tuple[np.ndarray, float]]:
        """0 up to z = rmax − width on the axis, rising to 1 at rmax, the same on each ellipsoid."""
        reach = self.rmax - 0.5 * self.R
        if width >= reach or self.complex_scaled:
            raise checks.InputError(
                "width",
                f"must be below rmax − R/2 ({reach:g}) on a real coordinate, but is {width:g}",
            )
        depth = np.clip((self._distance() - (self.rmax - width)) / width, 0.0, 1.0)
        spacing = (self.elements[-1] - self.elements[-2]) / (self.nodes - 1)
        return [(np.broadcast_to(depth[:, None], self.shape), spacing)]

    def absorber(self, width: float, strength: Callable[[np.ndarray, float], Any]) -> Operator:
        """−iW(ξ) (ξ²−⅓)/(ξ²−η²): far out W itself, and separable, so that implicit steps need no
        iteration."""
        [(depth, spacing)] = self.depths(width)
        xi = self.axes()["xi"][:, None]
        share = (xi**2 - 1 / 3) / (xi**2 - self.layout.kept_eta**2)
        return self.multiply(-1j * strength(depth, spacing) * share)

    def mask_depths(self, width: float) -> list[np.ndarray]:
        return [depth for depth, _ in self.depths(width)]

    def _distance(self) -> np.ndarray:
        """aξ: how far out on the axis the ellipsoids of the nodes reach."""
        return 0.5 * self.R * (1 + kept(self.layout.real))

    def sphere(self, radius: float) -> Operator:
        """1 within `radius` of the middle."""
        square = np.abs(self._distance()[:, None] * self.layout.kept_eta) ** 2
        q = kept(self.layout.real * (2 + self.layout.real))[:, None]
        square = square + (0.5 * self.R) ** 2 * q * self.layout.eta.nodes.q[0]
        check_something_outside(radius, float(np.sqrt(square.max())))
        return self.multiply(np.where(square <= radius**2, 1.0, 0.0))

    def check_nuclei(self, charges: Any, positions: Any, rms: Any = None, potential: Any = None):
        if checks.is_traced(positions):
            return
        for position in np.asarray(positions, float):
            off = np.hypot(np.hypot(*position[:2]), abs(position[2]) - 0.5 * self.R)
            if off > FOCUS * self.R:
                raise checks.InputError(
                    "centers",
                    f"must be [0, 0, ±R/2] = [0, 0, ±{0.5 * self.R:g}] on this ProlateSpheroidal, "
                    f"but one is [{', '.join(f'{x:g}' for x in position)}]",
                )
        if not checks.is_traced(charges):
            largest = float(np.max(np.abs(charges)))
            sizes.warn_of_coarse(largest, self.R, self.elements, self.nodes, self.eta)

    # Implicit steps.

    @property
    def stiff(self) -> bool:
        """The corners at the nuclei hold energies of hundreds or thousands of hartree."""
        return True

    def separate(
        self, operator: Operator, layout: Elements | None = None
    ) -> tuple[Operator | None, Operator | None]:
        size = (len(self.elements) - 1, self.nodes)
        return implicit.separate(operator, self.scale, size, layout)

    def resolvents(self, operator: Operator) -> Resolvents:
        if not isinstance(operator, Separable):
            return Basis.resolvents(self, operator)
        xi, eta = self.separated_volume
        return implicit.Spheroidal(operator, (jnp.asarray(xi), jnp.asarray(eta)))

    # Stationary states.

    def poorer(self, operator: Operator) -> dict[str, tuple[Basis, ...]]:
        found: dict[str, tuple[Basis, ...]] = {
            "nodes": (self._with(nodes=sizes.other_count(self.nodes, sizes.MOST_NODES)),),
            "eta": (self._with(eta=sizes.other_count(self.eta, sizes.MOST_ETA)),),
        }
        if self.scaling is not None:
            turned = ExteriorScaling(self.scaling.radius, 0.8 * self.scaling.angle)
            found["angle"] = (self._with(scaling=turned),)
        return found

    def richer(self, name: str) -> Basis | None:
        if name == "nodes" and self.nodes + sizes.MORE <= sizes.MOST_NODES:
            return self._with(nodes=self.nodes + sizes.MORE)
        return self._with(eta=self.eta + sizes.MORE) if name == "eta" else None

    def _with(self, **changes: Any) -> ProlateSpheroidal:
        names = ("rmax", "elements", "nodes", "eta", "scaling")
        same: dict[str, Any] = {name: getattr(self, name) for name in names}
        return ProlateSpheroidal(self.R, self.m, **(same | changes))

    def finds_states(self, operator: Operator) -> bool:
        return states.separated(self, operator) is not None

    def stationary(
        self, operator: Operator, n: int, near: float | None
    ) -> tuple[np.ndarray, Any, str] | None:
        return states.stationary(self, operator, n, near)

    def level_name(self, psi: Any) -> str:
        """The name of a stationary state, such as 1sσg or 2pπu: n, l and |m| of the united atom,
        and its parity where it has one."""
        return states.level_name(self, psi)

    def box_errors(
        self, operator: Operator, energies: Any, found: Any
    ) -> tuple[np.ndarray, np.ndarray] | None:
        return states.box_errors(self, operator, energies, found)

    # Measuring and showing.

    def evaluate(self, psi: jax.Array, x: Any, y: Any, z: Any) -> Any:
        return pictures.evaluate(self, jnp.asarray(self.scale) * psi, x, y, z)

    def density(self, psi: jax.Array) -> jax.Array:
        """|ψ|² in the plane of x and z, through the nuclei."""
        return pictures.density(self, jnp.asarray(self.scale) * psi)

    def density_axes(self) -> dict[str, np.ndarray]:
        half = pictures.plane_points(self.R, self.rmax)
        both = np.concatenate([-half[:0:-1], half])
        return {"x": both, "z": both}

    def edges(self, driven: bool, open_end: bool) -> tuple[Edge, ...]:
        found: list[Edge] = []
        if driven:
            axis, odd = self.layout.eta, self.m % 2
            roots = np.sqrt(axis.nodes.q[0]) if odd else np.ones(self.eta)
            found.append(LastEta(self.layout.kept_eta, axis.total[0], roots, self.scale))
        if open_end and not self.complex_scaled:
            found.append(OuterWall(self._distance(), self.rmax))
        return tuple(found)

    # Devices.

    @property
    def mesh_axes(self) -> tuple[str, ...]:
        return ("space",)

    def divided(self, mesh: Mesh) -> DividedProlate:
        return DividedProlate(self, Elements(self.shape, mesh, nodes=self.nodes - 1))

    def __repr__(self) -> str:
        turned = "" if self.scaling is None else f", scaled beyond {self.scaling.radius:g}"
        return (
            f"ProlateSpheroidal: R = {self.R:g}, m = {self.m}, {self.shape[0]} × {self.shape[1]} "
            f"nodes in ξ and η to {self.rmax:g} bohr{turned}"
        )


@functools.lru_cache(maxsize=32)
def _layout(basis: ProlateSpheroidal) -> Layout:
    a = 0.5 * basis.R
    turn = None
    if basis.scaling is not None:
        start = basis.scaling.radius - a
        turn = (int(np.argmin(np.abs(np.asarray(basis.elements) - start))), basis.scaling.angle)
    edges = tuple(end / a for end in basis.elements)
    return layout(a, edges, basis.nodes, basis.eta, turn)
