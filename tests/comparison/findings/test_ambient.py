"""What a whole run has in common is one finding; what is off beside it is still named."""

from functools import cache

import numpy as np
import pytest

import workbench as wb
from kit.build.altered_runs import in_format, rounded, run, scaled, truncated
from kit.evidence import defects
from workbench.network.models import load_graph


@cache
def network(model, format_="float32"):
    graph = load_graph(model, 0)
    return graph if format_ == "float32" else in_format(graph, format_)


@cache
def good(model, format_="float32"):
    return run(network(model, format_))


def compared(model, change, format_="float32", golden="float32"):
    return wb.compare(run(network(model, format_), change), good(model, golden))


def both(model, change, format_):
    return compared(model, change, format_, format_)


NORMS = ("LayerNorm", "BatchNorm")

ALTERED = {
    # name: (model, format, change, kind, code of its first evidence, values)
    "every norm": ("transformer", "float32", scaled(1.02, *NORMS), "common-factor", "factor-type",
                   {"op_type": "LayerNorm", "count": 4, "whole": 4}),
    "every batch norm": ("resnet", "float32", scaled(1.02, *NORMS), "common-factor", "factor-type",
                         {"op_type": "BatchNorm", "count": 9, "whole": 9}),
    "every operator": ("transformer", "float32", scaled(1.001), "common-factor", "factor-run",
                       {"count": 46, "whole": 46}),
    "every operator of a convolution": ("resnet", "float32", scaled(1.001), "common-factor", "factor-run",
                                        {"count": 24, "whole": 24}),
    "below every norm": ("transformer", "bfloat16", scaled(1.005, "BiasAdd"), "common-factor", "factor-type",
                         {"op_type": "BiasAdd", "count": 13}),
    "bfloat16 everywhere": ("transformer", "float32", rounded("bfloat16"), "number-format", "store-format",
                            {"format": "bfloat16", "stated": "float32", "count": 46}),
    "float16 everywhere": ("lenet", "float32", rounded("float16"), "number-format", "store-format",
                           {"format": "float16", "count": 8}),
    "hf32 everywhere": ("lenet", "float32", rounded("hf32"), "number-format", "store-format", {"format": "hf32"}),
    "bfloat16 cut": ("lenet", "float32", truncated("bfloat16"), "number-format", "store-format-cut",
                     {"format": "bfloat16", "count": 8, "whole": 8}),
    "truncating store of float16": ("transformer", "float16", truncated("float16"), "number-format", "store-cut",
                                    {"format": "float16", "count": 44, "whole": 46}),
    "truncating store of bfloat16": ("lenet", "bfloat16", truncated("bfloat16"), "number-format", "store-cut",
                                     {"format": "bfloat16"}),
}  # fmt: skip


@pytest.mark.parametrize("case", ALTERED)
def test_what_operators_have_in_common_is_one_finding(case):
    model, format_, change, kind, code, values = ALTERED[case]
    found = both(model, change, format_)
    (one,) = defects(found)
    assert (found.verdict, one.kind, one.evidence[0].code) == ("fail", kind, f"compare/{code}")
    assert {key: one.evidence[0].values[key] for key in values} == values


def test_the_factor_is_named_with_its_interval():
    said = defects(both("transformer", scaled(1.005, "BiasAdd"), "bfloat16"))[0].evidence[0].values
    assert said["factor"] == pytest.approx(1.005, abs=1e-4)
    assert said["low"] < 1.005 < said["high"]
    assert said["high"] - said["low"] < 0.004


def test_the_list_stands_behind_the_finding():
    (one,) = defects(both("transformer", scaled(1.02, *NORMS), "float32"))
    names = [op.name for op in network("transformer").ops if op.op_type == "LayerNorm"]
    assert {one.op_name, *one.evidence[1].values["names"]} == set(names)


HEALTHY = {
    "itself": ("transformer", "float32", "float32"),
    "float16": ("transformer", "float16", "float16"),
    "float16 against float32": ("resnet", "float16", "float32"),
    "bfloat16 against float32": ("transformer", "bfloat16", "float32"),
}


@pytest.mark.parametrize("case", HEALTHY)
def test_nothing_is_said_of_healthy_runs(case):
    model, format_, golden = HEALTHY[case]
    assert not defects(compared(model, None, format_, golden))


def test_nothing_is_said_where_the_golden_does_the_same():
    graph = network("transformer")
    target, golden = run(graph, rounded("bfloat16")), run(graph, rounded("bfloat16"))
    assert not defects(wb.compare(target, golden))


def beside(change, name, factor):
    """The same change, and one operator off by a factor of its own."""
    return lambda op, x: change(op, x) * factor if op.name == name else change(op, x)


CULPRITS = {
    "a factor beside a format": (rounded("bfloat16"), 1.05, "own-error"),
    "a factor beside truncation": (truncated("bfloat16"), 1.05, "own-error"),
    "a factor beside the factor of all": (scaled(1.001), 1.05, "own-error"),
    "a factor beside that of a type": (scaled(1.02, *NORMS), 1.05, "own-error"),
}


@pytest.mark.parametrize("case", CULPRITS)
def test_an_operator_that_is_off_otherwise_is_named_beside(case):
    change, factor, kind = CULPRITS[case]
    (name,) = (
        op.name
        for op in network("transformer").ops
        if op.name.endswith("layer2-EncoderLayer/Add-op0")
    )
    found = defects(both("transformer", beside(change, name, factor), "float32"))
    assert len(found) == 2
    assert [one.kind for one in found if one.op_name == name] == [kind]


def test_a_factor_of_one_operator_below_expected_rounding_is_named():
    name = next(op.name for op in network("transformer").ops if op.op_type == "GeLU")
    change = beside(lambda op, x: x, name, 1.004)
    (one,) = defects(both("transformer", change, "bfloat16"))
    assert (one.kind, one.op_name, one.evidence[0].code) == ("bias", name, "compare/factor-single")
    values = one.evidence[0].values
    assert values["low"] < 1.004 < values["high"]
    assert values["certainty"] > 8


def test_local_errors_of_other_kinds_are_not_taken_for_a_factor():
    """Rows of zeros in every norm leave a slope, and more beside it."""

    def holed(op, x):
        x = np.array(x)
        if op.op_type in NORMS:
            x[..., ::7] = 0
        return x

    found = defects(both("transformer", holed, "float32"))
    assert {one.kind for one in found} == {"own-error"}
