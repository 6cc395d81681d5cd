"""Samples of |Ψ|² under other parameters: local energies, ln|Ψ|, and their derivatives.

Terms of the energy that do not see Ψ are evaluated once for each sample. Those that do, the kinetic
energy and nonlocal ones, are evaluated again under whatever parameters are tried, on what Ψ keeps
of the sample; for Jastrow parameters that is ∇ln D and ∇²D/D.

Samples and tables of derivatives stay where their walkers are: each device works on those of its
own. The host gets two numbers of each sample, E_L and ln|Ψ|, and sums (`sums`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import runtime, segments
from zitter.qmc import spread
from zitter.qmc.energies.local import energy_parts
from zitter.qmc.wavefunction import Wavefunction

BATCH = 256  # samples whose derivatives are taken at once, at most
PAIRS = 1 << 25  # pairs of electrons at once: about ten numbers are kept of each
PIECE = 2048  # samples that a device has in one call of a compiled program
OUTLIERS = 8.0  # mean absolute deviations from the median beyond which E_L is cut


class Data(NamedTuple):
    """What is stored of samples of |Ψ|²."""

    kept: Any  # what Ψ keeps of each
    fixed: Any  # the energy of the terms that do not see Ψ
    keys: Any  # of those that do


class Draws(NamedTuple):
    """Some of the samples that walkers have drawn.

    Draw t of walker w is sample tW + w; the walkers are divided among the devices.
    """

    data: Data  # with draws as first axis and walkers as second
    chosen: np.ndarray  # numbers of samples

    @classmethod
    def once(cls, data: Data) -> Draws:
        """One sample of every walker, which is the first axis of the data."""
        rows = spread.placed_rows(jax.tree.map(lambda x: jnp.asarray(x)[None], data))
        return cls.all(rows)

    @classmethod
    def all(cls, data: Data) -> Draws:
        return cls(data, np.arange(np.size(data.fixed)))

    def part(self, chosen: Any) -> Draws:
        return Draws(self.data, self.chosen[chosen])


class Slopes(NamedTuple):
    """∂ln|Ψ|/∂p and ∂E/∂p of samples, each (samples, P)."""

    log: Any
    energy: Any


class Table(NamedTuple):
    """Local energies and derivatives of samples, of which some are chosen.

    The derivatives are in pieces, divided among the devices as the samples are.
    """

    pieces: list[Slopes]
    numbers: np.ndarray  # (pieces, rows of a piece): which sample it is, −1 for what fills up
    energies: np.ndarray  # E_L of all
    chosen: np.ndarray  # numbers of those that count

    @property
    def energy(self) -> np.ndarray:
        """(M,): E_L of those chosen."""
        return self.energies[self.chosen]

    @property
    def log_slope(self) -> np.ndarray:
        """(M, P): ∂ln|Ψ|/∂p of those chosen, on the host. No method here asks for that much."""
        return self._gathered([piece.log for piece in self.pieces])

    @property
    def energy_slope(self) -> np.ndarray:
        """(M, P): ∂E/∂p, likewise."""
        return self._gathered([piece.energy for piece in self.pieces])

    def part(self, chosen: Any) -> Table:
        return self._replace(chosen=self.chosen[chosen])

    def rows(self, values: np.ndarray) -> np.ndarray:
        """Numbers of the chosen samples (M,) as the rows of the pieces have them, 0 elsewhere."""
        everywhere = np.zeros(len(self.energies) + 1, values.dtype)  # the last for what fills up
        everywhere[self.chosen] = values
        return everywhere[self.numbers]

    def _gathered(self, pieces: list[Any]) -> np.ndarray:
        found = np.stack([runtime.to_host(piece) for piece in pieces])
        table = np.empty((len(self.energies), found.shape[-1]))
        real = self.numbers >= 0
        table[self.numbers[real]] = found[real]
        return table[self.chosen]


def sample(psi: Wavefunction, walker: Any, key: Any) -> Data:
    """What is stored of one walker."""
    ratios = any(term.takes_ratios for term in psi.system.energies)
    fixed = energy_parts(psi, walker, key, jnp.float64, sees_psi=False)
    return Data(psi.keep(walker, ratios), sum(fixed.values(), jnp.zeros(())), key)


def local_energy(psi: Wavefunction, parameters: Any, data: Data) -> tuple[Any, Any]:
    """E_L and ln|Ψ| of one sample under other parameters."""
    psi = psi.with_parameters(parameters)
    walker = psi.recall(data.kept)
    parts = energy_parts(psi, walker, data.keys, jnp.float64, sees_psi=True)
    return data.fixed + sum(parts.values()), walker.log


def energies(psi: Wavefunction, parameters: Any, draws: Draws) -> tuple[np.ndarray, np.ndarray]:
    """(E_L, ln|Ψ|) of the samples."""
    pieces, numbers = _in_pieces(_energies, psi, parameters, draws)
    columns = zip(*pieces, strict=True)
    energy, log = (_on_host(column, numbers, len(draws.chosen)) for column in columns)
    return energy, log


def tabulate(psi: Wavefunction, draws: Draws) -> Table:
    pieces, numbers = _in_pieces(_derivatives, psi, psi.parameters, draws)
    count = len(draws.chosen)
    energy = _on_host([piece[0] for piece in pieces], numbers, count)
    return Table([Slopes(*piece[1:]) for piece in pieces], numbers, energy, np.arange(count))


def memory_of_piece(psi: Wavefunction, draws: Draws) -> int:
    """Bytes on each device while the derivatives of one piece of the samples are taken."""
    places, _ = _arranged(draws)
    piece = jax.eval_shape(_taken, draws.data, spread.placed(places[0], False))
    return segments.memory_to_call(_derivatives, psi, jnp.asarray(psi.parameters), piece)


def _at_once(psi: Wavefunction) -> int:
    """Samples that are worked on together: 256 of 1930 electrons would fill 74 GiB."""
    return max(1, min(BATCH, PAIRS // psi.system.electrons**2))


@eqx.filter_jit
def _energies(psi, parameters, data):
    def here(shared, data):
        psi, parameters = shared
        one = lambda sample: local_energy(psi, parameters, sample)  # noqa: E731
        return jax.lax.map(one, data, batch_size=_at_once(psi))

    return spread.over_walkers(here, (psi, parameters), data)


@eqx.filter_jit
def _derivatives(psi, parameters, data):
    def here(shared, data):
        psi, parameters = shared

        def one(sample):
            energy, pull = jax.vjp(lambda p: local_energy(psi, p, sample), parameters)
            # Both at once: one way back is half the program.
            (of_energy, of_log) = jax.vmap(pull)(tuple(jnp.eye(2)))[0]
            return energy[0], of_log, of_energy

        return jax.lax.map(one, data, batch_size=_at_once(psi))

    return spread.over_walkers(here, (psi, parameters), data)


@jax.jit
def _taken(data, places):
    """Samples by their places among those of their own device."""

    def here(_, places, data):
        return jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:])[places], data)

    return spread.over_walkers(here, (), places, data)


def _in_pieces(program: Any, psi: Wavefunction, parameters: Any, draws: Draws) -> Any:
    """What a compiled program finds of pieces of one size, whatever the number of samples is.

    With the numbers of the samples in each piece, −1 for what fills it up.
    """
    places, numbers = _arranged(draws)
    parameters, found = jnp.asarray(parameters), []
    for piece in places:
        found.append(program(psi, parameters, _taken(draws.data, spread.placed(piece, False))))
    return found, numbers


def _arranged(draws: Draws) -> tuple[np.ndarray, np.ndarray]:
    """Where each device finds the samples of each piece, and which of those chosen they are."""
    walkers, devices = np.shape(draws.data.fixed)[1], spread.parts()
    share = walkers // devices
    draw, walker = np.divmod(draws.chosen, walkers)
    places = draw * share + walker % share
    owned = [np.flatnonzero(walker // share == device) for device in range(devices)]
    longest = max(map(len, owned))
    size = min(PIECE, 1 << (longest - 1).bit_length())
    pieces = -(-longest // size)
    numbers = np.full((devices, pieces * size), -1)
    for device, mine in enumerate(owned):
        numbers[device, : len(mine)] = mine
    numbers = numbers.reshape(devices, pieces, size).swapaxes(0, 1).reshape(pieces, -1)
    # What fills up is a sample like any other: it must not end in an exception.
    return places[np.maximum(numbers, 0)], numbers


def _on_host(pieces: Any, numbers: np.ndarray, count: int) -> np.ndarray:
    """One number of each sample, in their order."""
    found, real = np.stack([runtime.to_host(piece) for piece in pieces]), numbers >= 0
    values = np.empty(count)
    values[numbers[real]] = found[real]
    return values


def limited(energy: np.ndarray) -> np.ndarray:
    """Local energies with outliers, as near nodes, brought to `OUTLIERS` mean deviations."""
    center = np.median(energy)
    reach = OUTLIERS * np.mean(np.abs(energy - center))
    return np.clip(energy, center - reach, center + reach)


def reweighted(psi: Wavefunction, draws: Draws, trial: np.ndarray, old: np.ndarray):
    """(energy, variance, overlap) of trial parameters on samples of the present ones."""
    energy, log = energies(psi, trial, draws)
    return averages(energy, log - old)


def averages(energy: np.ndarray, change: np.ndarray) -> tuple[float, float, float]:
    """(energy, variance, overlap) under weights e^{2 change}, of ln|Ψ| by which samples moved."""
    power = 2 * change
    weights = np.exp(power - np.max(power))
    weights = weights / np.sum(weights)
    mean = float(np.sum(weights * energy))
    variance = float(np.sum(weights * (energy - mean) ** 2))
    return mean, variance, float(1 / np.sum(weights**2) / len(weights))
