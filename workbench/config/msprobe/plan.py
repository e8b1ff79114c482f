"""What a run shall write, from a ``config.json`` and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.config.explain import selector_words
from workbench.config.ge.steps import bounded, merged
from workbench.config.mindspore.kernels import read_kernel, write_kernel
from workbench.config.msprobe.kinds import LARGEST, STATISTICS, number_range
from workbench.config.msprobe.reading import names
from workbench.config.msprobe.rules import is_named
from workbench.config.msprobe.settings import MindSporeStatistics
from workbench.config.surface import Lowered
from workbench.core.errors import FormatError
from workbench.core.plan import BOTH, DumpPlan, Iterations, Selector
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from workbench.config.msprobe.reading import MsprobeReading
    from workbench.config.msprobe.settings import Framework
    from workbench.core.tensors import Io

_FIGURES = {
    "statistics": ("max", "min", "avg", "l2norm"),
    "md5": ("md5",),
    "xor": ("xor",),
}
"""What msprobe writes for a word of ``summary_mode``, in the words of a plan."""

_DEVICES = tuple(range(8))
"""Devices of MindSpore's own dump that dump unless ``rank`` names some."""

_MEAN = {"mean": "avg"}
_IOS: tuple[Io, ...] = ("input", "output")


def plan(r: MsprobeReading) -> DumpPlan:
    """Return what a run shall write; one without iterations if nothing."""
    form, options = r.form, r.options
    path = form.dump_path or ""
    when = _iterations(form.step) if r.dumps else Iterations(())
    who: dict[str, Any] = {"ranks": _ranks(form.rank)}
    if r.kernels and not r.by_pytorch:  # MindSpore's own dump, which counts devices
        who = {"devices": _ranks(form.rank) or _DEVICES}
    if r.task == "exception_dump":
        return DumpPlan(path, kind="exception", detail="detail", **who)
    who["iterations"] = when
    if r.task == "nan_check":
        return DumpPlan(path, kind="overflow", files="pt", **who)
    saved = _saved(r)
    if r.kernels and r.by_pytorch:
        saved |= {"files": "bin", "host_format": False, "saved": "tensor", "single_op": True}
    if r.kernels and not r.by_pytorch:
        saved |= {"saved": "tensor"} if r.task == "tensor" else {}
        saved |= _computed(options) if isinstance(options, MindSporeStatistics) else {}
    modes = options.data_mode if options.data_mode else ("all",)
    return DumpPlan(path, io=_io(r, modes), select=tuple(_select(r)), **who, **saved)


def _saved(r: MsprobeReading) -> dict[str, Any]:
    """What is written of a tensor; its figures stand in dump.json beside it."""
    figures = r.options.summary_mode or "statistics"
    listed = _FIGURES.get(figures, ()) if isinstance(figures, str) else figures
    told = tuple(_MEAN.get(one, one) for one in listed)
    full = r.task == "tensor" or bool(names(getattr(r.options, "tensor_list", ())))
    files = "pt" if r.by_pytorch else "npy"
    saved = "full" if full else "statistic"
    return {"saved": saved, "statistics": () if r.task == "structure" else told, "files": files}


def _computed(options: MindSporeStatistics) -> dict[str, Any]:
    """Where statistics are computed; sums of the host are exact."""
    if options.device != "device":
        return {}
    return {"statistics_on": "device", "statistics_precision": options.precision}


def _io(r: MsprobeReading, modes: Sequence[str]) -> frozenset[Io]:
    if r.task == "structure":
        return frozenset()
    chosen = frozenset(io for io in _IOS if io in modes)
    return chosen or BOTH


def _select(r: MsprobeReading) -> Iterator[Selector]:
    """Yield what is selected: marked by the script, kernels of MindSpore, or calls of a framework."""
    options = r.options
    listed = names(options.list)
    if not r.selects:
        yield Selector("marked")
    elif r.kernels and not r.by_pytorch:
        yield from filter(None, map(_kernel, listed))
    else:
        if options.scope:
            yield Selector("range", *options.scope)
        unnamed = [] if options.scope else [""]
        yield from (Selector("call", name) for name in dict.fromkeys(listed or unnamed))


def _kernel(text: str) -> Selector | None:
    try:
        return read_kernel(text)
    except FormatError:
        return None


def _ranks(rank: Sequence[Any]) -> tuple[int, ...] | None:
    ranges = _merged(rank)
    return tuple(n for low, high in ranges for n in range(low, high + 1)) if ranges else None


def _iterations(step: Sequence[Any]) -> Iterations:
    return Iterations(_merged(step) or None)


def _merged(elements: Iterable[Any]) -> tuple[tuple[int, int], ...]:
    """Return numbers and ranges as rising ranges."""
    return tuple(merged(filter(None, map(number_range, elements))))


def from_plan(framework: Framework, wanted: DumpPlan) -> Lowered:
    """Return a form that dumps what a plan wants, as far as msprobe can."""
    task = _task(framework, wanted)
    form: dict[str, Any] = {
        "task": task,
        "dump_path": wanted.path or "./dump",
        "rank": [] if wanted.ranks is None else list(wanted.ranks),
        "step": list(_steps(wanted.iterations)),
        "level": "L1",
    }
    if wanted.iterations.ranges is not None and not form["step"]:
        form["dump_enable"] = False
    marked = any(entry.kind == "marked" for entry in wanted.select)
    if task == "nan_check":
        return Lowered(form)
    if framework == "mindspore" and (task == "exception_dump" or not (marked or _calls(wanted))):
        if wanted.devices not in (None, _DEVICES):
            form["rank"] = list(wanted.devices)
        return Lowered(form | {"level": "L2", task: _of_kernels(task, wanted)})
    ends, level, lost = _scope(wanted)
    form["level"] = level
    if marked:
        form["level"] = "debug"
    elif not wanted.io:
        form |= {"task": "structure", "level": "mix"}
    return Lowered(form | {form["task"]: {"scope": ends, **_of_calls(wanted)}}, lost)


def _task(framework: Framework, wanted: DumpPlan) -> str:
    if wanted.kind == "overflow" and framework == "pytorch":
        return "nan_check"
    if wanted.kind == "exception" and framework == "mindspore":
        return "exception_dump"
    return "statistics" if wanted.saved == "statistic" else "tensor"


def _calls(wanted: DumpPlan) -> bool:
    """Whether a plan is about calls of a framework, and not about kernels."""
    return not wanted.io or any(entry.kind in ("call", "range") for entry in wanted.select)


def _scope(wanted: DumpPlan) -> tuple[list[str], str, tuple[Message, ...]]:
    """Return the ends of the first range, the level that has such names, and the range if none has."""
    ranges = (entry for entry in wanted.select if entry.kind == "range" and not entry.model)
    entry = next(ranges, None)
    if entry is None:
        return [], "L1", ()
    ends = [entry.text, entry.end]
    for level in ("L1", "L0", "mix"):
        if all(is_named(end, level) for end in ends):
            return ends, level, ()
    return [], "L1", (Message("config/lost-operators", operators=selector_words(entry)),)


def _of_calls(wanted: DumpPlan) -> dict[str, Any]:
    listed = [entry.text for entry in wanted.select if entry.kind == "call" and entry.text]
    return {"list": listed, "data_mode": _modes(wanted), **_summary(wanted)}


def _of_kernels(task: str, wanted: DumpPlan) -> dict[str, Any]:
    """The section of level L2 of MindSpore, whose list is that of MindSpore's own dump."""
    if task == "exception_dump":
        return {}
    everything = any(entry.kind == "all" for entry in wanted.select)
    listed = [] if everything else list(filter(None, map(write_kernel, wanted.select)))
    section: dict[str, Any] = {"list": listed, "data_mode": _modes(wanted)}
    if task == "statistics":
        back = {plain: spelled for spelled, plain in _MEAN.items()}
        figures = [back.get(name, name) for name in wanted.statistics]
        section["summary_mode"] = [name for name in figures if name in STATISTICS]
        section["device"] = wanted.statistics_on
        section["precision"] = wanted.statistics_precision
    return section


def _modes(wanted: DumpPlan) -> list[str]:
    return sorted(wanted.io) if len(wanted.io) == 1 else ["all"]


def _summary(wanted: DumpPlan) -> dict[str, str]:
    if wanted.saved == "tensor":
        return {}
    sums = [word for word in ("md5", "xor") if wanted.statistics == (word,)]
    return {"summary_mode": sums[0] if sums else "statistics"}


def _steps(iterations: Iterations) -> Iterator[int | str]:
    for low, high in bounded(iterations.ranges or (), LARGEST):
        yield low if low == high else f"{low}-{high}"
