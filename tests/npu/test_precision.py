"""What a run asks of the compiler: options as text, and which of them wins."""

import json
from dataclasses import replace

import pytest

from kit.words import refused
from workbench.core.errors import FormatError, GraphError
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import ORIGINAL_NAMES, ORIGINAL_TYPES
from workbench.network.nn import functional as F
from workbench.network.tracer import trace
from workbench.npu.precision import IMPLEMENTATIONS, Precision, read_precision
from workbench.npu.precision.lists import read_mixlist

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
    with refused(("run/mixlist-twice", "run/mixlist-removed"), FormatError, type="Exp"):
        mixlist(**lists)


@pytest.mark.parametrize(
    ("text", "code", "values"),
    [
        ("[1", "run/mixlist-json", {}),
        ("[]", "run/mixlist-object", {"got": []}),
        ('{"red-list": {}}', "core/choice", {"subject": "key", "got": "red-list"}),
        ('{"black-list": {"add": []}}', "core/choice", {"got": "add", "known": ["to-add", "to-remove"]}),
        ('{"black-list": []}', "run/mixlist-object", {"place": "modify_mixlist: black-list", "got": []}),
        ('{"black-list": {"to-add": "Exp"}}', "run/mixlist-array", {"place": "modify_mixlist: to-add"}),
        ('{"black-list": {"to-add": [1]}}', "run/mixlist-type", {"got": 1}),
        ("[" * 100_000, "run/mixlist-json", {}),
    ],
)  # fmt: skip
def test_a_list_that_is_none_is_refused(text, code, values):
    with refused(code, FormatError, **{"place": "modify_mixlist", **values}):
        read_mixlist(text)


@pytest.mark.parametrize(
    ("options", "code", "values"),
    [
        ({"op_precision_mode": "Exp"}, "run/implementation-line", {"place": "op_precision_mode:1", "got": "Exp"}),
        ({"op_precision_mode": "[ByOpType]\nExp=fast"}, "core/choice", {"place": "op_precision_mode:2", "got": "fast"}),
        ({"allow_hf32": "yes"}, "core/choice", {"subject": "allow_hf32", "got": "yes"}),
        ({"op_select_implmode": "slow"}, "core/choice", {"subject": "op_select_implmode", "got": "slow"}),
    ],
)  # fmt: skip
def test_options_that_are_none_are_refused(options, code, values):
    with refused(code, **values):
        read_precision(options)


def test_an_unknown_implementation_is_refused():
    with refused("core/choice", GraphError, place="Exp", got="fast", known=IMPLEMENTATIONS):
        Precision(by_type={"Exp": "fast"})
    assert all(Precision(by_type={"Exp": name}).by_type for name in IMPLEMENTATIONS)


# --- lists of names and types -----------------------------------------------------------------------

PARTS = {ORIGINAL_NAMES: ("conv1", "relu1"), ORIGINAL_TYPES: ("Conv2D", "ReLU")}
FUSED = replace(CONV, name="conv1relu1", attrs=PARTS)


@pytest.mark.parametrize(
    ("text", "op", "kept"),
    [
        ("", CONV, False),
        (f"# the first\n\n  {CONV.name}  \n", CONV, True),
        (CONV.name, EXP, False),
        ("OpType::Conv2D", CONV, True),
        ("OpType::Conv2D", EXP, False),
        ("OpType::MatMulV2", MATMUL, True),  # the graph engine's name of it
        ("conv1", FUSED, True),
        ("relu1", FUSED, True),
        ("OpType::Relu", FUSED, True),
        ("conv1relu1", FUSED, False),  # a name of the compiler, not of the model
    ],
)
def test_operators_keep_their_formats_by_name_or_type(text, op, kept):
    assert read_precision({"keep_dtype": text}).kept.has(op) is kept


@pytest.mark.parametrize(
    ("text", "op", "formats"),
    [
        ("OpType::Conv2D:InputDtype:float16,float16,OutputDtype:float32", CONV, ("float16", "")),
        ("OpType::Conv2D:InputDtype:float16,OutputDtype:bfloat16", CONV, ("float16", "bfloat16")),
        ("OpType::Conv2D:OutputDtype:float16", CONV, ("", "float16")),
        (f"{CONV.name}::InputDtype:bfloat16", CONV, ("bfloat16", "")),
        (f"OpType::Conv2D:InputDtype:float16\n{CONV.name}::InputDtype:float32", CONV, ("", "")),
        ("F0::conv::InputDtype:float16", replace(CONV, name="F0::conv"), ("float16", "")),
        ("OpType::Conv2D:InputDtype:float16", EXP, None),
        ("OpType::Conv2D:InputDtype:float16", FUSED, None),  # as the guide says of what was fused
    ],
)
def test_operators_have_chosen_formats_by_name_or_type(text, op, formats):
    assert read_precision({"customize_dtypes": text}).chosen.formats(op) == formats


@pytest.mark.parametrize(
    ("options", "code", "values"),
    [
        ({"keep_dtype": "a\nOpType::relu"}, "run/kept-type", {"place": "keep_dtype:2", "got": "relu"}),
        ({"keep_dtype": "OpType::"}, "run/kept-type", {"got": ""}),
        ({"customize_dtypes": "conv1"}, "run/custom-line", {"place": "customize_dtypes:1", "got": "conv1"}),
        ({"customize_dtypes": "conv1::InputDtype:"}, "run/custom-line", {}),
        ({"customize_dtypes": "conv1::InputDtype:int8"}, "core/choice", {"subject": "dtype", "got": "int8"}),
        ({"customize_dtypes": "c::InputDtype:float16,float32"}, "run/custom-several", {"got": ["float16", "float32"]}),
        ({"customize_dtypes": "OpType::c:OutputDtype:float16"}, "run/kept-type", {"got": "c"}),
    ],
)  # fmt: skip
def test_lines_that_name_no_operator_or_format_are_refused(options, code, values):
    with refused(code, FormatError, **values):
        read_precision(options)
