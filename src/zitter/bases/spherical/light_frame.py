"""The axes in which light is simple, and the channels that it reaches there.

Light along one line is turned to z, where it keeps m; light in a plane is turned to the xy plane,
where it keeps the parity of l + m (the reflection z → −z). So a state that begins in some of these
sectors stays in them, and no other channel needs to be stepped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter.bases.spherical import turns
from zitter.bases.spherical.kicks import Kick, LineKick, PlaneKick, Rows, SpaceKick, phased
from zitter.linalg.row_blocks import RowBlocks


class LightFrame(eqx.Module):
    """States on all `channels` to and from rows in turned axes, and the kick there."""

    kick: Kick
    rotation: jax.Array  # of vectors, (3, 3)
    turn: Turn | None  # of states; None where the axes are those of the basis
    taken: np.ndarray  # the channel of each row, where nothing is turned
    rows: tuple[tuple[int, int], ...] = eqx.field(static=True)
    channels: tuple[tuple[int, int], ...] = eqx.field(static=True)

    def enter(self, psi: jax.Array) -> jax.Array:
        return psi[self.taken] if self.turn is None else self.turn.into(psi)

    def leave(self, psi: jax.Array) -> jax.Array:
        if self.turn is not None:
            return self.turn.back(psi)
        return jnp.zeros((len(self.channels), *psi.shape[1:]), psi.dtype).at[self.taken].set(psi)

    def kicked(self, psi: jax.Array, points: jax.Array, kappa: jax.Array) -> jax.Array:
        return self.kick.kicked(psi, points, self.rotation @ kappa)


class Turn(eqx.Module):
    """d^l(−ϑ) Z(−φ), which takes the direction (ϑ, φ) to z, from all channels to some rows."""

    blocks: RowBlocks
    m: jax.Array
    phi: float = eqx.field(static=True)

    def into(self, psi: jax.Array) -> jax.Array:
        return self.blocks.times(phased(psi, self.m, -self.phi))

    def back(self, psi: jax.Array) -> jax.Array:
        return phased(self.blocks.times(psi, transposed=True), self.m, self.phi)


class Sectors(eqx.Module):
    """What light in some directions keeps: `kind` is "line", "plane" or "space"."""

    kind: str = eqx.field(static=True)
    toward: tuple[float, ...] = eqx.field(static=True)  # what is turned to z

    @classmethod
    def of(cls, units: Any, turns_allowed: bool, tolerance: float) -> Sectors:
        """Of light along these vectors, (number, 3); None stands for any."""
        if units is None:
            return cls("space", (0.0, 0.0, 1.0))
        _, lengths, axes = np.linalg.svd(np.asarray(units, float).reshape(-1, 3))
        rank = int(np.sum(lengths > tolerance * max(lengths.max(initial=0.0), tolerance)))
        if rank <= 1:
            kind, toward = "line", axes[0] if rank else np.array([0.0, 0.0, 1.0])
        else:
            kind, toward = ("plane", axes[2]) if rank == 2 else ("space", np.array([0.0, 0.0, 1.0]))
        if np.hypot(*toward[:2]) <= tolerance:
            toward = np.array([0.0, 0.0, 1.0])
        elif not turns_allowed:
            in_plane = kind == "line" and abs(toward[2]) <= tolerance
            kind, toward = "plane" if in_plane else "space", np.array([0.0, 0.0, 1.0])
        return cls(kind, tuple(float(x) for x in toward))

    def of_row(self, l: int, m: int) -> int:
        """The sector of a row."""
        return {"line": m, "plane": (l + m) % 2, "space": 0}[self.kind]

    def frame(
        self, channels: Rows, kept: Sequence[int] | None, batches: int, dtype: Any
    ) -> LightFrame:
        """The frame with the rows of the sectors `kept`, or of all."""
        rows = sorted(
            (row for row in channels if kept is None or self.of_row(*row) in kept),
            key=lambda row: (row[0], sum(row) % 2, row[1]) if self.kind != "line" else row,
        )
        place = {channel: i for i, channel in enumerate(channels)}
        kick = {"line": LineKick, "plane": PlaneKick, "space": SpaceKick}[self.kind]
        x, y, z = self.toward
        theta, phi = float(np.arctan2(np.hypot(x, y), z)), float(np.arctan2(y, x))
        turn = None
        if theta:
            blocks = []
            for l in dict.fromkeys(l for l, _ in channels):
                after = [l + m for n, m in rows if n == l]
                before = [l + m for n, m in channels if n == l]
                blocks.append(turns.turned(l, -theta)[np.ix_(after, before)])
            m = jnp.asarray([m for _, m in channels], dtype)
            turn = Turn(RowBlocks(blocks, batches, dtype), m, phi)
        return LightFrame(
            kick(rows, batches, dtype),
            jnp.asarray(_rotation(theta, phi), dtype),
            turn,
            np.asarray([place[row] for row in rows]),
            tuple(rows),
            tuple(channels),
        )


def _rotation(theta: float, phi: float) -> np.ndarray:
    """R_y(−ϑ) R_z(−φ)."""
    c, s = np.cos(theta), np.sin(theta)
    about_y = np.array([[c, 0.0, -s], [0.0, 1.0, 0.0], [s, 0.0, c]])
    c, s = np.cos(phi), np.sin(phi)
    return about_y @ np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
