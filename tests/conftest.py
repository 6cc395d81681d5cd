"""Settings for all tests: double precision, on the CPU unless the GPU tests are asked for.

Environment variables are set before anything imports JAX; what the caller has set stays.
"""

from __future__ import annotations

import gc
import os
from pathlib import Path

import hypothesis
import pytest

import shares

REPOSITORY = Path(__file__).resolve().parent.parent

# No deadline: the first example of a property compiles. Fixed examples: a failure can be repeated.
hypothesis.settings.register_profile("zitter", deadline=None, derandomize=True)
hypothesis.settings.load_profile("zitter")


def pytest_addoption(parser: pytest.Parser) -> None:
    shares.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    shares.register(config)
    # Thousands of compiled programs stay alive, and each full collection walks through all of them.
    gc.set_threshold(200_000, 50, 100)
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(REPOSITORY / ".cache" / "jax"))
    # JAX keeps only what took a second to compile; most of our programs take less and are many.
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")
    if not asks_for_gpu(config.option.markexpr):
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
    from zitter import compiler_flags

    compiler_flags.keep_one_order()  # test modules use JAX before anything is configured


MOST_MAPS = 40_000  # of the 65 530 that Linux gives a process


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Compiled programs are dropped before they use up the process's memory maps.

    Each holds a few, and beyond the limit of the system the next one ends in a segmentation fault.
    """
    if nextitem is None or item.path == nextitem.path:
        return
    maps = Path("/proc/self/maps")
    if maps.exists() and maps.read_bytes().count(b"\n") > MOST_MAPS:
        import jax

        jax.clear_caches()
        gc.collect()


def asks_for_gpu(markers: str) -> bool:
    return "gpu" in markers and "not gpu" not in markers


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if not marked:
        return
    import jax

    if jax.default_backend() == "cpu":
        skip = pytest.mark.skip(reason="needs a GPU, and JAX has none here")
        for item in marked:
            item.add_marker(skip)


@pytest.fixture(scope="session", autouse=True)
def double_precision():
    """Tests start from double precision; one that wants another restores it."""
    from zitter import runtime

    return runtime.configure(precision="double")
