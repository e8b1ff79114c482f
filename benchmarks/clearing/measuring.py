"""Run one sample, dump it in three ways, take graphs away, compare, and note what is said."""

from __future__ import annotations

import shutil
import tempfile
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diagnosing.cases import Draw
from diagnosing.measuring import TRIES, fast_folder
from diagnosing.runs import device_run, network, reference_run, write_tree
from diagnosing.scoring import difference, guess, hits, operators, place, victims, visible

import workbench as wb
from clearing.cells import GRAPHS, WAYS
from clearing.other_device import computing_otherwise
from workbench.core.errors import GraphError
from workbench.dump.formats.mindspore_name import sanitize

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from diagnosing.runs import Run

    from clearing.cells import Sample
    from workbench.dump.dump import Dump
    from workbench.npu.faults import Fault

    Record = dict[str, Any]


def measure(sample: Sample, graphs: Collection[str] = tuple(GRAPHS)) -> Record:
    """Everything that is said of one sample: by way of dumping and by what graphs there are."""
    setting = sample.setting
    found: Record = {"number": sample.number, **setting._asdict()}
    found |= {"kind": sample.kind, "noise_of_sums": sample.noise}
    reference = reference_run(setting.model, setting.seed, setting.iterations)
    clean = _run(sample)
    if not sample.kind:
        return found | _said(clean, reference, sample, graphs, set(), set())
    fault, run = _planted(sample)
    if fault is None or run is None:
        return found | {"visible": None}
    own = clean.results()
    noise = difference(own, reference.results())
    effect = difference(run.results(), own)
    found |= {"operator": fault.op_name, "effect": effect, "noise": noise}
    found["visible"] = visible(effect, noise)
    if not found["visible"]:
        return found
    right, victim = hits(run, fault), victims(run, clean, fault)
    return found | _said(run, reference, sample, graphs, right, victim)


def _run(sample: Sample, faults: Sequence[Fault] = ()) -> Run:
    with computing_otherwise(sample.noise, sample.setting.seed):
        return device_run(sample.setting, faults)


def _planted(sample: Sample) -> tuple[Fault | None, Run | None]:
    """The first fault of a kind that has a place in the network, and the run with it."""
    setting = sample.setting
    graph = network(setting.model, setting.seed)
    draw = Draw(setting.seed)
    for number, fault in enumerate(draw.faults(sample.kind, graph, setting)):
        if number == TRIES:
            break
        try:
            return fault, _run(sample, [fault])
        except GraphError:
            continue
    return None, None


def _said(
    run: Run,
    reference: Run,
    sample: Sample,
    graphs: Collection[str],
    right: set[str],
    victim: set[str],
) -> Record:
    setting, found = sample.setting, {}
    with tempfile.TemporaryDirectory(prefix="clean-", dir=fast_folder()) as folder:
        root = Path(folder)
        golden = write_tree(reference, "full", root / "golden", "mindspore-cpu", "npy", "reference")
        goldens = _with_and_without_graphs(golden)
        for way in WAYS:
            place = setting.surface, setting.files, setting.device
            tree = write_tree(run, way, root / way, *place)
            targets = _with_and_without_graphs(tree)
            for name in graphs:
                there = GRAPHS[name]
                pair = targets["target" in there], goldens["golden" in there]
                found[f"{way}, {name}"] = _answer(pair, right, victim)
            shutil.rmtree(tree)
    return {"said": found}


def _with_and_without_graphs(tree: Path) -> Mapping[bool, Dump]:
    """The dump with its graphs, and as it is where nobody has kept them."""
    whole = wb.load(tree)
    bare = tree.with_name(f"{tree.name}-bare")
    shutil.copytree(tree, bare, ignore=shutil.ignore_patterns("graphs"), copy_function=_linked)
    return {True: whole, False: wb.load(bare)}


def _linked(source: str, target: str) -> None:
    Path(target).hardlink_to(source)


def _is_told(comparison: wb.Comparison, right: set[str]) -> bool:
    """Whether anything was written of what the guilty operator gave: devices have no statistics of bfloat16."""
    own = [
        r.reason_code for r in comparison.rows if sanitize(r.op_name) in right and r.io == "output"
    ]
    return not own or any(code != "compare/no-statistic" for code in own)


def _answer(pair: tuple[Dump, Dump], right: set[str], victim: set[str]) -> Record:
    """What a comparison says, and where the right operator stands in it, by either spelling of its name."""
    try:
        comparison = wb.compare(*pair)
    except Exception as error:
        said = "".join(traceback.format_exception(error)[-2:])
        return {"verdict": "crash", "answers": [], "place": None, "victim": None, "error": said}
    named = [sanitize(name) for name in operators(comparison.findings)]
    first = next((one for one in comparison.findings if one.defect), None)
    fault, probability = guess(first) if first is not None else ("", None)
    ratio = None
    if first is not None and first.own_error is not None and first.noise_floor:
        ratio = first.own_error / first.noise_floor
    return {
        "verdict": comparison.verdict,
        "answers": named[:3],
        "type": first.op_type if first is not None else "",
        "ratio": ratio,
        "error": first.own_error if first is not None else None,
        "place": place(named, set(map(sanitize, right))),
        "victim": place(named, set(map(sanitize, victim))),
        "told": _is_told(comparison, set(map(sanitize, right))),
        "fault": fault,
        "probability": probability,
    }
