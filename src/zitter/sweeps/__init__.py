"""One calculation for each of many values: what varies, what is kept, and how it is carried."""

from zitter.sweeps.axes import Axis, in_file, parse
from zitter.sweeps.carry import Part, Refused, Teller, carry, parts, put_down, require_one
from zitter.sweeps.items import Item, Store, laid_out

__all__ = [
    "Axis",
    "Item",
    "Part",
    "Refused",
    "Store",
    "Teller",
    "carry",
    "in_file",
    "laid_out",
    "parse",
    "parts",
    "put_down",
    "require_one",
]
