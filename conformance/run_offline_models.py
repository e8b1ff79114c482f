"""Runs offline models on simulated devices and compares them with ONNX Runtime: clean, and with planted faults.

``run_offline_models.py FOLDER RECORD clean --device a2 --mode force_fp16 nudenet …`` and ``… faults --places 5 …``.
FOLDER keeps the fetched models. Every result joins RECORD at once; what it has is not run again. Each run is
dumped in full and with outputs alone, and compared with the graphs of both sides and without any.
``run_offline_models.py FOLDER RECORD table`` prints what RECORD says.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import traceback
import zlib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import offline_models
from diagnosing.scoring import difference, operators, visible

import workbench as wb
from workbench.core.errors import WorkbenchError
from workbench.dump.formats.ge_name import standard_name
from workbench.graph.graph import Value
from workbench.graph_files.onnx.model import read_onnx_model
from workbench.ops import OPS
from workbench.simulation.inputs import networks_with_inputs
from workbench.simulation.simulate import simulate

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from workbench.comparison.result import Finding
    from workbench.graph.graph import Graph

DEVICES = ("310p", "a2", "a3")
MODES = ("force_fp16", "allow_mix_precision", "must_keep_origin_dtype")
"""The last one leaves float32, which the cube of a2 and a3 reads as HF32."""

WAYS = {"full": "all", "outputs": "output"}
FAULTS = (
    "scaled-output:{}:1.05", "wrong-sign:{}", "nan-output:{}", "overwritten-element:{}",
    "bit-flip:{}", "wrong-layout-lanes:{}", "unwritten-tail-tile:{}", "stale-output:{}",
    "wrong-weight-element:{}:16", "dropped-k-tail:{}",
)  # fmt: skip
TRIES = 15
BEYOND = ("compare/beyond-range", "compare/below-range")
"""Codes of evidence that a format cannot hold the numbers of a network."""

Place = tuple[str, str, int]
"""Operator, direction and slot."""


class Case(NamedTuple):
    """A model, the folder with its golden data, and where it may write."""

    name: str
    path: Path
    place: Path

    def tree(self, way: str, device: str, mode: str, faults: tuple[str, ...] = ()) -> Path:
        """Simulate a run; return its dump."""
        networks, values = networks_with_inputs([str(self.path)], self._feeds(), {}, 0, 1)
        out = Path(tempfile.mkdtemp(dir=self.place)) / "tree"
        dump = {"dump_list": [{}], "dump_path": "/dump", "dump_mode": WAYS[way]}
        form = out.with_name("acl.json")
        form.write_text(json.dumps({"dump": dump}), encoding="ascii")
        options = {"device": device, "precision_mode": mode, "faults": faults}
        return simulate(networks, values, form, out, surface="acl", **options)

    def _feeds(self) -> dict[str, Path]:
        names = json.loads((self.place / "inputs.json").read_text())
        return {name: self.place / f"feeds/{number}.npy" for number, name in enumerate(names)}

    def operators(self) -> list[str]:
        """Names of the network's operators that run something on a device."""
        [network], _ = networks_with_inputs([str(self.path)], self._feeds(), {}, 0, 1)
        return [op.name for op in network.ops if OPS[op.op_type].engine != "none"]

    def node(self, operator: str) -> str:
        """The model's node that became an operator, alone or with others."""
        nodes = {op.name for op in read_onnx_model(self.path).ops}
        return operator if operator in nodes else operator.rpartition("/")[0] or operator

    def compare(self, tree: Path, *, graphs: bool) -> wb.Comparison:
        """Compare a dump with the golden data, with both graphs or none."""
        golden = self.place / "golden"
        if graphs:
            return wb.compare(tree, golden, golden_graph=self.path)
        bare = tree.with_name("bare")
        if not bare.exists():
            shutil.copytree(tree, bare, ignore=shutil.ignore_patterns("graphs"))
        return wb.compare(bare, golden)


def prepare(name: str, folder: Path, place: Path) -> Case:
    """Fetch a model, draw its inputs, and make its golden data with ONNX Runtime."""
    path = offline_models.fetch(name, folder)
    feeds = offline_models.feeds(name, path)
    (place / "feeds").mkdir(parents=True)
    for number, array in enumerate(feeds.values()):
        np.save(place / "feeds" / f"{number}.npy", array)
    (place / "inputs.json").write_text(json.dumps([*feeds]))
    wb.golden(path, feeds, place / "golden", engine="onnxruntime")
    return Case(name, path, place)


# --- clean runs -------------------------------------------------------------------------------------


def clean(case: Case, device: str, mode: str) -> dict[str, Any]:
    """What is said of a run in which nothing is wrong."""
    found: dict[str, Any] = {}
    for way in WAYS:
        tree = case.tree(way, device, mode)
        for graphs in (True, False):
            result = case.compare(tree, graphs=graphs)
            defects = [one for one in result.findings if one.defect]
            found[f"{way}, {'graphs' if graphs else 'none'}"] = {
                "verdict": result.verdict,
                "named": [[one.kind, one.op_name] for one in defects[:3]],
                "beyond": bool(defects) and _is_beyond(defects[0]),
                **_share(result),
            }
        shutil.rmtree(tree.parent)
    return found


def _is_beyond(found: Finding) -> bool:
    """Whether numbers are too large or too small for the device's format: then the run was not clean."""
    return any(getattr(one, "code", "") in BEYOND for one in found.evidence)


def _share(result: wb.Comparison) -> dict[str, Any]:
    """The golden's tensors: how many there are, were compared, have a reason why not, and have none."""
    cover, tensors = result.coverage, result.result.golden.tensors
    missing = cover.gaps_of("golden")
    compared = cover.matched_of("golden")
    reasons = {
        key.partition(":")[2]: count
        for key, count in (*cover.skipped.items(), *cover.explained.items())
        if key.startswith("golden:")
    }
    return {"tensors": tensors, "compared": compared, "reasons": reasons, "missing": missing}


# --- faults -----------------------------------------------------------------------------------------


class Usual(NamedTuple):
    """The clean run that a faulty one is held against: its outputs by place, and its results with their goldens."""

    outputs: dict[Place, np.ndarray]
    results: dict[Place, np.ndarray]

    @property
    def noise(self) -> float:
        """How far the results of the clean run are off."""
        return difference([self.outputs[place] for place in self.results], [*self.results.values()])

    def effect(self, outputs: Mapping[Place, np.ndarray]) -> float:
        """How far results are from the clean run's."""
        return difference(
            [outputs[place] for place in self.results],
            [self.outputs[place] for place in self.results],
        )


def faults(case: Case, device: str, mode: str, places: int) -> Iterator[dict[str, Any]]:
    """Plant every kind in so many places; give what is said of each visible one."""
    tree = case.tree("full", device, mode)
    usual, names = _usual(case, tree), case.operators()
    shutil.rmtree(tree.parent)
    for text in FAULTS:
        rng = np.random.default_rng(zlib.crc32(f"{case.name} {device} {mode} {text}".encode()))
        done = 0
        for name in rng.permutation(names)[: places + TRIES]:
            found = _planted(case, device, mode, text, str(name), usual)
            if found is not None:
                done += 1
                yield found
            if done == places:
                break


def _usual(case: Case, tree: Path) -> Usual:
    """Read a clean run; the network's results are what the golden's files of its last nodes were compared with."""
    goldens: dict[str, tuple[Place, str]] = {}
    rows = [row for row in case.compare(tree, graphs=True).rows if row.match_rule]
    last = {*_last(read_onnx_model(case.path), {row.golden_op_name for row in rows})}
    for row in rows:
        if row.golden_op_name in last:
            place = standard_name(row.op_name), row.io, row.slot
            goldens.setdefault(row.golden_path, (place, row.golden_path))
    assert goldens, f"{case.name}: no result of the network has a partner"
    outputs = _tensors(tree)
    results = {
        place: np.load(path).reshape(outputs[place].shape) for place, path in goldens.values()
    }
    return Usual(outputs, results)


def _last(graph: Graph, compared: Collection[str]) -> Iterator[str]:
    """Yield the node that gives each result, or the last before it that is compared."""
    for output in graph.outputs:
        operand = output
        while isinstance(operand, Value):
            if graph.ops[operand.op].name in compared:
                yield graph.ops[operand.op].name
                break
            operand = graph.ops[operand.op].operand(0)


def _tensors(tree: Path) -> dict[Place, np.ndarray]:
    """All tensors of a dump in order of time."""
    records = sorted(wb.load(tree).records, key=lambda one: one.timestamp_us)
    return {
        (standard_name(one.key.op_name), one.key.io, one.key.slot): one.source.array()
        for one in records
    }


def _planted(
    case: Case, device: str, mode: str, text: str, name: str, usual: Usual
) -> dict[str, Any] | None:
    fault = text.format(name)
    try:
        tree = case.tree("full", device, mode, (fault,))
    except WorkbenchError:
        return None
    outputs = _tensors(tree)
    effect, kernel = usual.effect(outputs), _first_changed(usual.outputs, outputs)
    if kernel is None or not visible(effect, usual.noise):
        shutil.rmtree(tree.parent)
        return None
    node = standard_name(case.node(name))
    right = {kernel, standard_name(name), node}
    found: dict[str, Any] = {"fault": fault, "kernel": kernel, "effect": effect, "said": {}}
    for way in WAYS:
        own = tree if way == "full" else case.tree(way, device, mode, (fault,))
        for graphs in (True, False):
            said = _answer(case, own, graphs=graphs, right=right, node=node)
            found["said"][f"{way}, {'graphs' if graphs else 'none'}"] = said
        shutil.rmtree(own.parent)
    return found


def _answer(
    case: Case, tree: Path, *, graphs: bool, right: Collection[str], node: str
) -> list[Any]:
    """``right``, ``inconclusive``, ``missed``, ``wrong`` or ``crash``, and what was named, in the files' spelling.

    Right is the first kernel that is off, or any that the faulty node became.
    """
    try:
        result = case.compare(tree, graphs=graphs)
    except Exception:  # a crash is a result here
        return ["crash", traceback.format_exc().splitlines()[-1]]
    named = [standard_name(name) for name in operators(result.findings)]
    if result.verdict == "fail" and named:
        ours = named[0] in right or named[0].startswith(f"{node}_")
        return ["right" if ours else "wrong", named[0]]
    return ["missed" if result.verdict in ("pass", "warn") else "inconclusive", *named[:1]]


def _first_changed(
    usual: Mapping[Place, np.ndarray], faulty: Mapping[Place, np.ndarray]
) -> str | None:
    """The first kernel whose outputs are not the clean run's."""
    for place, array in faulty.items():
        other = usual.get(place)
        if place[1] == "output" and other is not None and array.tobytes() != other.tobytes():
            return place[0]
    return None


# --- record -----------------------------------------------------------------------------------------


def _write(file: Path, record: Mapping[str, Any]) -> None:
    part = file.with_name(f"{file.name}.part")
    part.write_text(json.dumps(record, indent=0) + "\n", encoding="utf-8")
    part.replace(file)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where fetched models are kept")
    parser.add_argument("record", type=Path, help="results, gone on with if it is there")
    parser.add_argument("what", choices=("clean", "faults", "table"))
    parser.add_argument("models", nargs="*", metavar="MODEL", help="all if none is named")
    parser.add_argument("--device", action="append", choices=DEVICES)
    parser.add_argument("--mode", action="append", choices=MODES)
    parser.add_argument("--places", type=int, default=5, help="places of each kind of fault")
    return parser.parse_intermixed_args()


def main() -> None:
    """Run what is asked for and missing."""
    asked = _arguments()
    record: dict[str, Any] = {}
    if asked.record.exists():
        record = json.loads(asked.record.read_text(encoding="utf-8"))
    if asked.what == "table":
        print(table(record))
        return
    for name in asked.models or [*offline_models.MODELS, *offline_models.light_models()]:
        wanted = [
            (device, mode)
            for device in asked.device or DEVICES
            for mode in asked.mode or MODES
            if f"{asked.what} {name} {device} {mode}" not in record
        ]
        with tempfile.TemporaryDirectory(prefix="offline") as place:
            case = prepare(name, asked.folder, Path(place)) if wanted else None
            for device, mode in wanted:
                assert case is not None
                made: Any = (
                    clean(case, device, mode)
                    if asked.what == "clean"
                    else [*faults(case, device, mode, asked.places)]
                )
                record[f"{asked.what} {name} {device} {mode}"] = made
                _write(asked.record, record)
                print(name, device, mode, json.dumps(made)[:2000], flush=True)


WHERE = ("full, graphs", "full, none", "outputs, graphs", "outputs, none")


def table(record: Mapping[str, Any]) -> str:
    """Tables of a record in Markdown: a line a model, its devices and modes together."""
    lines = [
        "| Model | Runs | beyond | fail | " + " | ".join(f"golden, {one}" for one in WHERE) + " |"
    ]
    lines.append("|---|---|---|---|" + "---|" * len(WHERE))
    for name, runs in _by_model(record, "clean").items():
        failed = [run[where] for run in runs for where in WHERE if run[where]["verdict"] == "fail"]
        beyond = sum(one["beyond"] for one in failed)
        shares = [min(_placed(run[where]) for run in runs) for where in WHERE]
        cells = " | ".join(f"{100 * share:.1f} %" for share in shares)
        lines.append(f"| {name} | {len(runs)} | {beyond} | {len(failed) - beyond} | {cells} |")
    lines += [
        "",
        "| Model | Faults | " + " | ".join(WHERE) + " |",
        "|---|---|" + "---|" * len(WHERE),
    ]
    for name, runs in _by_model(record, "faults").items():
        planted = [one for run in runs for one in run]
        cells = " | ".join(_answers(planted, where) for where in WHERE)
        lines.append(f"| {name} | {len(planted)} | {cells} |")
    return "\n".join(lines)


def _by_model(record: Mapping[str, Any], what: str) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for key, made in record.items():
        kind, name, *_ = key.split()
        if kind == what:
            found.setdefault(name, []).append(made)
    return found


def _placed(said: Mapping[str, Any]) -> float:
    """Share of the golden's tensors that were compared or have a reason why not."""
    return 1 - said["missing"] / said["tensors"] if said["tensors"] else 1.0


def _answers(planted: Sequence[Mapping[str, Any]], where: str) -> str:
    counts = Counter(one["said"][where][0] for one in planted)
    return " / ".join(str(counts[word]) for word in ("right", "inconclusive", "missed", "wrong"))


if __name__ == "__main__":
    main()
