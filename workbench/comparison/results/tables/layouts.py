"""Results of other tools: how their tables are recognised, and what their columns mean.

One `Layout` a kind of table; a table is of the first one all of whose ``needs`` it has. Columns that
no layout names are figures if they hold numbers, so a tool's newer or custom metrics are kept. Sources:
msprobe 26.2 ``const.py``, ``acc_compare.py``, ``ms_graph_compare.py``, ``torchair_cmp_utils.py`` and
mstt's ``const.py`` before it; msaccucmp ``const_manager.py``, ``compare_result.py``, ``compare_pytorch.py``;
msquickcmp ``cmp_process.py``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from workbench._values import NamedTuple
from workbench.comparison.measure.profiles import PROFILES, Limit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workbench.comparison.result import Status

ErrorWay = Literal["relative", "euclid", "largest", "statistics"]


class Layout(NamedTuple):
    """A kind of table.

    ``columns`` maps what a row is made of to titles. ``measures`` are the figures without which a
    pass means nothing. ``errors`` are the ways to a relative error, the best first (see
    `workbench.comparison.results.tables.rows`). ``thresholds`` judge rows for which the tool states no verdict.
    """

    tool: str
    kind: str
    needs: tuple[str, ...]
    columns: Mapping[str, str]
    measures: tuple[str, ...] = ()
    errors: tuple[ErrorWay, ...] = ()
    thresholds: tuple[Limit, ...] = ()
    judge: str = ""


_MSPROBE = {
    "target": "NPU Name",
    "golden": "Bench Name",
    "target_dtype": "NPU Dtype",
    "golden_dtype": "Bench Dtype",
    "target_shape": "NPU Tensor Shape",
    "golden_shape": "Bench Tensor Shape",
    "target_path": "NPU CSV File",
    "golden_path": "Bench CSV File",
    "reason": "Err_message",
    "stack": "NPU_Stack_Info",
}
_TORCHAIR = {
    "order": "data_id",
    "target": "my_data_path",
    "golden": "golden_data_path",
    "op_type": "my_op_type",
    "target_dtype": "my_dtype",
    "golden_dtype": "golden_dtype",
    "target_shape": "my_shape",
    "golden_shape": "golden_shape",
    "reason": "cmp_fail_reason",
}
_MSACCUCMP = {
    "order": "Index",
    "op_type": "OpType",
    "target": "NPUDump",
    "golden": "GroundTruth",
    "target_dtype": "DataType",
    "golden_dtype": "DataType.1",
    "tensor": "TensorIndex",
    "target_shape": "Shape",
    "target_path": "NPUDumpPath",
    "golden_path": "GroundTruthPath",
    "reason": "CompareFailReason",
}
_QUICK = (
    *(one for one in PROFILES["msaccucmp"].limits if isinstance(one, Limit)),
    Limit("KullbackLeiblerDivergence", high=0.005),
)
_DOCUMENTED = (
    Limit("cosine_similarity", low=0.99),
    Limit("max_relative_error", high=math.nextafter(0.01, 0.0)),
)
_BUILT_IN = (
    "CosineSimilarity",
    "MaxAbsoluteError",
    "AccumulatedRelativeError",
    "RelativeEuclideanDistance",
    "KullbackLeiblerDivergence",
    "MeanAbsoluteError",
    "RootMeanSquareError",
    "MaxRelativeError",
    "MeanRelativeError",
)
_DIFFERENCES = ("Max diff", "Min diff", "Mean diff", "L2norm diff")

LAYOUTS: tuple[Layout, ...] = (
    Layout(
        "msprobe",
        "real data",
        ("NPU Name", "Bench Name", "MaxAbsErr"),
        _MSPROBE,
        ("Cosine", "EucDist", "MaxAbsErr", "MaxRelativeErr"),
        ("euclid", "largest", "statistics"),
    ),
    Layout(
        "msprobe",
        "statistics",
        ("NPU Name", "Bench Name", "Max diff"),
        _MSPROBE,
        _DIFFERENCES,
        ("statistics",),
    ),
    Layout("msprobe", "digests", ("NPU Name", "Bench Name", "NPU MD5"), _MSPROBE),
    Layout(
        "msprobe",
        "torchair",
        ("my_data_path", "golden_data_path", "cosine_similarity"),
        _TORCHAIR,
        ("cosine_similarity", "max_relative_error"),
        ("relative",),
        _DOCUMENTED,
        "the thresholds of msprobe's documents",
    ),
    Layout(
        "msaccucmp",
        "operators",
        ("NPUDump", "GroundTruth", "TensorIndex", "CompareFailReason"),
        _MSACCUCMP,
        _BUILT_IN,
        ("relative",),
        _QUICK,
        "msquickcmp's thresholds",
    ),
    Layout(
        "msaccucmp",
        "PyTorch",
        ("NPUDump", "NPUDumpPath", "GroundTruthPath", "CompareFailReason"),
        _MSACCUCMP,
        _BUILT_IN,
        ("relative",),
        _QUICK,
        "msquickcmp's thresholds",
    ),
    Layout(
        "msaccucmp",
        "mapping",
        ("NPUDump", "GroundTruth", "TensorIndex", "NPUDumpPath", "GroundTruthPath"),
        _MSACCUCMP,
    ),
)
"""Every kind of table, those first that need more."""

VERDICTS: dict[str, dict[str, Status]] = {
    "Accuracy Reached or Not": {"yes": "pass", "no": "fail", "unmatched": "uncomparable"},
    "IsPrecisionError": {"no": "pass", "yes": "fail"},
    "Result": {
        "pass": "pass",
        "": "pass",  # older msprobe writes nothing where it does not warn
        "warning": "warn",
        "error": "fail",
        "different": "fail",
        "skip": "uncomparable",
    },
}
"""Column in which a tool states its verdict → its word in lower case → our status."""

NO_FIGURES = frozenset(
    {title for layout in LAYOUTS for title in layout.columns.values()}
    | VERDICTS.keys()
    | {"NPU MD5", "BENCH MD5", "Data_name", "Dirty Valid Len", "OpSequence", "token_id"}
    | {"NPU Requires_grad", "Bench Requires_grad", "Requires_grad Consistent", "golden_op_type"}
    | {"Address", "Address.1", "OverFlow", "IsNpuOps", "IsOutputNode"}
)
"""Columns that are no figures even if they hold digits."""


def unique_titles(titles: Sequence[str]) -> tuple[str, ...]:
    """Tell columns of one title apart as pandas does.

    >>> unique_titles(["DataType", "Address", "DataType"])
    ('DataType', 'Address', 'DataType.1')
    """
    seen: dict[str, int] = {}
    told: list[str] = []
    for title in (title.strip() for title in titles):
        count = seen.get(title, 0)
        seen[title] = count + 1
        told.append(f"{title}.{count}" if count else title)
    return tuple(told)


def recognize_layout(titles: Sequence[str]) -> Layout | None:
    """Return the kind of a table by its (unique) titles; ``None`` if no tool's is like it."""
    return next((layout for layout in LAYOUTS if set(layout.needs) <= set(titles)), None)
