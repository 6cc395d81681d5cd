"""Checks of input: what passes, what is refused, and the sentence the user reads."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zitter import checks, units


def refusal(check, *arguments, **options) -> str:
    with pytest.raises(checks.InputError) as caught:
        check(*arguments, **options)
    return str(caught.value)


# errors


def test_input_error_is_a_value_error_with_key_and_message():
    error = checks.InputError("intensity", "must be positive, but is -1")
    assert isinstance(error, ValueError) and isinstance(error, checks.ZitterError)
    assert str(error) == "intensity: must be positive, but is -1"
    assert str(checks.InputError("", "must not be empty")) == "must not be empty"


def test_input_error_moves_under_a_prefix():
    error = checks.InputError("intensity", "must be positive, but is -1").under("laser")
    assert (error.key, error.message) == ("laser.intensity", "must be positive, but is -1")
    assert str(error.under("")) == "laser.intensity: must be positive, but is -1"
    assert checks.InputError("", "must be a table").under("laser").key == "laser"


def test_run_error_is_no_input_error():
    assert issubclass(checks.RunError, checks.ZitterError)
    assert not issubclass(checks.RunError, ValueError)


# scalars


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_finite_numbers_pass_unchanged(value):
    checked = checks.scalar("x", value)
    assert checked == value
    assert isinstance(checked, np.float64)


@pytest.mark.parametrize("value", [3, np.int32(3), np.float32(3), np.array(3.0), jnp.asarray(3.0)])
def test_scalars_of_every_kind_become_float64(value):
    checked = checks.scalar("x", value)
    assert checked == 3.0 and checked.dtype == np.float64


def test_strings_with_units_are_converted():
    assert checks.scalar("wavelength", "800 nm", "wavelength") == units.parse(
        "800 nm", "wavelength"
    )


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("3", 'x: must be a number, but is "3"'),
        (True, "x: must be one number, but is True"),
        (np.True_, "x: must be one number, but is np.True_"),
        ([1, 2], "x: must be one number, but is [1, 2]"),
        ([[1], [1, 2]], "x: must be one number, but is [[1], [1, 2]]"),
        (None, "x: must be a number, but is None"),
        (1j, "x: must be a number, but is 1j"),
        (np.complex128(1 + 2j), "x: must be a number, but is np.complex128(1+2j)"),
        (float("nan"), "x: must be finite, but is nan"),
        (-np.inf, "x: must be finite, but is -inf"),
    ],
)
def test_what_is_no_number_is_refused(value, sentence):
    assert refusal(checks.scalar, "x", value) == sentence


def test_integers_too_large_for_a_float_are_refused():
    said = refusal(checks.scalar, "x", 10**400)
    assert said == "x: must be a number, but is about 1e400"


def test_wrong_unit_is_refused_under_its_key():
    sentence = refusal(checks.scalar, "laser.wavelength", "800 eV", "wavelength")
    assert sentence.startswith("laser.wavelength: must be a number in atomic units or a string")
    assert sentence.endswith('but is "800 eV"')


# signs


def test_positive_and_non_negative():
    assert checks.positive("x", 2) == 2.0
    assert checks.positive("x", "2 Ry", "energy") == 1.0
    assert checks.non_negative("x", 0) == 0.0


@pytest.mark.parametrize(
    ("check", "value", "sentence"),
    [
        (checks.positive, -1e14, "x: must be positive, but is -1e14"),
        (checks.positive, 0, "x: must be positive, but is 0"),
        (checks.positive, -2.5e-5, "x: must be positive, but is -2.5e-5"),
        (checks.positive, "-1e14 W/cm^2", "x: must be positive, but is -1e14 W/cm^2"),
        (checks.non_negative, -0.5, "x: must not be negative, but is -0.5"),
    ],
)
def test_wrong_signs_are_shown_as_they_were_given(check, value, sentence):
    assert refusal(check, "x", value, "intensity") == sentence


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_are_shown_so_that_they_can_be_read_back(value):
    # Six digits are shown.
    assert float(checks.as_given(value)) == pytest.approx(value, rel=1e-5, abs=1e-320)


# whole numbers, choices, flags, types


def test_integers():
    assert checks.integer("n", np.int64(5), 1, 5) == 5
    assert type(checks.integer("n", np.int64(5))) is int


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (2.0, "n: must be a whole number, but is 2.0"),
        (True, "n: must be a whole number, but is True"),
        ("2", "n: must be a whole number, but is '2'"),
        (0, "n: must be at least 1, but is 0"),
        (9, "n: must be at most 8, but is 9"),
    ],
)
def test_wrong_integers_are_refused(value, sentence):
    assert refusal(checks.integer, "n", value, 1, 8) == sentence


def test_choice():
    assert checks.choice("boundary", "zero", ("zero", "periodic")) == "zero"
    assert refusal(checks.choice, "boundary", "open", ("zero", "periodic")) == (
        "boundary: must be one of 'zero', 'periodic', but is 'open'"
    )


def test_boolean():
    assert checks.boolean("resume", np.True_) is True
    assert refusal(checks.boolean, "resume", 1) == "resume: must be true or false, but is 1"


def test_instance():
    assert checks.instance("x", 1.5, (int, float)) == 1.5
    assert refusal(checks.instance, "x", "a", (int, float)) == (
        "x: must be a whole number or number, but is 'a'"
    )
    assert refusal(checks.instance, "error", 1, checks.InputError) == (
        "error: must be an InputError, but is 1"
    )
    # What would fill the screen is named, not written out.
    assert refusal(checks.instance, "x", np.zeros((20, 20)), int) == (
        "x: must be a whole number, but is a ndarray"
    )


# arrays


def test_arrays_of_numbers_pass():
    assert checks.array("v", [1, 2, 3]).dtype == np.float64
    assert checks.array("v", [1, 2j]).dtype == np.complex128
    assert checks.array("v", np.ones((2, 3), np.float32), (None, 3)).dtype == np.float32


@pytest.mark.parametrize(
    ("value", "shape", "sentence"),
    [
        (["a"], None, "v: must be an array of numbers, but holds text"),
        ([[1], [1, 2]], None, "v: must be an array of numbers, but is [[1], [1, 2]]"),
        ([1, 2], (3,), "v: must have shape (3), but has shape (2)"),
        ([1, 2], (None, 3), "v: must have shape (any, 3), but has shape (2)"),
        (1.0, (3,), "v: must have shape (3), but has shape ()"),
        ([1, np.nan], None, "v: must be finite everywhere, but is not at 1 place"),
        ([np.inf, 1, np.nan], None, "v: must be finite everywhere, but is not at 2 places"),
    ],
)
def test_wrong_arrays_are_refused(value, shape, sentence):
    assert refusal(checks.array, "v", value, shape) == sentence


# values under a JAX transformation have no number to judge


def test_traced_values_pass_unjudged():
    assert not checks.is_traced(1.0) and not checks.is_traced(jnp.ones(3))
    # The derivative of x² at −3; outside `grad` the check would refuse −3.
    assert jax.grad(lambda x: checks.positive("x", x) ** 2)(-3.0) == -6.0
    doubled = jax.vmap(lambda x: 2 * checks.array("x", x, (7,)))(jnp.ones((4, 2)))
    assert doubled.shape == (4, 2)
