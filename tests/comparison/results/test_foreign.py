"""Column tables and names against the tools' own titles; statuses against what a row really says."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.comparison.results.tables.layouts import LAYOUTS, recognize_layout, unique_titles
from workbench.comparison.results.tables.names import parse_tensor
from workbench.comparison.results.tables.rows import figure, read_row
from workbench.core.words import Message
from workbench.graph.graph import SourceFrame

BY_KIND = {(row.tool, row.kind): row for row in LAYOUTS}
REAL = BY_KIND["msprobe", "real data"]
ACCU = BY_KIND["msaccucmp", "operators"]
PAIR = {"NPU Name": "Torch.add.0.forward.output.0", "Bench Name": "Torch.add.0.forward.output.0"}
OPS = {"NPUDump": "a", "GroundTruth": "a", "TensorIndex": "a:output:0", "CompareFailReason": ""}


@pytest.mark.parametrize(
    ("titles", "kind"),
    [
        ("NPU Name,Bench Name,NPU Dtype,Bench Dtype,Cosine,MaxAbsErr,Result", "real data"),
        ("NPU Name,Bench Name,Max diff,MaxRelativeErr,Result", "statistics"),
        ("NPU Name,Bench Name,NPU MD5,BENCH MD5,Result", "digests"),
        ("token_id,data_id,golden_data_path,my_data_path,cosine_similarity", "torchair"),
        ("Index,OpType,NPUDump,GroundTruth,TensorIndex,Shape,CompareFailReason", "operators"),
        ("Index,NPUDump,NPUDumpPath,GroundTruthPath,DataType,Shape,CompareFailReason", "PyTorch"),
        ("Index,OpType,NPUDump,GroundTruth,TensorIndex,NPUDumpPath,GroundTruthPath", "mapping"),
    ],
)
def test_a_table_is_recognised_by_its_titles(titles, kind):
    assert recognize_layout(unique_titles(titles.split(","))).kind == kind


@pytest.mark.parametrize("titles", ["", "a,b", "NPU Name,Bench Name", "Index,NPUDump,GroundTruth"])
def test_other_tables_are_of_no_kind(titles):
    assert recognize_layout(titles.split(",")) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Functional.conv2d.0.forward.input.0", ("Functional.conv2d.0.forward", "conv2d", "input", 0)),
        ("Torch.add.12.backward.output.3", ("Torch.add.12.backward", "add", "output", 3)),
        ("Torch.cat.0.forward.input.0.1", ("Torch.cat.0.forward", "cat", "input.0", 1)),
        ("Torch.f.0.forward.input.input", ("Torch.f.0.forward", "f", "input.input", 0)),
        ("Module.input.fc.Linear.forward.0.input.0",
         ("Module.input.fc.Linear.forward.0", "Linear", "input", 0)),
        ("Cell.net.Dense.backward.1.parameters.weight",
         ("Cell.net.Dense.backward.1", "Dense", "parameters.weight", 0)),
        ("Module.fc.Linear.parameters_grad.weight",
         ("Module.fc.Linear", "Linear", "parameters_grad.weight", 0)),
        ("Default_net_Add-op1.0.input.1", ("Default_net_Add-op1", "", "input", 1)),
        ("Default/net/Add-op1.3.output.0", ("Default/net/Add-op1", "", "output", 0)),
        ("loss", ("loss", "", "", 0)),
        ("", ("", "", "", 0)),
    ],
)  # fmt: skip
def test_names_are_split_in_every_form(text, expected):
    assert parse_tensor(text) == (*expected, "")


def test_files_say_which_tensor_they_hold():
    file = "/d/Add.Default_net_Add-op1.0.0.1700000000000001.output.2.DefaultFormat.float32.npy"
    assert parse_tensor(file) == ("Default_net_Add-op1", "Add", "output", 2, file)
    file = "/d/Add.add_1.12.3.1700000000000001.input.1.npy"
    assert parse_tensor(file) == ("add_1", "Add", "input", 1, file)
    assert parse_tensor("/d/3141592653.npy") == ("3141592653", "", "", 0, "/d/3141592653.npy")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.5", 1.5), (" -2e-3 ", -0.002), ("nan\t", math.nan), (" inf", math.inf), ("-inf", -math.inf),
        ("Nan", math.nan), ("50.0%", 0.5), (".5", 0.5), ("7", 7.0), ("1e400", math.inf),
        ("N/A", None), ("unsupported", None), ("", None), ("shape unmatched", None), ("1_000", None),
        ("0x10", None), ("١", None), ("%", None), ("1 2", None), ("9" * 5000, None), ("True", 1.0), ("false ", 0.0),
    ],
)  # fmt: skip
def test_figures_are_numbers_and_words_are_none(text, value):
    found = figure(text)
    assert (found is None) == (value is None)
    assert found == pytest.approx(value, nan_ok=True)


def odd(figure):
    """The reason of a row with a figure that is NaN."""
    return Message("compare/tool-nan", figures=(figure,))


@pytest.mark.parametrize(
    ("cells", "status", "reason"),
    [
        ({"Result": "pass", "MaxAbsErr": "0.1"}, "pass", ""),
        ({"Result": "warning", "MaxAbsErr": "0.1"}, "warn", ""),
        ({"Result": "error", "MaxAbsErr": "N/A"}, "fail", ""),
        ({"Result": "pass", "MaxAbsErr": "N/A"}, "uncomparable", Message("compare/tool-cells", cells=("N/A",))),
        ({"Result": "pass", "Cosine": "unsupported", "MaxAbsErr": "0"}, "pass", ""),
        ({"Result": "pass", "Cosine": "nan", "MaxAbsErr": "0"}, "uncomparable", odd("Cosine")),
        ({"Result": "pass"}, "uncomparable", Message("compare/tool-unmeasured")),
        ({"Result": "who knows", "MaxAbsErr": "1"}, "uncomparable", Message("compare/tool-silent", tool="msprobe")),
        ({"Accuracy Reached or Not": "Yes", "MaxAbsErr": "1"}, "pass", ""),
        ({"Accuracy Reached or Not": "No", "MaxAbsErr": "1"}, "fail", ""),
        ({"Accuracy Reached or Not": "Unmatched", "Err_message": "x"}, "uncomparable", "x"),
        ({"Accuracy Reached or Not": "", "Err_message": "skipped"}, "uncomparable", "skipped"),
        ({"Result": "pass", "MaxAbsErr": "1", "Bench Name": "N/A"}, "uncomparable", Message("compare/tool-unmatched")),
        ({"Result": "pass", "MaxAbsErr": "1", "Err_message": '["a", "b\\nc"]'}, "pass", "a; b c"),
    ],
)  # fmt: skip
def test_the_tools_verdict_counts_unless_nothing_was_measured(cells, status, reason):
    row = read_row(REAL, PAIR | cells)
    assert (row.status, row.reason) == (status, reason)


def beyond(limit, got):
    """The reason of a row that breaks one threshold."""
    limits = (Message("compare/tool-limit", limit=limit, got=got),)
    return Message("compare/tool-limits", limits=limits)


@pytest.mark.parametrize(
    ("cells", "status", "reason"),
    [
        ({"CosineSimilarity": "1.0", "RelativeEuclideanDistance": "0.05"}, "pass", ""),
        ({"CosineSimilarity": "0.98"}, "fail", beyond("CosineSimilarity ≥ 0.99", 0.98)),
        ({"RelativeEuclideanDistance": "0.06"}, "fail", beyond("RelativeEuclideanDistance ≤ 0.05", 0.06)),
        ({"KullbackLeiblerDivergence": "inf"}, "fail", beyond("KullbackLeiblerDivergence ≤ 0.005", math.inf)),
        ({"CosineSimilarity": "NaN", "MeanRelativeError": "0"}, "uncomparable", odd("CosineSimilarity")),
        ({"CosineSimilarity": "0.5", "IsPrecisionError": "NO"}, "pass", ""),
        ({"CosineSimilarity": "1", "IsPrecisionError": "YES"}, "fail", ""),
        ({"CosineSimilarity": "NaN", "IsPrecisionError": "NO"}, "uncomparable", odd("CosineSimilarity")),
    ],
)  # fmt: skip
def test_rows_without_a_verdict_are_judged_by_thresholds(cells, status, reason):
    row = read_row(ACCU, OPS | cells)
    assert (row.status, row.reason) == (status, reason)


@pytest.mark.parametrize(
    ("cells", "error"),
    [
        ({"EucDist": "2", "Bench l2norm": "4"}, 0.5),
        ({"EucDist": "0", "Bench l2norm": "0"}, 0.0),
        ({"EucDist": "1", "Bench l2norm": "0"}, math.inf),
        ({"EucDist": "nan", "Bench l2norm": "4"}, math.nan),
        ({"MaxAbsErr": "1", "Bench max": "3", "Bench min": "-4"}, 0.25),
        ({"EucDist": "2", "Bench l2norm": "inf", "MaxAbsErr": "1", "Bench max": "2", "Bench min": "0"}, 0.5),
        ({"NPU max": "3", "Bench max": "2", "NPU min": "1", "Bench min": "1"}, 0.5),
        ({"NPU max": "nan", "Bench max": "2"}, math.nan),
        ({"MaxAbsErr": "1"}, None),
    ],
)  # fmt: skip
def test_errors_come_from_the_best_figure_there_is(cells, error):
    found = read_row(REAL, PAIR | {"Result": "error"} | cells).error
    assert (found is None) == (error is None)
    assert found == pytest.approx(error, nan_ok=True)


def test_a_blank_beside_a_number_is_the_nan_that_pandas_left_out():
    cells = {"NPU max": "", "Bench max": "2", "NPU min": "N/A", "Bench min": "1", "Result": "error"}
    row = read_row(REAL, PAIR | cells)
    assert math.isnan(row.metrics.pop("NPU max"))
    assert row.metrics == {"Bench max": 2.0, "Bench min": 1.0}
    assert math.isnan(row.error)
    assert "NPU max" not in read_row(REAL, PAIR | cells | {"Bench Name": "N/A"}).metrics


def test_unknown_numbers_are_kept_and_identities_are_not():
    cells = PAIR | {
        "my metric": "0.5", "NPU MD5": "123", "Address": "5", "Data_name": "7", "note": "text",
        "Result": "pass", "MaxAbsErr": "0", "": "3",
    }  # fmt: skip
    assert read_row(REAL, cells).metrics == {"my metric": 0.5, "MaxAbsErr": 0.0}


def test_means_and_deviations_are_taken_apart():
    row = read_row(ACCU, OPS | {"StandardDeviation": "(0.500;1.250),(-0.6;nan)"})
    assert {k: v for k, v in row.metrics.items() if v == v} == {
        "TargetMean": 0.5, "TargetStd": 1.25, "GoldenMean": -0.6,
    }  # fmt: skip
    assert math.isnan(row.metrics["GoldenStd"])


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("[2, 3]", (2, 3)), ("(2,3)", (2, 3)), ("(5,)", (5,)), ("[]", ()), ("torch.Size([4])", (4,)),
        ("", None), ("N/A", None), ("NaN", None), ("[N,a,N]", None), ("[1,,2]", None), ("[-1]", None),
    ],
)  # fmt: skip
def test_shapes_in_every_spelling(text, shape):
    assert read_row(REAL, PAIR | {"NPU Tensor Shape": text}).target_spec.shape == shape


@pytest.mark.parametrize(
    ("text", "dtype"),
    [("torch.float16", "float16"), ("Float32", "float32"), ("BFloat16", "bfloat16"), ("N/A", ""),
     ("<class 'int'>", "<class 'int'>"), ("torch.odd", "torch.odd")],
)  # fmt: skip
def test_dtypes_in_every_spelling(text, dtype):
    assert read_row(REAL, PAIR | {"NPU Dtype": text}).target_spec.dtype == dtype


def test_the_source_is_the_innermost_line_of_ones_own():
    stack = (
        "['File /env/lib/python3.11/site-packages/torch/nn/x.py, line 1, in forward, \\n f() \\n', "
        "'File /me/net.py, line 42, in forward, \\n y = self.fc(x, 1) \\n', "
        "'File /me/train.py, line 7, in main, \\n net(x) \\n']"
    )
    row = read_row(REAL, PAIR | {"NPU_Stack_Info": stack})
    assert row.source == SourceFrame("/me/net.py", 42, "y = self.fc(x, 1)")
    assert read_row(REAL, PAIR | {"NPU_Stack_Info": "None"}).source is None


def test_tensors_of_one_side_have_no_partner():
    target = read_row(ACCU, OPS | {"GroundTruth": "*"})
    assert (target.op_name, target.golden_op_name, target.match_rule) == ("a", "", "")
    assert (target.target_spec is None, target.golden_spec is None) == (False, True)
    golden = read_row(ACCU, OPS | {"NPUDump": "*"})
    assert (golden.op_name, golden.golden_op_name, golden.status) == ("", "a", "uncomparable")


TEXTS = st.text(max_size=60) | st.sampled_from(("N/A", "nan", "*", "[", "[1", "(", "inf%", '["a"]'))


@given(st.sampled_from(LAYOUTS), st.data())
def test_no_text_in_a_cell_makes_a_row_fail(layout, data):
    titles = [
        *layout.columns.values(),
        *layout.measures,
        "Result",
        "IsPrecisionError",
        "NPU max",
        "x",
    ]
    cells = data.draw(st.fixed_dictionaries(dict.fromkeys(titles, TEXTS)))
    row = read_row(layout, cells)
    assert row.status in ("pass", "warn", "fail", "uncomparable")
    assert row.status == "uncomparable" or row.match_rule == layout.tool
