"""Expressions from input files: right numbers, and nothing but arithmetic."""

from __future__ import annotations

import pickle
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
from hypothesis import given
from hypothesis import strategies as st

from zitter.checks import InputError
from zitter.expressions import MAX_DEPTH, MAX_LENGTH, Expression

X = np.linspace(-1.7, 2.3, 9)
Y = np.linspace(0.4, -1.1, 9)


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("0.5*x**2", 0.5 * X**2),
        ("-x**2", -(X**2)),
        ("2**-1 * x", X / 2),
        ("x**(1/2 + 1/2)", X),
        ("1/sqrt(x**2 + 2)", 1 / np.sqrt(X**2 + 2)),
        ("where(0 < x <= 1, 3, y)", np.where((X > 0) & (X <= 1), 3, Y)),
        ("where(x != y, 1, 0) + where(pi == 3, x, -x)", 1 - X),
        ("erf(x)", scipy.special.erf(X)),
        ("hypot(x, y) - arctan2(x, y)", np.hypot(X, Y) - np.arctan2(X, Y)),
        ("log10(10) + log(e) + sign(x) + abs(y)", 2 + np.sign(X) + np.abs(Y)),
        ("minimum(x, y)*maximum(x, y)", X * Y),
        ("arcsin(sin(0.3)) + arccos(0.5) + arctan(tan(0.2))", 0.3 + np.pi / 3 + 0.2),
        ("sinh(x) + cosh(x) - exp(x) + tanh(0*x)", 0 * X),
        ("x\n    + y", X + Y),
        (".5 + 1e2", 100.5),
    ],
)  # fmt: skip
def test_values(text, reference):
    # A handful of operations of order one in double precision.
    value = Expression(text, ("x", "y"))(x=X, y=Y)
    np.testing.assert_allclose(value, reference, rtol=1e-13, atol=1e-14)


def growing(inner):
    """Expressions without poles and with moderate growth, so that rounding stays near 1e-16."""
    pair = st.tuples(inner, inner)
    return st.one_of(
        pair.map(lambda ab: f"({ab[0]} + {ab[1]})"),
        pair.map(lambda ab: f"{ab[0]} - ({ab[1]})"),
        pair.map(lambda ab: f"sin({ab[0]})*cos({ab[1]})"),
        pair.map(lambda ab: f"({ab[0]}) / (1 + abs({ab[1]}))"),
        pair.map(lambda ab: f"where(x < 0.3, {ab[0]}, {ab[1]})"),
        pair.map(lambda ab: f"maximum({ab[0]}, -tanh({ab[1]}))"),
        inner.map(lambda a: f"sqrt(1 + ({a})**2)"),
        inner.map(lambda a: f"exp(-abs({a}))"),
        inner.map(lambda a: f"-+{a}" if a[0] not in "+-" else a),
    )


leaves = st.sampled_from(["x", "y", "pi", "e", "2", "0.25", "1e-3"])


@given(st.recursive(leaves, growing, max_leaves=12))
def test_random_expressions_agree_with_numpy(text):
    functions = ("sin", "cos", "where", "maximum", "tanh", "sqrt", "exp")
    names = {name: getattr(np, name) for name in functions}
    names |= {"abs": np.abs, "pi": np.pi, "e": np.e, "x": X, "y": Y}
    reference = eval(text, {"__builtins__": {}}, names)
    # Sums of at most 12 leaves of order 3: absolute errors of a few hundred roundings at most.
    value = Expression(text, ("x", "y"))(X, Y)
    np.testing.assert_allclose(value, reference * np.ones(np.shape(value)), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "import os",
        "x.__class__",
        "x[0]",
        "lambda: 1",
        "(lambda x: x)(x)",
        "[x for x in (1, 2)]",
        "{x: 1}",
        "(x, y)",
        "'text'",
        "b'text'",
        "f'{x}'",
        "(x := 3)",
        "x if y else 1",
        "x and y",
        "not x",
        "x // 2",
        "x % 2",
        "x @ y",
        "x << 99999999",
        "~x",
        "x < 1",
        "where(x, 1, 2)",
        "where(x in y, 1, 2)",
        "sin(x, y)",
        "sin()",
        "sin(x=1)",
        "sin(*x)",
        "sin",
        "eval(x)",
        "open(x)",
        "True",
        "None",
        "1j",
        "...",
        "await x",
        "x = 1",
        "x; y",
        "x) + (y",
        "",
        "w",
        "\0",
        "9**9**9",
        "x**9**9",
        "x**101",
        "x**-1e300",
        "1e999",
        "9" * 1999,
        "exp(1000)",
        "1/0",
        "(-1)**0.5",
        "sqrt(-1)",
        "(" * 900 + "x" + ")" * 900,
        "-" * 1900 + "x",
        "lambda:" * 280 + "x",
        "x" + "+x" * 900,
        "x" * (MAX_LENGTH + 1),
    ],
)
def test_refused(text):
    start = time.perf_counter()
    with pytest.raises(InputError, match=r"^potential: must be an arithmetic expression of x, y, "):
        Expression(text, ("x", "y"), key="potential")
    # Harmless means quick: refusing takes milliseconds, a second allows for a busy machine.
    assert time.perf_counter() - start < 1


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("__import__('os')", "but uses '__import__' (functions: sqrt, "),
        ("x + w", "but uses 'w' (known: x, y, pi, e)"),
        ("x^2", "but uses '^' (a power is written **)"),
        ("x.real", "but uses 'x.real'"),
        ("9**9**9", "but uses the power 3.8742e+08 (at most 100)"),
        ("1/0", "but uses '1.0 / 0.0', which is inf"),
        ("x +", 'but is "x +" (invalid syntax)'),
        ("x < 1", "but uses a comparison outside the condition"),
        ("atan(x)", "but uses 'atan' (functions"),
        ("hypot(x)", "but gives hypot 1 arguments instead of 2"),
    ],
)
def test_sentences(text, sentence):
    with pytest.raises(InputError) as refusal:
        Expression(text, ("x", "y"))
    assert sentence in str(refusal.value)


def test_text_is_required():
    with pytest.raises(InputError, match="v: must be text, but is 3"):
        Expression(3, ("x",), key="v")


def test_long_sums_are_allowed():
    terms = MAX_DEPTH // 2
    assert Expression("+".join(["x"] * terms), ("x",))(2.0) == 2 * terms


def test_calls():
    expression = Expression("x + 0*t", ("x", "y", "t"))
    assert expression.variables_used == ("x", "t")
    assert expression(1, t=2) == 1  # y is not used and need not be given; integers become floats
    with pytest.raises(InputError, match="q: must be a known variable, but those are x, y, t"):
        expression(x=1, q=1)
    with pytest.raises(InputError, match=r't: must be given, but "x \+ 0\*t" is called without'):
        expression(x=1)
    with pytest.raises(InputError, match="x: must be given once"):
        expression(1, x=1)
    with pytest.raises(InputError, match="arguments: must be values of x, y, t, but are 4"):
        expression(1, 2, 3, 4)


def test_equal_by_text_and_static_in_jit():
    one, same = Expression("x ** 2", ("x",)), Expression(" x  **\n2", ("x",))
    assert one == same
    assert hash(one) == hash(same)
    assert one != Expression("x ** 2", ("x", "y"))
    assert one != "x ** 2"
    assert pickle.loads(pickle.dumps(one)) == one
    traces = []

    def apply(expression, x):
        traces.append(expression)
        return expression(x)

    compiled = jax.jit(apply, static_argnums=0)
    assert compiled(one, 3.0) == compiled(same, 3.0) == 9.0
    assert len(traces) == 1


def test_dtype_and_derivatives():
    text = "where(x < 0, 1, 2) + pi*x**2 + erf(x)"
    x = jnp.zeros(3, jnp.float32)
    assert Expression(text, ("x",))(x).dtype == jnp.float32
    assert Expression("where(x < 0, 1, 2)", ("x",))(x).dtype == jnp.float32
    # x² is a product, whose derivative at zero is zero; erf'(0) = 2/√π to double precision.
    slope = jax.grad(lambda x: Expression(text, ("x",))(x))(0.0)
    assert slope == pytest.approx(2 / np.sqrt(np.pi), rel=1e-15)


@pytest.mark.parametrize(
    "text, jumps",
    [
        ("where(abs(x) < 1, -2, 0)", True),
        ("sign(x)*exp(-x**2)", True),
        ("x/abs(x)", True),
        ("-1/sqrt(x**2 + 2)", False),
        ("abs(x) + tanh(x/0.1)", True),  # by its functions it may
        ("0.5*x**2 + exp(-abs(x))", False),
    ],
)
def test_jumps_are_seen_in_the_functions(text, jumps):
    assert Expression(text, ("x",)).may_jump == jumps
