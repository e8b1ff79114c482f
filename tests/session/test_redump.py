"""The next configuration: only the suspects, in full, as every surface wants them."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from kit.build import small_dumps as small
from kit.build.small_dumps import chain, on_disk, shoot
from kit.commands import run
from kit.words import misconfigured, refused
from workbench.comparison.engine import compare_dumps
from workbench.config import new
from workbench.core.plan import BOTH
from workbench.core.words import Message
from workbench.dump.formats.mindspore_name import sanitize
from workbench.network.models import load_graph
from workbench.session.comparison import Comparison
from workbench.session.redump import infer_surface

CULPRIT = "Default/body-SequentialCell/1-Dense/MatMul-op0"
FAULT = f"scaled-output:{CULPRIT}:1.3"

STATISTICS = {
    "mindspore-o0o1": {"common_dump_settings.saved_data": "statistic"},
    "mindspore-o2": {"common_dump_settings.saved_data": "statistic"},
    "mindspore-gpu": {"common_dump_settings.saved_data": "statistic"},
    "mindspore-cpu": {"common_dump_settings.input_output": 2},
    "mindspore-ge": {"common_dump_settings.input_output": 2},
    "tensorflow": {"dump.dump_data": "stats"},
    "torchair": {"dump_config.dump_data": "stats"},
    "acl": {"dump.dump_data": "stats"},
}
"""Surface → settings of a first dump that leaves something open: statistics, or outputs where there are none."""

UNNAMED = ("torchair",)
"""Surfaces whose lists cannot hold the names of a MindSpore network: they have a hyphen."""


def dump_twice(config, root, other=None):
    """Dump golden (as ``other`` asks) and target, and compare."""
    graph, surface = load_graph("mlp"), config.surface.name
    device = "950" if surface == "mindspore-cpu" else "a2"
    golden = wb.simulate(graph, None, other or config, root / "golden", surface=surface)
    target = wb.simulate(
        graph, None, config, root / "target", device=device, surface=surface, faults=[FAULT]
    )
    return wb.compare(target, golden)


@pytest.mark.parametrize("surface", STATISTICS)
def test_the_suspects_of_a_poor_dump_are_dumped_in_full_and_the_culprit_is_named(surface, tmp_path):
    config = new(surface)
    for key, value in STATISTICS[surface].items():
        config = config.set(key, value)
    first = dump_twice(config, tmp_path / "first")
    assert first.verdict == "fail"
    found = first.next_config()
    assert found.surface == surface
    assert found.why
    assert found.config.accepted()
    plan = found.config.plan()
    assert (plan.saved, plan.io, plan.kind, str(plan.iterations)) == ("tensor", BOTH, "data", "0")
    shown = wb.preview(found.config, tmp_path / "first" / "target")
    if surface in UNNAMED:
        assert surface in found.losses[-1]
        assert found.operators == ()
    else:
        assert found.losses == ()
        assert set(shown.selection.operators) == set(found.operators)
        assert set(found.suspects) <= set(found.operators)
        assert len(found.operators) <= 4
    again = dump_twice(found.config, tmp_path / "again", first.next_config(side="golden").config)
    assert again.verdict == "fail"
    assert again.findings[0].kind == "own-error"
    assert again.findings[0].op_name.startswith(CULPRIT)
    assert any(getattr(f.advice, "code", "") == NEXT for f in first.findings)
    assert getattr(again.findings[0].advice, "code", "") != NEXT


NEXT = "compare/next-dump"
GRAPH = chain("MatMul", "ReLU", "MatMul", "Tanh", "Softmax")
VALUES = small.given(GRAPH)


def trees(tmp_path, *graphs, keep=lambda shot: True):
    def spoil(array):
        return array * 1.5

    shots = shoot(GRAPH, VALUES, alter={"Default/MatMul-op1": spoil})
    target = on_disk(tmp_path / "t", [shot for shot in shots if keep(shot)], *graphs)
    return target, on_disk(tmp_path / "g", [s for s in shoot(GRAPH, VALUES) if keep(s)], *graphs)


def test_only_neighbours_of_the_suspect_are_asked_for(tmp_path):
    found = wb.compare(*trees(tmp_path, GRAPH)).next_config()
    assert found.surface == "mindspore-cpu"
    assert found.suspects == ("Default/MatMul-op1",)
    assert found.operators == ("Default/ReLU-op0", "Default/MatMul-op1", "Default/Tanh-op0")
    assert found.why == ()
    assert found.config.data["common_dump_settings"]["kernels"] == list(found.operators)


def test_operators_that_nobody_dumped_before_a_suspect_are_asked_for_as_well(tmp_path):
    def keep(shot):
        return not shot.name.endswith(("MatMul-op1", "ReLU-op0")) and shot.io == "output"

    found = wb.compare(*trees(tmp_path, GRAPH, keep=keep)).next_config()
    assert {"Default/MatMul-op0", "Default/ReLU-op0", "Default/MatMul-op1"} <= set(found.operators)
    assert found.why[0].values["why"].code == "compare/lacks-upstream"


def test_what_a_surface_cannot_name_is_left_out_and_said(tmp_path, monkeypatch):
    comparison = wb.compare(*trees(tmp_path, GRAPH, keep=lambda shot: shot.io == "output"))
    whole = comparison.next_config()
    other = next(one for one in whole.operators if one not in whole.suspects)
    taken = "workbench.session.redump._takes"
    monkeypatch.setattr(taken, lambda _config, operator, _context: operator != other)
    found = comparison.next_config()
    assert set(found.operators) == set(whole.operators) - {other}
    said = Message("session/unnamed", surface=whole.surface, names=[other])
    assert found.losses == (str(said),)


def test_without_a_graph_expressions_stand_for_the_names_of_files(tmp_path):
    found = wb.compare(*trees(tmp_path)).next_config("mindspore-o0o1")
    kernels = found.config.data["common_dump_settings"]["kernels"]
    assert "name-regex(Default.MatMul-op1)" in kernels
    plan = found.config.plan()
    assert plan.selects("Default/MatMul-op1", "MatMul")
    assert not plan.selects("Default/MatMul-op0", "MatMul")


def test_a_surface_without_expressions_dumps_everything_and_says_so(tmp_path):
    found = wb.compare(*trees(tmp_path)).next_config("acl")
    assert found.operators == ()
    assert "acl" in found.losses[-1]
    assert found.config.plan().select == ()


@pytest.mark.parametrize("name", ["alexnet_padmode", "transformer_ln_eps", "optimizer_lr"])
def test_the_names_are_those_of_the_files_of_real_dumps(real_pairs, name):
    pair = real_pairs[name]
    comparison = wb.compare(pair.target, pair.golden)
    found = comparison.next_config()
    assert found.surface == "mindspore-cpu"
    assert found.config.accepted()
    files = {r.key.op_name for r in wb.load(pair.target).records}
    asked = {sanitize(operator) for operator in found.operators}
    assert asked
    assert asked <= files


def test_the_form_of_the_run_is_kept_but_for_what_is_dumped(tmp_path):
    target, golden = trees(tmp_path, GRAPH)
    own = new("mindspore-cpu").set("common_dump_settings.net_name", "Mine")
    own = own.set("common_dump_settings.path", "/data/run1")
    own.save(target / "rank_0/.dump_metadata/data_dump.json")
    settings = wb.compare(target, golden).next_config().config.data["common_dump_settings"]
    assert (settings["net_name"], settings["path"]) == ("Mine", "/data/run1_suspects")


def test_a_form_that_nobody_can_make_is_refused(tmp_path):
    target, golden = trees(tmp_path, GRAPH)
    with refused("session/no-suspect"):
        wb.compare(golden, golden).next_config()
    with misconfigured("surface"):
        wb.compare(target, golden).next_config("pytorch")
    with refused("views/result-alone"):
        Comparison(wb.compare(target, golden).result).next_config()
    dump = small.in_memory(shoot(GRAPH, VALUES))
    assert infer_surface(dump) == "mindspore-cpu"
    from dataclasses import replace

    with refused("session/tree-surface", layout="golden"):
        infer_surface(replace(dump, layout="golden"))


def test_the_command_writes_the_form(tmp_path, capsys):

    target, golden = trees(tmp_path, GRAPH)
    for first, status in ((target, 1), (golden, 0)):
        path = tmp_path / f"{first.name}.json"
        said = run(capsys, "compare", first, golden, "--next-config", path)
        assert said.status == status
        assert path.exists() == bool(status)
        assert (
            "mindspore-cpu configuration" if status else str(Message("cli/no-next"))
        ) in said.err
    assert wb.config.load(tmp_path / "t.json", "mindspore-cpu").accepted()


def test_a_comparison_in_memory_has_suspects_too():
    def spoil(array):
        return array * 1.5

    shots = shoot(GRAPH, VALUES, alter={"Default/MatMul-op1": spoil})
    target = small.in_memory(shots, GRAPH)
    done = compare_dumps(target, small.in_memory(shoot(GRAPH, VALUES), GRAPH))
    found = wb.Comparison(done.result, done.flow).next_config()
    assert found.suspects == ("Default/MatMul-op1",)
    assert "<pre>" in found._repr_html_()


def test_calls_of_a_script_are_dumped_again_by_msprobe(tmp_path):
    """The call that gives the first NaN and its neighbours are named in ``list``."""
    values = np.arange(12, dtype="f4").reshape(3, 4)
    broken = values.copy()
    broken[0, 0] = np.nan
    for name, made in (("target", broken), ("golden", values)):
        folder = tmp_path / name / "step0/rank0/dump_tensor_data"
        folder.mkdir(parents=True)
        for call, array in (
            ("Functional.neg.0.forward.input.0", -values),
            ("Functional.neg.0.forward.output.0", made),
            ("Functional.relu.0.forward.input.0", made),
            ("Functional.relu.0.forward.output.0", made),
        ):
            np.save(folder / f"{call}.npy", array)
    found = wb.compare(tmp_path / "target", tmp_path / "golden").next_config()
    assert found.config.surface.name == "msprobe"
    assert found.config.accepted()
    assert "Functional.neg.0.forward" in found.config.data["tensor"]["list"]
    assert found.operators == tuple(found.config.data["tensor"]["list"])
