"""What a run would take: memory for each walker, how many walkers fit, and time."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from zitter import checks, runtime, segments
from zitter.qmc import spread
from zitter.qmc.runs import Run
from zitter.qmc.walk import diffusion, variational


@dataclasses.dataclass(frozen=True)
class Size:
    """Bytes of a run: in all, for each walker (at each twist), and apart from walkers."""

    total: int
    per_walker: float
    fixed: float

    def walkers_in(self, limit: int) -> int:
        return max(0, int((limit - self.fixed) / self.per_walker))


@dataclasses.dataclass(frozen=True)
class Needs:
    """What a run takes: memory, time to compile, and time of equilibration and all blocks; bytes of
    its walkers, which a checkpoint holds."""

    size: Size
    seconds_to_compile: float
    seconds_to_run: float
    walkers: int


def needs(run: Run, verb: str, options: dict[str, Any]) -> Needs:
    """From the compiled block and a few blocks that are run.

    Without a given stride a block of VMC counts as one sweep; the run itself may find that it needs
    more.
    """
    step, context, shapes = _block(run, verb, options)
    program = segments.compiled(step, context, shapes, run.blocks)
    size = _size(run, verb, options, program.memory, shapes)
    mesh = runtime.settings().mesh
    runtime.require_memory("walkers", size.total * (1 if mesh is None else mesh.size))
    first = state = variational.first_states(run)
    compiling, running = program.seconds_to_compile, 0.0
    if verb == "dmc":  # walkers come from a short VMC run
        state = diffusion.blank_state(first, jnp.zeros(first.width.shape))
        step, before, shapes = _block(run, "vmc", {})
        sweeps = segments.compiled(step, before, shapes, variational.EQUILIBRATION)
        compiling += sweeps.seconds_to_compile
        running = sweeps.tried(before, first, variational.EQUILIBRATION).seconds
    tried = program.tried(context, state, run.blocks)
    running += tried.seconds * (1 + _equilibration(run, verb, options) / run.blocks)
    size = Size(size.total + tried.scratch, size.per_walker, size.fixed + tried.scratch)
    return Needs(size, compiling, running, runtime.device_count() * program.state)


def _size(run: Run, verb: str, options: dict[str, Any], whole: int, shapes: Any) -> Size:
    """From the memory of the block with the walkers asked for (`whole`) and with half of them.

    On a mesh all of it is what one device holds, and a walker counts with its share.
    """
    half = spread.filled_up(max(2, run.walkers // 2))
    other = dataclasses.replace(
        run, walkers=half if half < run.walkers else 2 * run.walkers, start=None
    )
    change = whole - segments.compiled(*_block(other, verb, options), run.blocks).memory
    # Where walkers go in portions, what they take on the way does not grow; what they are does.
    mesh = runtime.settings().mesh
    own = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(shapes.walkers))
    own /= run.walkers * (1 if mesh is None else mesh.size)
    per_walker = max(change / (run.walkers - other.walkers), own)
    return Size(whole, per_walker, whole - per_walker * run.walkers)


def _equilibration(run: Run, verb: str, options: dict[str, Any]) -> float:
    """Its length in blocks."""
    given = options.get("equilibration")
    if verb == "vmc":
        return (given or variational.EQUILIBRATION) / (options.get("stride") or 1)
    timestep = float(checks.positive("timestep", options["timestep"], "time"))
    return given or diffusion.usual_equilibration(run.psi, timestep, options.get("steps", 10))


def _block(run: Run, verb: str, options: dict[str, Any]) -> tuple[Any, Any, Any]:
    """(step, context, shapes of the state) of the measured blocks."""
    first = functools.partial(variational.first_states, run)
    no = jnp.asarray(False)
    if verb == "vmc":
        stride = jnp.asarray(options.get("stride") or 1, jnp.int32)
        context = variational.Context(run.psi, stride, no, run.estimators, run.dtype)
        step = run.over_twists(variational.step, variational.counter)
        return step, context, _shapes(first, context)
    count = jnp.asarray(options.get("steps", 10), jnp.int32)
    tau = jnp.asarray(checks.positive("timestep", options["timestep"], "time"))
    chosen = diffusion.check_localization(run.psi, options.get("localization"))
    fixed = diffusion.Context(run.psi, tau, count, no, run.estimators, run.dtype, chosen)
    blank = lambda: diffusion.blank_state(s := first(), jnp.zeros(s.width.shape))  # noqa: E731
    step = run.over_twists(diffusion.step, diffusion.counter)
    return step, fixed, _shapes(blank, fixed)


def _shapes(make: Callable[[], Any], context: Any) -> Any:
    """What `make` would give, as shapes; on a mesh they know their devices."""
    if runtime.settings().mesh is None:
        return eqx.filter_eval_shape(make)
    return segments.placed_shapes(lambda _: make(), context)
