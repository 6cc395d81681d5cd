"""The driver: cuts change no bit, guards end runs, checkpoints continue them."""

from __future__ import annotations

import contextlib
import sys

import h5py
import jax.numpy as jnp
import numpy as np
import pytest

import systems
import zitter as zt
from zitter import checks, io, loop
from zitter.solve import guards, watching


def logistic(context, state):
    """A chaotic map: one wrong bit shows after fifty steps."""
    return context * state * (1 - state), {"value": state}


def driven(**options):
    return loop.drive(logistic, jnp.float64(3.9), jnp.float64(0.3), 300, **options)


def test_records_are_the_sequence():
    x, expected = 0.3, []
    for _ in range(20):
        expected.append(x)
        x = 3.9 * x * (1 - x)
    np.testing.assert_allclose(driven().records["value"][:20], expected, rtol=1e-9)


@pytest.mark.parametrize("seconds", [1e-9, 1e-4, 10.0])
def test_the_length_of_segments_changes_no_bit(seconds):
    whole = driven()
    cut = driven(segment_seconds=seconds)
    assert np.array_equal(cut.records["value"], whole.records["value"])
    assert float(cut.state) == float(whole.state)


def test_host_visits_come_at_their_multiples():
    seen = []

    def visit(state, done):
        seen.append(done)
        return {"state": state}

    outcome = driven(visit=visit, visit_every=70)
    assert seen == [0, 70, 140, 210, 280]
    expected = outcome.records["value"][[0, 70, 140, 210, 280]]
    assert np.array_equal(outcome.visits["state"], expected)


def test_a_guard_ends_the_run_with_its_sentence():
    def guard(state, done):
        return "Enough." if done >= 10 else None

    with pytest.raises(checks.RunError, match=r"Enough\. Nothing was saved"):
        driven(guard=guard)


@pytest.mark.parametrize("every", [0.0, 1e9])
def test_a_guard_leaves_the_last_good_state_and_its_records(tmp_path, every):
    """Also before the first checkpoint is due; what comes after it is not kept."""
    checkpoint = loop.Checkpoint(tmp_path / "checkpoint", every, signature="logistic")
    whole, seen = driven(), [0]

    def guard(state, done):
        if done >= 10:
            return "Enough."
        seen.append(done)
        return None

    with pytest.raises(checks.RunError, match=r"Enough\. The state after ") as failure:
        driven(guard=guard, checkpoint=checkpoint, counted=2, visit=lambda *_: {}, visit_every=4)
    assert f"after {2 * seen[-1]} steps is kept in {checkpoint.folder}" in str(failure.value)
    assert "new run" in str(failure.value) and "--resume" not in str(failure.value)
    done, state, pieces = checkpoint.load(jnp.float64(0))
    assert done == seen[-1] and float(state) == whole.records["value"][done]
    kept = np.concatenate([piece.records["value"] for piece in pieces if piece.records])
    assert np.array_equal(kept, whole.records["value"][:done])


def test_a_stopped_run_tells_time_steps(monkeypatch):
    """One step of the loop may stand for several of the user's."""
    monkeypatch.setattr(loop, "stop_signals", lambda: contextlib.nullcontext(lambda: True))
    with pytest.raises(loop.Interrupted, match=r"stopped at 8 of 2400 steps"):
        driven(counted=8)


class Stop(Exception):
    pass


@pytest.mark.parametrize("at", [1, 37, 299])
def test_a_killed_run_resumes_to_the_same_bits(tmp_path, at):
    def guard(state, done):
        if done >= at and not resumed:
            raise Stop
        return None

    whole = driven()
    resumed = False
    checkpoint = loop.Checkpoint(tmp_path / "checkpoint", every=0.0, signature="logistic")
    with pytest.raises(Stop):
        driven(guard=guard, checkpoint=checkpoint, segment_seconds=1e-9)
    resumed = True
    again = driven(guard=guard, checkpoint=checkpoint, resume=True)
    assert again.resumed_at < at
    with pytest.raises(zt.InputError, match="resume: must go on to a later end"):
        loop.drive(
            logistic, jnp.float64(3.9), jnp.float64(0.3), 2, checkpoint=checkpoint, resume=True
        )
    assert np.array_equal(again.records["value"], whole.records["value"])
    assert float(again.state) == float(whole.state)


def test_resume_refuses_another_run_s_checkpoint(tmp_path):
    first = loop.Checkpoint(tmp_path / "c", every=0.0, signature="one")
    driven(checkpoint=first)
    with pytest.raises(zt.InputError, match="resume: must continue the same run"):
        driven(checkpoint=loop.Checkpoint(tmp_path / "c", signature="two"), resume=True)


def test_a_run_that_begins_anew_leaves_nothing_of_the_one_before(tmp_path, monkeypatch):
    """Not even where it is killed while it saves for the first time."""
    folder = tmp_path / "c"
    driven(checkpoint=loop.Checkpoint(folder, every=0.0, signature="one"))
    with monkeypatch.context() as patch, pytest.raises(Stop):
        patch.setattr(loop.Checkpoint, "_write_piece", lambda *given: stop())
        driven(checkpoint=loop.Checkpoint(folder, signature="two"))
    assert not list(folder.glob("*.h5"))
    driven(checkpoint=loop.Checkpoint(folder, signature="two"))
    assert sorted(file.name for file in folder.glob("*.h5")) == ["records-000000.h5", "state.h5"]


def stop():
    raise Stop


def test_a_viewer_reads_names_and_times_of_an_unfinished_run(tmp_path, monkeypatch):
    """With plain h5py: what was recorded, when, and how far the run has come."""
    system = systems.driven_oscillator()
    options = {"observables": [zt.Norm(), zt.Position(), zt.Density(every=4)], "save_every": 5}
    folder = tmp_path / "checkpoint"

    def killed(self, state, done):
        if done >= 13:
            raise Stop

    with monkeypatch.context() as patch, pytest.raises(Stop):
        patch.setattr(watching.Watcher, "guard", killed)
        zt.evolve(
            system.H, system.start, (1.0, 2.5), 0.01, zt.Lanczos(12), **options,
            checkpoint=folder, checkpoint_every=0.0,
        )  # fmt: skip
    times, positions, dense = [], [], []
    for file in sorted(folder.glob("records-*.h5")):
        with h5py.File(file) as piece:
            if "time" in piece:
                assert piece["position"].dims[0][0] == piece["time"]
                times += list(piece["time"])
                positions += list(piece["position"])
                assert len(piece["norm"]) == len(piece["time"])
            if "density" in piece:
                dense += list(piece["time_density"])
    with h5py.File(folder / "state.h5") as state:
        assert int(state.attrs["done"]) == len(times)
        assert int(state.attrs["steps"]) == 30
        assert state["psi"].shape == (*system.H.shape, 2)  # real and imaginary part
    np.testing.assert_allclose(times, 1.0 + 0.05 * np.arange(len(times)), rtol=1e-14)
    np.testing.assert_allclose(dense, 1.0 + 0.2 * np.arange(len(dense)), rtol=1e-14)
    whole = zt.evolve(system.H, system.start, (1.0, 2.5), 0.01, zt.Lanczos(12), **options)
    assert np.array_equal(positions, whole.observables["position"][: len(positions)])


def test_a_checkpoint_without_names_is_refused(tmp_path):
    """As earlier versions wrote them: arrays s0, s1, … and no word about their layout."""
    checkpoint = loop.Checkpoint(tmp_path / "c", signature="logistic")
    arrays = {"s0": io.Variable(np.float64(0.3), ())}
    attributes = {"done": "3", "pieces": "0", "signature": "logistic"}
    io.write(checkpoint.folder / "state.h5", io.Dataset(arrays, attributes))
    with pytest.raises(zt.InputError, match=r"resume: must continue a run of this version, but"):
        driven(checkpoint=checkpoint, resume=True)


def test_the_last_steps_are_counted(tmp_path, monkeypatch):
    """A run whose records do not divide its steps is as long as it says it is."""
    system = systems.driven_oscillator()
    with monkeypatch.context() as patch, pytest.raises(loop.Interrupted, match=r"of 31 steps"):
        patch.setattr(loop, "stop_signals", lambda: contextlib.nullcontext(lambda: True))
        zt.evolve(system.H, system.start, (0.0, 0.31), 0.01, zt.Lanczos(12), save_every=5)
    seen = []

    @contextlib.contextmanager
    def progress(show, label, total, done):
        seen.append(total)
        yield seen.append

    monkeypatch.setattr(loop.progress_bar, "shown", progress)
    zt.evolve(system.H, system.start, (0.0, 0.31), 0.01, zt.Lanczos(12), save_every=5)
    assert seen[0] == seen[-1] == 31


def test_evolve_stops_at_nan():
    """A potential that turns infinite at t = 0.5: the run ends and says when."""
    grid = zt.Grid(16, 0.5)
    term = zt.Potential(lambda x, t: x / jnp.where(t > 0.5, 0.0, 1.0) ** 2)
    H = zt.discretize(zt.Model([zt.Kinetic(), term]), grid)
    with pytest.raises(zt.RunError, match="became infinite or NaN"):
        zt.evolve(H, np.exp(-(grid.points(0) ** 2)), (0.0, 1.0), 0.01, zt.SplitOperator())


@pytest.mark.parametrize("after", [np.inf, np.nan])
def test_infinite_states_end_a_run_also_where_h_is_finite(after):
    H = zt.discretize(zt.Model([zt.Kinetic()]), zt.Grid(16, 0.5))
    problem = guards.Account.of(H).problem(0.5, 1.0, after, None)
    assert problem == "The state became infinite or NaN before t = 0.5: take a smaller dt."


def test_evolve_checkpoint_and_resume_give_the_same_bits(tmp_path, monkeypatch):
    """Also observables recorded on host visits, and a propagator with memory."""
    system = systems.driven_oscillator()
    observables = [zt.Norm(), zt.Position(), zt.Density(every=4)]

    def run(**options):
        return zt.evolve(
            system.H,
            system.start,
            (0.0, 1.5),
            0.01,
            zt.Lanczos(12),
            observables,
            save_every=5,
            checkpoint_every=0.0,
            **options,
        )

    whole = run()
    folder = tmp_path / "checkpoint"

    def killed(self, state, done):
        if done >= 13:
            raise Stop

    with monkeypatch.context() as patch, pytest.raises(Stop):
        patch.setattr(watching.Watcher, "guard", killed)
        run(checkpoint=folder)
    assert (folder / "state.h5").exists()
    observables[2] = zt.Density(every=2)  # what has a pace of its own is part of the run as well
    with pytest.raises(zt.InputError, match="resume: must continue the same run"):
        run(checkpoint=folder, resume=True)
    observables[2] = zt.Density(every=4)
    again = run(checkpoint=folder, resume=True)
    for name in whole.observables:
        assert np.array_equal(again.observables[name], whole.observables[name])
    assert np.array_equal(np.asarray(again.final), np.asarray(whole.final))
    assert again.info["error_estimate"] == whole.info["error_estimate"]
    loop.Checkpoint(folder).clear()
    assert not folder.exists()


def test_a_terminal_shows_the_bar_and_goes_on(monkeypatch):
    """rich takes the place of stderr meanwhile: what it writes must not come back to it."""
    import io

    from zitter import progress

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    seen = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("ZITTER_PROGRESS", raising=False)
    monkeypatch.setattr(sys, "stderr", seen)
    with progress.shown(True, "running", 3, 0) as advance:
        advance(1)
        print("a word", file=sys.stderr)
        advance(3)
    assert sys.stderr is seen
    assert "3/3" in seen.getvalue() and "a word" in seen.getvalue()
    assert len(seen.getvalue()) < 5000
