"""One operator looked at closely: what is known of it, and what cannot be known and why."""

import math
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import workbench as wb
from kit.build.compared import spoiled, two_graphs, two_tensors
from kit.build.small_dumps import Net, chain, given, in_memory, on_disk, shoot
from kit.face.screen import label
from kit.words import check_said, refused
from workbench.comparison.bind.anomalies import REWRITTEN
from workbench.comparison.measure.elements import read_elements
from workbench.core.tensors import TensorSpec
from workbench.core.words import Message
from workbench.session.foreign import read_result
from workbench.show.plots import operator as plots
from workbench.views.render import SECTIONS, operator_html

SAMPLES = Path(__file__).parents[2] / "sample_dumps"
GUILTY = "Default/conv3-Conv2d/Conv2D-op0"


@pytest.fixture(scope="module")
def real():
    return wb.compare(SAMPLES / "real_pair/dump_a", SAMPLES / "real_pair/dump_b")


def test_the_selected_row_is_the_first_divergence_and_is_born_there(real):
    view = real.operator()
    assert (view.name, view.row.io) == (GUILTY, "output")
    assert view.origin.kind == "origin"
    check_said(view.origin.text, "views/defect-figures", own=view.origin.local_error)
    assert view.origin.propagated_error == 0.0
    assert view.origin.local_error > 1e5 * view.origin.expected_error


def test_what_follows_the_guilty_one_inherits(real):
    view = real.operator("Default/relu-ReLU/ReLU-op2")
    assert view.origin.kind == "propagated"
    check_said(view.origin.text, "views/propagated", inherited=view.origin.propagated_error)
    assert view.origin.propagated_error == pytest.approx(real.operator().row.error)


def test_what_lies_before_it_agrees(real):
    assert real.operator("Default/conv1-Conv2d/Conv2D-op0").origin.kind == "equal"


def test_where_nothing_differs_no_plane_is_drawn(real):
    view = real.operator("Default/conv1-Conv2d/Conv2D-op0")
    assert "<svg" not in operator_html(view, sections=("heat",))
    assert label("show/elements-equal") in operator_html(view, sections=("worst",))


def test_what_is_read_has_no_error_of_the_operators_own(real):
    read = next(n for n in real.operator().tensors if real.rows[n].io == "input")
    assert real.operator(read).origin.local_error is None


def test_an_operator_is_found_by_row_index_name_and_end_of_name(real):
    index = real.look.selected
    views = [
        real.operator(one) for one in (real.rows[index], index, GUILTY, "conv3-Conv2d/Conv2D-op0")
    ]
    assert {view.index for view in views} == {index}


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        ("Conv2D-op0", "operator-ambiguous"),
        ("nothing", "operator"),
        ("", "operator"),
        (-1, "row"),
        (10_000, "row"),
    ],
)
def test_a_name_that_fits_several_or_none_is_refused_with_what_fits(real, wanted, code):
    with refused(f"session/{code}", got=wanted):
        real.operator(wanted)


def test_attributes_that_differ_come_first(real):
    names = [one.name for one in real.operator().attributes if one.differs]
    assert names == ["pad", "pad_list", "pad_mode"]
    assert [one.name for one in real.operator().attributes[:3]] == names


def test_both_graph_files_are_quoted_where_the_operator_stands(real):
    view = real.operator()
    for side, folder in (("target", "dump_a"), ("golden", "dump_b")):
        text = view.ir[side]
        assert folder in text.path
        own = [text.lines[n] for n in text.here]
        assert "Conv2D(" in own[0]
        assert any(f"({GUILTY})" in line for line in own)
        written = Path(text.path).read_text().splitlines()
        assert written[text.first - 1 : text.first - 1 + len(text.lines)] == list(text.lines)


def test_neighbours_are_three_levels_far_and_carry_their_state(real):
    found = real.operator().neighbours
    levels = {node.level: node for node in found.nodes if node.kind == "operator"}
    assert sorted(levels) == [-3, -2, -1, 0, 1, 2, 3]
    assert levels[-1].status == "equal"
    assert levels[1].status == "fail"
    assert [node.name for node in found.nodes if node.kind == "parameter"] == ["conv3.weight"]
    assert {edge.slot for edge in found.edges if edge.end == levels[0].key} == {0, 1}
    assert all(0 <= node.index < len(real.rows) for node in levels.values())


def test_of_many_neighbours_the_worst_are_kept_and_the_others_counted():
    net = Net()
    made = net.op("ReLU", net.feed("x"))
    for _ in range(9):
        net.op("Neg", made)
    graph = net.graph()
    view = spoiled(graph, {"Default/Neg-op7": lambda x: x + 1}).operator("Default/ReLU-op0")
    assert view.neighbours.hidden == {1: 5}
    below = {node.name: node.status for node in view.neighbours.nodes if node.level == 1}
    assert below["Default/Neg-op7"] == "fail"
    assert len(below) == 4


def test_the_worst_elements_are_a_table(real):
    view = real.operator()
    table = view.worst(5)
    assert list(table.columns) == ["Index", "Target", "Golden", "Absolute", "Relative", "Ulp"]
    ours, theirs = (np.load(path) for path in (view.row.target_path, view.row.golden_path))
    assert table["Absolute"][0] == pytest.approx(np.abs(ours.astype(float) - theirs).max())
    assert ours[table["Index"][0]] == np.float32(table["Target"][0])


def test_failing_operators_are_walked_in_both_directions(real):
    first = real.operator()
    assert first.failing(-1) == -1
    second = real.operator(first.failing(1))
    assert second.name == "Default/relu-ReLU/ReLU-op2"
    assert second.failing(-1) == first.index
    seen, at = [first.index], first.index
    while (at := real.operator(at).failing(1)) >= 0:
        seen.append(at)
    failing = {(row.op_name, row.turn) for row in real.rows if row.status == "fail" and row.op_name}
    assert {(real.rows[n].op_name, real.rows[n].turn) for n in seen} == failing


def test_the_minimal_case_is_written_for_any_operator(real, tmp_path):
    found = real.operator("Default/relu-ReLU/ReLU-op2").extract(tmp_path / "case")
    assert found.op_name == "Default/relu-ReLU/ReLU-op2"
    assert "read_case" in found.script.read_text()


@pytest.mark.parametrize(
    ("target", "golden"),
    [
        (np.float32(1.5), np.float32(1.0)),
        (np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32)),
        (np.array([True, False]), np.array([False, False])),
        (np.array([2**62, 5]), np.array([2**62 + 1, 5])),
        (np.array([np.nan, np.inf, 1], np.float32), np.array([1, np.inf, 1], np.float32)),
        (np.full((2, 3), np.nan, np.float32), np.full((2, 3), np.nan, np.float32)),
        (np.array([1, 2], ml_dtypes.bfloat16), np.array([1, 2.5], ml_dtypes.bfloat16)),
        (np.float16([[65504, -1]]), np.float16([[-65504, 6e-8]])),
        (np.float64([1e308, -1e308]), np.float64([-1e308, 1e308])),
        (np.arange(48, dtype=np.float32).reshape(2, 2, 3, 2, 2), np.zeros((2, 2, 3, 2, 2), np.float32)),
    ],
)  # fmt: skip
def test_every_kind_of_tensor_is_shown(monkeypatch, target, golden):
    view = two_tensors(np.asarray(target), np.asarray(golden))
    scatter = plots.scatter_svg(view.elements)  # the same whatever the kind of error
    monkeypatch.setattr(plots, "scatter_svg", lambda elements: scatter)
    assert view.why_no_elements == ""
    unlike = int(np.count_nonzero(~(np.asarray(target) == np.asarray(golden))))
    assert view.elements.differing == unlike
    assert len(view.worst(100)) == unlike
    for kind in view.elements.kinds:
        text = operator_html(view, kind=kind)
        assert "<svg" in text
        assert scatter in text
        assert f"{unlike:,}" in text


def test_a_trend_spans_iterations():
    graph = chain("ReLU", "Neg")
    values = given(graph)
    sides = [
        in_memory(
            [
                shot
                for step in range(3)
                for shot in shoot(
                    graph, values, iteration=step, start=10**15 + step * 1000,
                    alter={"Default/Neg-op0": lambda x, by=1 + off * step: x * by},
                )
            ],
            graph,
        )
        for off in (0.01, 0.0)
    ]  # fmt: skip
    found = wb.compare(*sides)
    view = found.operator("Default/Neg-op0")
    shown = [found.rows[n] for n in view.trend]
    assert [row.iteration for row in shown] == [0, 1, 2]
    assert [row.error for row in shown] == pytest.approx([0, 0.01, 0.02], rel=1e-4)
    assert label("show/trend") in operator_html(view)


def test_a_file_that_is_gone_leaves_the_rest(real, tmp_path):
    shutil.copytree(SAMPLES / "real_pair", tmp_path / "pair")
    found = wb.compare(tmp_path / "pair/dump_a", tmp_path / "pair/dump_b")
    shutil.rmtree(tmp_path / "pair")
    view = found.operator()
    assert view.elements is None
    assert view.why_no_elements.count("is gone") == 2
    assert view.origin.kind == "origin"
    text = operator_html(view)
    assert str(Message("views/ir-changed")) in text
    assert label("show/elements") in text
    assert "<table" not in operator_html(view, sections=("worst",))
    with refused("views/no-elements", name=view.name, why=view.why_no_elements):
        view.worst()


def test_a_file_cut_short_is_a_reason_and_no_crash(tmp_path):
    graph = chain("ReLU", "Neg")
    values = given(graph)
    on_disk(tmp_path / "a", shoot(graph, values, alter={"Default/Neg-op0": lambda x: x + 1}), graph)
    on_disk(tmp_path / "b", shoot(graph, values), graph)
    view = wb.compare(tmp_path / "a", tmp_path / "b").operator("Default/Neg-op0")
    path = Path(view.row.target_path)
    path.write_bytes(path.read_bytes()[:-8])
    assert view.elements is None
    assert str(path) in view.why_no_elements


def test_of_a_large_tensor_the_beginning_is_shown_and_said(real, monkeypatch):
    limited = partial(read_elements, limit=100)
    monkeypatch.setattr("workbench.views.operator.read_elements", limited)
    view = real.operator()
    assert view.doubts == (Message("views/elements-cut", read=96, total=512),)
    assert view.elements.shape == (1, 6, 4, 4)
    assert str(view.doubts[0]) in operator_html(view)


def test_what_is_odd_about_a_side_is_said(real, monkeypatch):
    view = real.operator(GUILTY)
    flow = view._row_index.flow
    record = view._found.record("target")
    said = []
    for kind in (REWRITTEN, "mislabelled"):
        target = replace(flow.pairing.target, oddities={id(record): (kind,)})
        odd = replace(flow, pairing=replace(flow.pairing, target=target))
        monkeypatch.setattr(view._row_index, "flow", odd)
        said += real.operator(GUILTY).doubts
    assert said == [
        Message("views/side-updated", side="target", kind=REWRITTEN),
        Message("views/side-odd", side="target", kind="mislabelled"),
    ]


def test_a_side_without_the_tensor_is_said(real, monkeypatch):
    view = real.operator(GUILTY)
    monkeypatch.setattr(type(view._found), "record", lambda *_: None)
    lacks = [Message("views/side-lacks", side=side) for side in ("target", "golden")]
    assert view.why_no_elements == str(Message("views/several", said=lacks))


def test_a_parameter_belongs_to_no_operator():
    graph = chain("MatMul")
    values = given(graph)
    other = {**values, "fc0.weight": values["fc0.weight"] + 1}
    sides = [in_memory(shoot(graph, some), graph) for some in (other, values)]
    view = wb.compare(*sides).operator("fc0_weight")
    assert view.origin.kind == "unknown"
    check_said(view.origin.text, "views/parameter-kept")
    assert wb.compare(sides[1], sides[1]).operator("fc0_weight").origin.kind == "equal"


def test_statistics_alone_show_figures_instead_of_elements(tmp_path):
    table = (
        "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,"
        "Max Value,Min Value,Avg Value,Count\n"
    )
    for name, top in (("a", 3.0), ("b", 2.0)):
        folder = tmp_path / name / "rank_0/Net/0/0"
        folder.mkdir(parents=True)
        rows = f'ReLU,Default/ReLU-op0,0,0,1,output,0,16,float32,"(2,2)",{top},0,1,4\n'
        (folder / "statistic.csv").write_text(table + rows)
    view = wb.compare(tmp_path / "a", tmp_path / "b").operator("ReLU-op0")
    assert view.elements is None
    assert view.why_no_elements == "; ".join(
        str(Message("views/side-statistics", side=side)) for side in ("target", "golden")
    )
    text = operator_html(view)
    assert view.why_no_elements in text
    assert label("show/no-source-line") in text


def test_a_tensor_without_a_partner_says_so(real):
    graph = chain("ReLU", "Neg")
    values = given(graph)
    shots = shoot(graph, values)
    few = [shot for shot in shots if shot.op_type != "Neg"]
    found = wb.compare(in_memory(few, graph), in_memory(shots, graph))
    view = (
        found.operator("Default_Neg-op0")
        if any(row.golden_op_name == "Default_Neg-op0" for row in found.rows)
        else found.operator("Neg-op0")
    )
    assert view.side == "golden"
    assert view.origin.kind == "unmatched"
    assert "only in the golden" in view.why_no_elements
    assert [node.level for node in view.neighbours.nodes] == [0, -1]


def test_a_group_of_operators_shows_its_edge():
    whole, split = Net(), Net()
    whole.op("MatMulRelu", whole.feed("x"), whole.weight("w"))
    split.op("ReLU", split.op("MatMul", split.feed("x"), split.weight("w")))
    view = two_graphs(whole.graph(), split.graph()).operator("Default/MatMulRelu-op0")
    assert view.row.golden_op_name == "Default/ReLU-op0"
    assert view.elements is not None
    assert "Default/ReLU-op0" in operator_html(view)


def test_the_result_of_another_tool_says_that_it_has_no_dumps(tmp_path):
    path = tmp_path / "compare_result_1.csv"
    lines = (
        "NPU Name,Bench Name,NPU Dtype,Bench Dtype,NPU Tensor Shape,Bench Tensor Shape,Cosine,EucDist,MaxAbsErr,"
        "MaxRelativeErr,One Thousandth Err Ratio,Five Thousandth Err Ratio,NPU max,NPU min,NPU mean,NPU l2norm,"
        "Bench max,Bench min,Bench mean,Bench l2norm,Requires_grad Consistent,Accuracy Reached or Not,Err_message,"
        "NPU_Stack_Info,Data_Name",
        "Functional.linear.0.forward.output.0,Functional.linear.0.forward.output.0,torch.float32,torch.float32,"
        "[2],[2],0.5,1,1,1,0,0,1,0,1,1,1,0,1,1,True,No,,None,None",
    )
    path.write_text("\n".join(lines) + "\n")
    found = read_result(path)
    view = found.operator(0)
    assert (view.origin.kind, view.elements) == ("unknown", None)
    assert view.why_no_elements == str(Message("views/no-dumps"))
    check_said(view.origin.text, "views/foreign-result")


@pytest.mark.parametrize(
    ("form", "tiles"),
    [("NC1HWC0", (0, 16, 0, 0)), ("FRACTAL_NZ", (0, 0, 16, 16)), ("NHWC", (0,) * 4), ("odd", (0,) * 4)],
)  # fmt: skip
def test_the_tiles_of_the_device_are_drawn_where_its_format_has_some(form, tiles):
    shape = (2, 20, 4, 5)
    net = Net()
    spec = TensorSpec("float32", shape, form)
    net.op("Neg", net.feed("x", shape), shape=shape, device_outputs=(spec,))
    view = spoiled(net.graph(), {"Default/Neg-op0": lambda x: x * 1.5}).operator("Neg-op0")
    assert view.tiles == tiles
    assert (form in operator_html(view, sections=("heat",))) == any(
        tiles[axis] for axis in view.heat_map().axes
    )


def test_sections_can_be_chosen_and_unknown_ones_are_refused(real):
    view = real.operator()
    assert "<svg" not in operator_html(view, sections=("source", "attributes")).replace(
        "wb-mark", ""
    )
    with refused("views/sections", got=["x"]):
        operator_html(view, sections=("x",))
    assert len(SECTIONS) == len(set(SECTIONS))


def test_it_shows_itself_and_always_the_same(real):
    view = real.operator()
    assert repr(view) == f"<OperatorView {GUILTY} output.0: origin>"
    text = view._repr_html_()
    assert text == real.operator()._repr_html_()
    assert "<style>" in text
    assert math.isclose(view.histogram().counts[-1], 22)


def test_a_filtered_and_a_regraded_comparison_still_look_into_the_dumps(real):
    for found in (real.filter(status="fail"), real.regrade(limit=1e-9)):
        view = found.operator(GUILTY)
        assert view.elements is not None
        assert view.row in found.rows


@pytest.mark.parametrize("thresholds", [{"factor": 1e9}, {"limit": 1e9}])
def test_what_is_blamed_does_not_rest_on_thresholds_of_ones_own(real, thresholds):
    graded = real.regrade(**thresholds)
    indices = [n for n, row in enumerate(real.rows) if row.match_rule and row.io == "output"][:12]
    assert any(graded.rows[n].status != real.rows[n].status for n in indices)
    assert [graded.operator(n).origin for n in indices] == [
        real.operator(n).origin for n in indices
    ]
