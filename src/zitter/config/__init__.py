"""TOML input: the Python objects, one to one."""

from zitter.config.case import Case, assemble
from zitter.config.document import Document, parse, read
from zitter.config.monte_carlo import MonteCarloCase, assemble_monte_carlo, is_monte_carlo
from zitter.config.schema import schema

__all__ = [
    "Case",
    "Document",
    "MonteCarloCase",
    "assemble",
    "assemble_monte_carlo",
    "is_monte_carlo",
    "parse",
    "read",
    "schema",
]
