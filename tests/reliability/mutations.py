"""Hostile inputs: the examples, scaled down, with values, types, keys and text changed at random.

Everything follows from one seed, so that an input can be made again from its number.
"""

from __future__ import annotations

import copy
import dataclasses
import datetime
import functools
import random
import tomllib
from collections.abc import Callable, Iterator
from typing import Any

import equinox as eqx

from test_examples import EXAMPLES, SHORTER
from zitter.config import document
from zitter.config.objects import classes, parameters

# Beyond the short forms of the examples: what keeps Monte Carlo small as well.
SMALLER = {
    "h2-molecule": ["optimize.walkers=8", "optimize.draws=4", "vmc.walkers=8", "dmc.walkers=8"],
    "carbon-atom": ["optimize.walkers=8", "vmc.walkers=8", "dmc.walkers=8", "dmc.blocks=8"],
    "hydrogen-crystal": ["optimize.walkers=8", "vmc.walkers=8", "dmc.walkers=8", "dmc.blocks=8"],
    "electron-gas": ["optimize.walkers=8", "optimize.draws=4", "vmc.walkers=8", "dmc.walkers=8"],
    "hydrogen-harmonics": ["basis.radial.n=30", "basis.lmax=3"],
    "dirac-pulse": ["basis.radial.n=20"],
}

# What really runs: splines, spinors, two centers, a sweep, and matter from a file, for seconds.
TINY = {
    "double-well-levels": [],
    "h2-1d": [],
    "hydrogen-harmonics": ["basis.radial.n=24", "basis.lmax=2", "evolve.dt=0.5"],
    "dirac-pulse": ["basis.radial.n=16"],
    "h2plus-laser": ["basis.eta=8", "basis.nodes=5", "evolve.dt=0.5"],
    "yield-scan": ["basis.shape=63", "model.terms.3.width=5"],
    "h2-molecule": ["wavefunction.jastrow.0.order=2", "vmc.walkers=4", "vmc.blocks=4"],
}

NUMBERS: list[Any] = [
    0, 1, 2, 3, 4, 7, -1, -5, 1000, 10**6, 10**7, 10**8, 10**9, 10**12, 10**15, 2**31, 2**63, 2**64,
    10**30, 10**400, -(10**400), 0.0, -0.0, 0.5, -2.5, 1e-5, 1e-12, 1e-300, 5e-324, 1e5, 1e9, 1e15,
    1e60, 1e200, 1e308, -1e308, float("inf"), float("-inf"), float("nan"),
]  # fmt: skip
WORDS: list[Any] = [
    "", " ", "x", "²", "3²", "٣", "１２", "𝟙", "½", "Ⅷ", "1_0", "0x10", "1e400", "-1e400 nm",
    "nan", "inf", "1e14 W/cm²", "800 nm", "5 fs", "-5 fs", "1e300 fs", "90 deg", "20 eV",
    "1 parsec", "laser", "laser.duration", "laser.duration + 1e300", "basis", "model", "initial",
    "self", "x**2", "x**x**x", "1/x", "0*x", "1e308*x", "(" * 300 + "x" + ")" * 300,
    "x" + "+x" * 900,
    "exp(exp(x))", "log(-1)", "__import__('os')", "where(x<0,1,2)", "\u202eabc", "\u0000", "a\nb",
    "\ufeff", "é" * 50, "ψ", "😀" * 20, "a" * 5000, "%s%n{0}", "'\"\\", "None", "true", "z", "xy",
    "Grid", "FieldSum", "Model", "Kinetic", "Potential", "U", "none", "single", "gpu:²", "cpu:9",
]  # fmt: skip
PLACES = [
    "/dev/zero", "/dev/null", "/dev/stdin", "/", ".", "..", "fifo", "fifo.h5", "fifo.npy",
    "loop.h5", "loop", "missing.h5", "empty.h5", "text.h5", "huge.h5", "huge.npy", "huge.npz",
    "deep.toml", "n" * 300, "n" * 300 + ".h5", "n/" * 3000, "\u0000.h5", "folder.h5",
    "locked.h5", "good.h5",
    "good.npy", "h2-molecule.chk",
]  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Input:
    """A file's text, the options beside it, and what it came from."""

    example: str
    text: str
    options: list[str]

    @property
    def walks(self) -> bool:
        return any(name in self.text for name in ("vmc", "dmc", "optimize"))


def made(
    number: int, tables: dict[str, dict[str, Any]], seed: int = 0, mildly: bool = False
) -> Input:
    """Hostile input number `number` of those that can be made of some tables.

    `mildly` changes numbers only, so that many inputs are accepted.
    """
    rng = random.Random(f"{seed}:{number}")
    example = rng.choice(sorted(tables))
    table = copy.deepcopy(tables[example])
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        if mildly and rng.random() < 0.9:
            _near(rng, table)
        else:
            _mutate(rng, table)
    try:
        text = document.dump(table)
        tomllib.loads(text)
    except (ValueError, RecursionError):  # what has no form in TOML
        text = document.dump(tables[example])
    if rng.random() < 0.08:
        text = _scratched(rng, text)
    return Input(example, text, _options(rng, table))


@functools.cache
def examples() -> dict[str, dict[str, Any]]:
    return {name: short(name) for name in SHORTER}


def short(example: str) -> dict[str, Any]:
    settings = SHORTER[example] + SMALLER.get(example, [])
    return document.read(EXAMPLES / f"{example}.toml", settings).table


def tiny(example: str) -> dict[str, Any]:
    settings = SHORTER[example] + TINY[example]
    table = document.read(EXAMPLES / f"{example}.toml", settings).table
    # One program to compile, not three; the others of Monte Carlo run on smaller systems.
    return {key: x for key, x in table.items() if key != "optimize" and key != "dmc"}


def _nodes(table: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) of a table."""
    items = table.items() if isinstance(table, dict) else enumerate(table)
    for key, value in list(items):
        yield table, key
        if isinstance(value, dict | list):
            yield from _nodes(value)


def _mutate(rng: random.Random, table: dict[str, Any]) -> None:
    nodes = list(_nodes(table))
    if not nodes:
        table["basis"] = _anything(rng)
        return
    here, key = rng.choice(nodes)
    change = rng.choice(_CHANGES)
    change(rng, here, key, table)


def _replace(rng, here, key, table):
    here[key] = _anything(rng)


def _near(rng: random.Random, table: dict[str, Any]) -> None:
    """Another number that may be meant."""
    here, key = rng.choice([(h, k) for h, k in _nodes(table) if _is_number(h[k])])
    old = here[key]
    new = rng.choice([old + 1, old + 2, 2 * old, 3 * old, old * 0.7, old * 1.3, 0, 1, -old])
    here[key] = round(new) if isinstance(old, int) and rng.random() < 0.95 else new


def _renumber(rng, here, key, table):
    """Another number where one is, since those reach furthest."""
    numbers = [(h, k) for h, k in _nodes(table) if _is_number(h[k])]
    if numbers:
        here, key = rng.choice(numbers)
        old = here[key]
        near = [old * 10, old / 3, -old, old + 1, old - 1, old * 0, old * 1e6, old * 1000]
        here[key] = rng.choice([*NUMBERS, *near, int(old), float(old)])


def _retype(rng, here, key, table):
    """`type` of an object: another one, or nothing that is one."""
    typed = [h for h, k in _nodes(table) if k == "type"]
    if typed:
        odd = [[1], {}, [], 3, "", "object", ["Grid"], {"type": "Grid"}, True, datetime.date.min]
        rng.choice(typed)["type"] = rng.choice([rng.choice(_names()), rng.choice(odd)])


def _delete(rng, here, key, table):
    del here[key]


def _misspell(rng, here, key, table):
    if isinstance(here, dict):
        value = here.pop(key)
        position = rng.randrange(len(key) + 1)
        typo = key[:position] + rng.choice(["", "x", "²", ".", " ", "é"]) + key[position + 1 :]
        here[typo] = value


def _add(rng, here, key, table):
    if isinstance(here, dict):
        known = sorted({name for cls in classes(eqx.Module).values() for name in parameters(cls)})
        here[rng.choice([*known, "²", "", "type", "x.y", "\u202e", "a" * 2000])] = _anything(rng)
    else:
        here.insert(rng.randrange(len(here) + 1), _anything(rng))


def _double(rng, here, key, table):
    if isinstance(here, list):
        here.append(copy.deepcopy(here[key]))


def _graft(rng, here, key, table):
    """A piece of another place."""
    other, name = rng.choice(list(_nodes(table)))
    here[key] = copy.deepcopy(other[name])


def _wrap(rng, here, key, table):
    value = here[key]
    here[key] = rng.choice([[value], {"type": value}, [[value]], {"x": value}, [value] * 3])


def _nest(rng, here, key, table):
    depth = rng.choice([20, 40, 90])
    value = here[key]
    for _ in range(depth):
        value = [value] if rng.random() < 0.7 else {"type": "FieldSum", "fields": value}
    here[key] = value


def _itself(rng, here, key, table):
    """Sections that lead to one another."""
    name = rng.choice(["laser", "a", "basis", "model"])
    table[name] = {"type": "FieldSum", "fields": [rng.choice([name, "b", "laser"])]}
    table["b"] = {"type": rng.choice(["FieldSum", "LengthGauge"]), "fields": [name], "pulse": name}


def _object(rng, here, key, table):
    here[key] = random_object(rng)


def _term(rng, here, key, table):
    """One more object in a list of them."""
    lists = [h[k] for h, k in _nodes(table) if isinstance(h[k], list) and _of_objects(h[k])]
    if lists:
        rng.choice(lists).append(random_object(rng))


_CHANGES: list[Callable[..., None]] = [
    _replace, _replace, *[_renumber] * 9, _retype, _retype, _delete, _delete,
    _misspell, _add, _add, _double, _graft, _wrap, _nest, _itself, _object, _object, _term, _term,
]  # fmt: skip


def random_object(rng: random.Random, depth: int = 0) -> dict[str, Any]:
    """A table for any public class, each of its keys with a value that may fit or not."""
    name = rng.choice(_names())
    known = parameters(classes(eqx.Module)[name])
    table: dict[str, Any] = {"type": name}
    for p in known.values():
        if p.required or rng.random() < 0.3:
            table[p.name] = _for(rng, p, depth)
    return table


def _for(rng, p, depth) -> Any:
    if p.kind is not None and rng.random() < 0.8:
        fitting = list(classes(p.kind)) or ["Grid"]
        one: Any = {"type": rng.choice(fitting)}
        if depth < 3:
            for q in parameters(classes(eqx.Module).get(one["type"], _nothing)).values():
                if q.required:
                    one[q.name] = _for(rng, q, depth + 1)
        return [one] if p.many else one
    if p.name in ("file", "dataset"):
        return rng.choice(PLACES)
    if not p.required and rng.random() < 0.3 and isinstance(p.default, int | float | str):
        return p.default
    return _anything(rng) if rng.random() < 0.3 else rng.choice([1, 2, 0.5, 3, 8, 1.5, [1, 2], "z"])


def _nothing() -> None:
    pass


def _anything(rng: random.Random) -> Any:
    return rng.choice(
        [
            lambda: rng.choice(NUMBERS),
            lambda: rng.choice(NUMBERS),
            lambda: rng.choice(WORDS),
            lambda: rng.choice(WORDS),
            lambda: rng.choice(PLACES),
            lambda: rng.choice([True, False]),
            lambda: rng.choice([datetime.date(2020, 1, 1), datetime.time(1, 2)]),
            lambda: [rng.choice(NUMBERS) for _ in range(rng.choice([0, 1, 2, 3, 4, 300]))],
            lambda: rng.choice([[], [[]], [[], [1]], [[1, 2], [3]], ["a", 1], [True], [{}], {}]),
            lambda: {"type": rng.choice(WORDS)},
            lambda: {rng.choice(["a", "²", "", "type"]): rng.choice(NUMBERS)},
            lambda: random_object(rng),
        ]
    )()


def _options(rng: random.Random, table: dict[str, Any]) -> list[str]:
    if rng.random() > 0.12:
        return []
    paths = list(_paths(table)) or ["basis"]
    value = str(rng.choice([*NUMBERS[:25], *WORDS, *PLACES]))
    return rng.choice(
        [
            ["--set", f"{rng.choice(paths)}={value}"],
            ["--set", f"{rng.choice(paths)}.{rng.choice(['0', '²', '-1', '', 'x'])}={value}"],
            ["--set", rng.choice(["", "=", "a", "=1", ".=1", "a..b=1", "²=1"])],
            ["--mesh", rng.choice(["space=²", "space=0", "space=10", "x=1", "=", "", value])],
            ["--device", rng.choice(["gpu", "cpu:0", "cpu:²", "cpu:99", "tpu", "", value])],
            ["--precision", rng.choice(["single", "tf32", "²", "", value])],
            [f"--checkpoint-every={rng.choice(['-1', 'nan', '1e400', '²', '', value])}"],
            [f"--out={rng.choice(PLACES)}"],
        ]
    )


def _paths(table: Any, before: str = "") -> Iterator[str]:
    items = table.items() if isinstance(table, dict) else enumerate(table)
    for key, value in items:
        yield f"{before}{key}"
        if isinstance(value, dict | list):
            yield from _paths(value, f"{before}{key}.")


def _scratched(rng: random.Random, text: str) -> str:
    """Wrong on the level of characters: TOML itself may be broken."""
    position = rng.randrange(len(text))
    odd = ["\u0000", "é", "[", "]]", "'''", '"""', "=", "\ufeff", "9" * 5000, "[" * 3000, "\\", "#",
           "\r", "{a=" * 2000, "a." * 3000, "\nx = 1979-05-27T07:32:00Z\n",
           "\n[[model]]\n"]  # fmt: skip
    match rng.randrange(4):
        case 0:
            return text[:position]
        case 1:
            return text[:position] + text[position + rng.randrange(1, 20) :]
        case 2:
            return text[:position] + rng.choice(odd) + text[position:]
        case _:
            lines = text.splitlines()
            rng.shuffle(lines)
            return "\n".join(lines)


def _names() -> list[str]:
    return sorted(classes(eqx.Module))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e100


def _of_objects(values: list[Any]) -> bool:
    return any(isinstance(v, dict) for v in values)
