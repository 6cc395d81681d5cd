"""Arithmetic from input files, such as a potential "0.5*x**2 + exp(-y**2)".

The text is parsed, never run as Python: the syntax tree is checked against a short list of what
arithmetic needs, constants are folded, and what is left is interpreted on JAX arrays. Values that
are not finite and powers above 100 are refused, so no input can keep the machine busy.
"""

from __future__ import annotations

import ast
import math
import operator
import warnings
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import jax.numpy as jnp
import jax.scipy.special
import numpy as np
import scipy.special
from jaxtyping import Array

from zitter.checks import InputError

MAX_LENGTH = 2000
MAX_DEPTH = 100
MAX_EXPONENT = 100

_CONSTANTS = {"pi": math.pi, "e": math.e}
_ONE = ("sqrt", "exp", "log", "log10", "sin", "cos", "tan", "arcsin", "arccos", "arctan")
_ONE += ("sinh", "cosh", "tanh", "abs", "sign")
_TWO = ("arctan2", "minimum", "maximum", "hypot")
# name -> (number of arguments, on numbers, on arrays)
_FUNCTIONS: dict[str, tuple[int, Callable, Callable]] = {
    **{name: (1, getattr(np, name), getattr(jnp, name)) for name in _ONE},
    **{name: (2, getattr(np, name), getattr(jnp, name)) for name in _TWO},
    "erf": (1, scipy.special.erf, jax.scipy.special.erf),
    "where": (3, np.where, jnp.where),
}
_JUMPING = {"where", "sign", "tan", "arctan2"}
_OPERATORS: dict[type[ast.AST], Callable] = {ast.UAdd: operator.pos, ast.USub: operator.neg}
_OPERATORS |= {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}
_OPERATORS |= {ast.Div: operator.truediv, ast.Pow: operator.pow}
_OPERATORS |= {ast.Lt: operator.lt, ast.LtE: operator.le, ast.Eq: operator.eq}
_OPERATORS |= {ast.Gt: operator.gt, ast.GtE: operator.ge, ast.NotEq: operator.ne}


class Expression:
    """A checked arithmetic expression of named variables, callable on arrays.

        Expression("where(x < 0, 0, exp(-x)) + t", ("x", "t"))(x=grid, t=0.5)

    Allowed are numbers, the variables, pi, e, + - * / **, sqrt exp log log10 sin cos tan arcsin
    arccos arctan arctan2 sinh cosh tanh abs sign minimum maximum hypot erf, and where(c, a, b) with
    a comparison c. Hashed and compared by text and variables, so it can be a static argument of
    compiled functions. The value has the dtype of the variables.
    """

    __slots__ = ("_tree", "text", "variables", "variables_used")

    text: str
    variables: tuple[str, ...]
    variables_used: tuple[str, ...]

    def __init__(self, text: str, variables: Iterable[str], key: str = "expression"):
        self.variables = tuple(variables)
        if not isinstance(text, str):
            raise InputError(key, f"must be text, but is {text!r}")
        self.text = " ".join(text.split())  # line breaks and indentation carry no meaning
        reader = _Reader(key, self.variables)
        self._tree = reader.read(self.text)
        used = {node.id for node in ast.walk(self._tree) if isinstance(node, ast.Name)}
        self.variables_used = tuple(name for name in self.variables if name in used)

    def __call__(self, *args: Any, **kwargs: Any) -> Array:
        """The value for variables given by name, or by position in the order of `variables`."""
        known = ", ".join(self.variables) or "none"
        if len(args) > len(self.variables):
            raise InputError("arguments", f"must be values of {known}, but are {len(args)}")
        values = dict(zip(self.variables, args, strict=False))
        for name in kwargs:
            if name not in self.variables:
                raise InputError(name, f"must be a known variable, but those are {known}")
            if name in values:
                raise InputError(name, "must be given once, but is given twice")
        values |= kwargs
        for name in self.variables_used:
            if name not in values:
                raise InputError(name, f'must be given, but "{self.text}" is called without')
        arrays = {name: _floating(values[name]) for name in self.variables_used}
        # Branches of `where` may be plain numbers, which have no dtype of their own.
        dtype = jnp.result_type(*arrays.values()) if arrays else float
        return jnp.asarray(_value(self._tree, arrays), dtype)

    @property
    def may_jump(self) -> bool:
        """Whether its value may jump where its variables do not, as far as the functions tell."""
        nodes = list(ast.walk(self._tree))
        names = {node.id for node in nodes if isinstance(node, ast.Name)}
        sided = "abs" in names and any(isinstance(node, ast.Div) for node in nodes)  # x/|x|
        return sided or not _JUMPING.isdisjoint(names)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Expression):
            return NotImplemented
        return (self.text, self.variables) == (other.text, other.variables)

    def __hash__(self) -> int:
        return hash((self.text, self.variables))

    def __repr__(self) -> str:
        return f"Expression({self.text!r}, {self.variables!r})"

    def __reduce__(self) -> tuple[type, tuple[str, tuple[str, ...]]]:
        return Expression, (self.text, self.variables)


class _Reader:
    """Text to a checked and folded syntax tree."""

    def __init__(self, key: str, variables: tuple[str, ...]):
        self.key = key
        self.variables = variables

    def read(self, text: str) -> ast.expr:
        if len(text) > MAX_LENGTH:
            self.refuse(f"has {len(text)} characters (at most {MAX_LENGTH})")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of Python, on texts that are refused below
                tree = ast.parse(text, mode="eval").body
        except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
            reason = getattr(error, "msg", None) or "too deeply nested"
            self.refuse(f'is "{text}" ({reason})')
        return self.checked(tree, 0)

    def refuse(self, fault: str) -> NoReturn:
        names = ", ".join(self.variables) or "numbers"
        raise InputError(self.key, f"must be an arithmetic expression of {names}, but {fault}")

    def checked(self, node: ast.AST, depth: int) -> ast.expr:
        if depth > MAX_DEPTH:
            self.refuse(f"is nested more than {MAX_DEPTH} levels deep")
        depth += 1
        match node:
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                return self.number(number, node)
            case ast.Name(id=name) if name in self.variables:
                return node
            case ast.Name(id=name) if name in _CONSTANTS:
                return ast.Constant(_CONSTANTS[name])
            case ast.Name(id=name):
                known = ", ".join((*self.variables, *_CONSTANTS))
                self.refuse(f"uses '{name}' (known: {known})")
            case ast.UnaryOp(op=ast.UAdd() | ast.USub() as op, operand=operand):
                return self.folded(ast.UnaryOp(op, self.checked(operand, depth)))
            case ast.BinOp(op=ast.BitXor()):
                self.refuse("uses '^' (a power is written **)")
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                left, right = self.checked(left, depth), self.checked(right, depth)
                if isinstance(op, ast.Pow):
                    right = self.exponent(right)
                return self.folded(ast.BinOp(left, op, right))
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
                return self.call(name, args, depth)
            case ast.Call(func=ast.Name(id=name), keywords=[]):
                self.refuse(f"uses '{name}' (functions: {', '.join(_FUNCTIONS)})")
            case ast.Compare():
                self.refuse("uses a comparison outside the condition of where(condition, a, b)")
        self.refuse(f"uses {_quoted(node)}")

    def call(self, name: str, args: list[ast.expr], depth: int) -> ast.expr:
        count = _FUNCTIONS[name][0]
        if len(args) != count:
            self.refuse(f"gives {name} {len(args)} arguments instead of {count}")
        first = self.condition(args[0], depth) if name == "where" else self.checked(args[0], depth)
        rest = [self.checked(arg, depth) for arg in args[1:]]
        return self.folded(ast.Call(ast.Name(name), [first, *rest], []))

    def condition(self, node: ast.expr, depth: int) -> ast.expr:
        if not isinstance(node, ast.Compare) or any(type(op) not in _OPERATORS for op in node.ops):
            self.refuse(f"uses {_quoted(node)} as a condition (like x < 1)")
        sides = [self.checked(side, depth) for side in (node.left, *node.comparators)]
        return ast.Compare(sides[0], node.ops, sides[1:])

    def exponent(self, node: ast.expr) -> ast.expr:
        match node:
            case ast.Constant(value=float() as power) if abs(power) > MAX_EXPONENT:
                self.refuse(f"uses the power {power:g} (at most {MAX_EXPONENT})")
            case ast.Constant(value=float() as power) if power.is_integer():
                # Whole powers are products: exact for negative bases, with derivatives at zero.
                return ast.Constant(int(power))
        return node

    def folded(self, node: ast.expr) -> ast.expr:
        """The node, or its value where it holds no variable."""
        if any(isinstance(leaf, ast.Name) and leaf.id in self.variables for leaf in ast.walk(node)):
            return node
        with np.errstate(all="ignore"):
            return self.number(_value(node, None), node)

    def number(self, value: Any, node: ast.AST) -> ast.Constant:
        try:
            value = float(value)
        except OverflowError:
            value = math.inf
        if not math.isfinite(value):
            self.refuse(f"uses {_quoted(node)}, which is {value}")
        return ast.Constant(value)


def _quoted(node: ast.AST) -> str:
    try:
        text = ast.unparse(node)
    except RecursionError:  # what was not checked yet may be nested as deep as its text is long
        return "something too deeply nested"
    return f"'{text}'" if len(text) <= 40 else f"'{text[:40]}…'"


def _value(node: ast.AST, values: dict[str, Array] | None) -> Any:
    """The value of a checked tree; without `values` on NumPy float64, which never raises."""
    match node:
        case ast.Constant(value=int() | float() as number):
            return np.float64(number) if values is None else number
        case ast.Name(id=name) if values is not None:
            return values[name]
        case ast.UnaryOp(op=op, operand=operand):
            return _OPERATORS[type(op)](_value(operand, values))
        case ast.BinOp(left=left, op=op, right=right):
            return _OPERATORS[type(op)](_value(left, values), _value(right, values))
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            sides = [_value(side, values) for side in (left, *comparators)]
            pairs = zip(ops, sides, sides[1:], strict=False)
            tests = [_OPERATORS[type(op)](a, b) for op, a, b in pairs]
            return math.prod(tests[1:], start=tests[0])
        case ast.Call(func=ast.Name(id=name), args=args):
            _, on_numbers, on_arrays = _FUNCTIONS[name]
            function = on_numbers if values is None else on_arrays
            return function(*(_value(arg, values) for arg in args))
    raise TypeError(f"unchecked node {ast.dump(node)}")


def _floating(value: Any) -> Array:
    value = jnp.asarray(value)
    return value if jnp.issubdtype(value.dtype, jnp.inexact) else value.astype(float)
