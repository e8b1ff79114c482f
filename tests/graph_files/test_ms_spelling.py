"""Graphs as earlier releases spell them: the writer's templates in `old_ir`, and the reader of all versions."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from kit.build.foreign_files import FRAMES, SPELLED
from workbench.core.tensors import TensorSpec
from workbench.graph.models import MODELS
from workbench.graph.networks import load_graph
from workbench.graph.nodes import Const, Graph, Op, Param, Parameter, SourceFrame, Value
from workbench.graph_files.mindspore.releases import CURRENT, VERSIONS, dialect_of
from workbench.graph_files.mindspore.spelling import respelled
from workbench.graph_files.mindspore.text import parse_ms_text
from workbench.graph_files.mindspore.write_text import write_ms_text

WRITTEN = [version for version in VERSIONS if version not in ("1.0", "1.1", "1.2")]
X, W, Y = (TensorSpec("float32", shape) for shape in ((2, 3), (4, 3), (2, 4)))
ON_DEVICE = TensorSpec("float32", (1, 1, 16, 16), "FRACTAL_NZ")
GRAPH = Graph(
    "kernel_graph_1",
    (Parameter("fc.weight", W, True, "fc.weight"), Parameter("x", X)),
    (
        Op(
            "Default/fc-Dense/MatMul-op3",
            "MatMul",
            (Param(1), Param(0), Const(True, "bool", ())),
            {"input_names": ("x1", "x2"), "eps": 0.5, "pad_mode": "same"},
            (Y,),
            (X, W, TensorSpec("bool", ())),
            (X, W, TensorSpec("bool", ())),
            (ON_DEVICE,),
            tuple(SourceFrame(file, line, "        y = f(x)", 0, 4, 20) for file, line in FRAMES),
        ),
    ),
    (Value(0),),
    dialect="mindspore",
)


def numbers(version):
    return tuple(int(piece) for piece in version.split("."))


def text_of(version, graph=GRAPH):
    return respelled(write_ms_text(graph), numbers(version))


@pytest.mark.parametrize("version", WRITTEN)
def test_a_release_spells_as_its_own_writer_does(version):
    spelled, text = SPELLED[version], text_of(version)
    device = spelled.device.format(dtype="Unknown", format="DefaultFormat", shape="4, 3")
    weight = spelled.weight.format(shape="4, 3")
    parameter = {"number": 1, "name": "fc.weight", "host": weight, "device": device}
    assert spelled.parameter.format(**parameter, weight="true") in text
    assert spelled.host.format(kind="Tensor[Float32]", shape="2, 4") in text
    on = spelled.device.format(dtype="Float32", format="FRACTAL_NZ", shape="1, 1, 16, 16")
    assert f"-> ({on})\n" in text
    assert f"\n      {spelled.name.format(name='Default/fc-Dense/MatMul-op3')}\n" in text
    lines = FRAMES if spelled.inward else FRAMES[::-1]
    places = [spelled.location.format(file=file, line=line) for file, line in lines]
    assert "".join(f"      # {place}        y = f(x)/\n" for place in places) in text
    instance = spelled.instance.format(name="kernel_graph_1").partition(" : ")[0]
    assert ("subgraph instance: " in text) == bool(instance)
    assert instance in text
    header = spelled.header.format(name="kernel_graph_1", count=2)
    first = header.replace("flag : 1\n", "").replace("# Attrs:\nflag: 1\n\n", "")
    assert text.startswith(first.partition("\nNode counting")[0])
    assert ("Node counting information:" in header) == ("Node counting information:" in text)


@pytest.mark.parametrize(
    ("version", "operands", "attrs"),
    [
        ("2.3", "Bool(1))", 'eps: F32(0.5), pad_mode: "same"}'),
        ("2.1", "Bool(1))", 'eps: F32(0.5), pad_mode: "same"}'),
        ("2.0", "true)", "eps: 0.5, pad_mode: same}"),
        ("1.3", "true)", "eps: 0.5, pad_mode: same}"),
    ],
)
def test_scalars_are_bare_before_2_1(version, operands, attrs):
    (line,) = re.findall(r".* = (?:PrimFunc_)?MatMul\(.*", text_of(version))
    assert f"{operands} primitive_attrs: {{input_names: [x1, x2], {attrs}" in line


@pytest.mark.parametrize("version", WRITTEN)
def test_the_dialect_is_that_of_the_version(version):
    dialect = dialect_of(text_of(version))
    assert dialect == dialect_of(text_of(version)[:6000])
    if version == VERSIONS[-1]:
        assert dialect == CURRENT
        return
    first, _, last = dialect.removeprefix(f"{CURRENT} ").partition("-")
    span = VERSIONS.index(first), VERSIONS.index(last or first)
    assert span[0] <= VERSIONS.index(version) <= span[1]
    assert span[1] - span[0] <= 1


def told(graph, version):
    """What a release has of a graph: no columns before 2.3, no keys before 1.7, types only as text says.

    Before 1.5 a tuple of outputs had no shapes.
    """
    release = numbers(version)

    def frame(frame):
        bare = frame if release >= (2, 3) else replace(frame, line_end=0, column=0, column_end=0)
        return bare if release >= (1, 6) or frame.group != "candidate" else replace(bare, group="")

    def constant(operand):
        bare = isinstance(operand, Const) and operand.shape == () and release < (2, 1)
        return Const(operand.value) if bare else operand

    ops = tuple(
        replace(
            op,
            frames=tuple(map(frame, op.frames)),
            inputs=tuple(map(constant, op.inputs)),
            outputs=tuple(
                spec._replace(shape=None) if len(op.outputs) > 1 and release < (1, 5) else spec
                for spec in op.outputs
            ),
        )
        for op in graph.ops
    )
    keyed = release >= (1, 7)
    parameters = tuple(p if keyed else replace(p, ref_key="") for p in graph.parameters)
    return replace(graph, ops=ops, parameters=parameters, dialect="")


@pytest.mark.parametrize("version", WRITTEN)
@pytest.mark.parametrize("name", [None, *MODELS])
def test_every_release_says_the_same_of_a_graph(version, name):
    text = write_ms_text(GRAPH if name is None else load_graph(name))
    today = parse_ms_text(text)
    graph = parse_ms_text(respelled(text, numbers(version)))
    assert graph.unknown_lines == 0
    assert told(graph, version) == told(today, version)
