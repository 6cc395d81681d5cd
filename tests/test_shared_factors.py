"""What nothing changes in a run is made once: by segments, by the run that checks the step, and by
all items of a sweep; and what no start reaches is not stepped."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import zitter as zt
from zitter import segments, solve, together
from zitter.remade import parted

RADIAL = zt.RadialBSplines(14, 5, 20.0)
BASIS = zt.SphericalBasis(RADIAL, lmax=2, m="all")
ATOM = [zt.Kinetic(), zt.Coulomb(Z=1)]


def hamiltonian(amplitude=0.01):
    pulse = zt.SineSquared(
        amplitude=amplitude, frequency=0.5, cycles=1, polarization="x", ellipticity=1.0
    )
    return zt.discretize(zt.Model([*ATOM, zt.LengthGauge(pulse)]), BASIS)


def plan(amplitude=0.01, propagator=None, check=True):
    H = hamiltonian(amplitude)
    options = {"propagator": propagator, "step_check": check}
    return solve.prepare(H, np.dtype(complex), (0.0, 2.0), 0.1, **options)


def ground():
    return zt.Eigenstate(n=1, l=0).on(hamiltonian())


@pytest.mark.parametrize("method", [zt.AngularSplit(), zt.CrankNicolson()])
def test_factors_are_no_part_of_what_a_segment_gives(method):
    ready = plan(propagator=method)
    made, changing = map(segments.bytes_of, parted(ready.begun[0]))
    assert ready.program.made == made > 0 and ready.program.state == changing
    # The loop would hold them twice.
    analysis = ready.program.call.memory_analysis()  # type: ignore[attr-defined]
    buffers = ready.program.capacity * ready.program.record
    assert analysis.output_size_in_bytes < changing + buffers + 4096 < changing + buffers + made


def test_the_run_that_checks_the_step_prepares_nothing_anew():
    ready = plan()
    coarse = ready.coarse()
    assert coarse is not None
    assert coarse.context.propagator is ready.context.propagator
    assert float(coarse.context.dt) == pytest.approx(0.2)


def test_only_what_the_start_reaches_is_stepped():
    ready, psi = plan(), ground()
    assert ready.context.propagator.narrows
    narrow = ready.starting(psi)
    rows = narrow.context.propagator.split.frame.rows
    assert set(rows) == {(l, m) for l, m in BASIS.channels if (l + m) % 2 == 0}
    # Of two starts with both parities nothing is left out.
    other = zt.Eigenstate(n=2, l=1, m=0).on(hamiltonian())
    assert len(ready.starting(psi, other).context.propagator.split.frame.rows) == 9
    assert narrow.begun[1] < ready.begun[1]


@pytest.mark.slow
def test_items_of_a_sweep_share_their_factors_and_channels():
    plans, psi = [plan(a) for a in (0.01, 0.02, 0.03)], ground()
    lead = plans[0]
    plans = [lead, *(together.shared(lead, other) for other in plans[1:])]
    items, _, states = together._prepared(plans, [psi] * 3)
    assert items.made is not None
    alone = parted(solve.course.begin(lead.context.starting(psi), psi))[0]
    shapes = [np.shape(x) for x in jax.tree.leaves(items.made)]
    assert shapes == [np.shape(x) for x in jax.tree.leaves(alone)]
    assert states.psi.shape == (3, *BASIS.shape)
    found = together.carried(plans, [psi] * 3)
    for one, amplitude in zip(found, (0.01, 0.02, 0.03), strict=True):
        single = plan(amplitude).run(psi)
        np.testing.assert_allclose(one.final, single.final, atol=1e-13)  # type: ignore[union-attr]


def with_two_starts():
    """Crank–Nicolson, and two states that reach channels of opposite reflection."""
    ready = plan(propagator=zt.CrankNicolson(), check=False)
    return ready, [zt.Eigenstate(n=2, l=1, m=m).on(hamiltonian()) for m in (0, 1)]


def test_of_two_starts_each_reaches_what_it_would_alone():
    ready, starts = with_two_starts()
    rows = [ready.starting(psi).context.propagator.separated.rows for psi in starts]
    assert sorted(rows[0] + rows[1]) == list(range(len(BASIS.channels)))
    assert ready.starting(*starts).context.propagator.separated.rows is None


@pytest.mark.slow
def test_items_that_start_in_different_states_go_together():
    ready, starts = with_two_starts()
    for one, psi in zip(together.carried([ready, ready], starts), starts, strict=True):
        alone = ready.run(psi)
        np.testing.assert_allclose(one.final, alone.final, atol=1e-12)  # type: ignore[union-attr]
