"""A compiled program that a disk has cut off: removed, and compiled again without a word."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from jax.experimental.compilation_cache import compilation_cache

from zitter import cli
from zitter.cli import program_cache


@pytest.fixture
def cache(tmp_path):
    """JAX's cache in a folder of its own."""
    keys = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs")
    before = {key: getattr(jax.config, key) for key in keys}
    for key, value in zip(keys, (str(tmp_path), 0.0), strict=True):
        jax.config.update(key, value)
    compilation_cache.reset_cache()
    yield tmp_path
    for key, value in before.items():
        jax.config.update(key, value)
    compilation_cache.reset_cache()


@pytest.mark.slow
def test_an_entry_that_is_cut_off_is_made_anew(cache, capsys):
    def a_program_of_its_own(x):
        return jnp.sin(x) * 3 + x**2

    x = jnp.arange(7.0)
    with cli._plain_warnings():
        first = jax.jit(a_program_of_its_own)(x)
        (entry,) = cache.glob("jit_a_program_of_its_own-*-cache")
        whole = entry.stat().st_size
        entry.write_bytes(entry.read_bytes()[: whole // 2])
        jax.clear_caches()
        again = jax.jit(a_program_of_its_own)(x)
    assert (first == again).all()
    assert entry.stat().st_size > whole // 2
    assert capsys.readouterr().err == ""


def test_what_is_removed(cache):
    for name in ("jit_f-0a1b-cache", "jit_f_g-0a1b-cache", "jit_f-0a1b-atime"):
        (cache / name).write_bytes(b"")
    about = "persistent compilation cache entry for 'jit_f': OSError: No space left on device"
    kept = f"compiled programs cannot be kept in {cache} (No space left on device): they are "
    assert (
        program_cache.told(f"Error writing {about}")
        == kept + "compiled again where they are needed"
    )
    assert sorted(p.name for p in cache.iterdir()) == ["jit_f-0a1b-atime", "jit_f_g-0a1b-cache"]
    missing = "entry for 'jit_f': FileNotFoundError: [Errno 2] No such file or directory: '/proc/x'"
    told = program_cache.told(f"Error reading persistent compilation cache {missing}")
    assert "(No such file or directory): they" in told  # nothing was there to remove
    assert program_cache.told("the grid is too small") == "the grid is too small"
