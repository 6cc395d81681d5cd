"""TOML input: the Python objects, one to one."""

from zitter.config.case import Case, assemble
from zitter.config.document import Document, parse, read
from zitter.config.schema import schema

__all__ = ["Case", "Document", "assemble", "parse", "read", "schema"]
