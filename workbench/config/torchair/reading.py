"""What a release makes of a torchair form: mode, GE's options, and the JSON that it names, read once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.config.context import Context, is_before
from workbench.config.form.rules import Reading
from workbench.config.ge.options import SessionOptions
from workbench.config.torchair.settings import CAPTURE_MODES
from workbench.core.errors import WorkbenchError
from workbench.core.problems import Problem
from workbench.core.words import Message

if TYPE_CHECKING:
    from workbench.config.judge import Judged
    from workbench.config.torchair.settings import DumpConfig, Torchair

CANN = (
    ("26.0", "9.0"),
    ("7.3", "8.5"),
    ("7.2", "8.3"),
    ("7.1", "8.2"),
    ("7.0", "8.1"),
    ("0", "8.0"),
)
"""The CANN that comes with each Ascend Extension for PyTorch, the newest first."""


class AclFile(NamedTuple):
    """The JSON that ``dump_config_path`` names, as far as it could be looked at."""

    judged: Judged | None = None
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class TorchairReading(Reading):
    """What a release makes of a form.

    ``captures`` is whether operators are captured one by one, rather than compiled as a graph by GE; ``ge`` is what
    torchair hands to GE, ``file`` the JSON of ``dump_config_path``.
    """

    dump: DumpConfig
    captures: bool
    ge: SessionOptions
    file: AclFile


def reading(form: Torchair, context: Context) -> TorchairReading:
    """Return what the version of the context makes of a form; the file that it names is read here."""
    process = _with_environment(form, context)
    file, ge = acl_file(form, context), session(form, process)
    return TorchairReading(form, context, form.dump_config, captures(form), ge, file)


def _with_environment(settings: Torchair, context: Context) -> Context:
    own = {k: v for k, v in settings.environment.values().items() if isinstance(v, str) and v}
    return replace(context, env={**context.env, **own})


def captures(settings: Torchair) -> bool:
    """Whether operators are captured one by one, rather than compiled as a graph by GE."""
    return settings.mode in CAPTURE_MODES


def acl_file(settings: Torchair, context: Context) -> AclFile:
    """Read and judge the JSON of ``dump_config_path``; empty unless it lies on this machine."""
    path = settings.dump_config.dump_config_path
    if path is None or captures(settings) or not context.here or not context.file_exists(path):
        return AclFile()
    from workbench.config.files import load

    version = next((cann for torch, cann in CANN if not is_before(context.release(), torch)), "")
    there = replace(context, version=version)
    try:
        judged = load(path, "acl").judge(there)
        return AclFile(judged, judged.problems)
    except WorkbenchError as error:
        said = Message(error.code, **error.values | {"excerpt": ""})
        line = error.place.rpartition(":")[2]
        number = int(line) if line.isdecimal() else 0
        return AclFile(None, (Problem("config-file", "error", "", said, line=number),))


def session(form: Torchair, process: Context) -> SessionOptions:
    """Options that torchair hands to GE; none where operators are captured or nothing is dumped."""
    dump = form.dump_config
    if captures(form) or not dump.enable_dump:
        return SessionOptions()
    collect = process.variable("NPU_COLLECT_PATH")
    return SessionOptions(dumps=True, step=dump.dump_step, collect=collect)
