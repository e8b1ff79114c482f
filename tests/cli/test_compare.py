"""What ``workbench compare`` prints of several ranks and iterations."""

from dataclasses import replace

import pytest

import workbench as wb
from workbench.cli import main
from workbench.core.plan import Iterations
from workbench.graph.networks import load_graph

UPDATE = "Default/optimizer-SGD/SGD-op2"


def test_a_finding_says_on_which_rank_and_in_which_iteration_it_is(tmp_path, capsys):
    graph = load_graph("mlp_train", 0, 2)
    plan = replace(wb.config.new("mindspore-o0o1").plan(), iterations=Iterations(((0, 1),)))
    options = {"ranks": 2, "iterations": 2, "surface": "mindspore-o0o1"}
    golden = wb.simulate(graph, None, plan, tmp_path / "g", **options)
    faults = [f"scaled-output:{UPDATE}:1.5,rank=1,iteration=1"]
    target = wb.simulate(graph, None, plan, tmp_path / "t", device="a2", faults=faults, **options)
    with pytest.raises(SystemExit) as end:
        main(["compare", str(target), str(golden)])
    assert end.value.code == 1
    assert f"1. [own-error] {UPDATE} (iteration 1, rank 1)" in capsys.readouterr().out.splitlines()
