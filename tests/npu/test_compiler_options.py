"""Options of the graph engine's compiler in a file: what is read, what is refused, and what a run makes of them."""

import json

import numpy as np
import pytest

import workbench as wb
from kit.build.onnx_models import offline_model
from kit.commands import run
from kit.words import refused
from workbench.core.errors import FormatError
from workbench.npu.precision.options import read_compiler_options

KEEP = "conv1_Conv\nOpType::SoftmaxV2\n"
SWITCHES = json.dumps({"Switch": {"GraphFusion": {"ALL": "off"}, "UBFusion": {"ALL": "off"}}})

SPELLINGS = {
    "a line each": "precision_mode=force_fp16\nkeep_dtype=keep.cfg\n",
    "as on a command line": "--precision_mode=force_fp16 --keep_dtype=keep.cfg",
    "a pasted command": "atc --precision_mode=force_fp16 \\\n  --keep_dtype='keep.cfg'  # kept\n",
    "an object": '{"ge.exec.precision_mode": "force_fp16", "ge.keep_dtype": "keep.cfg"}',
}


@pytest.fixture
def place(tmp_path):
    (tmp_path / "keep.cfg").write_text(KEEP)
    (tmp_path / "off.json").write_text(SWITCHES)
    return tmp_path


def saved(place, text):
    (place / "options").write_text(text)
    return place / "options"


@pytest.mark.parametrize("text", SPELLINGS.values(), ids=SPELLINGS)
def test_options_are_read_as_a_command_line_lines_or_an_object(place, text):
    found = read_compiler_options(saved(place, text))
    assert (found.precision.mode, found.fusion, found.others) == ("force_fp16", "on", ())
    assert (found.precision.kept.names, found.precision.kept.types) == ({"conv1_Conv"}, {"Softmax"})


def test_what_says_nothing_of_numbers_is_named(place):
    found = read_compiler_options(
        saved(place, "--model=net.onnx --fusion_switch_file=off.json --log=info")
    )
    assert (found.others, found.fusion) == (("model", "log"), str(place / "off.json"))


@pytest.mark.parametrize(
    ("text", "code", "values"),
    [
        ("precision_mode", "run/option-line", {"got": "precision_mode"}),
        ("a=1\n--=1", "run/option-line", {"got": "--=1"}),
        ("--precision_mode=a --precision_mode=b", "run/option-twice", {"name": "precision_mode"}),
        ("keep_dtype='a", "run/option-quotes", {}),
        ('{"a": 1', "run/options-json", {}),
        ('{"a": true}', "run/option-value", {"name": "a", "got": True}),
        ('{"a": {}}', "run/option-value", {"got": {}}),
        ("keep_dtype=none.cfg", "core/missing", {}),
        ("allow_hf32=yes", "core/choice", {"subject": "allow_hf32"}),
    ],
)
def test_what_is_no_option_is_refused(place, text, code, values):
    with refused(code, **values):
        read_compiler_options(saved(place, text))


def test_a_file_that_is_too_large_is_refused(place):
    with refused("core/too-large", FormatError):
        read_compiler_options(saved(place, "#" * (1 << 20) + "\n"))


# --- what a run makes of them --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    place = tmp_path_factory.mktemp("options")
    (place / "net.onnx").write_bytes(offline_model().SerializeToString())
    x = np.random.default_rng(1).standard_normal((1, 3, 16, 16)).astype(np.float32)
    wb.golden(place / "net.onnx", {"x": x}, place / "golden", engine="reference")
    return place


def simulated(capsys, model, out, options, *more):
    form = out.with_name("acl.json")
    form.write_text(run(capsys, "config", "new", "acl")[1])
    asked = ("simulate", "--graph", model / "net.onnx", "--config", form, "--out", out)
    fed = ("--input", f"x={model}/golden/inputs/x.npy", "--device", "a2")
    return run(capsys, *asked, *fed, "--ge-options", options, *more)


def dtypes(tree):
    records = wb.load(tree).records
    return {one.key.op_name: one.spec.dtype for one in records if one.key.io == "output"}


def test_kept_operators_stay_in_float32_and_a_clean_run_accuses_nobody(capsys, model, place):
    options = saved(place, "--precision_mode=force_fp16 --keep_dtype=keep.cfg --log=info")
    (place / "keep.cfg").write_text(KEEP + "no/such\n")
    status, _, said = simulated(capsys, model, place / "tree", options)
    assert status == 0
    what, first, second = said.splitlines()
    assert what.startswith("simulating acl")
    assert first == f"{options}: no effect in the simulation: log"
    assert second == "options of the compiler name operators that are not in the network: no/such"
    found = dtypes(place / "tree")
    assert (found["conv1_Conv"], found["soft_0"], found["fc"]) == ("float32", "float32", "float16")
    result = wb.compare(place / "tree", model / "golden", golden_graph=model / "net.onnx")
    assert [one.kind for one in result.findings if one.defect] == []
    assert result.coverage.gaps == {}


def test_chosen_formats_count_before_kept_ones_and_the_mode(capsys, model, place):
    (place / "custom.cfg").write_text("OpType::MatMul:InputDtype:float16,OutputDtype:float32\n")
    text = "precision_mode=must_keep_origin_dtype\ncustomize_dtypes=custom.cfg\n"
    assert simulated(capsys, model, place / "tree", saved(place, text))[0] == 0
    read = {
        (one.key.op_name, one.key.io): one.spec.dtype
        for one in wb.load(place / "tree").records
        if one.key.slot == 0
    }
    assert (read["fc", "input"], read["fc", "output"]) == ("float16", "float32")
    assert read["gap", "output"] == "float32"


def test_without_a_mode_an_offline_model_is_compiled_for_inference(capsys, model, place):
    """As without the file: float16, but for what it keeps."""
    assert simulated(capsys, model, place / "tree", saved(place, "keep_dtype=keep.cfg"))[0] == 0
    found = dtypes(place / "tree")
    assert (found["fc"], found["gap"], found["soft_0"]) == ("float16", "float16", "float32")


def test_fusions_are_switched_by_the_file_that_it_names(capsys, model, place):
    options = saved(place, "fusion_switch_file=off.json")
    assert simulated(capsys, model, place / "tree", options)[0] == 0
    assert {"conv1_Conv", "relu_Relu"} <= dtypes(place / "tree").keys()


@pytest.mark.parametrize("more", [("--precision-mode", "fp16"), ("--fusion", "off")], ids=str)
def test_what_an_option_says_besides_is_refused(capsys, model, place, more):
    options = saved(place, "precision_mode=force_fp16\nfusion_switch_file=off.json")
    status, _, said = simulated(capsys, model, place / "tree", options, *more)
    assert (status, said) == (2, f"error: {more[0]} is also set in {options}\n")


def test_a_preview_names_the_kernels_that_the_options_make(capsys, model, place):
    options = saved(place, "fusion_switch_file=off.json")
    assert simulated(capsys, model, place / "tree", options)[0] == 0
    form, graph = place / "acl.json", model / "net.onnx"
    asked = ("config", "preview", form, "--graph", graph, "--device", "a2", "--ge-options", options)
    told = json.loads(run(capsys, *asked, "--json")[1])
    assert {"conv1_Conv", "relu_Relu"} <= {*told["matched"]["operators"]}
