"""What the driver (`loop`) compiles: a segment of many steps with their records, and its memory."""

from __future__ import annotations

import dataclasses
import functools
import math
import time
from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.monitoring
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from zitter import processes, runtime
from zitter.remade import parted

RECORD_BYTES = 256 * 2**20  # the most a segment's records may take on the device
SHORT = 256  # records: an equilibration and the run after it should be one program
LONG = 1024  # the most of them, and the least of which all take no more than …
LITTLE = 2**20  # bytes: so that a run and the check of its step are one program


class Clock:
    """Inside, time passes: `seconds` of it, and `compiling` what JAX tells to have spent on
    compiling, which is no part of them."""

    def __enter__(self) -> Clock:
        self.started, self.before = time.perf_counter(), _spent_on_compiling()
        return self

    def __exit__(self, *error: object) -> None:
        whole = time.perf_counter() - self.started
        self.compiling = min(whole, _spent_on_compiling() - self.before)
        self.seconds = whole - self.compiling


_told: dict[str, float] = {}  # seconds of each kind of event so far
_STAGES = ("jaxpr_trace", "jaxpr_to_mlir_module", "backend_compile")


@functools.cache
def _listening() -> None:
    def add(event: str, duration_secs: float, **kwargs: Any) -> None:
        _told[event] = _told.get(event, 0.0) + duration_secs

    jax.monitoring.register_event_duration_secs_listener(add)


def _spent_on_compiling() -> float:
    _listening()
    return sum(_told.get(f"/jax/core/compile/{stage}_duration", 0.0) for stage in _STAGES)


def placed_shapes(function: Callable[..., Any], context: Any, *shapes: Any) -> Any:
    """What `function(context, …)` would return, as shapes that know their devices."""
    return placed(function, context, *shapes)[0]


def placed(function: Callable[..., Any], context: Any, *shapes: Any) -> tuple[Any, int]:
    """The same, and the bytes that it takes on each device."""
    arrays, static = eqx.partition(context, eqx.is_array)
    made = eqx.filter_eval_shape(function, context, *shapes)
    # What the function does not look at is there, too.
    whole = lambda arrays, *given: function(eqx.combine(arrays, static), *given)  # noqa: E731
    call = jax.jit(whole, keep_unused=True)
    program = call.lower(arrays, *shapes).compile()
    found = jax.tree.map(
        lambda x, place: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=place),
        made,
        program.output_shardings,
    )
    memory = memory_of(program)
    return found, bytes_of((arrays, found)) if memory is None else memory


def on_one_mesh(state: Any) -> Any:
    """What lies on one device beside arrays on the mesh, as copies on all of its devices.

    That is where a segment leaves it; a segment that met both would be compiled for both.
    """
    mesh = runtime.settings().mesh
    leaves = [x for x in jax.tree.leaves(state) if isinstance(x, jax.Array)]
    if mesh is None or all(len(x.sharding.device_set) == 1 for x in leaves):
        return state
    everywhere = NamedSharding(mesh, PartitionSpec())

    def copied(leaf: Any) -> Any:
        alone = isinstance(leaf, jax.Array) and len(leaf.sharding.device_set) == 1
        return runtime.placed(leaf, everywhere) if alone else leaf

    return jax.tree.map(copied, state)


class Trial(NamedTuple):
    """Seconds of all steps, and what libraries take on the way that the compiler does not count."""

    seconds: float
    scratch: int


@dataclasses.dataclass(frozen=True)
class Program:
    """The segment of `drive`, compiled and not yet run."""

    call: Callable[[Any, Any, Any], Any]  # of the context's arrays, the state, a number of steps
    capacity: int
    memory: int  # bytes on each device: arguments, results and what it needs on the way
    seconds_to_compile: float
    state: int = 0  # bytes of the state on each device, but for what is made once
    made: int = 0  # bytes of that
    record: int = 0  # bytes of one record
    given: int = 0  # bytes of the arguments

    def tried(self, context: Any, state: Any, steps: float) -> Trial:
        """What all steps take, estimated by running the first few.

        How many is what process 0 finds: a program that others run along with must take as many
        turns on each.
        """
        arrays = eqx.filter(context, eqx.is_array)

        def timed(count: int) -> float:
            tick = time.perf_counter()
            jax.block_until_ready(self.call(arrays, state, jnp.asarray(count, jnp.int32)))
            return time.perf_counter() - tick

        # What only the first call does is no part of a step.
        beyond = runtime.most_beyond(lambda: timed(1), self.memory)
        scratch = 0 if beyond is None else max(0, beyond - (self.memory - self.given))
        (one,) = processes.agree(timed(1))
        count = int(max(1, min(self.capacity, steps, 0.5 / one)))
        return Trial((one if count == 1 else timed(count) / count) * steps, scratch)


def compiled(
    step: Callable[[Any, Any], tuple[Any, Any]], context: Any, state: Any, steps: int
) -> Program:
    """What `drive` would run. `state` may hold `jax.ShapeDtypeStruct`s: it is not computed."""
    started = time.perf_counter()
    arrays, static = eqx.partition(context, eqx.is_array)
    records = record_shape(step, context, state)
    capacity = most_records(jax.tree.leaves(records), steps)

    def call(arrays, state, count):
        return _carried(step, capacity, eqx.combine(arrays, static), *parted(state), count)

    program = jax.jit(call).lower(arrays, state, jnp.zeros((), jnp.int32)).compile()
    taken = time.perf_counter() - started
    row = sum(map(_bytes, jax.tree.leaves(records)))
    made, own = map(bytes_of, parted(state))
    memory, given = memory_of(program), sum(map(_bytes_here, jax.tree.leaves(arrays))) + made + own
    if memory is None:  # a back end that does not tell: arguments, results, two more states
        memory = given + 3 * own + capacity * row
    return Program(program, capacity, memory, taken, own, made, row, given)


def alike(one: Any, other: Any) -> bool:
    """Whether two contexts, or states, make one program: their arrays may hold other numbers."""

    def form(leaf: Any) -> Any:
        return (leaf.shape, leaf.dtype) if hasattr(leaf, "dtype") else leaf

    (leaves, tree), (others, other_tree) = map(jax.tree.flatten, (one, other))
    try:
        return tree == other_tree and list(map(form, leaves)) == list(map(form, others))
    except ValueError:  # of static arrays nobody can tell in one word whether they are equal
        return False


def memory_of(program: Any) -> int | None:
    """Bytes of a compiled program on each device: what it is given, gives, and has on the way."""
    analysis = program.memory_analysis()
    if analysis is None:
        return None
    return (
        analysis.argument_size_in_bytes
        + analysis.output_size_in_bytes
        + analysis.temp_size_in_bytes
        - analysis.alias_size_in_bytes
    )


def memory_to_call(function: Any, *given: Any, donated: tuple[int, ...] = ()) -> int:
    """The same of a function and its arguments, of which `jax.ShapeDtypeStruct`s are enough."""
    sized, static = eqx.partition(given, _sized)

    def call(*sized):
        return eqx.filter(function(*eqx.combine(sized, static)), eqx.is_array)

    program = jax.jit(call, donate_argnums=donated, keep_unused=True).lower(*sized).compile()
    found = memory_of(program)
    return 2 * bytes_of(sized) if found is None else found


def bytes_of(tree: Any) -> int:
    """What the arrays of a tree, or what stands for them, take on each device."""
    return sum(map(_bytes_here, filter(_sized, jax.tree.leaves(tree))))


def shaped(dtype: Any, *shape: int) -> Any:
    """In place of an array that is not made."""
    return jax.ShapeDtypeStruct(shape, dtype)


_shapes: dict[Any, Any] = {}
_MOST_SHAPES = 64


def record_shape(step: Callable[[Any, Any], tuple[Any, Any]], context: Any, state: Any) -> Any:
    """Shapes of a record, remembered: tracing a step takes longer than many a run of it.

    Nothing that encloses values is kept, neither is an array.
    """
    leaves, tree = jax.tree.flatten((context, state))
    forms = tuple(
        (x.shape, x.dtype) if isinstance(x, jax.Array | np.ndarray | np.generic) else x
        for x in leaves
    )
    functions = [x for x in (step, *forms) if callable(x)]
    plain = all(isinstance(x, FunctionType) and x.__closure__ is None for x in functions)
    key = (step, tree, forms)
    try:
        if plain and key in _shapes:
            return _shapes[key]
        _, found = eqx.filter_eval_shape(step, context, state)
        if plain:
            _shapes[key] = found
            if len(_shapes) > _MOST_SHAPES:
                del _shapes[next(iter(_shapes))]
        return found
    except (TypeError, ValueError):  # static parts that cannot be compared
        return eqx.filter_eval_shape(step, context, state)[1]


def segment(step, capacity, context, state, count):
    """`count` ≤ `capacity` steps with their records; kept compiled for later runs of this shape.

    What nothing changes is not copied.
    """
    made, changing = parted(state)
    changing, buffers = _carried_compiled(step, capacity, context, made, changing, count)
    return eqx.combine(made, changing), buffers


def _carried(step, capacity, context, made, changing, count):
    _, shapes = eqx.filter_eval_shape(step, context, eqx.combine(made, changing))
    buffers = jax.tree.map(lambda r: jnp.zeros((capacity, *r.shape), r.dtype), shapes)

    def body(i, carry):
        changing, buffers = carry
        state, record = step(context, eqx.combine(made, changing))
        return parted(state)[1], jax.tree.map(lambda b, v: b.at[i].set(v), buffers, record)

    changing, buffers = jax.lax.fori_loop(0, count, body, (changing, buffers))
    return changing, jax.tree.leaves(buffers)


_carried_compiled = eqx.filter_jit(_carried)


def _bytes(array: Any) -> int:
    return math.prod(array.shape) * array.dtype.itemsize


def _bytes_here(array: Any) -> int:
    """The share of one device, of an array or of a shape that knows its devices."""
    place = None if isinstance(array, np.ndarray | np.generic) else array.sharding
    shape = array.shape if place is None else place.shard_shape(array.shape)
    return math.prod(shape) * array.dtype.itemsize


def _sized(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array | np.ndarray | jax.ShapeDtypeStruct)


def most_records(record_leaves, steps: int) -> int:
    """How many records a segment may hold: a power of two within what the device should spend on
    them, so that runs of similar length share one compiled program, and all short ones do."""
    each = max(sum(_bytes(r) for r in record_leaves), 1)
    wanted = max(SHORT, 2 ** math.ceil(math.log2(max(steps, 1))))
    wanted = LONG if LONG * each <= LITTLE else wanted
    return int(max(1, min(wanted, LONG, RECORD_BYTES // each)))
