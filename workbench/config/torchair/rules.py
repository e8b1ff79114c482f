"""What torchair, the graph engine behind it and common sense demand of a form, in that order.

Types and values are declared in ``form``; their breaches carry the exception that torchair raises.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.config.context import Context, is_before
from workbench.config.ge_options import ge_breaches
from workbench.config.paths import lookup
from workbench.config.rule import NOTHING, Breach, Example, Rule
from workbench.config.torchair import form
from workbench.config.torchair.plan import acl_file, captures, ge_options
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from workbench.config.torchair.form import Torchair
    from workbench.core.problems import Problem


def order(problem: Problem, data: Mapping[str, Any]) -> tuple[int, int]:
    """Return the key by which problems are sorted: a script stops at the first line that raises."""
    return (0, problem.line) if problem.severity == "error" else (1, 0)


DUMP = "dump_config."
JSON = DUMP + "dump_config_path"
ON = DUMP + "enable_dump"
GE_ONLY = ("dump_mode", "quant_dumpable", "dump_step", "dump_layer", "dump_data")
"""Options that only a graph compiled by GE heeds."""

PATH_OF = {
    "ge.exec.enableDump": ON,
    "ge.exec.dumpStep": DUMP + "dump_step",
}
EXCEPTION_SCENES = (
    "lite_exception",
    "aic_err_brief_dump",
    "aic_err_norm_dump",
    "aic_err_detail_dump",
)


def changed(settings: Torchair, names: Iterable[str]) -> Iterator[Breach]:
    """Options that are set to something else than their default."""
    for name in names:
        value = getattr(settings.dump_config, name)
        if value != form.DumpConfig.model_fields[name].default:
            yield Breach(DUMP + name, value)


def _mode_too_new(settings: Torchair, context: Context) -> Iterator[Breach]:
    since = form.MODE_SINCE.get(settings.mode, "")
    if since and is_before(context.release(), since):
        yield Breach("mode", settings.mode, {"since": since, "version": context.version})


def _unknown_option(settings: Torchair, context: Context) -> Iterator[Breach]:
    for name in settings.options:
        if name.partition(".")[0] not in form.OTHER_OPTIONS:
            yield Breach(f"options.{name}", name)


def _no_folder(settings: Torchair, context: Context) -> Iterator[Breach]:
    path = settings.dump_config.dump_path
    if context.usable_folder(path):
        return
    exists = Path(path).is_dir()
    if not exists or settings.dump_config.enable_dump:
        code = "PermissionError" if exists else "FileNotFoundError"
        yield Breach(DUMP + "dump_path", path, {"code": code})


def _no_json(settings: Torchair, context: Context) -> Iterator[Breach]:
    path = settings.dump_config.dump_config_path
    if path is not None and not context.file_exists(path):
        yield Breach(JSON, path)


def _ge(id_: str) -> Callable[[Torchair, Context], Iterator[Breach]]:
    def find(settings: Torchair, context: Context) -> Iterator[Breach]:
        for breach in ge_breaches(ge_options(settings), _with_environment(settings, context)):
            if breach.id == id_:
                got = NOTHING if breach.got is None else breach.got
                yield Breach(PATH_OF[breach.option], got, {**breach.values, "code": breach.code})

    return find


def _with_environment(settings: Torchair, context: Context) -> Context:
    """Return the context of the process after the script has set its own variables."""
    own = {k: v for k, v in settings.environment.model_dump().items() if isinstance(v, str) and v}
    env = {**context.env, **own}
    return Context(context.version, env, context.here, context.device, context.rank)


def _two_sources(settings: Torchair, context: Context) -> Iterator[Breach]:
    dump = settings.dump_config
    if dump.dump_config_path is not None and dump.enable_dump and not captures(settings):
        yield Breach(JSON, dump.dump_config_path)


def _unused_beside_json(settings: Torchair, context: Context) -> Iterator[Breach]:
    dump = settings.dump_config
    if dump.dump_config_path is not None and not dump.enable_dump:
        yield from changed(settings, ("dump_path", *GE_ONLY))


def _ignored_by_capture(settings: Torchair, context: Context) -> Iterator[Breach]:
    if captures(settings):
        for breach in changed(settings, (*GE_ONLY, "dump_config_path")):
            yield breach._replace(values={"mode": settings.mode})


def _stage_with_ge(settings: Torchair, context: Context) -> Iterator[Breach]:
    if not captures(settings):
        yield from changed(settings, ("data_dump_stage",))


def _capture_never_dumps(settings: Torchair, context: Context) -> Iterator[Breach]:
    early = is_before(context.release(), form.CAPTURE_DUMP_SINCE)
    if captures(settings) and settings.dump_config.enable_dump and early:
        values = {"mode": settings.mode, "since": form.CAPTURE_DUMP_SINCE}
        yield Breach(ON, True, values)


def _eager(settings: Torchair, context: Context) -> Iterator[Breach]:
    kind = settings.options.get("debug.data_dump.type")
    if kind is not None and settings.dump_config.enable_dump:
        yield Breach("options.debug.data_dump.type", kind)


def _file_problems(*severities: str) -> Callable[[Torchair, Context], Iterator[Breach]]:
    def find(settings: Torchair, context: Context) -> Iterator[Breach]:
        file = settings.dump_config.dump_config_path
        for problem in acl_file(settings, context).problems:
            if problem.severity in severities:
                values = {
                    "file": f"{file}:{problem.line}" if problem.line else f"{file}",
                    "problem": problem.message,
                    "advice": problem.fix or Message("config/mend-file"),
                    "code": problem.code,
                }
                yield Breach(f"{JSON}.{problem.path}" if problem.path else JSON, file, values)

    return find


def _exception_scene(settings: Torchair, context: Context) -> Iterator[Breach]:
    config = acl_file(settings, context).config
    scene = lookup(config.data, "dump.dump_scene") if config else None
    if scene in EXCEPTION_SCENES:
        yield Breach(JSON + ".dump.dump_scene", scene)


def _unread_json(settings: Torchair, context: Context) -> Iterator[Breach]:
    path = settings.dump_config.dump_config_path
    if path is not None and not context.here and not captures(settings):
        yield Breach(JSON, path)


def _off(settings: Torchair, context: Context) -> Iterator[Breach]:
    dump = settings.dump_config
    if not dump.enable_dump and dump.dump_config_path is None:
        set_ = "enable_dump" in dump.model_fields_set
        yield Breach(ON, dump.enable_dump if set_ else NOTHING)


def _everything(settings: Torchair, context: Context) -> Iterator[Breach]:
    dump = settings.dump_config
    full = dump.enable_dump and dump.dump_data == "tensor" and dump.dump_config_path is None
    if full and not captures(settings) and not dump.dump_step and not dump.dump_layer:
        yield Breach(DUMP + "dump_step")


def _example(context: Context | None = None, mode: str = "", **dump: Any) -> Example:
    """Form with dump options; ``enable_dump`` is on unless said otherwise."""
    data: dict[str, Any] = {"mode": mode} if mode else {}
    data["dump_config"] = {"enable_dump": True, "dump_step": "0"} | dump
    return Example(data, context or Context())


def _file_example(name: str) -> Example:
    """Form that only names one of the JSON files beside this module."""
    path = str(Path(__file__).parent / "examples" / name)
    return Example({"dump_config": {"dump_config_path": path}}, Context(here=True))


def _ge_rule(id_: str, says: str, fix: str, breaks: Example, keeps: Example) -> Rule:
    """One of GE's own checks, which come when the session starts."""
    source = "hicann/ge base/common/dump/dump_properties.cc"
    return Rule(id_, "warning", _ge(id_), says, fix, source, breaks, keeps)


_HERE = Context(here=True)
_OLD = Context("7.3")

RULES = (
    Rule(
        "mode-version",
        "error",
        _mode_too_new,
        "{key} {got!r} is unknown to version {version}",
        "It is supported since {since}.",
        form.GUIDE,
        _example(_OLD, "npugraph_ex"),
        _example(_OLD, "max-autotune"),
        "ValueError",
    ),
    Rule(
        "option-unknown",
        "error",
        _unknown_option,
        "CompilerConfig has no attribute {got!r}",
        f"Known beside dump_config: {', '.join(form.OTHER_OPTIONS)}.",
        "Ascend/torchair configs/compiler_config.py",
        Example({"options": {"fusion.switch": 1}}),
        Example({"options": {"fusion_config.fusion_switch_file": "/f.cfg"}}),
        "AttributeError",
    ),
    Rule(
        "path-folder",
        "error",
        _no_folder,
        "{key} {got!r} is not an existing folder that can be read and written",
        "Create it before the assignment.",
        "Ascend/torchair configs/_option_base.py",
        _example(_HERE, dump_path="/no/such/folder"),
        _example(_HERE, dump_path="/"),
        "FileNotFoundError",
    ),
    Rule(
        "config-path-file",
        "error",
        _no_json,
        "{key} {got!r} does not exist",
        "Write it before the assignment.",
        "Ascend/torchair configs/_option_base.py",
        _example(_HERE, dump_config_path="/no/such.json"),
        _example(dump_config_path="/no/such.json"),
        "FileNotFoundError",
    ),
    Rule(
        "config-path-and-options",
        "warning",
        _two_sources,
        "{key} and enable_dump are both set; GE takes the file and warns (the guide of 26.0 says the opposite)",
        "Use one of them.",
        "hicann/ge base/common/dump/dump_manager.cc",
        _example(dump_config_path="/d.json"),
        _example(dump_config_path="/d.json", enable_dump=False),
    ),
    Rule(
        "option-beside-file",
        "warning",
        _unused_beside_json,
        "{key} is ignored while enable_dump is False: only dump_config_path is passed on",
        "Set it in that file.",
        form.SOURCE,
        _example(dump_config_path="/d.json", enable_dump=False, dump_step="0"),
        _example(dump_config_path="/d.json", enable_dump=False, dump_step=""),
    ),
    Rule(
        "capture-never-dumps",
        "warning",
        _capture_never_dumps,
        "mode {mode!r} dumps nothing before version {since}",
        "Use mode 'max-autotune'.",
        form.GUIDE,
        _example(_OLD, "reduce-overhead"),
        _example(Context("26.0"), "reduce-overhead"),
    ),
    Rule(
        "capture-ignores",
        "warning",
        _ignored_by_capture,
        "{key} is ignored with mode {mode!r}: only enable_dump, dump_path and data_dump_stage count",
        "Use mode 'max-autotune'.",
        form.SOURCE,
        _example(None, "reduce-overhead", dump_step="3"),
        _example(None, "reduce-overhead", dump_step=""),
    ),
    Rule(
        "stage-ignored",
        "warning",
        _stage_with_ge,
        "{key} is ignored with mode 'max-autotune'",
        "Use a capture mode, or remove it.",
        form.SOURCE,
        _example(data_dump_stage="original"),
        _example(None, "npugraph_ex", data_dump_stage="original"),
    ),
    Rule(
        "eager-dump",
        "warning",
        _eager,
        "debug.data_dump.type runs the graph operator by operator, so dump_config has no effect",
        "Remove one of the two.",
        form.GUIDE,
        Example({"dump_config": {"enable_dump": True}, "options": {"debug.data_dump.type": "npy"}}),
        Example({"options": {"debug.data_dump.type": "npy"}}),
    ),
    _ge_rule(
        "ge-collect-path",
        "GE refuses a dump while NPU_COLLECT_PATH is set ({folder})",
        "Unset the variable.",
        _example(Context(env={"NPU_COLLECT_PATH": "/c"})),
        _example(Context(env={"ASCEND_WORK_PATH": "/c"})),
    ),
    _ge_rule(
        "ge-step",
        "GE refuses {key} {got!r}: {fault}",
        "Write numbers and ascending ranges like '0|5-8'.",
        _example(dump_step="5-3"),
        _example(dump_step="3-5"),
    ),
    Rule(
        "config-file",
        "warning",
        _file_problems("error", "warning"),
        "{file}: {problem}",
        "{advice}",
        "Ascend/torchair; hicann/runtime adump",
        _file_example("refused.json"),
        _file_example("fine.json"),
    ),
    Rule(
        "config-file-hint",
        "hint",
        _file_problems("hint"),
        "{file}: {problem}",
        "{advice}",
        "Ascend/torchair; hicann/runtime adump",
        _file_example("hinted.json"),
        _file_example("fine.json"),
    ),
    Rule(
        "exception-scene",
        "warning",
        _exception_scene,
        "dump_scene {got!r} has no effect: torch_npu has its own exception dump on",
        "Choose another scene.",
        form.GUIDE,
        _file_example("exception.json"),
        _file_example("fine.json"),
    ),
    Rule(
        "config-file-unread",
        "hint",
        _unread_json,
        "{got} was not checked",
        "Check it as surface acl, or check this script where it will run (--here).",
        form.SOURCE,
        _example(dump_config_path="/d.json", enable_dump=False),
        _example(),
    ),
    Rule(
        "dump-off",
        "hint",
        _off,
        "{key} is not True, so nothing is dumped",
        "Set it to True.",
        form.SOURCE,
        _example(enable_dump=False),
        _example(),
    ),
    Rule(
        "everything",
        "hint",
        _everything,
        "Dumping full tensors of every operator and iteration is slow and can fill a disk",
        "Set dump_step or dump_layer, or use dump_data 'stats'.",
        form.GUIDE,
        _example(dump_step=""),
        _example(dump_step="", dump_data="stats"),
    ),
)
