"""`zitter run` of orbitals that lie in files."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from plane_wave_files import mesh, write
from pyscf_files import chkfile

from command_line import zitter as run
from zitter import cases, checks
from zitter.cases.schema import schema
from zitter.config import document
from zitter.qmc import Crystal

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


def read(path):
    case = cases.read(document.read(path))
    assert isinstance(case, cases.MonteCarlo)
    return case


@pytest.mark.slow
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


NWCHEM = """C nelec 2
C ul
1 14.43502 4.00000
3 8.39889 57.74008
2 7.38188 -25.81955
C S
2 7.76079 52.13345
"""
GAMESS = """C-ccECP GEN 2 1
3
4.00000 1 14.43502
57.74008 3 8.39889
-25.81955 2 7.38188
1
52.13345 2 7.76079
"""


@pytest.mark.parametrize(
    ("text", "charge"),
    [
        (NWCHEM, ""),
        (GAMESS, ""),
        ("0.1 1.0 2.0\n0.2 1.0 1.0\n1.0 0.1 0.0\n2.0 0 0\n", ", charge = 4"),
    ],
    ids=["nwchem", "gamess", "columns"],
)
def test_pseudopotentials_from_text_files(tmp_path, text, charge):
    """Beside the input, for an element of the orbitals and for a nucleus of the system."""
    (tmp_path / "carbon.txt").write_text(text, encoding="utf-8")
    given = f'{{ type = "Pseudopotential", file = "carbon.txt"{charge} }}'
    runs = "\n[vmc]\nwalkers = 16\n"
    orbitals = f"""[wavefunction]
type = "from_pyscf"
file = {str(chkfile("carbon-rohf"))!r}
pseudopotentials = {{ C = {given} }}
"""
    (tmp_path / "orbitals.toml").write_text(orbitals + runs, encoding="utf-8")
    psi = read(tmp_path / "orbitals.toml").psi
    (kind,) = psi.system.nuclei.pseudopotentials
    assert kind is not None and float(kind.charge) == 4
    r = np.array([0.3, 0.7])
    if charge:
        np.testing.assert_allclose(kind.channels[0](np.array([0.1, 0.2])), [2.0, 1.0])
    else:
        np.testing.assert_allclose(kind.channels[0](r), 52.13345 * np.exp(-7.76079 * r**2))
    nucleus = f"""[system]
type = "Electrons"
spins = [1, 0]
nuclei = [{{ type = "Nucleus", pseudopotential = {given} }}]
"""
    (tmp_path / "system.toml").write_text(nucleus + runs, encoding="utf-8")
    with pytest.raises(checks.InputError, match="orbitals: must be given"):
        read(tmp_path / "system.toml")  # the nucleus was understood: orbitals are missing


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ('file = "none.txt"', "pseudopotentials.C.file: must name a file, but "),
        ('file = "c.txt", charge = 4', "pseudopotentials.C.charge: must not be given: "),
        ('file = "columns.txt"', "pseudopotentials.C.charge: must be given for the columns of"),
        ("charge = 4", "pseudopotentials.C.local: must be given where no file is"),
        ('file = "c.txt", symbol = "Si"', "pseudopotentials.C.symbol: must be one of C, but is Si"),
    ],
)
def test_pseudopotential_tables_that_make_no_sense(tmp_path, capsys, given, said):
    (tmp_path / "c.txt").write_text(NWCHEM, encoding="utf-8")
    (tmp_path / "columns.txt").write_text("0.1 1.0\n0.2 1.0\n", encoding="utf-8")
    table = f'{{ C = {{ type = "Pseudopotential", {given} }} }}'
    case = tmp_path / "carbon.toml"
    text = CASE.replace("orbitals.chk", str(chkfile("carbon-rohf")))
    case.write_text(text.replace("[vmc]", f"pseudopotentials = {table}\n[vmc]"), encoding="utf-8")
    code, _, error = run(capsys, "run", case, "--out", tmp_path / "out", "--dry-run")
    assert code == 2
    assert said in error


def test_plane_waves_from_a_file(tmp_path):
    write(tmp_path / "pwscf.h5", mesh((2, 1, 1)))
    text = """[wavefunction]
type = "from_pwscf"
file = "pwscf.h5"
pseudopotentials = { H = "none" }
supercell = [2, 1, 1]
filter = { type = "InterpolatingFilter" }

[vmc]
walkers = 16
"""
    (tmp_path / "h.toml").write_text(text, encoding="utf-8")
    psi = read(tmp_path / "h.toml").psi
    assert isinstance(psi.system, Crystal) and psi.system.cells == 2
    assert bool(np.all(psi.system.nuclei.bare))


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
