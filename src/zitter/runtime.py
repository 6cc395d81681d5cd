"""Precision, device and mesh: chosen once, explicitly, before the first array is made.

Importing zitter sets nothing. `configure` sets what is asked; a program that never calls it gets
double precision on JAX's default device at the moment it builds its first basis.

"double"   complex128 states, float64 everywhere.
"single"   complex64 states and float32 operators; set-up tables, times and sums stay in float64.
"tf32"     as "single", with matrix products on the tensor cores (10-bit mantissa).
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import functools
import math
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from zitter import checks, compiler_flags, processes

Precision = Literal["double", "single", "tf32"]
PRECISIONS = ("double", "single", "tf32")
# What the axes of a mesh divide.
MESH_AXES = {
    "space": "a grid, in slabs along its first axis",
    "l": "an atomic basis, by angular momentum",
    "angular": "spinors, by μ",
    "rows": "full matrices, by rows",
    "columns": "full matrices, by columns",
    "walkers": "the walkers of Monte Carlo",
    "twists": "the twists of Monte Carlo",
    "batch": "the items of a scan",
}
PORTION = 64 * 2**20  # bytes of a divided array that devices send to all hosts at a time
_MATMUL = {"double": "highest", "single": "highest", "tf32": "tensorfloat32"}


@dataclasses.dataclass(frozen=True)
class Settings:
    """What `configure` chose: precision, the device arrays live on, and the mesh, None for one
    device; on how many machines its devices are.
    """

    precision: Precision
    device: Any
    mesh: Mesh | None
    hosts: int = 1

    @property
    def real_dtype(self) -> Any:
        return np.dtype(np.float64 if self.precision == "double" else np.float32)

    @property
    def complex_dtype(self) -> Any:
        return np.dtype(np.complex128 if self.precision == "double" else np.complex64)


_settings: Settings | None = None


def configure(
    precision: Precision = "double",
    device: str | None = None,
    mesh: dict[str, int] | None = None,
) -> Settings:
    """Choose precision, device ("cpu", "gpu", "gpu:1") and mesh ({"space": 4}) for what follows.

    The axes of a mesh say what its devices divide: `space` (a grid), `l` and `angular` (atoms),
    `rows` and `columns` (full matrices), `walkers`, `twists`, `batch` (scans).
    """
    global _settings
    checks.choice("precision", precision, PRECISIONS)
    compiler_flags.keep_one_order()
    chosen = find_device(device)
    new = Settings(precision, chosen, make_mesh(mesh or {}, chosen), processes.hosts())
    devices = [chosen] if new.mesh is None else list(new.mesh.devices.flat)
    compiler_flags.warn_of_any_order(devices)
    # float64 must be available in every mode: set-up tables, times and sums are kept in double.
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_default_matmul_precision", _MATMUL[precision])
    if device is not None:
        jax.config.update("jax_default_device", chosen)
    if _settings is not None and _settings.mesh != new.mesh:
        jax.clear_caches()  # compiled programs have the mesh built in, but are not found by it
    _settings = new
    return new


def settings() -> Settings:
    """The settings in force; the defaults of `configure` are applied if nobody has chosen."""
    return _settings if _settings is not None else configure()


def on_host() -> bool:
    """Whether the device is the CPU, whose memory is that of the host."""
    return settings().device.platform == "cpu"


@contextlib.contextmanager
def one_device() -> Iterator[None]:
    """The same settings without their mesh, for what is done item by item inside a larger whole."""
    global _settings
    whole = settings()
    _settings = dataclasses.replace(whole, mesh=None)
    try:
        yield
    finally:
        _settings = whole


def find_device(name: str | None) -> Any:
    if name is None:
        return next(iter(jnp.zeros(()).devices()))  # wherever JAX puts arrays by default
    platform, _, index = str(name).partition(":")
    try:
        devices = jax.local_devices(backend=platform)
    except RuntimeError:
        have = ", ".join(sorted({d.platform for d in jax.devices()} | {"cpu"}))
        raise checks.InputError(
            "device", f"must be one of this machine's devices ({have}), but is {name!r}"
        ) from None
    if index and not (checks.is_count(index) and int(index) < len(devices)):
        raise checks.InputError(
            "device", f"must have an index below {len(devices)}, but is {name!r}"
        )
    return devices[int(index or 0)]


def make_mesh(sizes: dict[str, int], device: Any) -> Mesh | None:
    """Devices in named axes; an axis of one device divides nothing and is left out."""
    checks.instance("mesh", sizes, dict)
    for axis in sizes:
        checks.choice("mesh", axis, tuple(MESH_AXES))
    sizes = {axis: checks.integer(f"mesh.{axis}", n, 1) for axis, n in sizes.items()}
    sizes = {axis: n for axis, n in sizes.items() if n > 1}
    if not sizes:
        if processes.count() > 1:
            raise checks.InputError(
                "mesh", f"must say what {processes.count()} processes divide, but is missing"
            )
        return None
    total = math.prod(sizes.values())
    devices = _mesh_devices(device.platform, total)
    if device not in devices[:total] and device in devices and processes.count() == 1:
        raise checks.InputError(
            "device",
            f"must be one of the first {total} where a mesh takes those, but is "
            f"{device.platform}:{devices.index(device)}: leave the number out",
        )
    if total > len(devices):
        raise checks.InputError(
            "mesh",
            f"must not ask for more than the {len(devices)} {device.platform} device(s) here, "
            f"but asks for {total}{_remedy(device.platform, total)}",
        )
    shape = tuple(sizes.values())
    kinds = (AxisType.Auto,) * len(shape)
    return Mesh(np.asarray(devices[:total]).reshape(shape), tuple(sizes), axis_types=kinds)


def _remedy(platform: str, total: int) -> str:
    """How a machine without GPUs gets more devices: its cores are one to JAX."""
    if platform != "cpu" or processes.count() > 1:
        return ""
    variable = f"JAX_NUM_CPU_DEVICES={total}"
    return f"; its cores become more with {total} processes, or with {variable} in the environment"


def _mesh_devices(platform: str, total: int) -> list[Any]:
    """All devices, or where there are many processes, as many of each as the mesh takes."""
    devices, count = jax.devices(platform), processes.count()
    if count == 1:
        return devices
    if total % count:
        raise checks.InputError(
            "mesh", f"must have devices of all {count} processes alike, but has {total}"
        )
    owned = [[d for d in devices if d.process_index == p] for p in range(count)]
    return [d for mine in owned for d in mine[: total // count]]


def mesh_for(axes: tuple[str, ...], who: str) -> Mesh | None:
    """The mesh for something that `axes` can divide, None for one device.

    A mesh with any other axis is refused: those devices would idle or repeat the work of others.
    """
    mesh = settings().mesh
    if mesh is None:
        return None
    other = [axis for axis in mesh.axis_names if axis not in axes]
    if other:
        raise checks.InputError(
            f"mesh.{other[0]}",
            f"must be left out here, since it divides {MESH_AXES[other[0]]}, but {who} "
            + (f"can be divided by {' and '.join(axes)} only" if axes else "cannot be divided"),
        )
    return mesh


def placed(array: Any, sharding: Any) -> jax.Array:
    """An array where a sharding wants it; on many processes each gives the parts it is to hold."""
    if checks.is_traced(array):
        return jax.lax.with_sharding_constraint(array, sharding)
    if jax.process_count() == 1:
        return jax.device_put(array, sharding)
    if isinstance(array, jax.Array) and not array.is_fully_addressable:
        return jax.jit(lambda x: x, out_shardings=sharding)(array)
    if sharding.is_fully_addressable:
        return jax.device_put(array, sharding)
    known = np.asarray(array)
    return jax.make_array_from_callback(known.shape, sharding, lambda index: known[index])


def even_cut(shape: tuple[int, ...], axes: tuple[str, ...]) -> NamedSharding | None:
    """How an array that the `axes` of a mesh may divide can lie on its devices as it is, without
    padding: along the first of its own axes that comes out even; None where it cannot.

    Of several processes each looks at whole arrays by itself, so that they are not cut there.
    """
    mesh = settings().mesh
    if mesh is None or jax.process_count() > 1 or not set(mesh.axis_names) <= set(axes):
        return None
    even = (axis for axis, n in enumerate(shape) if n % mesh.size == 0)
    axis = next(even, None)
    if axis is None:
        return None
    return NamedSharding(mesh, PartitionSpec(*(None,) * axis, mesh.axis_names))


def cut_like(array: Any, shape: tuple[int, ...], place: NamedSharding) -> Any:
    """An array that broadcasts over a `shape`, cut as that is; anything else as it is.

    What is computed from it, element by element, then lies in parts from the beginning.
    """
    if not isinstance(array, np.ndarray | jax.Array) or checks.is_traced(array):
        return array
    fits = array.ndim == len(shape) and all(map(lambda n, m: n in (1, m), array.shape, shape))
    if not fits:
        return array
    long = array.shape[len(place.spec) - 1] > 1
    return placed(array, place if long else NamedSharding(place.mesh, PartitionSpec()))


def is_here(array: Any) -> bool:
    """Whether all of an array is on this process, or known only to the compiler."""
    return not isinstance(array, jax.Array) or checks.is_traced(array) or array.is_fully_addressable


def to_host(array: Any) -> np.ndarray:
    """All of an array, on every process."""
    if is_here(array):
        return np.asarray(array)
    if array.is_fully_replicated:
        return np.asarray(array.addressable_data(0))
    return _gathered(array)


def of_first(array: Any) -> np.ndarray:
    """The values of process 0, everywhere, for an array of the same shape that each has computed.

    LAPACK and NumPy may give each process other last bits, or other signs; what comes to the
    devices of all, and what decides where all go on, must be the same.
    """
    own = np.asarray(array)
    if processes.count() == 1:
        return own
    from jax.experimental import multihost_utils

    found = np.empty(own.size, own.dtype)
    width = max(1, PORTION // own.dtype.itemsize)
    for start in range(0, own.size, width):
        some = slice(start, start + width)
        found[some] = multihost_utils.broadcast_one_to_all(own.reshape(-1)[some])
    return found.reshape(own.shape)


def _gathered(array: jax.Array) -> np.ndarray:
    """All of an array that lies on many processes: `PORTION` bytes of the devices' parts at a time,
    so that no device holds more of it beside its own part."""
    found = np.empty(array.shape, array.dtype)
    places = array.sharding.devices_indices_map(array.shape)
    row = Mesh(np.asarray(sorted(places, key=lambda device: device.id)), "device")
    cut, everywhere = (NamedSharding(row, PartitionSpec(*axes)) for axes in (("device",), ()))
    parts = [found[places[device]] for device in row.devices]
    size = parts[0].size  # parts are of equal sizes
    width = min(size, max(1, PORTION // (len(parts) * array.dtype.itemsize)))
    for start in range(0, size, width):
        start = min(start, size - width)
        own = [_portion(shard.data, start, width) for shard in array.addressable_shards]
        sent = jax.make_array_from_single_device_arrays((len(parts), width), cut, own)
        came = np.asarray(_copied(sent, everywhere).addressable_data(0))
        for part, values in zip(parts, came, strict=True):
            flat = part.reshape(-1) if part.flags.c_contiguous else part.flat
            flat[start : start + width] = values
    return found


@functools.partial(jax.jit, static_argnums=2)
def _portion(part: jax.Array, start: int, width: int) -> jax.Array:
    return jax.lax.dynamic_slice_in_dim(part.reshape(1, -1), start, width, 1)


@functools.partial(jax.jit, static_argnums=1)
def _copied(array: jax.Array, sharding: Any) -> jax.Array:
    return jax.lax.with_sharding_constraint(array, sharding)


def unroll() -> int:
    """Steps to write out in one turn of a time loop.

    A GPU pays for each turn (launches, and a copy of the carried state when the turn makes one new
    array from it); the CPU runs short bodies faster than long ones.
    """
    return 1 if on_host() else 8


def memory_limit(device: Any = None) -> int | None:
    """Bytes the device can hold, or None where nobody says."""
    device = device or settings().device
    if device.platform == "cpu":
        return host_memory()
    stats = device.memory_stats() or {}
    return stats.get("bytes_limit")


def host_memory() -> int | None:
    """What the machine has, or as much of it as this process may have."""
    limits = []
    with contextlib.suppress(ValueError, OSError):
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
        limits += [soft] if soft != resource.RLIM_INFINITY else []
    with contextlib.suppress(OSError, ValueError):  # of a container; "max" is no number
        limits.append(int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    return min(limits, default=None)


def release_memory() -> None:
    """What is free goes back to the system. glibc keeps small pieces, such as those of compilers (a
    hundred MB), and large arrays that are made next would come on top of them."""
    with contextlib.suppress(AttributeError, OSError, TypeError):  # other C libraries
        ctypes.CDLL(None).malloc_trim(0)


def device_count() -> int:
    """Devices that share what is divided."""
    mesh = settings().mesh
    return 1 if mesh is None else mesh.size


def most_beyond(action: Callable[[], Any], expected: int = 0) -> int | None:
    """Do something, and tell the most bytes that the device had in use beyond those before; None
    where nobody counts. A device knows its highest mark alone: memory is taken up to there first,
    if there is room for what is `expected` beside it.
    """
    device = settings().device
    before = device.memory_stats() if settings().mesh is None else None
    if not before or not {"peak_bytes_in_use", "bytes_limit"} <= before.keys():
        action()
        return None
    mark = before["peak_bytes_in_use"]
    if mark + 2 * expected > before["bytes_limit"]:
        action()
        return None
    gap, ballast = mark - before["bytes_in_use"], None
    # What is free need not be in one piece: then the mark is too high, and too little is seen.
    with contextlib.suppress(jax.errors.JaxRuntimeError):
        ballast = jax.block_until_ready(jnp.zeros(gap, jnp.uint8)) if gap > 0 else None
    known = device.memory_stats()
    action()
    del ballast
    found = device.memory_stats()["peak_bytes_in_use"]
    return found - known["bytes_in_use"] if known["bytes_in_use"] >= mark or found > mark else None


def mesh_memory() -> int | None:
    """Bytes that all devices of the mesh have together, or None where nobody says."""
    now = settings()
    limit = memory_limit(now.device)
    if limit is None or now.mesh is None:
        return limit
    # CPU devices of one machine share its memory.
    return limit * (now.hosts if now.device.platform == "cpu" else now.mesh.size)


def require_memory(key: str, needed: float) -> None:
    """Refuse what takes more bytes than all devices have together, before it is made.

    `needed` is a lower bound known from sizes alone.
    """
    most = mesh_memory()
    if most is not None and needed > most:
        raise checks.InputError(
            key, f"must fit the device's {readable(most)}, but needs at least {readable(needed)}"
        )


def readable(amount: float) -> str:
    """A number of bytes for people."""
    amount = float(min(amount, 10**300))
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if amount < 1024:
            return f"{amount:.3g} {unit}"
        amount /= 1024
    return f"{amount:.3g} PiB"


def describe(dtype: Any = None) -> dict[str, str]:
    """Device, precision and versions, as written into every file.

    A run follows the `dtype` of its initial state, which need not be that of the settings.
    """
    import zitter

    now = settings()
    precision = now.precision
    if dtype is not None and jnp.finfo(dtype).bits != jnp.finfo(now.real_dtype).bits:
        precision = "double" if jnp.finfo(dtype).bits == 64 else "single"
    kind = getattr(now.device, "device_kind", now.device.platform)
    return {
        "zitter": zitter.__version__,
        "jax": jax.__version__,
        "device": str(kind) if now.device.platform != "cpu" else "cpu",
        "precision": precision,
        "mesh": str(dict(now.mesh.shape)) if now.mesh else "",
    }


def describe_shares(shares: dict[str, list[int]]) -> dict[str, str]:
    """The mesh that a run really used, and what each device held, for its `info`."""
    mesh = {axis: len(parts) for axis, parts in shares.items()}
    return {"mesh": str(mesh), "shares": str(shares)} if shares else {"mesh": ""}


def native(array: Any) -> Any:
    """What is no array of JAX, as one of NumPy that JAX takes."""
    return array if isinstance(array, jax.Array) else checks.native(np.asarray(array))


def as_state(array: Any, dtype: Any = None) -> jax.Array:
    """A state as complex JAX array whose precision follows its own dtype, or `dtype`."""
    array = jnp.asarray(array)
    if dtype is None:
        dtype = jnp.complex64 if array.dtype in (jnp.float32, jnp.complex64) else jnp.complex128
    return array.astype(dtype)
