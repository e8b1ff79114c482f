"""Where a vendor's guide and its released code disagree: one row each, in the order of the guides.

A release is judged by its code; what the guide says stands behind it. With ``--target-version guide`` the guide's word
counts instead.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from workbench.config.context import GUIDE
from workbench.config.form.paths import assign, lookup
from workbench.config.form.rules import Example
from workbench.config.torchair.settings import CAPTURE_MODES
from workbench.core.problems import Problem
from workbench.core.words import RowMessage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from workbench.config.config import Config
    from workbench.config.context import Context
    from workbench.core.problems import Severity
    from workbench.core.words import Message

COMMON, E2E = "common_dump_settings", "e2e_dump_settings"
_MINDSPORE = "mindspore-o0o1 mindspore-o2 mindspore-ge mindspore-cpu mindspore-gpu"


@dataclass(frozen=True, slots=True)
class GuideDifference:
    """What a guide says where a release does something else.

    Attributes
    ----------
    on : str
        Surfaces, joined by blanks.
    rule : str
        The problem that the release has with the setting; empty where it has none.
    path : str
        The setting; problems of the rule at others are not meant.
    severity : {"error", "warning", "hint", ""}
        What it is for the guide; empty: right.
    says : str
        The guide's word, behind "the guide: ".
    breaks : Example, optional
        A form that has the problem; ``None``: the rule's own.
    when : function of the value at the path, optional
        Whether the setting is meant, if not always.
    among : function of the decoded form, optional
        Whether the rest of the form lets the setting count, if not always.
    reads : function of the value at the path, optional
        What the guide makes of a value that the release refuses.
    fix : str
        What to do, for what the guide alone objects to.
    """

    on: str
    rule: str
    path: str
    severity: Severity | str
    says: str
    breaks: Example | None = None
    when: Callable[[Any], bool] | None = None
    reads: Callable[[Any], Any] | None = None
    fix: str = ""
    among: Callable[[Any], bool] | None = None

    def is_about(self, problem: Problem, config: Config) -> bool:
        """Whether a problem of the release is the one that the guide sees otherwise."""
        if problem.id != self.rule or problem.path != self.path:
            return False
        return self.when is None or self.when(lookup(config.data, self.path))

    def objects(self, config: Config) -> bool:
        """Whether the guide alone objects to a form."""
        value = lookup(config.data, self.path)
        counts = self.among is None or self.among(config.data)
        return not self.rule and self.when is not None and self.when(value) and counts


def _form(common: dict[str, Any], **sections: Any) -> Example:
    base = {
        "dump_mode": 0, "path": "/d", "net_name": "Net", "iteration": "0", "saved_data": "tensor",
        "input_output": 0, "kernels": [], "support_device": [0], "op_debug_mode": 0, "file_format": "npy",
    }  # fmt: skip
    whole = {key: value for key, value in (base | common).items() if value is not None}
    return Example({COMMON: whole, **sections})


GUIDE_DIFFERENCES = (
    GuideDifference(
        "mindspore-cpu mindspore-gpu", "set-dump", f"{COMMON}.dump_mode", "",
        "set_dump is supported on CPU and GPU as well",
    ),
    GuideDifference(
        _MINDSPORE, "value", f"{COMMON}.iteration", "",
        "blanks around '|' are allowed ('0 | 5-8 | 100-120')",
        _form({"iteration": "0 | 5-8"}), lambda value: isinstance(value, str) and " " in value,
        lambda value: value.replace(" ", ""),
    ),
    GuideDifference(
        "mindspore-o0o1 mindspore-o2 mindspore-ge mindspore-gpu", "missing", f"{COMMON}.support_device", "",
        "without support_device all eight devices dump", _form({"support_device": None}),
        lambda value: value is None, lambda value: [*range(8)],
    ),
    GuideDifference(
        _MINDSPORE, "debug-mode", f"{COMMON}.op_debug_mode", "error", "0, 3 and 4 are allowed",
    ),
    GuideDifference(
        _MINDSPORE, "overflow-number", f"{COMMON}.overflow_number", "",
        "overflow_number is read with op_debug_mode 3 and may be there otherwise",
    ),
    GuideDifference(
        "mindspore-cpu mindspore-gpu", "", f"{E2E}.enable", "error", "enable must be true on CPU and GPU",
        _form({}, **{E2E: {"enable": False, "trans_flag": True}}), lambda value: value is False,
        fix="Set it to true.",
    ),
    GuideDifference(
        "mindspore-o0o1", "", f"{E2E}.enable", "hint", "false dumps asynchronously, with less delay",
        _form({}, **{E2E: {"enable": False, "trans_flag": True}}), lambda value: value is False,
        fix="Set it to true for a dump kernel by kernel; releases from 2.3 on read it so either way.",
    ),
    GuideDifference(
        "acl", "nothing-dumped", "dump.dump_list", "",
        "an empty dump_list dumps single operators of the API",
    ),
    GuideDifference(
        "acl", "debug-list", "dump.dump_list", "error",
        "overflow detection cannot be combined with a dump of models",
    ),
    GuideDifference(
        "acl", "scene-key", "dump.dump_list", "error",
        "an exception dump cannot be combined with a dump of models",
    ),
    GuideDifference(
        "acl", "path-expand", "dump.dump_path", "", "$HOME/output is a folder that can be given",
        None, lambda value: str(value).startswith("$HOME"),
    ),
    GuideDifference(
        "acl", "collect-unread", "dump.dump_scene", "",
        "the folder is NPU_COLLECT_PATH, then ASCEND_WORK_PATH, then dump_path, then the working folder",
    ),
    GuideDifference(
        "tensorflow", "debug-mode-dropped", "dump.dump_debug_mode", "",
        "dump_debug_mode needs no dump_mode beside it",
    ),
    GuideDifference(
        "tensorflow", "ge-both", "dump.enable_dump", "error",
        "enable_dump and enable_dump_debug are mutually exclusive",
    ),
    GuideDifference(
        "tensorflow", "step-order", "dump.dump_step", "", "a range may be one step",
        None, lambda value: any(one.partition("-")[0] == one.partition("-")[2] for one in str(value).split("|")),
    ),
    GuideDifference(
        "torchair", "config-path-and-options", "dump_config.dump_config_path", "error",
        "dump_config_path has no effect beside other options of the dump",
    ),
    GuideDifference(
        "torchair", "", "mode", "warning", "only mode max-autotune dumps",
        Example({"mode": "reduce-overhead", "dump_config": {"enable_dump": True, "dump_path": "/d"}}),
        lambda value: value in CAPTURE_MODES, fix="Use mode 'max-autotune'.",
        among=lambda data: bool(lookup(data, "dump_config.enable_dump")),
    ),
)  # fmt: skip
"""Every disagreement."""


def guide_context(context: Context, version: str) -> Context:
    """Return a context whose version is that of a release: the one asked for, or ``version``, the guides' own."""
    if context.version != GUIDE:
        return context if context.version else replace(context, version=version)
    return replace(context, version=version, guide=True)


def as_guide_reads(config: Config) -> Config:
    """Return a form with what the guide makes of values that releases refuse."""
    data = config.data
    for difference in _differences(config):
        value = lookup(data, difference.path)
        if difference.reads is not None and difference.when is not None and difference.when(value):
            data = assign(data, difference.path, difference.reads(value))
    return replace(config, data=data)


def _differences(config: Config) -> list[GuideDifference]:
    return [one for one in GUIDE_DIFFERENCES if config.surface.name in one.on.split()]


def with_guide(config: Config, context: Context, problems: Iterable[Problem]) -> Iterator[Problem]:
    """Yield problems with the guide's word behind them, or those that the guide has, as the context asks."""
    differences = _differences(config)
    for problem in problems:
        difference = next((one for one in differences if one.is_about(problem, config)), None)
        if difference is None:
            yield problem
        elif not context.guide:
            words = f"{{said}}; the guide: {difference.says}"
            yield replace(problem, message=RowMessage(problem.id, words, said=problem.message))
        elif difference.severity:
            yield _of_guide(difference, difference.severity, problem.fix, problem)
    for difference in differences:
        if difference.objects(config):
            severity = difference.severity if context.guide else "hint"
            yield _of_guide(difference, severity, RowMessage("guide", difference.fix))


def _of_guide(
    difference: GuideDifference, severity: Any, fix: str | Message, problem: Problem | None = None
) -> Problem:
    """The problem that a guide has."""
    name = "guide" if problem is None else problem.id
    said = RowMessage(
        name, f"{{path}}: the guide says that {difference.says}", path=difference.path
    )
    line = 0 if problem is None else problem.line
    return Problem(name, severity, difference.path, said, fix, line, source="guide")
