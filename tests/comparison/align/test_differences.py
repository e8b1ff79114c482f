"""What two operators say differently, and what only looks different."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from kit.build.small_dumps import Net
from kit.words import check_said
from workbench.comparison.align.align import align
from workbench.comparison.align.differences import (
    format_differences,
    group_difference,
    input_subject,
    same_value,
    setting_differences,
    wiring_differences,
)
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Bundle, Const, GraphRef
from workbench.graph_files.ge.fields import OpAttrs
from workbench.graph_files.onnx.dialect import OUTPUTS

EXACT = 0.0


@pytest.mark.parametrize(
    ("a", "b", "tolerance", "same"),
    [
        (1, 1, EXACT, True),
        (1, 2, 1.0, False),  # whole numbers have no rounding
        (True, 1, EXACT, True),
        (1, 1.0, EXACT, True),
        (1e-5, 1.0000001e-5, EXACT, True),
        (1e-5, 1.001e-5, EXACT, False),
        (1e-5, 1.001e-5, 0.01, True),
        (0.0, 1e-30, 0.5, False),
        (math.inf, math.inf, EXACT, True),
        (math.inf, -math.inf, EXACT, False),
        (math.nan, math.nan, EXACT, True),  # the same setting, whatever it does
        (math.nan, 1.0, EXACT, False),
        ("SAME", "same", EXACT, True),
        ("same", "pad", EXACT, False),
        ("valid", 2, EXACT, True),  # two dialects of one setting: no evidence
        ((1, 2), (1, 2), EXACT, True),
        ((1, 2), (1, 2, 3), EXACT, False),
        ((1.0, (2.0,)), (1.0, (2.001,)), 0.01, True),
        ((1, 2), [1, 2], EXACT, True),
        ([[0.1, 0.2]], [[0.1, 0.20001]], 0.01, True),
        ([[0.1, 0.2]], [[0.1, 0.3]], 0.01, False),
        (None, None, EXACT, True),
        (None, 1, EXACT, False),
        ("...", "same", EXACT, True),  # the graph does not know it
        ("...", "[...]", EXACT, True),
        ((1, "..."), (1, "pad"), EXACT, True),
        ((1, "..."), (2, "pad"), EXACT, False),
        ("Float", "Float16", EXACT, True),  # it does not know the bits
        ("Float", "BF16", EXACT, True),
        ("Int", "I32", EXACT, True),
        ("F16", "Float16", EXACT, True),
        ("Float", "Int32", EXACT, False),
        ("Int", "UInt8", EXACT, False),
        ("Float16", "Float32", EXACT, False),
        ("BFloat16", "Float16", EXACT, False),
        ("Float", "Floor", EXACT, False),
    ],
)
def test_settings_are_the_same_when_they_mean_the_same(a, b, tolerance, same):
    assert same_value(a, b, tolerance) is same
    assert same_value(b, a, tolerance) is same


def op(op_type="Conv2D", *inputs, **attrs):
    net = Net()
    net.op(op_type, net.feed("x"), *inputs, attrs=attrs)
    return net.ops[0]


def test_words_come_before_numbers_and_both_values_are_told():
    ours = op(pad_mode="pad", pad=(1, 1), stride=2)
    theirs = op(pad_mode="same", pad=(0, 0), stride=2)
    assert [(d.kind, d.subject) for d in setting_differences(ours, theirs, EXACT)] == [
        ("attribute", "pad_mode"),
        ("attribute", "pad"),
    ]
    first = setting_differences(ours, theirs, EXACT)[0]
    check_said(first.said, "compare/setting", name="pad_mode", target="'pad'", golden="'same'")
    assert first.values == ("'pad'", "'same'")


def test_a_setting_that_only_one_side_has_is_no_difference():
    assert setting_differences(op(a=1), op(b=2), EXACT) == []


def test_attributes_of_the_compiler_are_no_settings():
    assert setting_differences(op(checkpoint=True, T="x"), op(checkpoint=False, T="y"), EXACT) == []


def test_what_ge_notes_beside_the_attributes_is_no_setting():
    """Numbers, edges and descriptors are other members of an ``OpDef``; ``_`` marks its private attributes."""

    def of_ge(number, **attrs):
        fields = {"id": number, "input": (f"x{number}:0",), "output_desc": ({"dtype": number},)}
        return replace(op(), attrs=OpAttrs({**fields, "attr": attrs}))

    ours, theirs = of_ge(1, group=1, _kernel="a"), of_ge(2, group=1, _kernel="b")
    assert setting_differences(ours, theirs, EXACT) == []
    found = setting_differences(ours, of_ge(2, group=4, id="x"), EXACT)
    assert [d.subject for d in found] == ["group"]


def test_of_two_nodes_of_onnx_numbers_and_texts_are_compared():
    """Names of outputs, tensors and graphs are others in every export of one network."""

    def node(name, **attrs):
        return op("Conv", **attrs, **{OUTPUTS: (name,)})

    ours = node("a", strides=(2, 2), mode="x", body=GraphRef("loop_0_body"))
    theirs = node("b", strides=(1, 1), mode="x", body=GraphRef("other_0_body"))
    found = setting_differences(ours, theirs, EXACT)
    assert [(one.kind, one.subject) for one in found] == [("attribute", "strides")]


def test_a_node_of_onnx_and_an_operator_of_a_device_have_no_setting_in_common():
    """GE's strides are those of four dimensions, ONNX's of two."""
    node = op("Conv", strides=(2, 2), **{OUTPUTS: ("a",)})
    kernel = op(strides=(1, 1, 2, 2))
    assert setting_differences(kernel, node, EXACT) == []
    assert setting_differences(node, kernel, EXACT) == []


def test_a_number_format_that_one_side_does_not_state_is_no_difference():
    stated = op()
    unknown = replace(stated, outputs=(TensorSpec("", None),))
    assert list(format_differences(stated, unknown)) == []
    half = replace(stated, outputs=(TensorSpec("float16", None),))
    (said,) = format_differences(stated, half)
    assert (said.values["target"], said.values["golden"]) == ("float32", "float16")


def test_an_attribute_and_a_constant_argument_of_one_name_are_compared():
    """2.0 prints ``transpose_b`` as an attribute, 2.10 passes it as an argument."""
    weight, no = Const(0.5, "float32", (2, 2)), Const(False, "bool")
    new = op("MatMul", weight, no, Const(True, "bool"))
    old = op("MatMul", weight, transpose_a=False, transpose_b=False)
    assert [d.subject for d in setting_differences(new, old, EXACT)] == ["transpose_b"]


def test_long_values_are_cut():
    (difference,) = setting_differences(op(x=tuple(range(99))), op(x=(1,)), EXACT)
    assert difference.values[0][-1] == "…"
    assert len(difference.values[0]) < 60


def test_the_subject_of_an_input_is_what_was_given_not_what_was_produced():
    net = Net()
    x, w = net.feed("x"), net.weight("fc.weight")
    value = net.op("Tanh", x)
    table = Const([[1.0, 2.0]], "float32", (1, 2))
    net.op("Concat", Bundle((value, x, w)), Const(1, "int64"), table)
    graph = net.graph()
    found = [input_subject(graph.ops[1], graph, slot) for slot in range(6)]
    assert found == [
        None, ("input", "x"), ("parameter", "fc.weight"), ("attribute", "axis"),
        ("constant", "input.4"), None,
    ]  # fmt: skip


@pytest.mark.parametrize(("size", "kind"), [(1, "attribute"), (64, "constant")])
def test_a_constant_that_the_graph_knows_nothing_of_is_named_by_its_size(size, kind):
    net = Net()
    net.op("LayerNorm", net.feed("x"), Const("..."))
    assert input_subject(net.ops[0], net.graph(), 1, size) == (kind, "gamma")


def swapped(first: int, second: int, op_type="Sub"):
    """``a op b`` or ``b op a``."""
    net = Net()
    values = net.op("Tanh", net.feed("x")), net.op("Exp", net.feed("y"))
    net.op(op_type, values[first], values[second])
    return net.graph()


def test_swapped_inputs_are_told_with_both_sources():
    found = align(swapped(1, 0), swapped(0, 1))
    first, _ = (d.said for d in wiring_differences(found, 2))
    ours, theirs = "Default/Exp-op0:0", "Default/Tanh-op0:0"
    check_said(first, "compare/wiring", slot=0, target=ours, golden=theirs)
    assert [d.subject for d in wiring_differences(found, 2, 1)] == ["input.1"]


def test_operators_that_commute_may_be_swapped():
    found = align(swapped(1, 0, "Add"), swapped(0, 1, "Add"))
    assert list(wiring_differences(found, 2)) == []
    assert found.input_order(2) == {0: 1, 1: 0}


def middle(*types):
    net = Net()
    value = net.op("Tanh", net.feed("x"))
    for op_type in types:
        value = net.op(op_type, value)
    net.op("Softmax", value)
    return net.graph()


@pytest.mark.parametrize(
    ("ours", "theirs", "subject", "code"),
    [
        (("Exp",), (), "Exp", "compare/inserted"),
        ((), ("Exp",), "Exp", "compare/removed"),
        (("Exp",), ("Neg",), "Exp", "compare/replaced"),
        (("Exp",) * 6, ("Neg",), "Exp+Exp+Exp+Exp", "compare/replaced"),
    ],
)
def test_a_group_says_which_side_has_what(ours, theirs, subject, code):
    found = align(middle(*ours), middle(*theirs))
    (group,) = found.groups
    difference = group_difference(group, found)
    assert (difference.kind, difference.subject) == ("structure", subject)
    names = {
        side: tuple(f"{op} (Default/{op}-op{n})" for n, op in enumerate(ops))
        for side, ops in (("target", ours), ("golden", theirs))
        if ops
    }
    check_said(difference.said, code, **names)
