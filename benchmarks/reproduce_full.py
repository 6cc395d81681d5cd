"""A reproduction with the paper's own parameters, as a record with device, versions and date.

python benchmarks/reproduce_full.py hydrogen-laser --json FILE        (--default: scaled down)
"""

from __future__ import annotations

from pathlib import Path

from common import arguments
from pictures import stamp
from records import finish, present, record

from zitter import reproduce, runtime


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("name", choices=list(reproduce.NAMES))
    parser.add_argument("--out", type=Path, help="folder of figures and of what to go on from")
    parser.add_argument("--default", action="store_true", help="the size of the default run")
    options = parser.parse_args()
    runtime.configure(precision="double")
    report = reproduce.run(options.name, not options.default, options.out, progress=True).to_json()
    question = f"zitter reproduce {options.name}" + (" --full" * (not options.default))
    projected = [row for row in report["rows"] if row.get("projected")]
    measured = [row for row in report["rows"] if not row.get("projected")]
    packages = present("jax-triton", "cupy-cuda13x")
    result = record(options.name, question, measured, *packages, projected=projected)
    outcome = {"repetitions": 1} | {key: report[key] for key in ("ok", "seconds", "notes")}
    for picture in options.out.glob("*.png") if options.out else ():
        stamp(picture, picture, Source=result["source"], Command=result["command"])
    finish(result | {"outcome": outcome}, options.json)


if __name__ == "__main__":
    main()
