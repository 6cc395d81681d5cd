"""Pseudopotentials from the texts that their authors publish."""

from __future__ import annotations

import equinox as eqx
import numpy as np
import pytest
from pseudo_atoms import CARBON

from zitter import checks
from zitter.qmc import Pseudopotential

NWCHEM = """
ECP
C nelec 2
C ul
1 14.43502 4.00000
3 8.39889 57.74008
2 7.38188 -25.81955
C S
2 7.76079 52.13345
H nelec 0   # no core
H ul
1 21.24359508259891 1.0
H s
2 1.0 0.0
END
"""
GAMESS = """
C-ccECP GEN 2 1
3
4.00000 1 14.43502
57.74008 3 8.39889
-25.81955 2 7.38188
1
52.13345 2 7.76079
"""


def test_both_forms_are_the_same_potential(tmp_path):
    (tmp_path / "C.gamess").write_text(GAMESS)
    found = [
        Pseudopotential.from_nwchem(NWCHEM, "C", name="ccecp"),
        Pseudopotential.from_gamess(GAMESS, "ccecp"),
        Pseudopotential.from_gamess(tmp_path / "C.gamess", "ccecp"),
    ]
    for one in found:
        assert bool(eqx.tree_equal(one, CARBON))
    hydrogen = Pseudopotential.from_nwchem(NWCHEM, "h")
    assert (float(hydrogen.charge), len(hydrogen.channels)) == (1.0, 1)


def test_columns_are_channels(tmp_path):
    r = np.linspace(0.01, 5, 300)
    columns = [r, CARBON.local(r), CARBON.channels[0](r)]
    np.savetxt(tmp_path / "C.txt", np.transpose(columns), header="r v_loc v_s")
    table = Pseudopotential.from_table(tmp_path / "C.txt", charge=4)
    x = np.linspace(0.3, 4.9, 50)
    np.testing.assert_allclose(table.channels[0](x), CARBON.channels[0](x), atol=1e-4)
    np.testing.assert_allclose(table.local(x), CARBON.local(x), atol=1e-4)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Pseudopotential.from_nwchem(NWCHEM), "symbol: must be one of C, H, but is not"),
        (lambda: Pseudopotential.from_nwchem(NWCHEM, "Si"), "symbol: must be one of C, H, but is"),
        (
            lambda: Pseudopotential.from_nwchem(NWCHEM.replace("C ul", "C local")),
            'text: must have lines like "C nelec 2", "C ul" or "C S", but has "C local"',
        ),
        (
            lambda: Pseudopotential.from_nwchem(NWCHEM.replace("C S", "C P"), "C"),
            'text: must have channels from s on of C, but has "p"',
        ),
        (lambda: Pseudopotential.from_nwchem("\n"), 'text: must have a line like "C nelec 2", but'),
        (
            lambda: Pseudopotential.from_gamess(GAMESS.replace("GEN", "")),
            'text: must have a first line like "C-ccECP GEN 2 1", but has "C-ccECP 2 1"',
        ),
        (
            lambda: Pseudopotential.from_gamess(GAMESS.replace("\n1\n", "\n2\n")),
            "text: must have 2 terms in a channel, but ends",
        ),
        (
            lambda: Pseudopotential.from_gamess(GAMESS + "1\n"),
            'text: must have 2 channels and nothing after them, but has "1"',
        ),
        (
            lambda: Pseudopotential.from_gamess(GAMESS.replace("7.76079", "x")),
            'text: must have numbers there, but has "52.13345 2 x"',
        ),
        (
            lambda: Pseudopotential.from_gamess(GAMESS.replace("C-ccECP GEN 2", "C-ccECP GEN 6")),
            "text: must leave electrons to C, but takes 6 of them",
        ),
        (
            lambda: Pseudopotential.from_gamess(GAMESS.replace("C-ccECP", "Q-ccECP")),
            'symbol: must be that of an element, but is "Q"',
        ),
        (
            lambda: Pseudopotential.from_gamess("nowhere.txt"),
            'file: must name a file, but "nowhere',
        ),
        (
            lambda: Pseudopotential.from_table("0 1\n1 2 3\n", 4),
            'text: must have as many columns in each line, two or more, but has "1 2 3"',
        ),
    ],
)
def test_text_that_makes_no_sense_is_refused_in_one_sentence(make, sentence):
    with pytest.raises(checks.InputError) as error:
        make()
    assert str(error.value).startswith(sentence)
