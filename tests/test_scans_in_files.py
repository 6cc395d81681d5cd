"""[scan]: a file that goes over values of its own keys, by the machinery of sweeps."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import zitter as zt
from command_line import zitter
from zitter import cases, config, sweeps
from zitter.cases.schema import schema

CASE = """
[scan]
laser.intensity = "1e13:4e13:log:3"
laser.cep = ["0 deg", "90 deg"]

[basis]
type = "Grid"
shape = 31
spacing = 0.8

[model]
terms = ["Kinetic", { type = "SoftCoulomb", Z = 1, softening = 2 },
         { type = "LengthGauge", pulse = "laser" }]

[laser]
type = "SineSquared"
intensity = "1e14 W/cm^2"
wavelength = "80 nm"
cycles = 1

[evolve]
t = [0, "laser.duration"]
dt = 0.5
propagator = { type = "SplitOperator" }
observables = ["Norm", "Dipole"]
save_every = 100
step_check = false
"""


@pytest.fixture
def case(tmp_path: Path) -> Path:
    path = tmp_path / "atom.toml"
    path.write_text(CASE, encoding="utf-8")
    return path


def axes(text: str) -> dict:
    table = config.parse(CASE[CASE.index("[basis]") :] + text).table
    return {axis.key: list(axis.values) for axis in sweeps.in_file(table)}


def test_lists_and_ranges_of_any_key():
    assert axes('[scan]\nlaser.cycles = [1, 2]\nmodel.terms.1.Z = "1:3:lin:3"') == {
        "laser.cycles": [1, 2], "model.terms.1.Z": [1, 2, 3],
    }  # fmt: skip
    # Plain numbers have the unit of the file's own value, as with --over.
    assert axes("[scan]\nlaser.intensity = [1e13, 2e13]") == {
        "laser.intensity": ["10000000000000.0 W/cm^2", "20000000000000.0 W/cm^2"]
    }
    assert axes("[scan]\nevolve.t = [[0, 1], [0, 2]]") == {"evolve.t": [[0, 1], [0, 2]]}
    assert axes('[scan]\n"laser.cep" = [0, 1]') == {"laser.cep": [0, 1]}


@pytest.mark.parametrize(
    ("section", "sentence"),
    [
        ("scan = 3", "scan: must be a list of values or a range like"),
        ("[scan]\nlaser.cep = 3", 'scan.laser.cep: must be a list of values or a range like "1e13'),
        ("[scan]\nlaser.cep = []", "scan.laser.cep: must have values, but has none"),
        ("[scan]\nlaser.cep = [1, 1]", "scan.laser.cep: must not repeat a value, but is"),
        ('[scan]\ndevice = ["cpu", "gpu"]', "scan.device: must be the same for all items, but is"),
        ('[scan]\nlaser.cep = "1:2"', "scan.laser.cep: must be first:last:lin:count or a list"),
        ('[scan]\nlaser.cep = "1:2:sqrt:3"', "scan.laser.cep: must be spaced by lin or log"),
    ],
)
def test_what_is_wrong_is_said_of_its_key(section, sentence):
    with pytest.raises(zt.InputError) as error:
        table = config.parse(f"{section}\n{CASE[CASE.index('[basis]') :]}").table
        sweeps.in_file(table)
    assert sentence in str(error.value)


def test_run_carries_all_of_them_in_one_file(case, tmp_path, capsys):
    out = tmp_path / "out"
    code, stdout, _ = zitter(capsys, "run", case, "--out", out, "--json")
    told = json.loads(stdout.strip().splitlines()[-1])
    assert code == 0 and told["items"] == told["done"] == 6
    found = zt.load(out)
    assert found.shape == (3, 2) and found.units["laser.intensity"] == "W/cm^2"
    np.testing.assert_allclose(found.axes["laser.intensity"], [1e13, 2e13, 4e13])
    assert "[scan]" in found.input
    items = {path.name for path in (out / "items").glob("*.h5")}
    assert len(items) == 6
    one = zt.load(next((out / "items").glob("*.h5")))
    assert "scan" not in config.parse(one.input).table
    # `zitter sweep` finds every item done, and so does a file without [scan] under --over.
    code, stdout, stderr = zitter(capsys, "sweep", case, "--out", out)
    assert code == 0 and "6 items are there already" in stderr
    case.write_text(CASE[CASE.index("[basis]") :], encoding="utf-8")
    over = ("--over", "laser.intensity=1e13:4e13:log:3", "--over", 'laser.cep="0 deg","90 deg"')
    code, _, stderr = zitter(capsys, "sweep", case, *over, "--out", out)
    assert code == 0 and "6 items are there already" in stderr
    assert {path.name for path in (out / "items").glob("*.h5")} == items
    code, *_ = zitter(capsys, "plot", out)
    assert code == 0 and (out / "overview.png").stat().st_size > 1000


def test_dry_run_and_what_goes_before(case, tmp_path, capsys):
    out = tmp_path / "no"
    code, stdout, _ = zitter(capsys, "run", case, "--out", out, "--dry-run", "--json")
    told = json.loads(stdout.strip().splitlines()[-1])
    assert code == 0 and (told["items"], told["runs"]) == (6, 1) and not out.exists()
    over = ("--over", "laser.cep=0,1,2")
    code, stdout, _ = zitter(capsys, "sweep", case, *over, "--out", out, "--dry-run", "--json")
    assert code == 0 and json.loads(stdout.strip().splitlines()[-1])["items"] == 9


def test_refusals(case, tmp_path, capsys):
    for option in ("--overwrite", "--extend", "--keep-checkpoint"):
        code, _, stderr = zitter(capsys, "run", case, "--out", tmp_path / "no", option)
        assert code == 2 and f"{option}: must not be given for a file with [scan]" in stderr
    code, _, stderr = zitter(capsys, "run", case, "--set", "scan.laser.color=[1, 2]")
    assert code == 2 and "laser.color: must be a key of SineSquared" in stderr
    with pytest.raises(zt.InputError, match="scan: must be left out here"):
        cases.read(config.parse(CASE))


def test_the_schema_knows_it():
    assert schema(cases.KINDS)["properties"]["scan"]["type"] == "object"
