"""One calculation for each of many values: what varies, what is kept, and how it is carried."""

from zitter.sweeps.axes import Axis, in_file, parse
from zitter.sweeps.carry import Part, Teller, carry, parts
from zitter.sweeps.items import Item, Store, laid_out

__all__ = [
    "Axis",
    "Item",
    "Part",
    "Store",
    "Teller",
    "carry",
    "in_file",
    "laid_out",
    "parse",
    "parts",
]
