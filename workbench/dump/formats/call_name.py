"""File names of dumps of PyTorch: captured graphs of torchair, interfaces and modules of msprobe.

A captured graph (``reduce-overhead``, ``npugraph_ex``) leaves ``{node}_device_{device}_{count}.pt`` for every graph
input and every output of a node, the count rising from 0 with every run; so does every call of
``torch_npu.save_npugraph_tensor``, whose ``overwrite`` leaves the count out. msprobe's PyTorch and MindSpore
dumps name ``{interface or module}.{forward or backward}.{input, output, …}.{number}``, with further numbers and
keys of nested arguments. Sources: torchair ``dump_config.py``, its data dump guide and test, op-plugin
``SaveNpugraphTensor``; msprobe ``data_processor/base.py``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workbench.dump.formats.file import SAVED_BY_TORCH, FileName, Ids

if TYPE_CHECKING:
    from workbench.core.tensors import Io

_SUFFIX = "|".join(suffix.removeprefix(".") for suffix in SAVED_BY_TORCH)
_NODE = re.compile(
    rf"([^/\\]+)_device_(\d{{1,6}})(?:_(\d{{1,10}}))?\.(?:{_SUFFIX})", re.ASCII | re.DOTALL
)
_CALL = re.compile(
    r"([^/\\]+?\.(?:forward|backward)(?:\.\d{1,9})?|[^/\\]+?(?=\.(?:debug|parameters_grad)\.))"
    r"\.(input|output|kwargs|parameters|parameters_grad|debug)((?:\.[^/\\]+)?)\.(?:pt|npy)",
    re.ASCII | re.DOTALL,
)
_INPUTS = frozenset(("input", "kwargs", "parameters"))
_LONGEST = 1024


def parse_node_name(file_name: str) -> FileName | None:
    """Read the name of a node of a captured graph; ``None`` if it is none.

    >>> parse_node_name("add_1_device_0_2.pt").op_name, parse_node_name("add_1_device_0_2.pt").ids.run
    ('add_1', 2)
    """
    found = _NODE.fullmatch(file_name) if len(file_name) <= _LONGEST else None
    if found is None:
        return None
    op_name, device, run = found.groups()
    ids = Ids(device=int(device), run=None if run is None else int(run))
    return FileName("node", op_name=op_name, slot=0, ids=ids)


def parse_call_name(file_name: str) -> FileName | None:
    """Read the name of a tensor of a call; ``None`` if it is none.

    Tensors that a number alone does not tell get a name of their own.

    >>> parse_call_name("Functional.conv2d.0.forward.input.1.pt")[:3]
    ('call', 'conv2d', 'Functional.conv2d.0.forward')
    >>> parse_call_name("Module.fc.Linear.forward.0.parameters.weight.pt")[1:3]
    ('Linear', 'Module.fc.Linear.forward.0.parameters.weight')
    """
    found = _CALL.fullmatch(file_name) if len(file_name) <= _LONGEST else None
    if found is None:
        return None
    call, category, rest = found.groups()
    io: Io = "input" if category in _INPUTS else "output"
    place = rest.removeprefix(".")
    if category in ("input", "output") and (not place or _is_number(place)):
        return FileName("call", call_type(call), call, io=io, slot=int(place or 0))
    head, _, last = place.rpartition(".")
    if not _is_number(last):
        head, last = place, "0"
    name = ".".join(word for word in (call, category, head) if word)
    return FileName("call", call_type(call), name, io=io, slot=int(last))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 10


def call_type(op_name: str) -> str:
    """Class of a module, or what an interface is called.

    >>> call_type("Module.fc.Linear.forward.0"), call_type("Functional.conv2d.0.forward")
    ('Linear', 'conv2d')
    """
    words = op_name.split(".")
    if words[0] not in ("Module", "Cell"):
        return words[1] if len(words) > 2 else ""
    call = next(
        (at for at, word in enumerate(words) if word in ("forward", "backward")), len(words)
    )
    return words[call - 1] if call > 1 else ""
