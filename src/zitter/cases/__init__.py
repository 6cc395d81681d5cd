"""Calculations from files: the kinds there are, each registered here and nowhere else."""

from __future__ import annotations

from zitter import checks
from zitter.cases.base import Case, Estimate, Job, configure
from zitter.cases.evolution import Evolution
from zitter.cases.monte_carlo import MonteCarlo
from zitter.cases.stationary import Stationary
from zitter.config.document import SCAN, Document

# The first that recognizes a document has it; evolutions take what is left, to say what is wrong.
KINDS: list[type[Case]] = [MonteCarlo, Stationary, Evolution]


def read(document: Document) -> Case:
    """The case that a document describes, with every object of it checked."""
    if SCAN in document.table:
        raise checks.InputError(
            SCAN, "must be left out here, as it makes many calculations of one: see zitter run"
        )
    return next(kind for kind in KINDS if kind.recognizes(document)).read(document)


__all__ = ["KINDS", "Case", "Estimate", "Job", "configure", "read"]
