"""What torchair, the graph engine behind it and common sense demand of a form, in that order.

Types and values are declared in ``form``; their breaches carry the exception that torchair raises.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.config.context import Context, is_before
from workbench.config.form.paths import lookup
from workbench.config.form.rules import Example, Rule, rules_of
from workbench.config.ge import options as ge
from workbench.config.ge.plans import EXCEPTION_DETAIL
from workbench.config.torchair import settings as form
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workbench.config.form.rules import At, When
    from workbench.config.torchair.reading import TorchairReading
    from workbench.core.problems import Problem


def order(problem: Problem, data: Mapping[str, Any]) -> tuple[int, int]:
    """Return the key by which problems are sorted: a script stops at the first line that raises."""
    return (0, problem.line) if problem.severity == "error" else (1, 0)


DUMP = "dump_config."
JSON = DUMP + "dump_config_path"
ON = DUMP + "enable_dump"
EAGER = "options.debug.data_dump.type"
GE_ONLY = "dump_mode|quant_dumpable|dump_step|dump_layer|dump_data"
"""Options that only a graph compiled by GE heeds."""


def is_changed(at: At) -> bool:
    """Whether an option of the dump is set to something else than its default."""
    default = getattr(form.DumpConfig, at.path.removeprefix(DUMP))
    return bool(at.value != default)


def _is_too_new(r: TorchairReading, at: At) -> Any:
    since, release = form.MODE_SINCE.get(at.value, ""), r.context.release()
    values = {"since": since, "version": r.context.version}
    return since and is_before(release, since) and values


def _is_unknown(r: TorchairReading, at: At) -> Any:
    name = at.path.removeprefix("options.")
    return name.partition(".")[0] not in form.OTHER_OPTIONS and {"got": name}


def _lacks_folder(r: TorchairReading, at: At) -> Any:
    if r.context.usable_folder(at.value):
        return False
    exists = Path(at.value).is_dir()
    code = "PermissionError" if exists else "FileNotFoundError"
    return (not exists or r.dump.enable_dump) and {"got": at.value, "code": code}


def _is_beside_a_file(r: TorchairReading, at: At) -> bool:
    alone = r.dump.dump_config_path is not None and not r.dump.enable_dump
    return alone and is_changed(at)


def _never_dumps(r: TorchairReading, at: At) -> Any:
    early = is_before(r.context.release(), form.CAPTURE_DUMP_SINCE)
    values = {"mode": r.form.mode, "since": form.CAPTURE_DUMP_SINCE}
    return r.captures and at.value and early and values


def _in_the_file(*severities: str) -> When:
    """Return the problems of the JSON that ``dump_config_path`` names."""

    def when(r: TorchairReading, at: At) -> list[dict[str, Any]]:
        return [
            {
                "file": f"{at.value}:{problem.line}" if problem.line else f"{at.value}",
                "problem": problem.message,
                "advice": problem.fix or Message("config/mend-file"),
                "code": problem.code,
                "below": f".{problem.path}" if problem.path else "",
            }
            for problem in r.file.problems
            if problem.severity in severities
        ]

    return when


def _has_an_exception_scene(r: TorchairReading, at: At) -> Any:
    judged = r.file.judged
    scene = lookup(judged.config.data, "dump.dump_scene") if judged else None
    return scene in EXCEPTION_DETAIL and {"got": scene, "below": ".dump.dump_scene"}


def _writes_everything(r: TorchairReading, at: At) -> bool:
    full = r.dump.enable_dump and r.dump.dump_data == "tensor"
    bound = r.captures or r.dump.dump_config_path is not None or at.value or r.dump.dump_layer
    return full and not bound


def _example(context: Context | None = None, mode: str = "", **dump: Any) -> Example:
    """Form with dump options; ``enable_dump`` is on unless said otherwise."""
    data: dict[str, Any] = {"mode": mode} if mode else {}
    data["dump_config"] = {"enable_dump": True, "dump_step": "0"} | dump
    return Example(data, context or Context())


def _in_section(change: Mapping[str, Any]) -> Any:
    return _example(**change).form


def _file_example(name: str) -> Example:
    """Form that only names one of the JSON files beside this module."""
    path = str(Path(__file__).parent / "examples" / name)
    return Example({"dump_config": {"dump_config_path": path}}, Context(here=True))


_HERE = Context(here=True)
_OLD = Context("7.3")

RULES = (
    Rule(
        id="mode-version",
        severity="error",
        at="mode",
        when=_is_too_new,
        says="{key} {got!r} is unknown to version {version}",
        fix="It is supported since {since}.",
        source=form.GUIDE,
        breaks=_example(_OLD, "npugraph_ex"),
        keeps=_example(_OLD, "max-autotune"),
        code="ValueError",
    ),
    Rule(
        id="option-unknown",
        severity="error",
        at="options.*",
        when=_is_unknown,
        says="CompilerConfig has no attribute {got!r}",
        fix=f"Known beside dump_config: {', '.join(form.OTHER_OPTIONS)}.",
        source="Ascend/torchair configs/compiler_config.py",
        breaks=Example({"options": {"fusion.switch": 1}}),
        keeps=Example({"options": {"fusion_config.fusion_switch_file": "/f.cfg"}}),
        code="AttributeError",
    ),
    Rule(
        id="path-folder",
        severity="error",
        at=DUMP + "dump_path",
        when=_lacks_folder,
        says="{key} {got!r} is not an existing folder that can be read and written",
        fix="Create it before the assignment.",
        source="Ascend/torchair configs/_option_base.py",
        breaks=_example(_HERE, dump_path="/no/such/folder"),
        keeps=_example(_HERE, dump_path="/"),
        code="FileNotFoundError",
    ),
    Rule(
        id="config-path-file",
        severity="error",
        at=JSON,
        when=lambda r, at: at.value is not None and not r.context.file_exists(at.value),
        says="{key} {got!r} does not exist",
        fix="Write it before the assignment.",
        source="Ascend/torchair configs/_option_base.py",
        breaks=_example(_HERE, dump_config_path="/no/such.json"),
        keeps=_example(dump_config_path="/no/such.json"),
        code="FileNotFoundError",
    ),
    Rule(
        id="config-path-and-options",
        severity="warning",
        at=JSON,
        when=lambda r, at: at.value is not None and r.dump.enable_dump and not r.captures,
        says="{key} and enable_dump are both set; GE takes the file and warns (the guide of 26.0 says the opposite)",
        fix="Use one of them.",
        source="hicann/ge base/common/dump/dump_manager.cc",
        breaks=_example(dump_config_path="/d.json"),
        keeps=_example(dump_config_path="/d.json", enable_dump=False),
    ),
    Rule(
        id="option-beside-file",
        severity="warning",
        at=DUMP + "dump_path|" + GE_ONLY,
        when=_is_beside_a_file,
        says="{key} is ignored while enable_dump is False: only dump_config_path is passed on",
        fix="Set it in that file.",
        source=form.SOURCE,
        breaks=_example(dump_config_path="/d.json", enable_dump=False, dump_step="0"),
        keeps=_example(dump_config_path="/d.json", enable_dump=False, dump_step=""),
    ),
    Rule(
        id="capture-never-dumps",
        severity="warning",
        at=ON,
        when=_never_dumps,
        says="mode {mode!r} dumps nothing before version {since}",
        fix="Use mode 'max-autotune'.",
        source=form.GUIDE,
        breaks=_example(_OLD, "reduce-overhead"),
        keeps=_example(Context("26.0"), "reduce-overhead"),
    ),
    Rule(
        id="capture-ignores",
        severity="warning",
        at=DUMP + GE_ONLY + "|dump_config_path",
        when=lambda r, at: r.captures and is_changed(at) and {"got": at.value, "mode": r.form.mode},
        says="{key} is ignored with mode {mode!r}: only enable_dump, dump_path and data_dump_stage count",
        fix="Use mode 'max-autotune'.",
        source=form.SOURCE,
        breaks=_example(None, "reduce-overhead", dump_step="3"),
        keeps=_example(None, "reduce-overhead", dump_step=""),
    ),
    Rule(
        id="stage-ignored",
        severity="warning",
        at=DUMP + "data_dump_stage",
        when=lambda r, at: not r.captures and is_changed(at),
        says="{key} is ignored with mode 'max-autotune'",
        fix="Use a capture mode, or remove it.",
        source=form.SOURCE,
        breaks=_example(data_dump_stage="original"),
        keeps=_example(None, "npugraph_ex", data_dump_stage="original"),
    ),
    Rule(
        id="eager-dump",
        severity="warning",
        at="options.*",
        when=lambda r, at: at.path == EAGER and at.value is not None and r.dump.enable_dump,
        says="debug.data_dump.type runs the graph operator by operator, so dump_config has no effect",
        fix="Remove one of the two.",
        source=form.GUIDE,
        breaks=Example(
            {"dump_config": {"enable_dump": True}, "options": {"debug.data_dump.type": "npy"}}
        ),
        keeps=Example({"options": {"debug.data_dump.type": "npy"}}),
    ),
    *rules_of(
        ge.ROWS, "torchair", _in_section, ge.SOURCE, model=form.Torchair, below="dump_config"
    ),
    Rule(
        id="config-file",
        severity="warning",
        at=JSON,
        when=_in_the_file("error", "warning"),
        says="{file}: {problem}",
        fix="{advice}",
        source="Ascend/torchair; hicann/runtime adump",
        breaks=_file_example("refused.json"),
        keeps=_file_example("fine.json"),
    ),
    Rule(
        id="config-file-hint",
        severity="hint",
        at=JSON,
        when=_in_the_file("hint"),
        says="{file}: {problem}",
        fix="{advice}",
        source="Ascend/torchair; hicann/runtime adump",
        breaks=_file_example("hinted.json"),
        keeps=_file_example("fine.json"),
    ),
    Rule(
        id="exception-scene",
        severity="warning",
        at=JSON,
        when=_has_an_exception_scene,
        says="dump_scene {got!r} has no effect: torch_npu has its own exception dump on",
        fix="Choose another scene.",
        source=form.GUIDE,
        breaks=_file_example("exception.json"),
        keeps=_file_example("fine.json"),
    ),
    Rule(
        id="config-file-unread",
        severity="hint",
        at=JSON,
        when=lambda r, at: at.value is not None and not r.context.here and not r.captures,
        says="{got} was not checked",
        fix="Check it as surface acl, or check this script where it will run (--here).",
        source=form.SOURCE,
        breaks=_example(dump_config_path="/d.json", enable_dump=False),
        keeps=_example(),
    ),
    Rule(
        id="dump-off",
        severity="hint",
        at=ON,
        when=lambda r, at: not at.value and r.dump.dump_config_path is None,
        says="{key} is not True, so nothing is dumped",
        fix="Set it to True.",
        source=form.SOURCE,
        breaks=_example(enable_dump=False),
        keeps=_example(),
    ),
    Rule(
        id="everything",
        severity="hint",
        at=DUMP + "dump_step",
        when=_writes_everything,
        says="Dumping full tensors of every operator and iteration is slow and can fill a disk",
        fix="Set dump_step or dump_layer, or use dump_data 'stats'.",
        source=form.GUIDE,
        breaks=_example(dump_step=""),
        keeps=_example(dump_step="", dump_data="stats"),
    ),
)
