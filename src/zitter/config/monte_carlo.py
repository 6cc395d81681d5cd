"""A Monte Carlo calculation from a document: system, wave function, and the verbs to apply."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

from zitter import checks, qmc
from zitter.config.case import SETTINGS
from zitter.config.document import Document
from zitter.config.objects import Builder, unknown
from zitter.qmc.optimizers import optimization
from zitter.qmc.runs import Run
from zitter.qmc.walk import diffusion, variational

VERBS: dict[str, Callable[..., Any]] = {"optimize": qmc.optimize, "vmc": qmc.vmc, "dmc": qmc.dmc}
SECTIONS = ("title", *SETTINGS, "system", "wavefunction", *VERBS)
# Keywords that are the command's business, or chosen for the whole file.
NOT_IN_FILES = {"psi", "start", "checkpoint", "resume", "progress", "precision"}


@dataclasses.dataclass
class MonteCarloCase:
    """What a TOML file describes, as objects: Ψ, and the options of each verb in the file."""

    document: Document
    title: str
    psi: qmc.SlaterJastrow
    optimize: list[dict[str, Any]]
    runs: dict[str, dict[str, Any]]  # vmc, then dmc


def is_monte_carlo(document: Document) -> bool:
    return any(name in document.table for name in ("system", "wavefunction", *VERBS))


def assemble_monte_carlo(document: Document) -> MonteCarloCase:
    """Build and check every object of the file, and what the verbs would refuse."""
    table = document.table
    for name in table:
        if name not in SECTIONS:
            raise checks.InputError(name, unknown(name, SECTIONS, "a key of the file"))
    builder = Builder({}, document.folder)
    if "system" not in table:
        raise checks.InputError("system", "must be given as a section [system], but is missing")
    system = builder.build("system", table["system"], qmc.System)
    psi = _wavefunction(builder, table, system)
    stages = table.get("optimize", [])
    stages = stages if isinstance(stages, list) else [stages]
    optimize = []
    for i, stage in enumerate(stages):
        key = f"optimize.{i}" if len(stages) > 1 else "optimize"
        options = _options(builder, key, checks.instance(key, stage, dict), qmc.optimize)
        if not psi.terms:
            raise checks.InputError(key, "must not be given where wavefunction.jastrow is empty")
        try:
            _checked(optimization.check_options, psi, "optimize", options)
        except checks.InputError as error:
            raise error.under(key) from None
        optimize.append(options)
    runs = {}
    for verb in ("vmc", "dmc"):
        if verb in table:
            section = checks.instance(verb, table[verb], dict)
            runs[verb] = _options(builder, verb, section, VERBS[verb])
            try:
                checked_run(psi, verb, runs[verb])
            except checks.InputError as error:
                raise error.under(verb) from None
    if not (optimize or runs):
        raise checks.InputError("vmc", "must be given, or [dmc] or [optimize], but none of them is")
    title = checks.instance("title", table.get("title", ""), str)
    return MonteCarloCase(document, title, psi, optimize, runs)


def checked_run(psi: qmc.SlaterJastrow, verb: str, options: dict[str, Any]) -> Run:
    """What a verb makes of its options, or refuses."""
    _checked(variational.check_pace if verb == "vmc" else diffusion.check_pace, psi, verb, options)
    return _checked(Run.checked, psi, verb, options)


def _checked(check: Callable[..., Any], psi: Any, verb: str, options: dict[str, Any]) -> Any:
    """A check that a verb itself makes, on the options it would have."""
    given = {p.name: p.default for p in inspect.signature(VERBS[verb]).parameters.values()}
    given |= {**options, "psi": psi}
    return check(**{name: given[name] for name in inspect.signature(check).parameters})


def _wavefunction(builder: Builder, table: dict[str, Any], system: qmc.System) -> Any:
    """Ψ with the parameters of a file, if the section names one."""
    section = dict(checks.instance("wavefunction", table.get("wavefunction", {}), dict))
    parameters = section.pop("parameters", None)
    options = builder.arguments(
        "wavefunction", section, qmc.SlaterJastrow, "[wavefunction]", {"system", "orbitals"}
    )
    try:
        psi = qmc.SlaterJastrow(system, **options)
        if parameters is not None:
            file = builder.folder / checks.instance("parameters", parameters, str)
            if not file.is_file():
                raise checks.InputError("parameters", f'must name a file, but "{file}" is none')
            try:
                psi = psi.load_parameters(file)
            except checks.InputError as error:
                raise checks.InputError("parameters", error.message) from None
    except checks.InputError as error:
        raise error.under("wavefunction") from None
    return psi


def _options(
    builder: Builder, key: str, section: dict[str, Any], verb: Callable[..., Any]
) -> dict[str, Any]:
    without = NOT_IN_FILES & set(inspect.signature(verb).parameters)
    return builder.arguments(key, section, verb, f"[{verb.__name__}]", without)
