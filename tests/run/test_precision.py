"""What a run asks of the compiler: options as text, and which of them wins."""

import json

import pytest

from workbench.core.errors import FormatError, GraphError
from workbench.core.tensors import TensorSpec
from workbench.graph import functional as F
from workbench.graph.tracer import trace
from workbench.run.precision import IMPLEMENTATIONS, Precision, read_mixlist, read_precision

IMAGE, KERNEL = TensorSpec("float32", (1, 2, 5, 5)), TensorSpec("float32", (3, 2, 3, 3))
GRAPH = trace(lambda x, w: F.exp(F.conv2d(x, w)), IMAGE, KERNEL)
CONV, EXP = GRAPH.ops
SQUARE = TensorSpec("float32", (2, 2))
(MATMUL,) = trace(F.matmul, SQUARE, SQUARE).ops


def test_nothing_said_is_the_engines_default():
    nothing = read_precision({})
    assert nothing == Precision()
    assert nothing.implementation(EXP) == "high_performance"
    assert (nothing.uses_hf32(CONV), nothing.uses_hf32(MATMUL)) == (True, False)


def test_the_first_version_of_the_mode_is_read_first():
    both = {"precision_mode": "force_fp32", "precision_mode_v2": "fp16"}
    assert read_precision(both).mode == "force_fp32"
    assert read_precision({"precision_mode_v2": "fp16"}).mode == "fp16"
    assert read_precision({"graph_run_mode": "0"}).training is False


INI = f"""# by hand
[ByOpType]
Exp = high_precision
Exp = super_performance
[ByNodeName]
{CONV.name}=enable_float_32_execution
"""


def test_op_precision_mode_is_read_by_type_and_by_name():
    precision = read_precision({"op_precision_mode": INI, "op_select_implmode": "high_performance"})
    assert precision.by_type == {"Exp": "high_precision"}  # a name's first line counts
    assert precision.by_name == {CONV.name: "enable_float_32_execution"}
    assert precision.implementation(EXP) == "high_precision"
    assert precision.implementation(MATMUL) == "high_performance"


def test_the_name_wins_over_the_type():
    by_name = Precision(by_name={EXP.name: "high_precision"}, by_type={"Exp": "keep_fp16"})
    assert by_name.implementation(EXP) == "high_precision"


@pytest.mark.parametrize(
    ("options", "want"),
    [
        ({"op_select_implmode": "high_precision"}, "high_precision"),
        ({"op_select_implmode": "high_precision_for_all"}, "high_precision"),
        ({"op_select_implmode": "high_precision", "optypelist_for_implmode": "Tanh, Exp"},
         "high_precision"),
        ({"op_select_implmode": "high_precision", "optypelist_for_implmode": "Tanh"},
         "high_performance"),
    ],
)  # fmt: skip
def test_op_select_implmode_is_for_all_types_or_those_of_its_list(options, want):
    assert read_precision(options).implementation(EXP) == want


@pytest.mark.parametrize(
    ("said", "conv", "matmul"),
    [("true", True, True), ("false", False, False), ("1", True, True), ("0", False, False),
     ("00", False, False), ("01", False, True), ("10", True, False), ("11", True, True)],
)  # fmt: skip
def test_allow_hf32_is_two_switches(said, conv, matmul):
    precision = read_precision({"allow_hf32": said})
    assert (precision.uses_hf32(CONV), precision.uses_hf32(MATMUL)) == (conv, matmul)


def test_hf32_by_name_wins_over_the_switch_and_the_switch_over_the_type():
    named = Precision(by_name={CONV.name: "enable_float_32_execution"}, hf32=(True, True))
    assert not named.uses_hf32(CONV)
    typed = {"Conv2D": "enable_float_32_execution", "MatMul": "enable_hi_float_32_execution"}
    assert Precision(by_type=typed, hf32=(False, True)).uses_hf32(CONV)
    alone = Precision(by_type=typed)
    assert (alone.uses_hf32(CONV), alone.uses_hf32(MATMUL)) == (False, True)


def mixlist(**lists):
    return read_mixlist(json.dumps({f"{name}-list": change for name, change in lists.items()}))


@pytest.mark.parametrize(
    ("lists", "op_type", "want"),
    [
        ({}, "MatMul", "white"),
        ({}, "Exp", "black"),
        ({}, "ReLU", "gray"),
        ({"black": {"to-add": ["MatMul"]}}, "MatMul", "black"),
        ({"white": {"to-remove": ["MatMul"]}}, "MatMul", "gray"),
        ({"white": {"to-remove": ["MatMul"]}, "black": {"to-add": ["MatMul"]}}, "MatMul", "black"),
        ({"black": {"to-remove": ["Exp"]}, "gray": {"to-add": ["Exp"]}}, "Exp", "gray"),
        ({"black": {"to-remove": ["ReLU"]}}, "ReLU", "gray"),  # it is not there: nothing happens
        ({"gray": {"to-add": ["Exp"]}}, "Exp", "black"),  # the engine takes nothing away for it
        ({"white": {"to-add": ["ReLU"]}}, "ReLU", "white"),
    ],
)
def test_lists_change_as_the_engine_changes_them(lists, op_type, want):
    assert mixlist(**lists).shade(op_type) == want


@pytest.mark.parametrize(
    "lists",
    [
        {"white": {"to-add": ["Exp"]}, "black": {"to-add": ["Exp"]}},
        {"white": {"to-remove": ["Exp"]}, "black": {"to-remove": ["Exp"]}},
        {"black": {"to-add": ["Exp"], "to-remove": ["Exp"]}},
        {"gray": {"to-remove": ["Exp"]}},
    ],
)
def test_changes_that_the_engine_refuses_are_refused(lists):
    with pytest.raises(FormatError, match="modify_mixlist: Exp must"):
        mixlist(**lists)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[1", "modify_mixlist: text must be JSON, got"),
        ("[]", "modify_mixlist: text must be JSON objects, got []"),
        ('{"red-list": {}}', "modify_mixlist: key must be one of ['white-list'"),
        ('{"black-list": {"add": []}}', "modify_mixlist: key must be one of ['to-add'"),
        ('{"black-list": []}', "modify_mixlist: black-list must be an object, got []"),
        ('{"black-list": {"to-add": "Exp"}}', "modify_mixlist: to-add must be an array"),
        ('{"black-list": {"to-add": [1]}}', "modify_mixlist: operator type must be text, got 1"),
        ("[" * 100_000, "modify_mixlist: text must be JSON"),
    ],
)
def test_a_list_that_is_none_is_refused(text, words):
    with pytest.raises(FormatError) as error:
        read_mixlist(text)
    assert str(error.value).startswith(words)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"op_precision_mode": "Exp"}, "op_precision_mode:1: line must be [ByOpType]"),
        ({"op_precision_mode": "[ByOpType]\nExp=fast"}, "op_precision_mode:2: mode must be one of"),
        ({"allow_hf32": "yes"}, "allow_hf32 must be one of ['00'"),
        ({"op_select_implmode": "slow"}, "op_select_implmode must be one of ['high_precision'"),
    ],
)
def test_options_that_are_none_are_refused(options, words):
    with pytest.raises((FormatError, GraphError)) as error:
        read_precision(options)
    assert str(error.value).startswith(words)


def test_an_unknown_implementation_is_refused():
    with pytest.raises(GraphError, match="implementation of Exp must be one of"):
        Precision(by_type={"Exp": "fast"})
    assert all(Precision(by_type={"Exp": name}).by_type for name in IMPLEMENTATIONS)
