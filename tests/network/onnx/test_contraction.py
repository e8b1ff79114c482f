"""Einsum as our operators, against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from kit.build.onnx_models import model, node
from kit.words import refused
from workbench.core.errors import GraphError
from workbench.graph.graph import Value
from workbench.network.onnx import read_onnx
from workbench.run.reference import run_reference

RNG = np.random.default_rng(0)


def arrays(*shapes):
    return [RNG.standard_normal(shape).astype(np.float32) for shape in shapes]


EQUATIONS = {
    "i,j->ij": ((3,), (4,)),
    "ij,jk->ik": ((3, 4), (4, 5)),
    "ij,jk": ((3, 4), (4, 5)),
    "bij,bjk->bik": ((2, 3, 4), (2, 4, 5)),
    "bhqd,bhkd->bhqk": ((2, 3, 4, 5), (2, 3, 6, 5)),
    "bqhd,bkhd->bhqk": ((2, 4, 3, 5), (2, 6, 3, 5)),
    "bhqk,bkhd->bqhd": ((2, 3, 4, 6), (2, 6, 3, 5)),
    "ij->ji": ((3, 4),),
    "ij->": ((3, 4),),
    "ijk->j": ((2, 3, 4),),
    "ij": ((3, 4),),
    "ij,ij->ij": ((3, 4), (3, 4)),
    "ij,ij->i": ((3, 4), (3, 4)),
    "ij,kl->ik": ((3, 4), (5, 2)),
    "i,i->": ((6,), (6,)),
    "...ij,...jk->...ik": ((2, 7, 3, 4), (2, 7, 4, 5)),
    "...ij,jk": ((2, 7, 3, 4), (4, 5)),
    "...i,...i->...": ((2, 3), (5, 2, 3)),
    "bi,bj->bij": ((1, 3), (4, 5)),
    "ij,jk,kl->il": ((2, 3), (3, 4), (4, 5)),
    "a,b,c->cab": ((2,), (3,), (4,)),
    " i j , j -> i ": ((3, 4), (4,)),
}


@pytest.mark.parametrize("equation", EQUATIONS)
def test_einsum_is_numpy_s(equation):
    given = arrays(*EQUATIONS[equation])
    feeds = {f"x{n}": array for n, array in enumerate(given)}
    net = model([node("Einsum", [*feeds], ["y"], "einsum", equation=equation)], feeds, ["y"])
    graph = read_onnx(net)
    wanted = np.einsum(equation.replace(" ", ""), *(one.astype(float) for one in given))
    [result] = graph.outputs
    found = {
        (one.key.op_name, one.key.slot): one.source.array()
        for one in run_reference(graph, feeds)
        if one.key.io == "output" and one.source is not None
    }
    if isinstance(result, Value):
        array = found[graph.ops[result.op].name, 0]
        assert array.shape == wanted.shape
        np.testing.assert_allclose(array, wanted, rtol=1e-5, atol=1e-6)
    else:  # what is asked for is what was given
        assert equation == "ij"


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ik", ((3, 4), (5, 6))),
        ("ij->ik", ((3, 4),)),
        ("ij,jk->ik", ((3, 4),)),
        ("i1->i", ((3, 4),)),
        ("ijk->i", ((3, 4),)),
        ("ij->ii", ((3, 4),)),
        ("", ((3, 4),)),
    ],
)
def test_an_equation_that_does_not_fit_is_refused(equation, shapes):
    feeds = {f"x{n}": array for n, array in enumerate(arrays(*shapes))}
    net = model([node("Einsum", [*feeds], ["y"], "einsum", equation=equation)], feeds, ["y"])
    with refused("graph/onnx-equation", GraphError):
        read_onnx(net)


def test_a_diagonal_is_named_as_lacking():
    feeds = {"x": RNG.standard_normal((3, 3)).astype(np.float32)}
    net = model([node("Einsum", ["x"], ["y"], "einsum", equation="ii->i")], feeds, ["y"])
    with refused("graph/onnx-unsupported", GraphError):
        read_onnx(net)
