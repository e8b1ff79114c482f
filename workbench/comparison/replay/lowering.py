"""What an operator of a dump computes, in operators of the table.

``table``     its type is one of the table's
``spelling``  another name of one of these (GE's, TensorFlow's, ONNX's, MindSpore's older and newer ones)
``expansion`` it does what several of these do one after the other
``fusion``    the other side's graph has the operators that the kernel stands for
``formula``   its type stands for two formulas, and the node that it was compiled from says for which
``integers``  it multiplies int8 and reads the scales that make floats of the sums: all steps, on its integers
``bias``      it is a product that reads a bias as well, as kernels of GE do, which the table's products do not
``types``     the kernel names the types that it stands for: a chain, as far as shapes agree

`LOWERING_RULES` has them in order, behind the operators that nobody can compute again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.comparison.graphs.ge_origins import is_part, original_names, original_types
from workbench.comparison.graphs.roles import FOLDABLE
from workbench.comparison.replay.kernel import plain_kernel
from workbench.comparison.replay.spellings import canonical_op
from workbench.core.dtypes import DTYPES
from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec
from workbench.core.words import Message
from workbench.graph.graph import Bundle, Const, Kernel, Op, Param, Value
from workbench.graph_files.onnx.dialect import is_onnx
from workbench.ops import COLLECTIVES, IDENTITY, OPS
from workbench.ops.aliases import ALIASES
from workbench.ops.decompositions import DECOMPOSITIONS, gelu_by_erf

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from workbench.comparison.align.alignment import Alignment
    from workbench.comparison.graphs.view import Origin
    from workbench.graph.graph import Operand

RANDOM = frozenset(
    ("Dropout", "DropoutExt", "DropoutDoMask", "DropoutGenMask", "StandardNormal", "UniformReal", "UniformInt",
     "Multinomial", "RandomChoiceWithMask", "StatelessRandomUniformV2", "NormalFloatFloat", "DropoutGenMaskV3")
)  # fmt: skip
"""Types whose results nobody can compute again."""


REGISTERS = frozenset(
    ("NPUGetFloatStatus", "NPUGetFloatStatusV2", "NPUClearFloatStatus", "NPUClearFloatStatusV2", "NPUAllocFloatStatus")
)  # fmt: skip
"""Types whose results are the state of the device."""


_EIGHT = frozenset(("int8", "uint8", "int4"))


class Lowering(NamedTuple):
    """What an operator computes, or why it is not known (``reason``)."""

    kernel: Kernel | None
    rule: str = ""
    reason: Message | None = None


class LoweringRule(NamedTuple):
    """A way to know what an operator computes; ``why`` says what its place in the table depends on.

    ``lower`` is given the operator's number, the operator, and the alignment of its graph, if there is one.
    """

    name: str
    applies: Callable[[Op], bool]
    lower: Callable[[int, Op, Alignment | None], Lowering]
    why: str


def lower(number: int, op: Op, found: Alignment | None) -> Lowering:
    """Return what operator ``number`` of the target computes; never raises."""
    try:
        return next(r for r in LOWERING_RULES if r.applies(op)).lower(number, op, found)
    except GraphError as error:
        return Lowering(None, reason=Message("compare/unreadable", why=error))


def _unknown(code: str) -> Callable[[int, Op, Alignment | None], Lowering]:
    return lambda number, op, found: Lowering(None, reason=Message(code, op_type=op.op_type))


def _int8_step(number: int, op: Op, found: Alignment | None) -> Lowering:
    return Lowering(None, reason=Message("compare/int8-step"))


_MASKED = frozenset(
    ("FlashAttentionScore", "IncreFlashAttention", "MaxPoolWithMask", "PromptFlashAttention")
)
"""Types whose tensors of eight bits are masks; their kernels refuse quantized inputs themselves."""


_STATED = frozenset(("AscendQuant", "AscendAntiQuant"))
"""Types that state the scale between floats and int8 themselves."""


def _is_between(op: Op) -> bool:
    """Whether an operator stands between floats and int8, and does not say by which scale."""
    if op.op_type in _MASKED or (op.op_type in _STATED and "scale" in op.attrs):
        return False
    read = {s.dtype for s in (*op.input_specs, *op.device_inputs) if s is not None}
    given = {s.dtype for s in (*op.outputs, *op.device_outputs)}
    floats = any(name in DTYPES and DTYPES[name].is_float for name in read | given)
    return floats and bool((read | given) & _EIGHT)


def _alone(
    rule: str, kernel: Callable[[Op], Kernel]
) -> Callable[[int, Op, Alignment | None], Lowering]:
    return lambda number, op, found: Lowering(kernel(op), rule)


def _respelled(op: Op) -> Kernel:
    other = canonical_op(op)
    assert other is not None
    return plain_kernel(other)


def _expanded(op: Op) -> Kernel:
    return DECOMPOSITIONS[op.op_type](op)


def _of_onnx(number: int, op: Op, found: Alignment | None) -> Lowering:
    if canonical_op(op) is None:
        return Lowering(None, reason=Message("compare/no-kernel", op_type=op.op_type))
    return Lowering(_respelled(op), "spelling")


def _fused(number: int, op: Op, found: Alignment | None) -> Lowering:
    """Return what a kernel computes that stands for several operators."""
    fusion = found.fused.get(number) if found is not None else None
    reason: Message | GraphError = Message("compare/no-network")
    if found is not None and fusion is not None and fusion.target == (number,):
        try:
            return Lowering(_from_golden(number, op, fusion.golden, found), "fusion")
        except GraphError as error:
            reason = error
    try:
        return Lowering(_chain(op), "types")
    except GraphError as error:
        return Lowering(None, reason=Message("compare/neither", first=error, second=reason))


_BIASED = {"Conv2D": "", "Conv3D": "", "MatMul": "NHWC", "BatchMatMul": "NHWC"}
"""Products that GE's kernels may add a bias to, and how its axis lies: at the end; else as the product's own format."""


_MOST_READ = 3
"""Inputs of a product: what it multiplies, and a bias."""


def _has_bias(op: Op) -> bool:
    """Whether a product reads a vector behind its two tensors."""
    operand = op.operand(2)
    if not isinstance(operand, Value | Param) or sum(1 for _ in op.flat_inputs()) != 3:
        return False
    other = op if op.op_type in OPS else canonical_op(op)
    return _has_vector(op) and other is not None and other.op_type in _BIASED


def _has_vector(op: Op) -> bool:
    """Whether the third input is a vector."""
    spec = op.input_specs[2] if len(op.input_specs) > 2 else None
    return spec is not None and spec.shape is not None and len(spec.shape) == 1


def _with_bias(op: Op) -> Kernel:
    """Return a product and the addition of its bias, which nothing rounds between."""
    product = op if op.op_type in OPS else canonical_op(op)
    assert product is not None
    layout = _BIASED[product.op_type] or product.attrs.get("format", "NCHW")
    parts = (
        replace(product, inputs=(Param(0), Param(1)), input_specs=product.input_specs[:2]),
        Op(op.name, "BiasAdd", (Value(0), Param(2)), {"data_format": layout}, product.outputs),
    )
    return Kernel(parts, (Value(1),))


_GELU = frozenset(("GeLU", "Gelu"))
"""Kernels by whose type nobody knows whether the formula is that with tanh or that with the error function."""


def _gelu(number: int, op: Op, found: Alignment | None) -> Lowering:
    """Return the formula that the network's node asks for, if it is known; tanh is the types' own."""
    if found is not None and (member := found.counterpart(number)) is not None:
        node = found.golden.graph.ops[member]
        exact = node.attrs.get("approximate", "none") == "none"
        if is_onnx(node) and node.op_type == "Gelu" and exact:
            return Lowering(gelu_by_erf(op), "formula")
    return Lowering(plain_kernel(op) if op.op_type in OPS else _respelled(op), "table")


_WORDS = "uint64"
"""Dtype of the scales by which sums of integers become floats, one a channel."""


def _sums_integers(op: Op) -> bool:
    """Whether a product of int8 also makes floats of its sums, by scales that it reads."""
    read = [spec.dtype if spec is not None else "" for spec in op.input_specs]
    given = DTYPES.get(op.outputs[0].dtype) if op.outputs else None
    other = op if op.op_type in OPS else canonical_op(op)
    return (
        other is not None
        and other.op_type in _BIASED
        and len(read) in (3, 4)
        and set(read[:2]) <= _EIGHT
        and read[2:] in ([_WORDS], ["int32", _WORDS])
        and given is not None
        and given.is_float
    )


def _with_scales(op: Op) -> Kernel:
    """Return a product of integers, its bias of integers, the scales that make floats of it, and what follows.

    Raises GraphError where what follows is not known to read one tensor alone.
    """
    product = op if op.op_type in OPS else canonical_op(op)
    assert product is not None
    sums = TensorSpec("int32", op.outputs[0].shape)
    last = len(op.input_specs) - 1
    inputs, specs = (Param(0), Param(1)), op.input_specs[:2]
    parts = [replace(product, inputs=inputs, input_specs=specs, outputs=(sums,))]
    if last == len(specs) + 1:
        layout = _BIASED[product.op_type] or product.attrs.get("format", "NCHW")
        parts.append(Op(op.name, "BiasAdd", (Value(0), Param(2)), {"data_format": layout}, (sums,)))
    whole = {"sqrt_mode": False, "relu_flag": False, "dtype": op.outputs[0].dtype}
    scaled = (Value(len(parts) - 1), Param(last))
    parts.append(Op(op.name, "AscendDequant", scaled, whole, op.outputs))
    for kind in _behind_sums(op):
        parts.append(Op(op.name, kind, (Value(len(parts) - 1),), {}, op.outputs))
    return Kernel(tuple(parts), (Value(len(parts) - 1),))


def _behind_sums(op: Op) -> list[str]:
    """Types that a kernel names behind its product; the addition of a bias is an input of it."""
    kinds = [kind for kind in original_types(op)[1:] if kind not in FOLDABLE]
    if kinds[:1] in (["Add"], ["BiasAdd"]) and len(op.input_specs) > _MOST_READ:
        del kinds[0]
    for kind in kinds:
        row = OPS.get(kind)
        if row is None or abs(row.tensors) != 1 or row.settings:
            raise GraphError("compare/fusion-unknown", kernel="+".join((op.op_type, *kinds)))
    return kinds


LOWERING_RULES: tuple[LoweringRule, ...] = (
    LoweringRule(
        "random", lambda op: op.op_type in RANDOM, _unknown("compare/random"),
        "what cannot be computed again stands before all that can: its kernel would draw other numbers",
    ),
    LoweringRule(
        "registers", lambda op: op.op_type in REGISTERS, _unknown("compare/overflow-status"),
        "as above; the three sets have no type in common",
    ),
    LoweringRule(
        "collectives", lambda op: op.op_type in COLLECTIVES, _unknown("compare/other-ranks"),
        "before int8: one that sends int8 between floats waits for other ranks, too",
    ),
    LoweringRule(
        "integers", _sums_integers, _alone("integers", _with_scales),
        "before int8, which leaves out what states no scale; before fusion, which would multiply floats",
    ),
    LoweringRule(
        "int8", _is_between, _int8_step,
        "before fusion and table: of a kernel that ends in int8 nobody knows the scale, whatever it is called",
    ),
    LoweringRule(
        "onnx", is_onnx, _of_onnx,
        "before fusion and table: a node of ONNX may bear the type of an operator of ours and mean something else",
    ),
    LoweringRule(
        "fusion", lambda op: len(original_names(op) or ()) > 1, _fused,
        "before the types: a kernel that stands for several operators bears the type of one of them",
    ),
    LoweringRule(
        "formula", lambda op: op.op_type in _GELU, _gelu,
        "before the table, which has one formula; behind fusion, which has the network's own operators",
    ),
    LoweringRule(
        "bias", _has_bias, _alone("bias", _with_bias),
        "before table and spelling, which would leave the bias out; a chain adds that of its own",
    ),
    LoweringRule(
        "table", lambda op: op.op_type in OPS, _alone("table", plain_kernel),
        "a row of its own comes before other names; no type has both",
    ),
    LoweringRule(
        "spelling", lambda op: op.op_type in ALIASES, _alone("spelling", _respelled),
        "one operator of the table before several; no type is both",
    ),
    LoweringRule(
        "expansion", lambda op: op.op_type in DECOMPOSITIONS, _alone("expansion", _expanded),
        "the last that knows anything",
    ),
    LoweringRule(
        "unknown", lambda op: True, _unknown("compare/no-kernel"),
        "applies always",
    ),
)  # fmt: skip
"""How it is known what an operator computes: the first rule that applies decides."""


class _Build:
    """A kernel while its operators are listed."""

    def __init__(self, number: int, found: Alignment) -> None:
        self.found = found
        self.places: dict[int, int] = {}
        self.ops: list[Op] = []
        self.inputs: dict[Origin, int] = {}
        for slot, origin in enumerate(found.target.origins(number)):
            mapped = found.mapped(origin)
            if mapped is not None:
                self.inputs.setdefault(mapped, slot)

    def operand(self, operand: Operand) -> Operand:
        """Return a golden operand as the kernel has it."""
        if isinstance(operand, Bundle):
            return replace(operand, items=tuple(map(self.operand, operand.items)))
        if isinstance(operand, Const):
            return operand
        if isinstance(operand, Value) and operand.op in self.places:
            return Value(self.places[operand.op], operand.slot)
        origin = self.found.golden.origin(operand)
        if origin.kind == "op" and origin.number in self.places:
            return Value(self.places[origin.number], origin.slot)
        return self.outside(origin)

    def outside(self, origin: Origin) -> Operand:
        """Return what comes from no operator of the kernel."""
        if origin not in self.inputs:
            raise GraphError("compare/kernel-input")
        return Param(self.inputs[origin])

    def add(self, number: int, op: Op) -> None:
        if not op.input_specs and any(True for _ in op.flat_inputs()):
            raise GraphError("compare/names-only")  # it is made of the target's
        if op.op_type not in OPS or is_onnx(op):
            other = canonical_op(op)
            if other is None:
                raise GraphError("compare/no-kernel", op_type=op.op_type)
            op = other
        self.places[number] = len(self.ops)
        self.ops.append(replace(op, inputs=tuple(map(self.operand, op.inputs))))


class _Apart(_Build):
    """A kernel of the golden's operators on inputs of its own, which are numbered as they come."""

    def __init__(self, number: int, found: Alignment) -> None:
        super().__init__(number, found)
        self.inputs = {}

    def outside(self, origin: Origin) -> Operand:
        return Param(self.inputs.setdefault(origin, len(self.inputs)))


def golden_kernel(
    number: int, op: Op, members: Sequence[int], found: Alignment
) -> tuple[Kernel, dict[int, tuple[int, int]]]:
    """Return the golden's operators that a kernel stands for as one, and who reads its inputs, and where.

    Raises GraphError for operators without a kernel, and for inputs that no operator reads as they are.
    """
    build = _Apart(number, found)
    kernel = _from_golden(number, op, members, found, build)
    readers = {slot: found.golden.readers(origin) for origin, slot in build.inputs.items()}
    if not all(readers.values()):
        raise GraphError("compare/inputs-unknown")
    return kernel, {slot: places[0] for slot, places in readers.items()}


def _from_golden(
    number: int, op: Op, members: Sequence[int], found: Alignment, build: _Build | None = None
) -> Kernel:
    """Compute the golden's operators on the kernel's own inputs, or on those of a builder."""
    build = build or _Build(number, found)
    ops = found.golden.graph.ops
    for member in sorted(members):
        if ops[member].op_type not in IDENTITY:
            build.add(member, ops[member])
    results = []
    for slot in range(max(len(op.outputs), 1)):
        origin = found.values.get(found.target.origin(Value(number, slot)))
        if origin is not None and origin.number in build.places:
            results.append(Value(build.places[origin.number], origin.slot))
        elif slot == 0:
            results.append(Value(len(build.ops) - 1, 0))
    return Kernel(tuple(build.ops), tuple(results))


def _chain(op: Op) -> Kernel:
    """Guess a chain from the types: each reads the last one's result and the next inputs in order.

    Settings are the kernel's own, which is right for the first operator of the chain; what has
    settings of its own behind it is not known.
    """
    kinds = _kinds(op)
    given = [Param(slot) for slot, _ in enumerate(op.flat_inputs())]
    if len(kinds) < len(original_names(op) or ()) and not is_part(op):
        raise GraphError("compare/fusion-types", kernel=op.op_type)
    if kinds[0] in _BIASED and len(given) <= _MOST_READ:
        kinds = [
            kind for kind in kinds if kind not in FOLDABLE
        ]  # its parameters are in the weights
    read = sum(abs(OPS[kind].tensors) - bool(n) for n, kind in enumerate(kinds) if kind in OPS)
    if kinds[0] in _BIASED and len(given) == read + 1 and _has_vector(op):
        kinds.insert(1, "BiasAdd")  # a node of ONNX has its bias itself, so that nobody names it
    ops: list[Op] = []
    for kind in kinds:
        row = OPS.get(kind)
        if row is None or (ops and any(name not in row.defaults for name in row.settings)):
            raise GraphError("compare/fusion-unknown", kernel="+".join(kinds))
        count = abs(row.tensors) - bool(ops)
        before: tuple[Operand, ...] = (Value(len(ops) - 1),) if ops else ()
        attrs = {} if ops else dict(op.attrs)
        inputs = (*before, *given[:count])
        del given[:count]
        ops.append(Op(op.name, kind, inputs, attrs, op.outputs, ()))
    if given:
        raise GraphError("compare/fusion-inputs", kernel="+".join(kinds), more=len(given))
    return Kernel(tuple(ops), _results(op, ops))


def _kinds(op: Op) -> list[str]:
    """Types of a chain; of an operator that became several kernels the part that this one is."""
    kinds = list(original_types(op))
    if is_part(op) and op.op_type in OPS:
        if op.op_type not in kinds:
            kinds[0] = op.op_type
        elif kinds[-1] == "BatchNorm":
            kinds[-1] = "BNTrainingReduce"
    return kinds


def _results(op: Op, ops: Sequence[Op]) -> tuple[Value, ...]:
    """Outputs of a chain: what nobody in it reads, its own result in the place that the sizes leave."""
    last, count = len(ops) - 1, len(op.outputs)
    if ops[-1].op_type == "BNTrainingReduce" and count == 3:
        return Value(last - 1), Value(last, 0), Value(last, 1)
    if last and count > 1:
        return (*(Value(0, slot) for slot in range(1, count)), Value(last))
    return tuple(Value(last, slot) for slot in range(max(count, 1)))
