"""Verbs with the same seed share no random numbers."""

from __future__ import annotations

import itertools

import jax
import numpy as np
import pytest

from zitter.qmc import Chi, Electrons, Nucleus, SlaterJastrow, dmc, optimize, streams, vmc
from zitter.qmc.walk import variational

STREAMS = (
    streams.DIFFUSION,
    streams.OPTIMIZATION,
    streams.T_MOVES,
    streams.STORED_SAMPLES,
)


def test_streams_are_no_splits_of_their_key():
    """fold_in(key, 1) is split(key)[1]: numbers that steps are made of would come back."""
    key = jax.random.PRNGKey(3)
    assert np.array_equal(jax.random.fold_in(key, 1), jax.random.split(key)[1])
    taken = np.asarray(jax.random.split(key, 4096)).tolist()
    own = [np.asarray(streams.apart(key, stream)).tolist() for stream in STREAMS]
    assert not any(one in taken for one in own)
    assert len({tuple(one) for one in own}) == len(STREAMS)


class _Begun(Exception):
    """Where walkers begin and the key of their steps; the run is not wanted."""


@pytest.fixture
def begin(monkeypatch):
    """(positions, key) that a verb begins with."""
    first_positions = variational.first_positions

    def watched(*arguments):
        raise _Begun(*map(np.asarray, first_positions(*arguments)))

    def found(verb, *arguments, **options):
        with pytest.raises(_Begun) as begun:
            verb(
                SlaterJastrow(Electrons((1, 0), [Nucleus(1)]), [Chi()]),
                *arguments,
                seed=5,
                **options,
            )
        return begun.value.args

    monkeypatch.setattr(variational, "first_positions", watched)
    return found


def test_verbs_of_one_seed_begin_with_walkers_of_their_own(begin):
    """An optimization on the walk of a VMC run would be flattered by it."""
    each = begin(vmc), begin(dmc, 0.05), begin(optimize)
    for (r, key), (other_r, other_key) in itertools.combinations(each, 2):
        assert not np.any(r == other_r)
        assert not np.array_equal(key, other_key)
    for verb, found in zip((vmc, dmc, optimize), each, strict=True):
        again = begin(verb, *((0.05,) if verb is dmc else ()))
        assert all(map(np.array_equal, again, found))


def test_dmc_from_positions_of_vmc_does_not_repeat_their_steps(begin):
    r, key = begin(vmc)
    there, other = begin(dmc, 0.05, start=r)
    assert np.array_equal(there, r)
    assert not np.array_equal(other, key)
