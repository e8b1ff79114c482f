"""Fast implementations over all float16 numbers: within their bounds, and not for nothing."""

import math

import numpy as np
import pytest

from workbench.core.tensors import TensorSpec
from workbench.network.nn import functional as F
from workbench.network.tracer import trace
from workbench.npu.ops_info import APPROXIMATIONS
from workbench.npu.precision import IMPLEMENTATIONS, Precision
from workbench.npu.runner import run_npu
from workbench.ops import OPS
from workbench.run.reference import run_reference

with np.errstate(invalid="ignore"):
    ALL = np.arange(65536, dtype=np.uint16).view(np.float16).astype(np.float32)
FINITE = ALL[np.isfinite(ALL)]
POSITIVE = FINITE[FINITE > 0]


def gelu(x):
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    return x * np.exp(2 * inner - np.logaddexp(0, 2 * inner))


EXACT = {
    "Exp": (np.exp, FINITE[np.abs(FINITE) < 80]),
    "GeLU": (gelu, FINITE[(np.abs(FINITE) < 8) & (FINITE != 0)]),
    "Tanh": (np.tanh, FINITE[FINITE != 0]),
    "Rsqrt": (lambda x: 1 / np.sqrt(x), POSITIVE),
    "Div": (lambda x: 1 / x, POSITIVE),
    "RealDiv": (lambda x: 1 / x, POSITIVE),
}
CASES = [(mode, name) for mode, rows in APPROXIMATIONS.items() for name in rows]


def compute(mode, name, x):
    with np.errstate(all="ignore"):
        inputs = (np.ones_like(x), x) if "Div" in name else (x,)
        return APPROXIMATIONS[mode][name].compute(*inputs)


@pytest.mark.parametrize(("mode", "name"), CASES)
def test_every_implementation_keeps_its_bound_and_needs_it(mode, name):
    row = APPROXIMATIONS[mode][name]
    function, x = EXACT[name]
    exact = function(x.astype(np.float64))
    error = np.abs(compute(mode, name, x) - exact)
    if not row.absolute:
        error /= np.abs(exact)
    assert error.max() <= row.bound
    assert error.max() > row.bound / 8


@pytest.mark.parametrize(("mode", "name"), CASES)
def test_implementations_end_as_the_function_does(mode, name):
    """Infinities, zeros of either sign, NaN, and numbers near the end of the range."""
    x = np.float32([np.inf, -np.inf, 0.0, -0.0, np.nan, 60000.0, -60000.0])
    with np.errstate(all="ignore"):
        function, _ = EXACT[name]
        exact = np.asarray(function(x.astype(np.float64)))
        if name == "GeLU":
            exact[:3] = [math.inf, 0.0, 0.0]
            exact[6] = 0.0
        exact = exact.astype(np.float32)
    got = compute(mode, name, x)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(exact))
    np.testing.assert_array_equal(np.isinf(got), np.isinf(exact))
    finite = np.isfinite(exact)
    np.testing.assert_allclose(got[finite], exact[finite], rtol=2.0**-5, atol=1e-30)


def test_the_table_names_modes_and_operators():
    assert APPROXIMATIONS.keys() <= {*IMPLEMENTATIONS}
    for rows in APPROXIMATIONS.values():
        assert rows.keys() <= OPS.keys()
        assert rows.keys() == EXACT.keys()


OPERATORS = {"Exp": F.exp, "GeLU": F.gelu, "Tanh": F.tanh, "Rsqrt": F.rsqrt}


def errors(name, precision):
    """Units in the last place of float16 between a run and the reference."""
    graph = trace(OPERATORS[name], TensorSpec("float16", (2000,)))
    x = np.random.default_rng(0).uniform(0.1, 4, 2000).astype(np.float16)
    feeds = {graph.parameters[0].name: x}
    outputs = [
        next(r.source.array() for r in run if r.key.io == "output")
        for run in (run_reference(graph, feeds), run_npu(graph, feeds, precision_mode=precision))
    ]
    golden, target = (out.view(np.int16).astype(int) for out in outputs)
    return np.abs(golden - target)


@pytest.mark.parametrize("name", OPERATORS)
def test_a_run_uses_the_implementation_that_it_was_asked_for(name):
    exact = errors(name, Precision(select="high_precision"))
    fast = errors(name, None)
    rough = errors(name, Precision(by_type={name: "super_performance"}))
    assert np.count_nonzero(exact) < 5  # float32 was rounded twice
    assert exact.max() <= 1
    assert fast.max() <= 1
    assert rough.max() > 1
    assert np.count_nonzero(exact) <= np.count_nonzero(fast) < np.count_nonzero(rough)
