"""The measuring instrument of the diagnosis: what it plants, runs, renames and scores."""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from diagnosing.cases import KINDS, LONG, MODELS, Draw, Setting
from diagnosing.renaming import renamed, word
from diagnosing.runs import WAYS, Run, device_run, network, reference_run, updated, write_tree
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
from diagnosing.tables import calibration_table, confusion_table, kinds_table, operators_table

import workbench as wb
from kit.trees import contents
from workbench.comparison.result import Cause, Finding, Row
from workbench.core.plan import DumpPlan
from workbench.npu.faults import FAULTS, Fault

FC1 = "Default/fc1-Dense/MatMul-op0"


def setting(surface="torchair", model="lenet", files="bin", mode="", iterations=1):
    return Setting(model, 3, "a2", surface, files, mode, iterations)


# ---------------------------------------------------------------- what is planted


def test_every_kind_is_planted_once_a_seed_if_it_has_a_place():
    for seed in range(9):
        models = Draw(seed).models()
        planted = [kind for kinds in models.values() for kind in kinds]
        missing = {*FAULTS} - {*planted}
        assert len(planted) == len(set(planted))
        assert missing <= {"fast-approximation"}
        assert not missing or "transformer" not in models


def test_models_get_equally_many_faults_and_long_ones_half_as_many():
    for seed in range(40):
        counts = {model: len(kinds) for model, kinds in Draw(seed).models().items()}
        short = [count for model, count in counts.items() if model not in LONG]
        for model in counts.keys() & LONG:
            assert counts[model] <= min(short) / 2 + 1


def test_models_come_as_often_as_their_cards_and_devices_evenly():
    deck = [model for model, cards in MODELS.items() for _ in range(cards)]
    dealt = Counter(model for seed in range(len(deck)) for model in Draw(seed).hand(deck, 5, "x"))
    assert dealt == {model: 5 * cards for model, cards in MODELS.items()}
    devices = Counter(Draw(seed).setting("lenet").device for seed in range(35))
    assert set(devices.values()) == {7}


def test_a_seed_is_always_the_same_and_no_training_runs_on_acl():
    own, graph = setting(model="transformer"), network("transformer", 3)
    for kind in KINDS:
        planted = list(Draw(5).faults(kind, graph, own))
        assert planted == list(Draw(5).faults(kind, graph, own))
        assert "Reshape" not in {graph.op(fault.op_name).op_type for fault in planted}
    surfaces = {Draw(seed).setting("mlp_train").surface for seed in range(60)}
    assert surfaces == {"mindspore-o0o1", "mindspore-o2", "mindspore-ge", "tensorflow", "torchair"}


# ---------------------------------------------------------------- trees


@pytest.mark.parametrize(
    ("surface", "files", "model", "iterations"),
    [
        ("mindspore-o0o1", "npy", "lenet", 1),
        ("mindspore-o2", "bin", "mlp_train", 2),
        ("tensorflow", "bin", "mlp", 1),
        ("torchair", "bin", "mlp_train", 2),
        ("acl", "bin", "lenet", 1),
    ],
)
def test_a_tree_is_the_one_that_simulate_writes(surface, files, model, iterations, tmp_path):
    own = setting(surface, model, files, iterations=iterations)
    tree = write_tree(device_run(own), "full", tmp_path / "a", surface, files, "a2")
    form = wb.config.get(surface)
    plan = form.from_plan(DumpPlan("/dump", files=files)).data
    graph = network(model, own.seed)
    config = wb.config.Config(form, plan)
    other = wb.simulate(
        graph, None, config, tmp_path / "b", device="a2", surface=surface, iterations=iterations
    )
    assert contents(tree) == contents(other)


def test_a_renamed_tree_says_no_name_and_no_line(tmp_path):
    run = renamed(device_run(setting("mindspore-o0o1", files="npy")))
    tree = write_tree(run, "full", tmp_path / "tree", "mindspore-o0o1", "npy", "a2")
    names = " ".join(map(str, contents(tree)))
    texts = "".join(path.read_text() for path in tree.rglob("*.ir"))
    for said in ("fc1-Dense", "conv2-Conv2d", "networks.py", "Conv2D-op0"):
        assert said not in names
        assert said not in texts
    assert word(FC1) in texts


def test_a_renamed_kernel_says_what_it_stands_for_by_the_same_other_names(tmp_path):
    run = renamed(device_run(setting(mode="force_fp16")))
    tree = write_tree(run, "outputs", tmp_path / "tree", "torchair", "bin", "a2")
    said = "".join(path.read_text() for path in tree.rglob("*.txt"))
    assert "fc1-Dense" not in said
    assert word("Default/fc1-Dense/BiasAdd-op0") in said


# ---------------------------------------------------------------- scores


def test_a_difference_is_relative_and_a_new_nan_is_endless():
    one, other = [np.array([3.0, 4.0])], [np.array([0.0, 5.0])]
    assert difference(one, other) == pytest.approx(math.sqrt(10) / 5)
    assert difference([*one, *one], [*one, *other]) == pytest.approx(math.sqrt(10 / 2) / 5)
    assert difference([np.array([np.nan, 1])], [np.array([2.0, 1])]) == math.inf
    assert difference([np.array([np.nan, 1])], [np.array([np.nan, 1])]) == 0
    assert visible(4.1, 1)
    assert not visible(4, 1)
    assert visible(1e-9, 0)
    assert not visible(0, 0)


def test_only_weights_and_no_state_of_the_optimizer_count():
    run = Run(None, None, (), dict.fromkeys(("fc.weight", "moments.fc.weight", "fc.1.bias"), 0))
    assert updated(run) == {"fc.weight", "fc.1.bias"}


def test_a_kernel_is_right_if_it_holds_the_operator():
    run = device_run(setting())
    (kernel,) = hits(run, Fault("wrong-sign", FC1))
    assert kernel.startswith(FC1)
    assert kernel != FC1


def test_victims_of_an_overrun_are_its_damaged_neighbour_and_the_reader():
    own = setting("mindspore-o0o1", "resnet", "npy")
    clean = device_run(own)
    convolutions = [op.name for op in clean.graph.ops if op.op_type == "Conv2D"]
    for name in convolutions:
        fault = Fault("overrun", name, value=100.0)
        try:
            run = device_run(own, [fault])
        except wb.GraphError:
            continue
        break
    found = victims(run, clean, fault)
    assert len(found) == 2
    assert fault.op_name not in found
    assert victims(run, clean, Fault("wrong-sign", FC1)) == set()


def finding(kind, op_name):
    return Finding(kind, op_name, "MatMul", 0, 0, "output", 0, 1.0, None, None, None, (), "", ())


def test_the_place_of_an_answer_counts_operators_with_a_defect():
    found = [finding("info", "a"), *(finding("own-error", name) for name in ("b", "b", "c"))]
    assert operators(found) == ["b", "c"]
    assert place(["b", "c"], {"c", "d"}) == 1
    assert place(["b", "c"], {"a"}) is None


def test_a_finding_that_looks_like_a_fault_names_it_and_others_their_own_kind():
    plain = finding("own-error", "a")
    assert guess(plain) == ("own-error", None)
    assert guess(replace(plain, causes=(Cause("wrong-sign", 0.9),))) == ("wrong-sign", 0.9)


def answered(found, probability, place, kind="wrong-sign", **more):
    own = {"verdict": "fail", "answers": [], "place": place, "victim": None, "fault": found}
    ways = dict.fromkeys(WAYS, own | {"probability": probability, **more})
    return {"kind": kind, "visible": True, **ways}


def cells(table, name):
    return next(list(row[1:]) for row in table.rows if row[0] == name)


def test_tables_count_hits_kinds_and_probabilities():
    records = [
        answered("wrong-sign", 0.95, 0),
        answered("wrong-sign", 0.97, 1),
        answered("saturated", 0.96, None),
        answered("own-error", None, 3),
    ]
    shares = ["25.0%", "50.0%"] * 3
    assert cells(operators_table(records), "wrong-sign") == ["4", *shares]
    assert cells(kinds_table(records), "wrong-sign") == ["4", *["50.0%"] * 3]
    assert cells(calibration_table(records), "0.95 to 0.99") == ["3", "0.960", "66.7%"]
    assert cells(confusion_table(records), "wrong-sign") == ["2", "1", "1"]


def test_a_way_that_tells_nothing_of_the_operator_is_not_scored():
    records = [answered("", None, 0), answered("", None, None, told=False)]
    assert cells(operators_table(records), "all")[:2] == ["2", "100.0%"]


def row(name, io, cosine, error, order, **metrics):
    figures = {"CosineSimilarity": cosine, "RelativeEuclideanDistance": error, **metrics}
    return Row(
        name, "MatMul", 0, 0, io, 0, name, "name", 1.0, "pass", "", figures, None, order=order
    )


def test_simple_rules_blame_the_first_bad_output_in_execution_order():
    rows = [
        row("c", "output", 0.9, 0.5, 3),
        row("a", "input", 1.0, 0.0, 1),
        row("a", "output", 0.999, 0.02, 1),
        row("b", "input", 0.98, 0.2, 2),
        row("b", "output", 0.98, 0.2, 2),
        row("c", "input", 0.995, 0.1, 3),
    ]
    assert simple_answers(rows) == {
        "first cosine < 0.99": "b",
        "first relative error > 0.05": "b",
        "first relative error > 0.01": "a",
        "input good, output bad": "c",
    }


def test_simple_rules_take_nan_for_bad_and_say_nothing_of_good_rows():
    assert set(simple_answers([row("a", "output", 1.0, 0.0, 0)]).values()) == {""}
    rows = [row("a", "output", 1.0, 0.0, 0, NonFiniteMismatch=1.0)]
    assert set(simple_answers(rows).values()) == {"a"}


# ---------------------------------------------------------------- the whole


@pytest.mark.slow
def test_answers_are_the_same_operators_under_other_names(tmp_path):
    """Nothing is found by a name or a source line."""
    own = setting("torchair", mode="force_fp16")
    reference = reference_run(own.model, own.seed, 1)
    planted = {"wrong-sign": "full", "transposed-weight": "outputs", "stale-output": "statistics"}
    for kind, way in planted.items():
        fault = Fault(kind, FC1)
        run = device_run(own, [fault])
        answers = []
        for number, change in enumerate((lambda run: run, renamed)):
            root = tmp_path / f"{kind}{number}"
            target = write_tree(change(run), way, root / "t", "torchair", "bin", "a2")
            golden = write_tree(
                change(reference), "full", root / "g", "mindspore-cpu", "npy", "reference"
            )
            answers.append(operators(wb.compare(target, golden).findings))
        plain, meaningless = answers
        assert meaningless == [word(name) for name in plain]
        assert set(plain[:1]) == hits(run, fault)
