"""Checks of user input, in one sentence form: `key: must …, but is …`.

Constructors call these functions, so a value is judged in one place whether it comes from Python,
from a TOML file or from a command. Traced values (inside `jax.grad` or `jax.vmap`) pass unjudged.
"""

from __future__ import annotations

import datetime
import difflib
import math
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from zitter import units

LONGEST = 600  # characters of a sentence; input may be of any length
LARGEST_SEED = 2**62
MOST_ROUNDS = 2**31 - 1  # what loops that JAX compiles can count
SMALLEST_MASS, LARGEST_MASS = 1e-30, 1e30
LONGEST_NAME, LONGEST_PATH = 255, 4095  # bytes, of Linux
_SHOWN = 80  # characters of a value in it
_NUMBERS = "iubfc"  # kinds of NumPy
_COMPUTED = tuple(map(np.dtype, (np.float32, np.float64, np.complex64, np.complex128)))
# Kinds of plain data, in the words of input files.
_PLAIN = {
    dict: "table", list: "list", tuple: "list", str: "text", int: "whole number", float: "number",
    os.PathLike: "path", type(None): "nothing", bool: "true or false", datetime.datetime: "date",
    datetime.date: "date", datetime.time: "time of day",
}  # fmt: skip


class ZitterError(Exception):
    """Base of every error this package raises on purpose."""


class InputError(ZitterError, ValueError):
    """A value that cannot be used, with the key that carries it (`laser.intensity`)."""

    def __init__(self, key: str, message: str):
        self.key = cut(key, LONGEST // 2)
        self.message = cut(message, LONGEST)
        super().__init__(f"{self.key}: {self.message}" if key else self.message)

    def under(self, prefix: str) -> InputError:
        """The same error seen from one level higher up: `intensity` becomes `laser.intensity`."""
        if not prefix:
            return self
        return InputError(f"{prefix}.{self.key}" if self.key else prefix, self.message)


class RunError(ZitterError, RuntimeError):
    """A run that started and could not go on; the text says what is saved where."""


def cut(text: str, length: int) -> str:
    """The text without its middle where it is longer than that."""
    if len(text) <= length:
        return text
    return f"{text[: length * 2 // 3]} … {text[len(text) - length // 3 + 3 :]}"


def shown(value: Any) -> str:
    """A value in a sentence: as it is given, or only its kind where that would fill the screen."""
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, int) and abs(value) >= 10**40:  # Python refuses to write some of them
        return f"about {'-' if value < 0 else ''}1e{math.log10(abs(value)):.0f}"
    if isinstance(value, str):
        return cut(repr(value), _SHOWN)
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, np.ndarray) and value.ndim and value.dtype.kind not in _NUMBERS:
        return f"an array of {_held(value.dtype)}"
    if isinstance(value, type):
        return f"the class {value.__name__}, not an object {value.__name__}(…)"
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        text = "\n"
    # What NumPy adds to numbers inside an object means nothing to whom the sentence is for.
    foreign = "np." in text and not isinstance(value, np.generic)
    fits = len(text) <= _SHOWN and "\n" not in text and not foreign
    return text if fits else in_words(type(value))


def _held(kind: np.dtype) -> str:
    words = {"O": "Python objects", "U": "text", "S": "text"}
    return words.get(kind.kind, str(kind))


def in_words(kind: type) -> str:
    """A kind with its article, plain data in the words of input files."""
    name = _PLAIN.get(kind, kind.__name__)
    return name if name in ("text", "nothing", "true or false") else with_article(name)


def is_count(text: str) -> bool:
    """Whether a text is a whole number from zero; "²" and digits of other scripts are none."""
    return text.isascii() and text.isdigit() and len(text) <= 18


def did_you_mean(name: Any, known: Iterable[str]) -> str:
    """`; did you mean "…"?` where a known name is near, else nothing."""
    near = difflib.get_close_matches(cut(str(name), _SHOWN), list(known), 1)
    return f'; did you mean "{near[0]}"?' if near else ""


def is_traced(value: Any) -> bool:
    """Whether `value` is being transformed by JAX, so that it has no number yet."""
    import jax
    from jax.core import Tracer

    return any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(value))


def scalar(key: str, value: Any, dimension: str | None = None) -> Any:
    """A finite real number in atomic units, as a NumPy scalar (an array to JAX, never a static).

    With `dimension` ("length", "intensity", …) strings such as "800 nm" are converted.
    """
    if is_traced(value):
        return value
    if isinstance(value, str):
        if dimension is None:
            raise InputError(key, f'must be a number, but is "{cut(value, _SHOWN)}"')
        try:
            value = units.parse(value, dimension)
        except ValueError as error:
            raise InputError(key, str(error)) from None
    if isinstance(value, bool | np.bool_) or _is_nested(value):
        raise InputError(key, f"must be one number, but is {shown(value)}")
    try:
        # float() of a NumPy complex number only warns, and drops the imaginary part.
        number = float("" if np.iscomplexobj(value) else value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(key, f"must be a number, but is {shown(value)}") from None
    if not math.isfinite(number):
        raise InputError(key, f"must be finite, but is {number}")
    return np.float64(number)


def as_given(value: Any) -> str:
    """A number the way people write it in input: -1e14, 0.5, 1e-5; strings stay as they are."""
    if isinstance(value, str):
        return value.strip()
    return re.sub(r"e([+-])0*", lambda sign: "e" + sign[1].strip("+"), f"{float(value):g}")


def _is_nested(value: Any) -> bool:
    try:
        return np.ndim(value) != 0
    except ValueError:  # lists of unequal lengths
        return True


def positive(key: str, value: Any, dimension: str | None = None) -> Any:
    number = scalar(key, value, dimension)
    if not is_traced(number) and not number > 0:
        raise InputError(key, f"must be positive, but is {as_given(value)}")
    return number


def non_negative(key: str, value: Any, dimension: str | None = None) -> Any:
    number = scalar(key, value, dimension)
    if not is_traced(number) and not number >= 0:
        raise InputError(key, f"must not be negative, but is {as_given(value)}")
    return number


def mass(value: Any) -> Any:
    """That of a particle: beyond these bounds its energies are no numbers on many a grid."""
    number = positive("mass", value, "mass")
    if not is_traced(number) and not SMALLEST_MASS <= number <= LARGEST_MASS:
        raise InputError(
            "mass",
            f"must be between {SMALLEST_MASS:g} and {LARGEST_MASS:g} electron masses, but is "
            f"{as_given(value)}",
        )
    return number


def integer(key: str, value: Any, minimum: int | None = None, maximum: int | None = None) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InputError(key, f"must be a whole number, but is {shown(value)}")
    value = int(value)
    if minimum is not None and value < minimum:
        raise InputError(key, f"must be at least {minimum}, but is {shown(value)}")
    if maximum is not None and value > maximum:
        raise InputError(key, f"must be at most {maximum}, but is {shown(value)}")
    return value


def seed(value: Any) -> int:
    """What random numbers begin with: JAX takes 63 bits, and twists count on from it."""
    return integer("seed", value, 0, LARGEST_SEED)


def one_for_each(key: str, values: list[Any], count: int, what: str) -> list[Any]:
    """`count` values, of as many or of one that serves for all."""
    if len(values) not in (1, count):
        wanted = "1 value" if count == 1 else f"1 or {count} values, {what},"
        raise InputError(key, f"must have {wanted}, but has {len(values)}")
    return values * count if len(values) == 1 else values


def choice(key: str, value: Any, allowed: Iterable[Any]) -> Any:
    allowed = list(allowed)
    if value not in allowed:
        names = ", ".join(repr(item) for item in allowed)
        raise InputError(key, f"must be one of {names}, but is {shown(value)}")
    return value


def only_one(sources: dict[str, Any], usual: str) -> str:
    """The name of the one source that is given (not None); `usual` is the key to ask for."""
    given = [name for name, source in sources.items() if source is not None]
    if len(given) != 1:
        raise InputError(
            given[-1] if given else usual,
            f"must be the only one of {', '.join(sources)}, but the input has "
            + (" and ".join(given) or "none"),
        )
    return given[0]


def boolean(key: str, value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise InputError(key, f"must be true or false, but is {shown(value)}")
    return bool(value)


def instance(key: str, value: Any, kind: type | tuple[type, ...]) -> Any:
    if not isinstance(value, kind):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        names = " or ".join(_PLAIN.get(k, k.__name__) for k in kinds)
        what = in_words(kinds[0]) if len(kinds) == 1 else with_article(names)
        raise InputError(key, f"must be {what}, but is {shown(value)}")
    return value


def listed(key: str, values: Any, kind: type) -> None:
    """Refuse what is no list of objects of a kind."""
    if not isinstance(values, list | tuple):
        raise InputError(key, f"must be a list of {plural(kind)}, but is {shown(values)}")
    for position, value in enumerate(values):
        instance(f"{key}.{position}", value, kind)


def path(key: str, value: Any) -> Path:
    """The name of a file or folder, one that a disk can take."""
    found = Path(instance(key, value, (str, os.PathLike)))
    try:
        name = os.fsencode(found)
    except UnicodeEncodeError:
        name = b"\0"
    if b"\0" in name:
        raise InputError(key, f"must be a name for a file or folder, but is {shown(str(found))}")
    longest = max((len(os.fsencode(part)) for part in found.parts), default=0)
    if longest > LONGEST_NAME or len(name) > LONGEST_PATH:
        raise InputError(
            key,
            f"must be a path of at most {LONGEST_PATH} bytes, {LONGEST_NAME} for each name in it, "
            f"but has {len(name)} and {longest}",
        )
    for folder in found.parents:
        if os.path.lexists(folder):
            if not os.path.isdir(folder):
                what = instead_of_folder(folder)
                raise InputError(key, f'must lie in a folder, but "{folder}" is {what}')
            break
    return found


def instead_of_folder(there: Path) -> str:
    return "a file" if os.path.exists(there) else "a link to nothing"


def resume(value: Any, checkpoint: Any) -> bool:
    """Whether a run goes on from its checkpoint, which must be named then, and be there."""
    if not boolean("resume", value):
        return False
    if checkpoint is None:
        raise InputError("resume", "must go with the checkpoint to resume, but checkpoint is None")
    if isinstance(checkpoint, str | os.PathLike) and not path("checkpoint", checkpoint).exists():
        raise InputError(
            "resume",
            f"must find the checkpoint to resume, but there is no {shown(str(checkpoint))}",
        )
    return True


def plural(kind: type) -> str:
    """Several objects of a class, whose name may end as a plural would."""
    name = kind.__name__
    return f"{name} objects" if name.endswith("s") else f"{name}s"


def with_article(name: str) -> str:
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def numbers(key: str, value: Any) -> np.ndarray:
    """Real numbers in a row, finite or not."""
    try:
        found = np.asarray(value, np.float64)
    except (TypeError, ValueError):
        raise InputError(key, f"must be a list of numbers, but is {shown(value)}") from None
    if found.ndim != 1:
        raise InputError(key, f"must be a list of numbers, but has shape {found.shape}")
    return found


def native(numbers: np.ndarray) -> np.ndarray:
    """The same in a kind of number that is computed with: single or double, as this machine has
    them. Others (whole, half, long, of another byte order) become double; what is no number stays.
    """
    if numbers.dtype.kind not in _NUMBERS:
        return numbers
    kind = numbers.dtype.newbyteorder("=")
    if kind not in _COMPUTED:
        kind = np.dtype(np.complex128 if kind.kind == "c" else np.float64)
    with np.errstate(over="ignore"):  # beyond double is infinite
        return numbers.astype(kind, copy=False)


def array(key: str, value: Any, shape: tuple[int | None, ...] | None = None) -> Any:
    """A finite array of numbers; `shape` may hold None where any length will do."""
    if is_traced(value):
        return value
    try:
        result = native(np.asarray(value))
    except (TypeError, ValueError):
        raise InputError(key, f"must be an array of numbers, but is {shown(value)}") from None
    if result.dtype.kind not in "fc":
        what = f"holds {_held(result.dtype)}" if result.ndim else f"is {shown(value)}"
        raise InputError(key, f"must be an array of numbers, but {what}")
    if shape is not None:
        fits = result.ndim == len(shape) and all(
            want is None or want == have for want, have in zip(shape, result.shape, strict=True)
        )
        if not fits:
            wanted = ", ".join("any" if n is None else str(n) for n in shape)
            have = ", ".join(map(str, result.shape))
            raise InputError(key, f"must have shape ({wanted}), but has shape ({have})")
    if not np.all(np.isfinite(result)):
        bad = int(np.size(result) - np.count_nonzero(np.isfinite(result)))
        places = "1 place" if bad == 1 else f"{bad} places"
        raise InputError(key, f"must be finite everywhere, but is not at {places}")
    return result
