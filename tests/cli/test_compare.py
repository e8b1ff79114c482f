"""What ``workbench compare`` prints of several ranks and iterations."""

from dataclasses import replace

import pytest

import workbench as wb
from kit.build.sample_results import make_result
from kit.commands import run
from workbench.cli.compare import summary
from workbench.comparison.result import Anomaly
from workbench.core.plan import Iterations
from workbench.core.words import Message
from workbench.network.models import load_graph

UPDATE = "Default/optimizer-SGD/SGD-op2"


def test_a_finding_says_on_which_rank_and_in_which_iteration_it_is(tmp_path, capsys):
    graph = load_graph("mlp_train", 0, 2)
    plan = replace(wb.config.new("mindspore-o0o1").plan(), iterations=Iterations(((0, 1),)))
    options = {"ranks": 2, "iterations": 2, "surface": "mindspore-o0o1"}
    golden = wb.simulate(graph, None, plan, tmp_path / "g", **options)
    faults = [f"scaled-output:{UPDATE}:1.5,rank=1,iteration=1"]
    target = wb.simulate(graph, None, plan, tmp_path / "t", device="a2", faults=faults, **options)
    shown = run(capsys, "compare", target, golden)
    assert shown.status == 1
    assert f"1. [own-error] {UPDATE} (iteration 1, rank 1)" in shown.out.splitlines()


def test_entries_of_the_map_file_say_what_they_match(tmp_path, capsys):
    dump = wb.simulate(load_graph("mlp"), None, wb.config.new("mindspore-cpu"), tmp_path / "d")
    names = tmp_path / "map.json"
    names.write_text('{"ignore": ["Default/nobody", "*ReLU*"]}')
    shown = run(capsys, "compare", dump, dump, "--map", names)
    lines = shown.out.splitlines()
    assert shown.status == 0, lines
    unused = {"kind": "ignore", "what": "Default/nobody", "tensors": 0}
    used = {"kind": "ignore", "what": "*ReLU*", "tensors": 8}
    said = [Message("cli/override-unused", **unused), Message("cli/override", **used)]
    assert [line for line in lines if line.startswith("map file")] == list(map(str, said))


STAGES = "read bind pair forecast measure result total"
ALL_STAGES = "read bind pair forecast measure replay follow explain judge find result total"


@pytest.mark.parametrize("json", [[], ["--json", "-"]])
@pytest.mark.parametrize(("faults", "stages"), [([], STAGES), (["nan-output:*ReLU*"], ALL_STAGES)])
def test_the_time_of_each_stage_is_told_beside_the_result(tmp_path, capsys, json, faults, stages):
    form, graph = wb.config.new("mindspore-o0o1"), load_graph("mlp")
    golden, target = (
        str(wb.simulate(graph, None, form, tmp_path / name, device="a2", faults=some))
        for name, some in (("golden", []), ("target", faults))
    )
    plain = run(capsys, "compare", target, golden, *json)
    timed = run(capsys, "compare", target, golden, *json, "--profile-time")
    assert plain.status == timed.status == bool(faults)
    assert (timed.out, plain.err) == (plain.out, "")
    told = (line.removesuffix(" s").split(": ") for line in timed.err.splitlines())
    names, times = zip(*told, strict=True)
    assert names == tuple(stages.split())
    assert float(times[-1]) == pytest.approx(sum(map(float, times[:-1])), rel=0.1)


def test_a_model_of_several_is_named(tmp_path):
    one = Anomaly("target", "model", "net", "one of two")
    lines = summary(wb.Comparison(make_result(anomalies=(one,))))
    assert Message("cli/model", side="target", name="net", detail="one of two") in lines
