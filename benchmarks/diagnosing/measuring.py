"""Measure one seed: plant its faults, dump every run in three ways, compare, and note the answers."""

from __future__ import annotations

import os
import shutil
import tempfile
import traceback
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import workbench as wb
from diagnosing.cases import ENDING, MODELS, Draw, Setting
from diagnosing.limits import read_limits
from diagnosing.renaming import renamed, word
from diagnosing.runs import WAYS, Run, device_run, network, reference_run, write_tree
from diagnosing.scoring import (
    difference,
    guess,
    hits,
    operators,
    place,
    simple_answers,
    victims,
    visible,
)
from workbench.comparison.limits import using
from workbench.core.errors import GraphError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from workbench.comparison.result import Row
    from workbench.dump.dump import Dump
    from workbench.npu.faults import Fault

Record = dict[str, Any]
"""What is noted of one run, as JSON has it."""

MEMORY = Path("/dev/shm")

CLEAN_LOW = 3
"""Clean runs with few bits that every seed has at least."""

TRIES = 60
"""How many operators are tried before a kind is said to have no place in a model."""


@dataclass
class Bench:
    """Where the trees of one seed lie, and what is made only once."""

    root: Path
    meaningless: bool = False
    golden: dict[tuple[Any, ...], tuple[Run, Dump]] = field(default_factory=dict)
    number: Iterator[int] = field(default_factory=count)

    def reference(self, setting: Setting) -> tuple[Run, Dump]:
        """The trusted run of a network, and its ordinary tree as a user loads it."""
        key = setting.model, setting.seed, setting.iterations
        if key not in self.golden:
            run = reference_run(*key)
            tree = self._write(run, "full", "mindspore-cpu", "npy", "reference")
            self.golden[key] = run, wb.load(tree)
        return self.golden[key]

    def _write(self, run: Run, way: str, surface: str, files: str, device: str) -> Path:
        out = self.root / str(next(self.number))
        shown = renamed(run) if self.meaningless else run
        return write_tree(shown, way, out, surface, files, device)

    def compare(self, run: Run, way: str, setting: Setting) -> wb.Comparison | str:
        """Dump a run in one way, compare the tree with the trusted one, and remove it.

        A comparison that breaks down is noted as such: it answers nothing.
        """
        out = self._write(run, way, setting.surface, setting.files, setting.device)
        try:
            return wb.compare(out, self.reference(setting)[1])
        except Exception as error:
            return "".join(traceback.format_exception(error)[-2:])
        finally:
            shutil.rmtree(out)


def fast_folder() -> str | None:
    """A folder in memory, if the system has one: trees are small, and deleting them takes longest."""
    return str(MEMORY) if os.access(MEMORY, os.W_OK) else None


def measure_seed(
    seed: int,
    *,
    meaningless: bool = False,
    only: Collection[str] = tuple(MODELS),
    changed: Sequence[str] = (),
) -> list[Record]:
    """Everything that one seed decides, of some models.

    ``meaningless``: under other names, without source lines. ``changed``: ``NAME=VALUE`` of limits to judge by.
    """
    with using(read_limits(changed)):
        return _measure_seed(seed, meaningless, only)


def _measure_seed(seed: int, meaningless: bool, only: Collection[str]) -> list[Record]:
    draw, found = Draw(seed), []
    with tempfile.TemporaryDirectory(prefix="diagnosis-", dir=fast_folder()) as folder:
        bench = Bench(Path(folder), meaningless)
        few = 0
        for model, kinds in draw.models().items():
            if model not in only:
                continue
            setting = draw.setting(model)
            clean = device_run(setting)
            found.append(_clean(bench, clean, setting))
            few += setting.low
            for kind in kinds:
                measure = _ended if kind in ENDING else _planted
                found.append(measure(bench, draw, kind, clean, setting))
        lower = draw.lower(max(CLEAN_LOW - few, 0))
        found += [
            _clean(bench, device_run(setting), setting)
            for setting in lower
            if setting.model in only
        ]
    return found


_SILENT: Record = {
    "verdict": "crash", "answers": [], "place": None, "victim": None, "fault": "", "probability": None,
}  # fmt: skip


def _rows(comparison: wb.Comparison | str) -> Sequence[Row]:
    return () if isinstance(comparison, str) else comparison.rows


def _told(rows: Sequence[Row], right: set[str]) -> bool:
    """Whether anything was written of what the guilty operator gave: devices have no statistics of bfloat16."""
    own = [row.reason_code for row in rows if row.op_name in right and row.io == "output"]
    return not own or any(code != "compare/no-statistic" for code in own)


def _described(setting: Setting, kind: str, fault: Fault | None) -> Record:
    settings = {} if fault is None else _settings(fault)
    return {
        **setting._asdict(),
        "low": setting.low,
        "kind": kind,
        "operator": "" if fault is None else fault.op_name,
        "settings": settings,
    }


def _settings(fault: Fault) -> Record:
    given = {name: getattr(fault, name) for name in ("strength", "value", "iteration", "seed")}
    return {name: value for name, value in given.items() if value is not None}


def _answer(comparison: wb.Comparison | str, right: set[str], victim: set[str]) -> Record:
    """What a comparison says, and where the right operator stands in it."""
    if isinstance(comparison, str):
        return {**_SILENT, "error": comparison}
    named = operators(comparison.findings)
    first = next((one for one in comparison.findings if one.defect), None)
    fault, probability = guess(first) if first is not None else ("", None)
    return {
        "verdict": comparison.verdict,
        "answers": named[:3],
        "place": place(named, right),
        "victim": place(named, victim),
        "fault": fault,
        "probability": probability,
    }


def _clean(bench: Bench, run: Run, setting: Setting) -> Record:
    """A run without a fault, in every way of dumping: nothing may be blamed."""
    found = _described(setting, "", None)
    for way in WAYS:
        comparison = bench.compare(run, way, setting)
        found[way] = _answer(comparison, set(), set())
        if way == "full":
            found["rules"] = simple_answers(_rows(comparison))
    return found


def _ended(bench: Bench, draw: Draw, kind: str, clean: Run, setting: Setting) -> Record:
    """A fault that ends the run: which finding, if any, is about the operator that failed?"""
    fault, run = _plant(draw, kind, setting)
    found = _described(setting, kind, fault)
    if run is not None and fault is not None:
        comparison = bench.compare(run, "full", setting)
        findings = [] if isinstance(comparison, str) else comparison.findings
        named = [*dict.fromkeys(one.op_name for one in findings)]
        found["named"] = place(named, _shown(bench, hits(run, fault)))
    return found


def _planted(bench: Bench, draw: Draw, kind: str, clean: Run, setting: Setting) -> Record:
    """A run with a fault, in every way of dumping."""
    fault, run = _plant(draw, kind, setting)
    found = _described(setting, kind, fault)
    if run is None or fault is None:
        return {**found, "visible": None}
    own = clean.results()
    noise = difference(own, bench.reference(setting)[0].results())
    effect = difference(run.results(), own)
    found |= {"visible": visible(effect, noise), "effect": effect, "noise": noise}
    if not found["visible"]:
        return found
    right, victim = (
        _shown(bench, names) for names in (hits(run, fault), victims(run, clean, fault))
    )
    found["right"] = sorted(right)
    for way in WAYS:
        comparison = bench.compare(run, way, setting)
        found[way] = _answer(comparison, right, victim)
        found[way]["told"] = _told(_rows(comparison), right)
        if way == "full":
            answers = simple_answers(_rows(comparison))
            found["rules"] = {name: one in right for name, one in answers.items()}
    return found


def _plant(draw: Draw, kind: str, setting: Setting) -> tuple[Fault | None, Run | None]:
    """The first fault of a kind that has a place in a network, and the run with it."""
    graph = network(setting.model, setting.seed)
    for number, fault in enumerate(draw.faults(kind, graph, setting)):
        if number == TRIES:
            break
        try:
            return fault, device_run(setting, [fault])
        except GraphError:
            continue
    return None, None


def _shown(bench: Bench, names: set[str]) -> set[str]:
    return set(map(word, names)) if bench.meaningless else names
