"""Files that were whole: results, checkpoints and data, and ways to damage them.

Bits are changed in the file as it is, and numbers, attributes and shapes through h5py or NumPy, so
that what is left is a good HDF5 or npy file with something else in it.
"""

from __future__ import annotations

import contextlib
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from reliability import disks
from reliability.runs import CASES, LINE, Run
from test_examples import EXAMPLES

HARMONIC = 0.5 * np.linspace(-7.5, 7.5, 31) ** 2
BROKEN_AT = 30  # system calls: every kind of run has a checkpoint by then

# Input that reads a data file, by the name of the file.
READERS = {
    "v.npy": LINE + "[eigenstates]\n",
    "v.npz": LINE + "[eigenstates]\n",
    "v.h5": LINE + "[eigenstates]\n",
    "v.cube": LINE.replace("31", "[5, 5, 5]") + "[eigenstates]\n",
    "pulse.txt": LINE + "[evolve]\nt = [0, 1]\ndt = 0.1\n",
    "pulse.npz": LINE + "[evolve]\nt = [0, 1]\ndt = 0.1\n",
    "pulse.h5": LINE + "[evolve]\nt = [0, 1]\ndt = 0.1\n",
    "state.h5": LINE + "[evolve]\nt = [0, 1]\ndt = 0.1\n[initial]\n",
    "levels.h5": "",
    "h2-molecule.chk": "",
    "jastrow.h5": "",
}


def originals(folder: Path) -> dict[str, Path]:
    """A whole output directory, or one with a checkpoint, or one of input and data; by name."""
    made: dict[str, Path] = {}
    for kind in CASES:
        run = Run(kind, folder / f"whole-{kind}")
        assert run.status() == 0
        made[f"result of {kind}"] = run.folder
        broken = Run(kind, folder / f"broken-{kind}")
        with disks.put(disks.Killing(BROKEN_AT)), contextlib.suppress(disks.Killed):
            broken.status()
        made[f"checkpoint of {kind}"] = broken.folder
    for name in READERS:
        place = folder / f"data-{name}"
        place.mkdir()
        _data(name, place, made)
        made[f"data {name}"] = place
    return made


def _data(name: str, place: Path, made: dict[str, Path]) -> None:
    file, text = place / name, READERS[name]
    t = np.linspace(0, 1, 20)
    field = {"times": t, "electric_field": np.sin(np.pi * t) ** 2}
    term = f'{{ type = "Potential", file = "{name}" }}'
    if name.startswith("pulse"):
        text += f'[laser]\ntype = "Tabulated"\nfile = "{name}"\n'
        term = '{ type = "LengthGauge", pulse = "laser" }'
    text = text.replace('{ type = "SoftCoulomb", Z = 1 }', term)
    match name:
        case "v.npy":
            np.save(file, HARMONIC)
        case "v.npz":
            np.savez(file, potential=HARMONIC)
        case "v.h5":
            with h5py.File(file, "w") as data:
                data["potential"] = HARMONIC
        case "v.cube":
            head = ["zitter", "", "0 -1 -1 -1", "5 0.5 0 0", "5 0 0.5 0", "5 0 0 0.5"]
            file.write_text("\n".join([*head, *["0.5 " * 5] * 25]))
        case "pulse.txt":
            np.savetxt(file, np.stack(list(field.values()), axis=1))
        case "pulse.npz":
            np.savez(file, times=t, electric_field=field["electric_field"])
        case "pulse.h5":
            with h5py.File(file, "w") as data:
                for key, values in field.items():
                    data[key] = values
        case "state.h5":
            shutil.copy(made["result of evolve"] / "out" / "result.h5", file)
            text = CASES["evolve"] + f'[initial]\ntype = "Stored"\nfile = "{name}"\n'
        case "levels.h5":
            with h5py.File(file, "w") as data:
                data["energy"] = np.array([[-0.5, -0.125], [-0.125, -0.05]])
                data["length"] = np.full((1, 2, 2), 0.5)
            text = (f'[basis]\ntype = "EigenBasis"\nfile = "{name}"\n[model]\n'
                    'terms = ["FieldFree"]\n[eigenstates]\n')  # fmt: skip
        case "h2-molecule.chk":
            shutil.copy(EXAMPLES / name, file)
            text = (f'[wavefunction]\ntype = "from_pyscf"\nfile = "{name}"\n'
                    "[vmc]\nwalkers = 4\nblocks = 8\n")  # fmt: skip
        case "jastrow.h5":
            shutil.copy(made["result of optimize"] / "out" / name, file)
            named = f'[wavefunction]\nparameters = "{name}"'
            text = CASES["optimize"].replace("[wavefunction]", named)
    (place / "case.toml").write_text(text)


def damage(rng: random.Random, file: Path) -> str:
    """Change a file, and say how."""
    ways: list[Callable[[random.Random, Path], None]] = [_flip, _overwrite, _cut, _empty, _other]
    if file.suffix in (".h5", ".chk") and h5py.is_hdf5(file):
        ways += [_attribute, _attribute, _dataset, _dataset, _dataset, _remove]
    if file.suffix == ".npy":
        ways += [_array, _array]
    way = rng.choice(ways)
    way(rng, file)
    return way.__name__.strip("_")


def _flip(rng, file):
    data = bytearray(file.read_bytes())
    for _ in range(rng.choice([1, 1, 8, 100]) if data else 0):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    file.write_bytes(data)


def _overwrite(rng, file):
    data = bytearray(file.read_bytes())
    start = rng.randrange(max(len(data), 1))
    length = rng.choice([4, 64, 1024])
    new = rng.choice([bytes(length), b"\xff" * length, rng.randbytes(length)])
    data[start : start + length] = new
    file.write_bytes(data)


def _cut(rng, file):
    data = file.read_bytes()
    file.write_bytes(data[: rng.randrange(len(data) + 1)])


def _empty(rng, file):
    file.write_bytes(b"")


def _other(rng, file):
    """Something else of that name."""
    heads = [b"\x89HDF\r\n\x1a\n" + bytes(100), b"[1, 2", rng.randbytes(500), b"PK\x03\x04"]
    file.write_bytes(rng.choice(heads))


def _names(data: Any) -> list[str]:
    found: list[str] = []
    data.visit(found.append)
    return [name for name in found if isinstance(data.get(name), h5py.Dataset)]


def _odd(rng) -> Any:
    return rng.choice(
        [
            np.array([]), np.array([1, 2, 3]), np.float64("nan"), np.int64(-1), "text", "", "²",
            "[" * 5000, json.dumps({"a": [1]}), "{", np.array(["a", "b"], "S3"),
            np.zeros((2, 2, 2)),
            10**18, -3.5, np.array([1 + 2j]), h5py.Empty("f8"), np.bool_(True), b"\xff\xfe", "null",
            '{"#": "object", "class": "Grid", "parts": {}}', "x" * 5000,
        ]
    )  # fmt: skip


def _attribute(rng, file):
    with h5py.File(file, "a") as data:
        owner: Any = data if rng.random() < 0.7 else data.get(rng.choice(_names(data) or ["/"]))
        names = list(owner.attrs) or ["kind"]
        name = rng.choice(names)
        if rng.random() < 0.3:
            owner.attrs.pop(name, None)
        else:
            with contextlib.suppress(TypeError, ValueError, OSError):  # what HDF5 does not take
                owner.attrs[name] = _odd(rng)


def _dataset(rng, file):
    with h5py.File(file, "a") as data:
        names = _names(data)
        if not names:
            return
        name = rng.choice(names)
        item: Any = data[name]
        old = item[()]
        del data[name]
        match rng.randrange(6):
            case 0:
                data.create_dataset(name, (10**12,), "f8", chunks=(1024,))
            case 1:
                data.create_group(name)
            case 2:
                data[name] = h5py.SoftLink(f"/{name}")
            case 3 if np.ndim(old):
                data[name] = old[: len(old) // 2]
            case 4 if np.ndim(old) and old.dtype.kind in "fi":
                data[name] = old * np.nan
            case _:
                with contextlib.suppress(TypeError, ValueError, OSError):
                    data[name] = _odd(rng)


def _remove(rng, file):
    with h5py.File(file, "a") as data:
        names = _names(data)
        if names:
            del data[rng.choice(names)]


def _array(rng, file):
    head = rng.choice([(10**12,), (0,), (31, 31), (2**63 - 1, 4), ()])
    with open(file, "wb") as stream:
        form = {"descr": rng.choice(["<f8", "|O", "<c16", "<U3"]), "fortran_order": False}
        np.lib.format.write_array_header_1_0(stream, form | {"shape": head})
        stream.write(bytes(8 * 31))
