"""What the simulator offers: devices, faults, precision modes, fusions and networks."""

from __future__ import annotations

from generators.markdown import code, codes, page, prose, table
from workbench.network.models import MODELS, TRAININGS, load_graph
from workbench.npu.compile.fusions import FUSIONS
from workbench.npu.faults.links import LINKS
from workbench.npu.faults.table import FAULTS
from workbench.npu.precision import IMPLEMENTATIONS, MODES, MODES_V2
from workbench.npu.profiles import PROFILES

INTRODUCTION = (
    "Names for `workbench simulate` and `wb.simulate`. [How to simulate](../guide/simulate.md)."
)

FAULT = """\
`--fault KIND:OPERATOR[:SETTINGS]`. *Strength* and *value* are settings (`strength=`, `value=`); defaults are
in parentheses. [How to inject a fault](../guide/simulate.md#inject-a-fault)."""

FUSION = """\
Fusions of the graph engine's surfaces. *graph*: on the graph. *buffer*: in the unified buffer; a 950 has none
of these."""

NETWORK = (
    '`--graph NAME`, or `wb.models.load_graph("NAME")`. Weights and inputs depend on the seed only.'
)

OVERFLOW = {
    "saturate": "largest finite value, NaN becomes 0",
    "inf_nan": "Inf, NaN",
    "either": "Inf, NaN; the largest value if saturation is requested",
}
STEPS = {
    "compile": "when the operator is compiled",
    "upload": "when weights are copied to the device",
    "load": "when inputs are read",
    "store": "when outputs are rounded",
    "memory": "when outputs are written to memory",
}


FAULT_WORDS = {
    "wrong-attribute": "The operator computes with other attributes.",
    "half-accumulation": "The cube unit accumulates in float16.",
    "missing-cast": "The operator computes in a coarser format.",
    "fast-approximation": "The operator uses its roughest implementation.",
    "aicore-exception": "The AI Core stops before the operator writes its output; the run ends.",
    "wrong-weight-element": "Adjacent weight elements are wrong in device memory, for all readers.",
    "transposed-weight": "The second input is read with two axes swapped.",
    "dropped-k-tail": "The last blocks of the inner dimension are not summed.",
    "scaled-output": "The first output is multiplied by a factor.",
    "wrong-sign": "Every element is negated.",
    "flush-to-zero": "Small magnitudes become zero.",
    "saturated": "Large magnitudes are clipped.",
    "nan-output": "Adjacent elements are NaN.",
    "overwritten-element": "Adjacent elements are overwritten.",
    "bit-flip": "One bit of adjacent elements is flipped.",
    "wrong-layout-lanes": "Lanes of C0 are swapped: channel c is read from c xor strength.",
    "unwritten-tail-tile": "The last 16 × 16 tile (vector unit: the last 256 bytes) is not written.",
    "stale-output": "Nothing is written; the memory keeps an earlier tensor or zeros.",
    "overrun": "The operator writes beyond the end of its first output.",
}
LINK_WORDS = {
    "skipped-collective": "Nothing of the peers arrives: a sum is the rank's own part.",
    "stale-collective": "What the peers gave in the previous iteration arrives.",
    "garbled-collective": "Elements that the first peer gave are overwritten.",
}
FUSION_WORDS = {
    "AABiasaddConvFusion": ("Conv2D, BiasAdd or addition per channel", "Conv2D with a bias input"),
    "ConvBatchnormFusionPass": (
        "Conv2D, BatchNorm with stored moments; constant weights (`acl`)",
        "Conv2D with another filter and a bias",
    ),
    "FusedBatchnormFusionPass": (
        "BatchNorm in training",
        "`{name}_Reduce` (sums per channel), `{name}_Update`",
    ),
    "AddNFusionPass": (
        "AddN of more than 63 tensors",
        "`{name}/AddN{n}` of at most 63 each, `{name}/AddNBase_node`",
    ),
    "ZConcatDFusionPass": ("ConcatD of more than 63 tensors", "the same, split like AddN"),
    "MatMulBiasAddFusionPass": (
        "MatMul, BiasAdd or addition per column",
        "MatMul with a bias input",
    ),
    "MulAddNPass": ("Mul by a number, AddN of two (weight decay)", "`FusedMulAddN`, name of AddN"),
    "MomentumLossscaleFusionPass": (
        "Mul by a number, ApplyMomentum (scaled loss)",
        "`FusedMulApplyMomentum`, name of ApplyMomentum",
    ),
    "LayerNormFusionPass": (
        "ReduceMean, Sub, Square, ReduceMean, Add, Rsqrt, Mul, Mul, Add and variants",
        "`{last}/LayerNorm`",
    ),
    "SoftmaxFusionPass": ("ReduceMax, Sub, Exp, ReduceSum, RealDiv", "`{last}/Softmax`"),
    "GeluOnnxFusionPass": ("Erf and the rest of GeLU", "`{last}/Gelu`"),
    "TbeConvDequantQuantFusionPass": (
        "Conv2D, AscendDequant, activation or none, AscendQuant",
        "Conv2D",
    ),
    "TbeCommonRules0FusionPass": ("Conv2D, AscendDequant, activation or none", "Conv2D"),
    "TbeFullyconnectionElemwiseDequantFusionPass": (
        "MatMul, AscendDequant, activation or none",
        "MatMul",
    ),
    "TbePool2dQuantFusionPass": ("pooling, AscendQuant", "the pooling"),
    "TbeEltwiseQuantFusionPass": ("element-wise operator, AscendQuant", "the operator"),
    "TbeConvBnreduceFusionPass": (
        "Conv2D in float16, sums of its output",
        "Conv2D with three outputs",
    ),
    "TbeBnupdateEltwiseEltwiseFusionPass": (
        "BNTrainingUpdate, addition, ReLU",
        "one kernel that also outputs the moments",
    ),
    "TbeBnupdateEltwiseFusionPass": (
        "BNTrainingUpdate and one element-wise operator",
        "one kernel that also outputs the moments",
    ),
    "TbeConv2DActivationFusionPass": ("fused or plain Conv2D, activation", "Conv2D, names joined"),
    "TbeMatmulElemwiseFusionPass": ("fused or plain MatMul, activation", "MatMul, names joined"),
}
MODE_WORDS = {
    "high_precision": "Computed in float32, rounded once.",
    "high_performance": "Default. Exp, GeLU, Tanh, Rsqrt and Div of 16-bit floats by short polynomials and one "
    "Newton step, within 2⁻¹² of the exact result.",
    "super_performance": "The same operators by 8-bit hardware estimates; errors up to 3 %.",
    "enable_float_32_execution": "The cube unit computes in float32.",
    "enable_hi_float_32_execution": "The cube unit computes in HF32.",
    "keep_fp16": "Accepted, no effect.",
    "support_out_of_bound_index": "Accepted, no effect.",
    "norm_class": "Accepted, no effect.",
}
NETWORK_WORDS = {
    "lenet": "2 convolutions, 3 dense layers",
    "alexnet": "AlexNet with 1/8 of the channels",
    "mlp": "3 dense layers",
    "resnet": "3 residual blocks with batch normalization",
    "transformer": "encoder of 2 layers: attention, layer normalization, GeLU",
    "lstm": "2 LSTM layers, classifier on the last output",
    "lenet_train": "training step of `lenet` with Momentum",
    "mlp_train": "training step of `mlp` with SGD and a decaying learning rate",
    "resnet_train": "training step of `resnet` with Momentum and weight decay",
    "transformer_train": "training step of `transformer` with Adam",
    "moe_train": "training step of an encoder layer with a mixture of 4 experts, 2 for each token, with Adam",
}


def simulation() -> str:
    """Return the page."""
    return page(
        "Simulator",
        INTRODUCTION,
        "## Devices",
        _devices(),
        "## Faults",
        FAULT,
        _faults(),
        "## Precision modes",
        _modes(),
        "Implementations for `op_precision_mode`:",
        table(("Name", "Effect"), ((code(name), MODE_WORDS[name]) for name in IMPLEMENTATIONS)),
        "## Fusions",
        FUSION,
        _fusions(),
        "## Networks",
        NETWORK,
        table(("Name", "Network", "Operators", "Inputs"), map(_network, (*MODELS, *TRAININGS))),
    )


def _devices() -> str:
    heads = ("Device", "Product", "Cube unit", "Vector unit", "Overflow gives")
    rows = [
        (
            code(name),
            one.title,
            codes(one.cube),
            codes(one.vector),
            OVERFLOW[one.overflow],
            code(one.training),
            code(one.inference),
        )
        for name, one in PROFILES.items()
    ]
    return table((*heads, "Default mode, training", "Default mode, inference"), rows)


def _faults() -> str:
    rows = [
        (
            code(kind),
            FAULT_WORDS[kind],
            prose(one.strength),
            prose(one.value),
            STEPS[one.step],
            codes(sorted(one.types)) or "all",
        )
        for kind, one in FAULTS.items()
    ]
    rows += [
        (
            code(kind),
            LINK_WORDS[kind],
            prose(link.strength),
            prose(link.value),
            "when tensors of other ranks arrive",
            "collectives",
        )
        for kind, link in LINKS.items()
    ]
    return table(("Kind", "What is wrong", "Strength", "Value", "Acts", "Operators"), rows)


def _modes() -> str:
    newer = {old: new for new, old in MODES_V2.items()}
    rows = [(code(name), code(newer.get(name, ""))) for name in MODES]
    return table(("`precision_mode`", "`precision_mode_v2`"), rows)


def _fusions() -> str:
    rows = [(code(name), *FUSION_WORDS[name], one.level) for name, one in FUSIONS.items()]
    return table(("Fusion", "Operators", "Becomes", "Level"), rows)


def _network(name: str) -> tuple[object, ...]:
    graph = load_graph(name)
    feeds = (f"{one.name} {one.spec.shape}" for one in graph.parameters if not one.is_weight)
    return code(name), NETWORK_WORDS[name], len(graph.ops), ", ".join(feeds)
