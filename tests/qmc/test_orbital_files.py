"""`zitter run` of orbitals that lie in files."""

from __future__ import annotations

import json
import shutil

import pytest
from pyscf_files import chkfile

from zitter import cases, cli
from zitter.cases.schema import schema

CASE = """
[wavefunction]
type = "from_pyscf"
file = "orbitals.chk"
jastrow = [{ type = "U", order = 3 }]

[vmc]
walkers = 16
blocks = 4
equilibration = 10
stride = 1
"""


@pytest.fixture
def case(tmp_path):
    shutil.copy(chkfile("h2"), tmp_path / "orbitals.chk")
    path = tmp_path / "h2.toml"
    path.write_text(CASE, encoding="utf-8")
    return path


def run(capsys, *arguments):
    code = cli.status([str(a) for a in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_dry_run_reads_the_orbitals(case, tmp_path, capsys):
    out = tmp_path / "out"
    code, printed, error = run(capsys, "run", case, "--out", out, "--dry-run", "--json")
    assert code == 0, error
    told = json.loads(printed.strip().splitlines()[-1])
    assert "1 + 1 electrons (Electrons)" in told["wavefunction"]
    assert told["vmc"]["walkers"] == 16


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("wavefunction.file=none.chk", "wavefunction.file: must name a chkfile of PySCF"),
        ("wavefunction.type=from_trexio", "wavefunction.file: must be a TREXIO file, but"),
        ("wavefunction.type=from_psi4", "wavefunction.type: must be one of SlaterJastrow, from_p"),
        ("wavefunction.dely=4", 'did you mean "delay"?'),
        ("system.type=Trap", "system: must not be given where from_pyscf takes it from the file"),
        ("wavefunction.pseudopotentials=ccecp", 'must be "none" for H'),
        ('wavefunction.pseudopotentials={ H = "bfd" }', "wavefunction.pseudopotentials.H: must"),
    ],
)
def test_wrong_input_is_refused_by_its_key(case, tmp_path, capsys, change, said):
    code, _, error = run(capsys, "run", case, "--out", tmp_path / "out", "--set", change)
    assert code == 2
    assert said in error


def test_the_file_must_be_named(case, tmp_path, capsys):
    case.write_text(CASE.replace('file = "orbitals.chk"\n', ""), encoding="utf-8")
    code, _, error = run(capsys, "run", case, "--out", tmp_path / "out")
    assert code == 2
    assert "wavefunction.file: must be given, but is missing" in error


def test_the_schema_knows_where_a_system_is_not_needed():
    found = schema(cases.KINDS)
    kinds = [
        kind["properties"].get("type") for kind in found["properties"]["wavefunction"]["anyOf"]
    ]
    assert {"const": "from_pyscf"} in kinds
    without = {"required": ["wavefunction"], "not": {"required": ["system"]}}
    assert without in found["oneOf"]
