"""The table of operators: rows of all families, and what is asked of a row by its type."""

import numpy as np
import pytest

from kit.oracle.families import IMAGE, X, spec
from kit.words import refused
from workbench.core.errors import GraphError
from workbench.ops.facts import (
    APPROXIMATED,
    CHOOSING,
    COMMUTATIVE,
    CONTRACTIONS,
    FAMILY,
    IDENTITY,
    IN_PLACE,
    MOVEMENT,
    STEPS,
    SUMMING,
    UNWRITTEN_ON_CPU,
)
from workbench.ops.table import (
    KNOWN,
    OPS,
    call_kernel,
    check_settings,
    infer_outputs,
    kernel_settings,
    op_def,
    run_kernel,
)


def test_rows_of_all_families_are_known_and_those_with_a_kernel_are_computed():
    assert [*KNOWN] == [*FAMILY]
    assert {name: row for name, row in KNOWN.items() if row.kernel} == OPS
    assert {"ReLU", "MatMul", "AllReduce"} <= OPS.keys()
    assert {"Load", "Depend", "FusedAdam"} <= KNOWN.keys() - OPS.keys()
    assert (len(OPS), "Load" in OPS, OPS.get("Load")) == (len([*OPS]), False, None)
    with pytest.raises(KeyError):
        _ = OPS["Load"]


MEMBERS = [
    (IDENTITY, {"Depend", "Load"}, {"Reshape", "ReLU", "Add"}),
    (MOVEMENT, {"Depend", "Reshape", "Transpose"}, {"ReLU", "Add"}),
    (CHOOSING, {"Depend", "Reshape", "ReLU"}, {"Add", "MatMul"}),
    (CONTRACTIONS, {"MatMul", "Conv2D"}, {"Add", "ReduceSum"}),
    (SUMMING, {"ReduceSum", "Softmax"}, {"Add", "MatMul"}),
    (COMMUTATIVE, {"Add", "Mul"}, {"Sub", "MatMul"}),
    (APPROXIMATED, {"Exp", "Tanh"}, {"Add", "Sqrt"}),
    (STEPS, {"Floor", "Argmax"}, {"Add", "Exp"}),
]


@pytest.mark.parametrize(("names", "members", "others"), MEMBERS, ids=range(len(MEMBERS)))
def test_traits_gather_types(names, members, others):
    assert members <= names
    assert not others & names


def test_what_is_overwritten_and_what_a_cpu_leaves_as_it_was():
    assert IN_PLACE["SGD"] == (0, 3, 5)
    assert IN_PLACE["FusedAdam"] == (0, 1, 2)
    assert "Add" not in IN_PLACE
    assert UNWRITTEN_ON_CPU["Adam"] == (0, 1, 2)
    assert "Assign" not in UNWRITTEN_ON_CPU


@pytest.mark.parametrize("name", ["Load", "NoSuchOperator"])
def test_what_is_not_computed_is_refused(name):
    for ask in (
        lambda: op_def(name),
        lambda: infer_outputs(name, (X,), {}),
        lambda: run_kernel(name, [np.zeros(1)], {}),
        lambda: check_settings(name, {}),
    ):
        with refused(
            "core/choice", GraphError, subject="operator type", got=name, known=sorted(OPS)
        ):
            ask()


def test_outputs_follow_from_defaults_and_settings():
    assert infer_outputs("ReduceSum", (X,), {}) == (spec(),)
    assert infer_outputs("ReduceSum", (X,), {"axis": 1}) == (spec(2, 4),)
    assert infer_outputs("ReduceSum", iter((X,)), {"axis": 1, "keep_dims": True}) == (
        spec(2, 1, 4),
    )


ONLY = [(name, setting, value) for name, row in OPS.items() for setting, value in row.only.items()]


@pytest.mark.parametrize(("name", "setting", "value"), ONLY)
def test_a_setting_that_a_kernel_does_not_read_has_the_only_value_that_is_computed(
    name, setting, value
):
    defaults = dict(OPS[name].defaults)
    check_settings(name, defaults)
    for other in (
        "another",
        np.asarray([value, value]) if isinstance(value, int | float) else np.zeros(2),
    ):
        with refused("graph/only", GraphError, subject=setting, expected=value):
            check_settings(name, defaults | {setting: other})


def test_numbers_are_asked_for_where_the_default_is_one():
    for value in ("1", None, (1.0,)):
        with refused("graph/number", GraphError, subject="epsilon", got=value):
            infer_outputs("BatchNorm", (IMAGE, *(spec(4),) * 4), {"epsilon": value})
    infer_outputs("BatchNorm", (IMAGE, *(spec(4),) * 4), {"epsilon": np.float32(0.1)})


def none(x):
    return x


def some(x, *, a, b, rounding=None):
    return [x, a, b]


def every(x, **settings):
    return [x, settings]


@pytest.mark.parametrize(
    ("kernel", "names"), [(np.add, ()), (none, ()), (some, ("a", "b")), (every, None)]
)
def test_a_kernel_is_called_with_the_settings_that_it_names(kernel, names):
    assert kernel_settings(kernel) == names


def test_a_kernel_gives_a_list_of_arrays():
    x, settings = np.float32([1, 2]), {"a": 1, "b": 2, "c": 3}
    assert call_kernel(some, [x], settings) == [x, 1, 2]
    assert call_kernel(every, [x], settings) == [x, settings]
    (total,) = call_kernel(np.add, [x, x], settings)
    assert total.tolist() == [2, 4]
    (one,) = call_kernel(lambda x: x.sum(), [x], {})
    assert isinstance(one, np.ndarray)
    assert one.shape == ()


def test_a_kernel_that_rounds_between_is_told_how():
    halves = [np.float32([0.1]), np.float32([0.2])]
    (plain,) = run_kernel("AllReduce", halves, {"op": "sum"})
    seen = []
    run_kernel("AllReduce", halves, {"op": "sum"}, rounding=lambda sums: seen.append(sums) or sums)
    assert seen
    np.testing.assert_allclose(plain, [0.3], rtol=1e-6)
