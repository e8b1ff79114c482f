"""IR text of every MindSpore version, spelled from one row of `SPELLED` a version.

The rows are what MindSpore's ``anf_ir_dump.cc`` prints at that tag.
"""

from __future__ import annotations

from typing import NamedTuple


class Spelling(NamedTuple):
    """How one version writes; each field is a template or a word."""

    header: str  # {name}, {count}
    parameter: str  # {number}, {name}, {host}, {device}, {weight}
    reference: str  # an operand that is a parameter
    host: str  # {kind}, {shape}
    weight: str  # host type of a weight
    device: str  # {dtype}, {format}, {shape}
    attrs: str  # {attrs}
    parallel: str
    name: str  # {name}
    location: str  # {file}, {line}
    instance: str = ""
    monads: bool = True
    inward: bool = True  # the operator's own line comes last


OLD_HEADER = "#IR entry      : @{name}\n#attrs         :\nflag : 1\n#Total params  : {count}\n\n"
NEW_HEADER = "# IR entry: @{name}\n# Total subgraphs: 1\n\n# Attrs:\nflag: 1\n\n# Total params: {count}\n# Params:\n"
SQUARE, CURLY = (
    "<{dtype}x{format}[const vector][{shape}]>",
    "<{dtype}x{format}[const vector]{{{shape}}}>",
)
OLD = Spelling(
    OLD_HEADER,
    "%para{number} = {name} : {host}  :  {device}  :  IsWeight:{weight}",
    "%para{number}",
    "<{kind}x[const vector][{shape}]>",
    "<Ref[Tensor(F32)]x[const vector][{shape}]>",
    SQUARE,
    " {{{attrs}}}",
    " {{ strategy: ((1, 1), (1, 1)) }}",
    ": ({name})",
    "In file {file}({line})/",
    monads=False,
    inward=False,
)  # fmt: skip
V1_2 = OLD._replace(attrs=" primitive_attrs: {{{attrs}}} cnode_attrs: {{checkpoint: true}}")
V1_3 = V1_2._replace(
    parameter="%para{number}_{name} : {host}  :  {device}  :  IsWeight:{weight}",
    reference="%para{number}_{name}",
    monads=True,
)
V1_5 = V1_3._replace(host="<{kind}, ({shape})>", weight="<Ref[Tensor(F32)], ({shape})>")
V1_6 = V1_5._replace(parallel=" {{in_strategy: ((1, 1), (1, 1)), out_strategy: ((1, 1))}}")
V1_7 = V1_6._replace(
    name="# fullname_with_scope: ({name})",
    weight="<Ref[Tensor(F32)], ({shape}), ref_key=:fc.weight>",
)
V1_8 = V1_7._replace(instance="subgraph instance: {name} : 0x55afbafbbcd0\n")
V1_9 = V1_8._replace(
    parameter="%para{number}_{name} : {host}  :  has_default  :  {device}  :  IsWeight: {weight}",
    location="In file {file}:{line}/",
)
V2_0 = V1_9._replace(
    header=NEW_HEADER,
    name="# Fullname with scope: ({name})",
    weight="<Ref[Tensor[Float32]], ({shape}), ref_key=:fc.weight>",
    inward=True,
)
V2_2 = V2_0._replace(device=CURLY)
V2_3 = V2_2._replace(
    header=NEW_HEADER + "\nNode counting information:\nTotal number of nodes: 7\n\n",
    parameter="%para{number}_{name}: {host}  :  has_default  :  {device}  :  IsWeight: {weight}",
    weight="<Ref[Tensor[Float32]], ({shape}), ref_key=fc.weight, is_parameter>",
    location="In file {file}:{line}, 4~20/",
)
SPELLED = {
    "1.0": OLD, "1.1": OLD, "1.2": V1_2, "1.3": V1_3, "1.5": V1_5, "1.6": V1_6, "1.7": V1_7, "1.8": V1_8,
    "1.9": V1_9, "1.10": V1_9, "2.0": V2_0, "2.1": V2_0, "2.2": V2_2, "2.3": V2_3,
}  # fmt: skip

FRAMES = (("/w/net.py", 40), ("/w/net.py", 12), ("/v/site-packages/mindspore/nn/layer.py", 7))


def old_file(spelling: Spelling, *, header: bool = True) -> str:
    """A dense layer and its cast as a version spells them."""
    s = spelling

    def tensor(word: str, shape: str) -> str:
        return s.host.format(kind=f"Tensor[{word}]", shape=shape)

    def device(word: str, form: str, shape: str) -> str:
        return s.device.format(dtype=word, format=form, shape=shape)

    def ref(number: int, name: str) -> str:
        return s.reference.format(number=number, name=name)

    def behind(name: str, lines: tuple[tuple[str, int], ...] = ()) -> str:
        text = f"      {s.name.format(name=name)}\n"
        for file, line in lines if s.inward else reversed(lines):
            place = s.location.format(file=file, line=line)
            text += f"      # {place}        y = f(x)/\n"
        return text

    x, w = tensor("Float32", "2, 3"), s.weight.format(shape="4, 3")
    on = device("Float32", "DefaultFormat", "2, 3"), device("Float32", "DefaultFormat", "4, 3")
    out = device("Float32", "FRACTAL_NZ", "1, 1, 16, 16")
    text = s.header.format(name="kernel_graph_1", count=2) if header else ""
    for number, (name, kind, where, weight) in enumerate(
        (("x", x, on[0], "false"), ("fc.weight", w, on[1], "true")), 1
    ):
        text += s.parameter.format(number=number, name=name, host=kind, device=where, weight=weight)
        text += "\n"
    text += "\n#Total subgraph : 1\n\n" if s.header == OLD_HEADER and header else "\n"
    text += "subgraph attr:\nflag : 1\n" + s.instance.format(name="kernel_graph_1")
    text += "subgraph @kernel_graph_1() {\n"
    read = ref(2, "fc.weight")
    number = 0
    if s.monads:
        text += f"  %0([CNode]11) = Load({read}, U)\n      : ({w}, <UMonad>) -> ({tensor('Float32', '4, 3')})\n"
        text += behind("Default/Load-op1")
        read, number = "%0", 1
    group = s.attrs.format(
        attrs="input_names: [x1, x2], transpose_b: true, eps: 0.5, pad_mode: same"
    )
    text += f"  %{number}(equivy) = MatMul({ref(1, 'x')}, {read}) {{instance name: matmul}}{group}"
    text += f"{s.parallel.format()}\n"
    text += f"      : ({x}, {tensor('Float32', '4, 3')}) -> ({tensor('Float32', '2, 4')})\n"
    text += f"      : ({on[0]}, {on[1]}) -> ({out})\n"
    text += behind("Default/fc-Dense/MatMul-op3", FRAMES)
    text += f"  %{number + 1}(y) = Cast(%{number}){s.attrs.format(attrs='dst_type: Float16')}\n"
    text += f"      : ({tensor('Float32', '2, 4')}) -> ({tensor('Float16', '2, 4')})\n"
    text += f"      : ({out}) -> ({device('Float16', 'FRACTAL_NZ', '1, 1, 16, 16')})\n"
    text += behind("Default/fc-Dense/Cast-op4", FRAMES[:1])
    text += f"  Return(%{number + 1})\n      : ({tensor('Float16', '2, 4')})\n"
    return text + behind("Default/Return-op5") + "}\n\n"
