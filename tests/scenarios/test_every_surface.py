"""Every tree there is: written, recognised, read back to the tensors of the run, converted, compared."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from kit.arrays import stored
from kit.build.runs import rehearse
from kit.oracle import dump_files as wire
from workbench.config import new
from workbench.dump.convert import convert
from workbench.dump.formats.container import read_container
from workbench.network.models import load_graph
from workbench.npu.compile.pipeline import compile_graph
from workbench.npu.runner import run_program
from workbench.npu.target import Target

MODEL = "lenet"

# surface, changes of its first form → layout that must recognise the tree, whether files are containers
TREES = {
    ("mindspore-o0o1", ()): ("mindspore", False),
    ("mindspore-cpu", ()): ("mindspore", False),
    ("mindspore-gpu", ()): ("mindspore", False),
    ("mindspore-o2", (("common_dump_settings.file_format", "npy"),)): ("mindspore-o2", False),
    ("mindspore-o2", (("common_dump_settings.file_format", "bin"),)): ("mindspore-o2", True),
    ("mindspore-ge", (("common_dump_settings.file_format", "bin"),)): ("ge", True),
    ("tensorflow", ()): ("ge", True),
    ("torchair", ()): ("torchair", True),
    ("acl", ()): ("ge", True),
}
BESIDE = {
    "tensorflow": {"ge_default_20231114221220_1": 2, "ge_default_20231114221420_11": 3},
}
"""Surface → models beside the network and how many operators they have."""

NAMES = [f"{surface}{'-'.join(('', *(str(v) for _, v in change)))}" for surface, change in TREES]


@pytest.fixture(params=TREES, ids=NAMES, scope="module")
def tree(request, tmp_path_factory):
    """A tree of one surface, with the form that asked for it."""
    surface, changes = request.param
    config = new(surface)
    for path, value in changes:
        config = config.set(path, value)
    root = tmp_path_factory.mktemp("tree") / "dump"
    wb.simulate(load_graph(MODEL), None, config, root, device="a2", surface=surface)
    return root, config, TREES[request.param]


def key_of(name: str, io: str, slot: int) -> tuple[str, str, int]:
    """Name as files carry it; the words that they replace differ from one writer to the next."""
    return "".join(c if c.isalnum() or c == "-" else "_" for c in name), io, slot


@pytest.fixture(scope="module")
def truth(tree):
    """Tensors of the run itself, straight from the executor; Flatten runs nothing where GE compiles."""
    graph = load_graph(MODEL)
    target = Target(tree[1].surface.name)
    records = run_program(compile_graph(graph, target))
    left_out = ("Parameter", "Flatten") if target.is_compiled else ("Parameter",)
    return {
        key_of(r.key.op_name, r.key.io, r.key.slot): r.source.array()
        for r in records
        if r.key.op_type not in left_out
    }


def test_a_tree_is_recognised_by_its_content(tree):
    root, _, (layout, _) = tree
    assert wb.load(root).layout == layout


def test_what_is_read_back_are_the_tensors_of_the_run(tree, truth):
    root, config, _ = tree
    dump = wb.load(root)
    assert {s.reason for s in dump.skipped} <= {"other-model"}
    beside = Counter(skipped.name.split("/")[0] for skipped in dump.skipped)
    assert beside == BESIDE.get(config.surface.name, {})
    found = {
        key_of(r.key.op_name, r.key.io, r.key.slot): r
        for r in dump.records
        if r.key.op_type != "Parameter"
    }
    assert found.keys() == truth.keys()
    for key, record in found.items():
        array = record.source.array()
        assert array.size == truth[key].size, key
        np.testing.assert_array_equal(array.reshape(truth[key].shape), truth[key], err_msg=str(key))


def test_every_container_parses_by_its_field_numbers(tree):
    """A decoder that knows them and nothing of ours finds what our reader finds."""
    root, _, (_, containers) = tree
    if not containers:
        pytest.skip("the tree holds npy files")
    read = {(r.path, r.key.io, r.key.slot): r for r in wb.load(root).records}
    found = 0
    for path in sorted({path for path, _, _ in read}):
        header, blocks = wire.container(Path(path).read_bytes())
        assert header["version"] == "2.0"
        assert (
            key_of(header["op_name"], "", 0)[0] == key_of(Path(path).name.split(".")[1], "", 0)[0]
        )
        for part, slot, stated, data in blocks:
            raw = stored(path, read_container(path).part(part)[slot])
            assert raw.shape == tuple(stated["shape"].get("dim", ()))
            assert data.startswith(raw.tobytes())
            found += (path, part, slot) in read
    assert found == len(read) > 0


def test_the_tree_agrees_with_itself_and_the_ledger_adds_up(tree):
    root, config, _ = tree
    comparison = wb.compare(root, root)
    cover = comparison.coverage
    assert comparison.verdict == "pass"
    assert comparison.findings == ()
    skipped = sum(BESIDE.get(config.surface.name, {}).values())
    assert sum(cover.skipped.values()) == 2 * skipped
    for side in (comparison.result.target, comparison.result.golden):
        assert cover.matched + skipped == side.tensors


def test_the_planted_defect_is_found_against_the_reference(tree):
    _, config, _ = tree
    if config.surface.name in ("mindspore-cpu", "mindspore-gpu"):
        pytest.skip("a tree that says it is no NPU's is judged by float32, which HF32 exceeds")
    fault = "scaled-output:Default/conv2-Conv2d/Conv2D-op0:1.05"
    comparison = rehearse(load_graph(MODEL), config, faults=[fault])
    assert comparison.verdict == "fail"
    compiled = Target(config.surface.name).is_compiled
    fused = "Default/relu-ReLU/ReLU-op1" if compiled else ""
    assert comparison.findings[0].op_name == "Default/conv2-Conv2d/Conv2D-op0" + fused


def test_containers_are_converted_to_the_tensors_of_the_run(tree, truth, tmp_path):
    root, config, (_, containers) = tree
    if not containers:
        pytest.skip("npy files need no conversion")
    convert(root, tmp_path / "out", format="NCHW")
    beside = BESIDE.get(config.surface.name, {}).keys()
    npy = (tmp_path / "out").rglob("*.npy")
    written = [path for path in npy if beside.isdisjoint(path.parts)]
    images = {key: array for key, array in truth.items() if array.ndim == 4}
    assert len(written) == len(truth)
    for (name, io, slot), array in images.items():
        shape = "x".join(map(str, array.shape))
        (path,) = [
            p for p in written if f".{name}." in p.name and f".{io}.{slot}.{shape}." in p.name
        ]
        np.testing.assert_array_equal(np.load(path), array)
