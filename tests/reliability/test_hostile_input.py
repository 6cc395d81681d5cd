"""Some hundred hostile inputs of the many thousand that `benchmarks/hostile_input.py` tries."""

from __future__ import annotations

import pytest

from reliability.hostile import Stage


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    return Stage(tmp_path_factory.mktemp("hostile"), compiled=10**9)


def faults(trial, numbers) -> list[str]:
    found = [(number, trial(number)) for number in numbers]
    return [f"{n}: {o.fault}: {o.said[-300:]}" for n, o in found if o.fault]


def test_mutated_examples_are_refused_in_a_sentence_or_accepted(stage):
    assert not faults(stage.inputs, range(60))


def test_damaged_files_are_refused_in_a_sentence_or_read(stage):
    assert not faults(stage.files, range(30))


@pytest.mark.slow
@pytest.mark.parametrize("quarter", range(4))
def test_many_more_of_them(quarter, stage):
    assert not faults(stage.inputs, range(1000 + quarter, 4000, 4))
    assert not faults(stage.files, range(1000 + quarter, 2000, 4))


@pytest.mark.slow
@pytest.mark.parametrize("tenth", range(10))
def test_mutated_cases_run_or_end_in_a_sentence(tenth, stage):
    """In parts: beside another worker all of them take longer than one test may."""
    assert not faults(stage.runs, range(tenth, 200, 10))
