"""Trees as releases of MindSpore wrote them on a GPU, spelled out by hand, for the workbench does not write old ones.

One network of four operators in one row of `RELEASES` a release. Names, tables and IR are those of ``e2e_dump.cc``,
``tensor_stat_dump.cc`` and ``anf_ir_dump.cc`` at the tag; values come from NumPy. Two operators are both called
``MatMul`` and differ in their scopes alone, which names before 2.3 leave out: there the ids tell them apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kit.build.foreign_files import NEW_HEADER, SPELLED, Spelling

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

WEIGHTS = ("fc1.weight", "fc2.weight")
STAMP = 1_700_000_000_000_000
TITLES = (
    "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value,Avg Value,Count,"
    "Negative Zero Count,Positive Zero Count,NaN Count,Negative Inf Count,Positive Inf Count,Zero Count"
)


class Release(NamedTuple):
    """How a release names what it dumps."""

    spelling: Spelling
    ids: tuple[int, int, int, int]  # of the operators, in the order in which they run
    scopes: bool  # names of files have the scope, and no dots
    constants: tuple[str, str]  # where and under which names
    typed: bool  # whether the IR states the type of a scalar
    metadata: bool = True  # and tables of statistics
    dtype: bool = False  # names of files end in the number format


THROUGH, ANEW = (3, 4, 5, 6), (0, 0, 0, 0)
EVERY_TIME, ONCE = (
    ("0/Parameter.cst2", "0/Parameter.cst3"),
    ("constants/Parameter.data-1", "constants/Parameter.data-2"),
)
RELEASES = {
    "1.3": Release(SPELLED["1.3"], THROUGH, False, EVERY_TIME, False, metadata=False),
    "1.5": Release(SPELLED["1.5"], THROUGH, False, EVERY_TIME, False, metadata=False),
    "1.6": Release(SPELLED["1.6"], THROUGH, False, ONCE, False),
    "1.7": Release(SPELLED["1.7"], THROUGH, False, ONCE, False),
    "1.8": Release(SPELLED["1.8"], THROUGH, False, ONCE, False),
    "1.10": Release(SPELLED["1.10"], THROUGH, False, ONCE, False),
    "2.0": Release(SPELLED["2.0"], THROUGH, False, ONCE, False),
    "2.1": Release(SPELLED["2.1"], THROUGH, False, ONCE, True),
    "2.2": Release(SPELLED["2.2"], THROUGH, False, ONCE, True),
    "2.3": Release(SPELLED["2.3"], ANEW, True, ONCE, True),
    "2.4": Release(SPELLED["2.3"], ANEW, True, ONCE, True, dtype=True),
}  # fmt: skip


class Tensor(NamedTuple):
    """One file or row: ``name`` is the operator's whole name."""

    op_type: str
    name: str
    io: str
    slot: int
    value: np.ndarray


def op_names(release: Release) -> tuple[str, str, str, str]:
    """Names of the operators in the order in which they run, as the IR has them."""
    names = ("fc1-Dense/MatMul", "relu-ReLU/ReLU", "fc2-Dense/MatMul", "ReduceMean")
    first, second, third, last = (
        f"Default/{name}-op{n}" for name, n in zip(names, release.ids, strict=True)
    )
    return first, second, third, last


def tensors(release: Release, wrong: Mapping[int, float] | None = None) -> list[Tensor]:
    """Everything that one iteration dumps but the constants; ``wrong`` are factors of operators' results."""
    factor = [(wrong or {}).get(number, 1.0) for number in range(4)]
    x = np.arange(-3, 3, dtype=np.float32).reshape(2, 3)
    first = np.arange(12, dtype=np.float32).reshape(4, 3) - 5
    second = np.arange(8, dtype=np.float32).reshape(2, 4) / 4
    product = x @ first.T * np.float32(factor[0])
    positive = np.maximum(product, 0) * np.float32(factor[1])
    out = positive @ second.T * np.float32(factor[2])
    mean = out.mean(keepdims=True) * np.float32(factor[3])
    axes, keep = np.array([0, 1], np.int64), np.array(True)
    steps = (
        ("MatMul", (x, first), product),
        ("ReLU", (product,), positive),
        ("MatMul", (positive, second), out),
        ("ReduceMean", (out, axes, keep), mean),
    )
    found = []
    for (op_type, inputs, output), name in zip(steps, op_names(release), strict=True):
        found += [Tensor(op_type, name, "input", slot, v) for slot, v in enumerate(inputs)]
        found.append(Tensor(op_type, name, "output", 0, output))
    values = zip(WEIGHTS, (first, second), strict=True)
    return [*found, *(Tensor("Parameter", name, "output", 0, value) for name, value in values)]


def file_name(release: Release, tensor: Tensor) -> str:
    """Name of a tensor's operator in names of files and in tables."""
    if release.scopes:
        return tensor.name.replace("/", "_").replace(".", "_")
    return tensor.name.rpartition("/")[2]


def table_row(release: Release, tensor: Tensor, stamp: int) -> str:
    """A row of statistics of the fixed columns, which ends without a comma."""
    x, name = tensor.value, file_name(release, tensor)
    shape = ",".join(map(str, x.shape))
    words = (tensor.op_type, name, "0,0", str(stamp), tensor.io, str(tensor.slot), str(x.nbytes))
    figures = (x.max(), x.min(), x.mean())
    counts = (x.size, (x < 0).sum(), (x > 0).sum(), 0, 0, 0, (x == 0).sum())
    cells = (*(f"{float(value):.6g}" for value in figures), *map(str, counts))
    return f'{",".join(words)},{x.dtype.name},"({shape})",{",".join(cells)}\n'


SHAPES = {"x": "2, 3", "fc1.weight": "4, 3", "fc2.weight": "2, 4"}
SCALARS = {  # whether they are typed → a pair of axes, true, false
    False: ("(0, 1)", "true", "false"),
    True: ("(I64(0), I64(1))", "Bool(1)", "Bool(0)"),
}


def ir_text(release: Release) -> str:
    """The graph as the release spells it."""
    s = release.spelling
    text = s.header.format(name="kernel_graph_0", count=3)
    for number, name in enumerate((*WEIGHTS, "x"), 1):
        weight = "true" if name in WEIGHTS else "false"
        on = s.laid("Float32", "DefaultFormat", SHAPES[name])
        host = _held(s, name)
        line = s.parameter.format(number=number, name=name, host=host, device=on, weight=weight)
        text += line + "\n"
    text += "\n" if s.header.startswith(NEW_HEADER) else "\n#Total subgraph : 1\n\n"
    text += "subgraph attr:\nflag : 1\n" + s.instance.format(name="kernel_graph_0")
    text += "subgraph @kernel_graph_0() {\n"
    for number, name in enumerate(WEIGHTS):
        read = s.reference.format(number=number + 1, name=name)
        text += f"  %{number}([CNode]{number}) = Load({read}, U)\n"
        text += f"      : ({_held(s, name)}, <UMonad>) -> ({s.tensor('Float32', SHAPES[name])})\n"
        text += s.behind(f"Default/Load-op{number}")
    text += _nodes(release) + f"  Return(%5)\n      : ({s.tensor('Float32', '1, 1')})\n"
    return text + s.behind("Default/Return-op7") + "}\n\n"


def _held(s: Spelling, name: str) -> str:
    """Type of a parameter on the host."""
    if name in WEIGHTS:
        return s.weight.replace("fc.weight", name).format(shape=SHAPES[name])
    return s.tensor("Float32", SHAPES[name])


def _nodes(release: Release) -> str:
    """The four operators; the last one is told its axes and whether it keeps them."""
    s, (axes, yes, no) = release.spelling, SCALARS[release.typed]
    x = s.reference.format(number=3, name="x")
    whole = s.attrs.format(attrs=f"transpose_a: {no}, transpose_b: {yes}")

    def f32(shape: str) -> tuple[str, str]:
        return s.tensor("Float32", shape), s.laid("Float32", "DefaultFormat", shape)

    told = (
        ("<Tuple[Int64*2]>", s.laid("Int64", "DefaultFormat", "")),
        ("<Bool>", s.laid("Bool", "DefaultFormat", "")),
    )
    nodes = (
        (f"MatMul({x}, %0){whole}", (f32("2, 3"), f32("4, 3")), f32("2, 4")),
        ("ReLU(%2)", (f32("2, 4"),), f32("2, 4")),
        (f"MatMul(%3, %1){whole}", (f32("2, 4"), f32("2, 4")), f32("2, 2")),
        (f"ReduceMean(%4, {axes}, {yes})", (f32("2, 2"), *told), f32("1, 1")),
    )
    text = ""
    for number, ((call, inputs, output), name) in enumerate(
        zip(nodes, op_names(release), strict=True), 2
    ):
        host, device = (", ".join(kinds) for kinds in zip(*inputs, strict=True))
        text += f"  %{number}(y{number}) = {call}\n"
        text += f"      : ({host}) -> ({output[0]})\n      : ({device}) -> ({output[1]})\n"
        text += s.behind(name)
    return text


def old_tree(
    root: Path, version: str, *, table: bool = False, wrong: Mapping[int, float] | None = None
) -> Path:
    """Write the tree of a release: npy files of all tensors, or a table of statistics."""
    release, rank = RELEASES[version], root / "rank_0"
    leaf, constants = rank / "Net/0/0", rank / "Net/0"
    for folder in ("graphs", "execution_order", "Net/0/0", "Net/0/constants", ".dump_metadata"):
        (rank / folder).mkdir(parents=True)
    (rank / "graphs/ms_output_trace_code_graph_0.ir").write_text(ir_text(release))
    order = "\n".join(("NodeExecutionOrder-FullNameWithScope", *op_names(release), ""))
    (rank / "execution_order/ms_execution_order_graph_0.csv").write_text(order)
    if release.metadata:
        (rank / ".dump_metadata/config.json").write_text(
            f'{{"device_target":"GPU","ms_version":"{version}.0"}}'
        )
        (rank / "execution_order/ms_global_execution_order_graph_0.csv").write_text("0\n")
    rows = [TITLES + "\n"]
    for stamp, tensor in enumerate(tensors(release, wrong), STAMP):
        word = f".{tensor.value.dtype.name}" if release.dtype else ""
        name = f"{tensor.op_type}.{file_name(release, tensor)}.0.0.{stamp}"
        name += f".{tensor.io}.{tensor.slot}.DefaultFormat{word}.npy"
        if not table:
            np.save(leaf / name, tensor.value)
        rows.append(table_row(release, tensor, stamp))
    if table:
        (leaf / "statistic.csv").write_text("".join(rows))
        return root
    for name, value in zip(release.constants, (np.array([0, 1]), np.array(True)), strict=True):
        word = f".{value.dtype.name}" if release.dtype else ""
        np.save(constants / f"{name}.0.0.{STAMP}.output.0.DefaultFormat{word}.npy", value)
    return root
