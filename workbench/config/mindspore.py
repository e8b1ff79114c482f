"""MindSpore's ``MINDSPORE_DUMP_CONFIG`` for O0/O1 on Ascend and for the CPU.

`load_config` reads the vendor's own file, `check` says what MindSpore would refuse or ignore, and
`plan` lowers the form to a `DumpPlan`. Judged by MindSpore r2.7.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from workbench.config.kernel_list import read_kernels
from workbench.config.mindspore_form import Common, E2e, MindSporeForm
from workbench.config.mindspore_rules import (
    CPU,
    DEVICE_CATEGORIES,
    PARSER,
    RULES,
    computes_on_device,
    debug_mode,
    dump_folder,
)
from workbench.config.setting import read_section
from workbench.core.errors import ConfigError, FormatError
from workbench.core.plan import DumpPlan, Iterations, Selector
from workbench.core.problems import Problem, require

if TYPE_CHECKING:
    from workbench.config.setting import Form
    from workbench.core.tensors import Io

SURFACES: dict[str, Literal["Ascend", "CPU"]] = {"mindspore-o0o1": "Ascend", "mindspore-cpu": "CPU"}
"""Surfaces that this form serves, with the device they run on."""

_IO: dict[int, frozenset[Io]] = {
    0: frozenset(("input", "output")),
    1: frozenset(("input",)),
    2: frozenset(("output",)),
}
_NOTHING = Selector("name", "")
_MAX_BYTES = 1 << 24


@dataclass(frozen=True)
class DumpConfig:
    """A form with what reading it already found; ``text`` is the file as it was written."""

    form: MindSporeForm
    found: tuple[Problem, ...] = ()
    text: str = field(default="", repr=False)
    path: str = ""

    def to_json(self) -> str:
        """Return the vendor's own form: set, required and unknown keys."""
        return json.dumps(to_form(self.form), indent=2, ensure_ascii=False) + "\n"

    def check(self, surface: str = "mindspore-o0o1") -> tuple[Problem, ...]:
        """Every problem of the form on a surface; nothing is raised."""
        known_surface(surface)
        rules = (problem for rule in RULES for problem in rule(self.form, surface))
        return (*self.found, *rules)

    def plan(self, surface: str = "mindspore-o0o1", *, out: str = "") -> DumpPlan:
        """Return what a run shall write; raises ConfigError if MindSpore would refuse the form.

        ``out`` replaces the form's own folder, which then need not be right.
        """
        require(p for p in self.check(surface) if not (out and p.id == "path"))
        if debug_mode(self.form):
            path = "common_dump_settings.op_debug_mode"
            got = self.form.common_dump_settings.op_debug_mode
            message = f"{path} must be 0 for a plan, got {got}"
            fix = "overflow and exception dumps are not planned yet"
            raise ConfigError([Problem("debug-plan", "error", path, message, fix)])
        plan = _plan(self.form, surface)
        return replace(plan, path=out) if out else plan


def to_form(form: MindSporeForm) -> dict[str, Any]:
    """Return the JSON object of a form."""
    whole: dict[str, Any] = {"e2e_dump_settings": {}} if form.e2e_dump_settings else {}
    result: dict[str, Any] = {"common_dump_settings": form.common_dump_settings.to_form(whole)}
    if form.e2e_dump_settings is not None:
        result["e2e_dump_settings"] = form.e2e_dump_settings.to_form(whole)
    return result | dict(form.model_extra or {})


def read_form(form: Form) -> DumpConfig:
    """Read a decoded form; what does not fit becomes a problem of the result."""
    problems: list[Problem] = []
    common, e2e = Common(), None
    if isinstance(form.get("common_dump_settings"), Mapping):
        name = "common_dump_settings"
        common, problems = read_section(Common, name, form[name], form, PARSER)
    else:
        problems.append(_no_object("common_dump_settings", form))
    if isinstance(form.get("e2e_dump_settings"), Mapping):
        name = "e2e_dump_settings"
        e2e, more = read_section(E2e, name, form[name], form, PARSER)
        problems += more
    elif "e2e_dump_settings" in form:
        problems.append(_no_object("e2e_dump_settings", form))
    rest = {k: v for k, v in form.items() if k not in MindSporeForm.model_fields}
    for key in rest:
        message = f"{key} must be a known section, got {key!r}, which is ignored"
        fix = f"known: {list(MindSporeForm.model_fields)}"
        problems.append(Problem("unknown-key", "warning", key, message, fix, source=PARSER))
    whole = MindSporeForm(common_dump_settings=common, e2e_dump_settings=e2e, **rest)
    return DumpConfig(whole, tuple(problems))


def parse_config(text: str, where: str = "data_dump.json") -> DumpConfig:
    """Read the text of a file as MindSpore does: what follows the JSON value does not matter.

    Raises FormatError with line and caret if the text is no JSON, or no object.
    """
    start = len(text) - len(text.lstrip(" \t\r\n\ufeff"))
    try:
        value, _ = json.JSONDecoder(parse_constant=_refuse).raw_decode(text, start)
    except json.JSONDecodeError as error:
        lines = text.split("\n")
        line = lines[error.lineno - 1].rstrip("\r")[:200]
        caret = " " * (error.colno - 1) + "^" if error.colno <= 200 else ""
        message = f"{where}:{error.lineno}: text must be JSON, got {error.msg!r}\n{line}\n{caret}"
        raise FormatError(message.rstrip()) from error
    except (ValueError, RecursionError) as error:
        message = f"{where}:1: text must be JSON, got {str(error)!r}"
        raise FormatError(message) from error
    if not isinstance(value, dict):
        message = f"{where}:1: text must be a JSON object, got {type(value).__name__}"
        raise FormatError(message)
    config = read_form(value)
    return DumpConfig(config.form, config.found, text, where)


def load_config(path: str | Path) -> DumpConfig:
    """Read a file; raises FormatError if MindSpore could not, or would not, decode it."""
    path = Path(path)
    if not path.name.endswith("json"):
        message = f"{path}: name must end in 'json' or MindSpore refuses it, got {path.name!r}"
        raise FormatError(message)
    try:
        if path.stat().st_size > _MAX_BYTES:
            message = f"{path}: file must be at most {_MAX_BYTES} bytes, got {path.stat().st_size}"
            raise FormatError(message)
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        message = f"{path}: configuration must be a readable file, got {error.strerror or error}"
        raise FormatError(message) from error
    except UnicodeDecodeError as error:
        message = f"{path}: byte {error.start}: text must be UTF-8, got {error.reason}"
        raise FormatError(message) from error
    return parse_config(text, str(path))


def _plan(form: MindSporeForm, surface: str) -> DumpPlan:
    common, e2e = form.common_dump_settings, form.e2e_dump_settings
    on_cpu = surface == CPU
    e2e = None if on_cpu else e2e  # observed with 2.10.0: the section has no effect on a CPU
    select = {1: read_kernels(common.kernels), 2: (_NOTHING,)}.get(common.dump_mode, ())
    off = not on_cpu and 0 not in common.support_device
    statistics = common.statistic_category
    if computes_on_device(form):
        statistics = tuple(name for name in statistics if name in DEVICE_CATEGORIES)
    return DumpPlan(
        path=dump_folder(form),
        net_name=common.net_name,
        iterations=Iterations(()) if off else Iterations.parse(common.iteration),
        io=_IO[common.input_output],
        select=select,
        saved=common.saved_data,
        statistics=statistics,
        sample=e2e.sample_num if e2e and e2e.sample_mode else None,
        initial_iteration=common.initial_iteration,
        kernel_args=bool(e2e and e2e.save_kernel_args),
    )


def known_surface(surface: str) -> None:
    """Raise ConfigError if this form does not serve the surface."""
    if surface not in SURFACES:
        message = f"surface must be one of {list(SURFACES)}, got {surface!r}"
        raise ConfigError([Problem("surface", "error", "", message)])


def _no_object(name: str, form: Form) -> Problem:
    got = repr(form[name]) if name in form else "nothing"
    message = f"{name} must be an object, got {got}"
    return Problem("section", "error", name, message, source=PARSER)


def _refuse(word: str) -> Any:
    message = f"the constant {word}"
    raise ValueError(message)
