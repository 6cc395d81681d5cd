"""TOML input: the Python objects, one to one."""

from zitter.config.document import Document, parse, read

__all__ = ["Document", "parse", "read"]
