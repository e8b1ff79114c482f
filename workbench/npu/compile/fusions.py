"""Which operators the graph engine fuses into one kernel, how that is called, and what it computes.

Two kinds, as in GE: fusions of the graph, which run first and give operators their own type and name
(``conv_batchnorm_fusion_pass``, ``matmul_biasadd_fusion_pass``, ``layer_norm_fusion_pass``, …), and
fusions in the unified buffer, which join what is left of neighbors and string their names together
(``fusion_op_comm``). Names of original operators and tensors are recorded as ``graph_pass_util`` does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from workbench.core.errors import GraphError
from workbench.graph.graph import IS_PART, Op, Param, Value
from workbench.graph.rewrite import GraphBuilder
from workbench.npu.compile import batch_norm, splitting
from workbench.npu.compile.fused_kernel import fuse_ops, fuse_visible
from workbench.npu.compile.patterns import Matcher, OpPattern, ScalarPattern, scalar
from workbench.npu.compile.provenance import origin_of, originals
from workbench.ops import bind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from workbench.core.tensors import TensorSpec
    from workbench.graph.graph import Graph
    from workbench.npu.compile.patterns import Match
    from workbench.npu.compile.program import Module
    from workbench.npu.target import Target

_LONGEST = 512
"""Characters of a name from which on GE no longer strings names together."""

Level = Literal["graph", "buffer"]

LEVELS: dict[str, Level] = {"GraphFusion": "graph", "UBFusion": "buffer"}
"""Part of a ``fusion_switch_file`` → fusions that it switches."""


@dataclass(frozen=True, slots=True)
class Fusion:
    """A fusion: the pattern of its operators, and the kernel that takes their place.

    ``inputs`` orders operands by the pattern's names; others follow in order of use. ``results`` are
    roles whose outputs the kernel has, the last operator first. ``attrs`` makes its attributes, or
    returns nothing if the part does not fit after all. ``name`` is a role, or a word behind the last
    operator's name; left out, names are strung together. ``type`` is the kernel's, or that of the
    operator with role ``main``. ``constants``: only where weights are constants of the graph; ``build``
    writes the kernel where it is more than these operators in one.
    """

    level: Level
    patterns: tuple[OpPattern, ...]
    attrs: Callable[[Matcher, Match], Mapping[str, Any] | None]
    inputs: str = ""
    results: str = ""
    name: str = ""
    type: str = ""
    constants: bool = False
    build: Callable[[GraphBuilder, Matcher, int, Match], None] | None = None


def _main(matcher: Matcher, part: Match) -> Mapping[str, Any]:
    """Settings of the operator that does the work."""
    op = matcher.graph.ops[part.roles["main"]]
    return dict(op.attrs) if op.fused is not None else settings_of(op)


def settings_of(op: Op) -> dict[str, Any]:
    """Attributes of an operator, and what it takes as constants under the arguments' names."""
    try:
        found = bind(op).settings
    except GraphError:
        return dict(op.attrs)
    given = {name: value for name, value in found.items() if not isinstance(value, Value | Param)}
    stated = len(list(op.flat_inputs())) > len(bind(op).slots)
    return given if stated else dict(op.attrs)


def _biased(matcher: Matcher, part: Match) -> Mapping[str, Any] | None:
    """A bias for every column of a product, or channel of a convolution."""
    main = matcher.graph.ops[part.roles["main"]]
    bias, shape = matcher.graph.spec(part.names["bias"]), main.outputs[0].shape
    if bias is None or bias.shape is None or len(bias.shape) != 1 or shape is None:
        return None
    channels = shape[1] if main.op_type == "Conv2D" else shape[-1]
    if bias.shape != (channels,):
        return None
    return {**_main(matcher, part), "has_bias": True}


def _layer_norm(matcher: Matcher, part: Match) -> Mapping[str, Any] | None:
    """Mean and variance over the last axis, one factor and one summand for each of its elements."""
    op, epsilon = matcher.graph.ops[part.roles["mean"]], scalar(part.names["epsilon"])
    spec = matcher.graph.spec(part.names["x"])
    axes = _axes(op, spec)
    if epsilon is None or spec is None or spec.shape is None or axes != (len(spec.shape) - 1,):
        return None
    if axes != _axes(matcher.graph.ops[part.roles["variance"]], spec):
        return None
    sides = [matcher.graph.spec(part.names[name]) for name in ("gamma", "beta")]
    if any(side is None or side.shape != spec.shape[-1:] for side in sides):
        return None
    return {"begin_norm_axis": axes[0], "begin_params_axis": -1, "epsilon": epsilon}


def _softmax(matcher: Matcher, part: Match) -> Mapping[str, Any] | None:
    """Exponentials over their sum along one axis."""
    spec = matcher.graph.spec(part.names["x"])
    axes = _axes(matcher.graph.ops[part.roles["largest"]], spec)
    same = axes == _axes(matcher.graph.ops[part.roles["sum"]], spec)
    return {"axis": axes} if axes is not None and len(axes) == 1 and same else None


def _axes(op: Op, spec: TensorSpec | None) -> tuple[int, ...] | None:
    """Axes of a reduction that keeps them, counted from the front."""
    settings = bind(op).settings
    axis = settings["axis"]
    axes = (axis,) if isinstance(axis, int) else axis
    if spec is None or spec.shape is None or settings["keep_dims"] is not True:
        return None
    rank = len(spec.shape)
    if not isinstance(axes, tuple | list) or not all(isinstance(one, int) for one in axes):
        return None
    return tuple(one % rank for one in axes if rank)


def _nothing(matcher: Matcher, part: Match) -> Mapping[str, Any]:
    return {}


def _scaled(matcher: Matcher, part: Match) -> Mapping[str, Any] | None:
    """A gradient times one number, on its way to the weight."""
    main, factor = matcher.graph.ops[part.roles["main"]], matcher.graph.spec(part.names["x2"])
    return settings_of(main) if factor is not None and factor.size == 1 else None


def _scaled_sum(matcher: Matcher, part: Match) -> Mapping[str, Any] | None:
    """The first of two summands times one number."""
    main, factor = matcher.graph.ops[part.roles["main"]], matcher.graph.spec(part.names["x3"])
    first, *others = main.flat_inputs()
    if len(others) != 1 or first != Value(part.roles["product"]):
        return None
    if factor is None or factor.size != 1:
        return None
    sides = [matcher.graph.spec(part.names[name]) for name in ("x1", "x2")]
    return {} if sides[0] == sides[1] == main.outputs[0] else None


_CENTRED = OpPattern("Sub", ("x", OpPattern("ReduceMean", ("x",), "mean")), "centred")
_SPREAD = tuple(
    OpPattern("Add", (OpPattern("ReduceMean", (square,), "variance"), "epsilon"))
    for square in (
        OpPattern("Square", (_CENTRED,)),
        OpPattern("Mul", (_CENTRED, _CENTRED)),
        OpPattern("Pow", (_CENTRED, ScalarPattern(2.0))),
    )
)
_NORMAL = (
    *(OpPattern("Mul", (_CENTRED, OpPattern("Rsqrt", (spread,)))) for spread in _SPREAD),
    *(OpPattern("RealDiv Div", (_CENTRED, OpPattern("Sqrt", (spread,)))) for spread in _SPREAD),
)
_POWER = OpPattern("Exp", (OpPattern("Sub", ("x", OpPattern("ReduceMax", ("x",), "largest"))),))
_ERF = tuple(
    OpPattern("Add", (OpPattern("Erf", (scaled,)), ScalarPattern(1.0)))
    for scaled in (
        OpPattern("RealDiv Div", ("x", ScalarPattern(2**0.5))),
        OpPattern("Mul", ("x", ScalarPattern(2**-0.5))),
    )
)
_PRODUCT, _CONVOLUTION = (
    OpPattern("MatMul BatchMatMul", role="main"),
    OpPattern("Conv2D", role="main"),
)
_DEQUANTIZED = OpPattern("AscendDequant", (_CONVOLUTION,))
_ACTIVATIONS = "ReLU ReLU6 LeakyRelu Sigmoid Tanh"
_UPDATE = OpPattern("BNTrainingUpdate", role="main", shown=True)

FUSIONS: dict[str, Fusion] = {
    "AABiasaddConvFusion": Fusion(
        "graph", (OpPattern("BiasAdd", (OpPattern("Conv2D", ("x", "w"), "main"), "bias")),), _biased,
        inputs="x w bias", name="main",
    ),
    "ConvBatchnormFusionPass": Fusion(
        "graph",
        (OpPattern("BatchNorm", (_CONVOLUTION, "scale", "offset", "mean", "variance")),),
        batch_norm.settings, constants=True, build=batch_norm.build,
    ),
    "FusedBatchnormFusionPass": Fusion(
        "graph", (OpPattern("BatchNorm", role="main"),), splitting.in_training, build=splitting.split_batch_norm,
    ),
    "AddNFusionPass": Fusion(
        "graph", (OpPattern("AddN", role="main"),), splitting.wide, build=splitting.split_add_n,
    ),
    "ZConcatDFusionPass": Fusion(
        "graph", (OpPattern("ConcatD", role="main"),), splitting.wide, build=splitting.split_concat,
    ),
    "MatMulBiasAddFusionPass": Fusion(
        "graph",
        tuple(OpPattern(kind, (OpPattern("MatMul BatchMatMul", ("x", "w"), "main"), "bias"))
              for kind in ("BiasAdd", "Add")),
        _biased, inputs="x w bias", name="main",
    ),
    "MulAddNPass": Fusion(
        "graph",
        (OpPattern("AddN", (OpPattern("Mul", ("x1", "x3"), "product"), "x2"), "main"),),
        _scaled_sum, inputs="x1 x2 x3", name="main", type="FusedMulAddN",
    ),
    "MomentumLossscaleFusionPass": Fusion(
        "graph",
        (OpPattern("ApplyMomentum", ("var", "accum", "lr", OpPattern("Mul", ("x1", "x2")), "momentum"), "main"),),
        _scaled, inputs="var accum lr x1 momentum x2", name="main", type="FusedMulApplyMomentum",
    ),
    "LayerNormFusionPass": Fusion(
        "graph",
        tuple(OpPattern("Add", (OpPattern("Mul", (normal, "gamma")), "beta")) for normal in _NORMAL),
        _layer_norm, inputs="x gamma beta", results="mean variance", name="/LayerNorm",
        type="LayerNorm",
    ),
    "SoftmaxFusionPass": Fusion(
        "graph", (OpPattern("RealDiv Div", (_POWER, OpPattern("ReduceSum", (_POWER,), "sum"))),), _softmax,
        name="/Softmax", type="Softmax",
    ),
    "GeluOnnxFusionPass": Fusion(
        "graph",
        tuple(
            pattern
            for erf in _ERF
            for pattern in (
                OpPattern("Mul", (OpPattern("Mul", ("x", ScalarPattern(0.5))), erf)),
                OpPattern("Mul", (OpPattern("Mul", ("x", erf)), ScalarPattern(0.5))),
                OpPattern("Mul", ("x", OpPattern("Mul", (erf, ScalarPattern(0.5))))),
            )
        ),
        _nothing, name="/Gelu", type="GeLU",
    ),
    "TbeConvDequantQuantFusionPass": Fusion(
        "buffer", (OpPattern("AscendQuant", (_DEQUANTIZED,)),), _main,
    ),
    "TbeCommonRules0FusionPass": Fusion(
        "buffer",
        (
            OpPattern("AscendQuant", (OpPattern(_ACTIVATIONS, (_DEQUANTIZED,)),)),
            OpPattern(_ACTIVATIONS, (_DEQUANTIZED,)),
            _DEQUANTIZED,
        ),
        _main,
    ),
    "TbeFullyconnectionElemwiseDequantFusionPass": Fusion(
        "buffer", (OpPattern("ReLU Sigmoid Tanh GeLU", (OpPattern("AscendDequant", (_PRODUCT,)),)),), _main,
    ),
    "TbePool2dQuantFusionPass": Fusion(
        "buffer", (OpPattern("AscendQuant", (OpPattern("MaxPool AvgPool", role="main"),)),), _main,
    ),
    "TbeEltwiseQuantFusionPass": Fusion(
        "buffer",
        (OpPattern("AscendQuant", (OpPattern(f"{_ACTIVATIONS} GeLU Add Mul", role="main"),)),), _main,
    ),
    "TbeConvBnreduceFusionPass": Fusion(
        "buffer",
        (OpPattern("BNTrainingReduce", (OpPattern("Conv2D", role="main", shown=True),)),),
        splitting.half, build=fuse_visible,
    ),
    "TbeBnupdateEltwiseEltwiseFusionPass": Fusion(
        "buffer",
        (OpPattern("ReLU", (OpPattern("Add", (_UPDATE, "shortcut")),)),), splitting.undisturbed, build=fuse_visible,
    ),
    "TbeBnupdateEltwiseFusionPass": Fusion(
        "buffer", (OpPattern("ReLU", (_UPDATE,)),), splitting.undisturbed, build=fuse_visible,
    ),
    "TbeConv2DActivationFusionPass": Fusion(
        "buffer", (OpPattern(_ACTIVATIONS, (_CONVOLUTION,)),), _main,
    ),
    "TbeMatmulElemwiseFusionPass": Fusion(
        "buffer", (OpPattern("ReLU Sigmoid Tanh GeLU", (_PRODUCT,)),), _main,
    ),
}  # fmt: skip
"""Fusions by the names that a switch of GE knows them by; the earlier one comes first."""

VIRTUAL = "FusionVirtualOpSetSwitch"
"""Switch of what runs nothing (`workbench.npu.compile.no_task`)."""

SWITCHES: dict[str, Level] = {
    **{name: one.level for name, one in FUSIONS.items()},
    VIRTUAL: "buffer",
}
"""Names that a switch knows, and the level that they belong to."""


def fuse(
    graph: Graph,
    level: Level,
    off: frozenset[str] = frozenset(),
    *,
    constants: bool = False,
    quant_dumpable: bool = False,
) -> Graph:
    """Return the graph with everything fused that a level fuses, but for the fusions in ``off``.

    ``constants`` says that weights are constants of the graph, ``quant_dumpable`` that no kernel may
    quantize what it has computed, for that would leave no tensor of it.
    """
    for name, fusion in FUSIONS.items():
        if fusion.level == level and name not in off and (constants or not fusion.constants):
            graph = _fuse_all(graph, fusion, frozenset(("AscendQuant",) if quant_dumpable else ()))
    return graph


def fuse_graph(module: Module, target: Target) -> Module:
    """Return the graph with operators fused that have become one function."""
    constants = target.weights == "Const"
    fused = fuse(module.graph, "graph", target.fusions_off, constants=constants)
    return replace(module, graph=fused)


def fuse_buffers(module: Module, target: Target) -> Module:
    """Return the graph with neighbors fused that hand their results on in the unified buffer."""
    off, dumpable = target.fusions_off, target.quant_dumpable
    return replace(module, graph=fuse(module.graph, "buffer", off, quant_dumpable=dumpable))


def _fuse_all(graph: Graph, fusion: Fusion, ends: frozenset[str]) -> Graph:
    """Fuse all parts that fit, but for those that end in an operator of some types."""
    matcher, inside = Matcher(graph), set[int]()
    found: dict[int, tuple[Match, Mapping[str, Any]]] = {}
    for root, part, attrs in _parts(matcher, fusion):
        if not inside & part.members and graph.ops[root].op_type not in ends:
            inside |= part.members
            found[root] = part, attrs
    if not found:
        return graph
    builder = GraphBuilder(graph)
    for number in range(len(graph.ops)):
        if number not in found:
            if number not in inside:
                builder.keep(number)
            continue
        part, attrs = found[number]
        if fusion.build is not None:
            fusion.build(builder, matcher, number, part)
        else:
            kernel = _kernel(matcher, fusion, number, part, attrs)
            builder.replace(number, replace(kernel, inputs=builder.inputs(kernel)))
    return builder.build()


def _parts(matcher: Matcher, fusion: Fusion) -> Iterator[tuple[int, Match, Mapping[str, Any]]]:
    """Everything that fits, the parts of an earlier pattern first."""
    for pattern in fusion.patterns:
        for root in range(len(matcher.graph.ops)):
            part = matcher.find(root, pattern)
            attrs = fusion.attrs(matcher, part) if part is not None else None
            if part is not None and attrs is not None and _runs_at_once(matcher, part):
                yield root, part, attrs


def _runs_at_once(matcher: Matcher, part: Match) -> bool:
    """Whether the operators of a part are left out in the same steps, and no other hangs on them."""
    ops, flags = matcher.graph.ops, {op.unless for op in matcher.graph.ops}
    found = {ops[number].unless for number in part.members}
    return len(found) == 1 and not any(ops[number].name in flags for number in part.members)


def _kernel(
    matcher: Matcher, fusion: Fusion, root: int, part: Match, attrs: Mapping[str, Any]
) -> Op:
    """Return the operator that takes the place of a part, with operands of the graph as it is."""
    ops = matcher.graph.ops
    members = sorted(part.members)
    roles = [root, *(part.roles[name] for name in fusion.results.split())]
    results = [Value(number, 0) for number in roles]
    first = [part.names[name] for name in fusion.inputs.split()]
    joined = fuse_ops(matcher.graph, members, results, first)
    last = ops[root]
    return Op(
        _name(fusion, [ops[number].name for number in members], root, part, matcher),
        fusion.type or ops[part.roles["main"]].op_type,
        joined.inputs,
        _attrs(attrs, [ops[number] for number in members]),
        tuple(ops[value.op].outputs[value.slot] for value in results),
        joined.specs,
        joined.device_inputs,
        last.device_outputs[:1] if len(results) == 1 else (),
        frames=last.frames,
        unless=last.unless,
        fused=joined.kernel,
        provenance=(origin_of(last, 0), *(None for _ in results[1:])),
    )


def _attrs(attrs: Mapping[str, Any], members: Sequence[Op]) -> dict[str, Any]:
    """Attributes of a kernel; it is a part of something larger if it gives no tensor of the network."""
    settings = {key: value for key, value in attrs.items() if key != IS_PART}
    part = {IS_PART: True} if origin_of(members[-1], 0) is None else {}
    return {**settings, **originals(members), **part}


def _name(fusion: Fusion, names: list[str], root: int, part: Match, matcher: Matcher) -> str:
    if fusion.name.startswith("/"):
        return matcher.graph.ops[root].name + fusion.name
    if fusion.name:
        return matcher.graph.ops[part.roles[fusion.name]].name
    strung = "".join(names)
    return strung if len(strung) <= _LONGEST else f"{names[0]}_ub_fusion"
