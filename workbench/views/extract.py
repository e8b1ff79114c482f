"""The minimal case: the guilty operator alone, in a folder, with a script that shows its error."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.comparison.findings.next_dump import lacking, place_of
from workbench.comparison.replay.attempt import TROUBLE, Attempt
from workbench.comparison.replay.kernel import compute_kernel
from workbench.comparison.replay.operator_file import (
    SCHEMA,
    given_name,
    kernel_data,
    npy_array,
    read_case,
)
from workbench.core.errors import FormatError, GraphError, WorkbenchError
from workbench.core.text import one_line
from workbench.core.words import Message
from workbench.dump.formats.npy import save_npy
from workbench.dump.new_folder import NewFolder
from workbench.graph.graph import Param
from workbench.ops import OPS, bind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from workbench.comparison.follow.trace import Trace
    from workbench.comparison.result import Finding

    Array = NDArray[Any]

_FORMATS = frozenset(("data_format", "format"))
_WINDOWS = frozenset(("kernel_size", "strides"))
_LAYOUTS = ("NCHW", "NHWC", "NCDHW")

SCRIPT = '''"""{title}"""

from pathlib import Path

import numpy as np

from workbench.comparison.replay.operator_file import read_case

case = read_case(Path(__file__).parent)  # operator.json and the npy files beside it
for settings in case.kernels:  # "own", and "golden" where its settings are others
    for name, expected in case.reference(settings).items():  # in float64, rounded once
        given, wide = (np.float64(array) for array in (case.given[name], expected))
        off = np.linalg.norm(given - wide) / np.linalg.norm(wide)
        print(f"{{name}}: {{off:.6g}} from the reference with its {{settings}} settings")
'''

MINDSPORE = '''"""{title}

The same with MindSpore's own kernel, on whatever device it runs here.
"""

import inspect
import json
from pathlib import Path

import mindspore as ms
import numpy as np

here = Path(__file__).parent
about = json.loads((here / "operator.json").read_text(encoding="utf-8"))
primitive = getattr(ms.ops, about["mindspore"]["primitive"])
known = inspect.signature(primitive.__init__).parameters
settings = {{k: tuple(v) if isinstance(v, list) else v for k, v in about["mindspore"]["settings"].items()}}
operator = primitive(**{{k: v for k, v in settings.items() if k in known}})
inputs = [ms.Tensor(np.load(here / f"input.{{n}}.npy")) for n in about["mindspore"]["inputs"]]
given = [tuple(inputs)] if about["mindspore"]["tuple"] else inputs
asked = list(inspect.signature(primitive.__call__).parameters)[1 + len(given):]
results = operator(*given, *(settings[name] for name in asked if name in settings))
for slot, result in enumerate(results if isinstance(results, tuple) else (results,)):
    path = here / f"output.{{slot}}.npy"
    if path.exists():
        given, wide = np.float64(np.load(path)), np.float64(result.asnumpy())
        off = np.linalg.norm(given - wide) / np.linalg.norm(wide)
        print(f"output.{{slot}}: {{off:.6g}} from MindSpore's result")
'''


@dataclass(frozen=True)
class Extracted:
    """A folder that holds an operator alone: its name, the files, and why it was taken."""

    folder: Path
    op_name: str
    files: tuple[str, ...]
    script: Path

    def __str__(self) -> str:
        return one_line(
            f"{self.op_name} alone, {len(self.files)} files: {self.folder}; run {self.script}"
        )


def extract_operator(flow: Trace | None, finding: Finding, folder: str | Path) -> Extracted:
    """Write the operator of a finding alone into a new or empty folder.

    The inputs are those that the target gave it; ``golden.…`` are the golden's tensors where there are any.

    Raises
    ------
    WorkbenchError
        The dump does not tell what is needed: says what and why; or ``flow`` is missing, of a result from a file.
    FormatError
        The folder holds anything, or cannot be written.
    """
    if flow is None:
        raise WorkbenchError("views/result-alone")
    attempt = _attempt(flow, finding)
    tensors = {f"input.{slot}": array for slot, array in attempt.inputs.items()}
    tensors |= {given_name(slot): array for slot, array in attempt.given.items()}
    about = _about(flow, finding, attempt)
    root = Path(folder)
    with NewFolder(root) as out:
        dtypes = {name: _write(out, name, array) for name, array in tensors.items()}
        golden = {f"golden.{name}": one for name, one in _golden(flow, attempt)}
        formats = {name: _write(out, name, array) for name, array in golden.items()}
        about |= {"dtypes": dtypes, "golden_dtypes": formats}
        texts = {"operator.json": json.dumps(about, indent=1) + "\n"}
        title = _printable(f"{finding.op_type} {finding.op_name} alone")
        texts["reproduce.py"] = SCRIPT.format(title=title)
        if "mindspore" in about:
            texts["reproduce_mindspore.py"] = MINDSPORE.format(title=title)
        for name, text in texts.items():
            with out.file(name) as file:
                file.write(text.encode("utf-8", "replace"))
    _check(root, attempt)
    files = (*texts, *(f"{name}.npy" for name in (*tensors, *golden)))
    return Extracted(root, finding.op_name, files, root / "reproduce.py")


def _attempt(flow: Trace, finding: Finding) -> Attempt:
    """Return the operator ready to be computed; raises WorkbenchError saying what is missing."""
    place = place_of(flow, finding)
    graph = flow.pairing.target.graph(place[0]) if place is not None else None
    if flow.replayed is None or place is None or graph is None or place[1] < 0:
        why: list[Any] = [Message("views/not-extracted-graph")]
    else:
        found = flow.replayed.attempt(*place)
        if isinstance(found, Attempt):
            if not found.partial:
                return found
            why = [Message("views/not-extracted-part")]
        else:
            why = [found]
        why += [one for one in (lacking(flow, finding),) if one]
    raise WorkbenchError("views/not-extracted", op=finding.op_name, why=why)


def _about(flow: Trace, finding: Finding, attempt: Attempt) -> dict[str, Any]:
    """Return what the JSON says of an operator, without its tensors."""
    about: dict[str, Any] = {
        "schema": SCHEMA,
        "op_name": finding.op_name,
        "op_type": finding.op_type,
        "kind": finding.kind,
        "evidence": [str(one) for one in finding.evidence],
        "assumed": [str(one) for one in attempt.assumed],
        "source": str(finding.source) if finding.source is not None else "",
        "iteration": finding.iteration,
        "rank": finding.rank,
        "kernels": {"own": kernel_data(attempt.kernel)},
    }
    other = flow.replayed.golden_attempt(attempt.block, attempt.number) if flow.replayed else ""
    if isinstance(other, Attempt) and len(other.kernel.ops) == len(attempt.kernel.ops):
        golden = kernel_data(other.kernel)
        same_inputs = other.kernel.needed == attempt.kernel.needed
        if golden != about["kernels"]["own"] and same_inputs and _runs(other, attempt):
            about["kernels"]["golden"] = golden
    if len(attempt.kernel.ops) == 1 and min(attempt.given) >= 0:  # else it needs parameters
        about["mindspore"] = _primitive(attempt)
    return about


def _runs(other: Attempt, attempt: Attempt) -> bool:
    """Whether the golden's kernel takes the target's inputs, and gives what can be compared."""
    try:
        outputs = compute_kernel(other.kernel, attempt.inputs)
    except TROUBLE:
        return False
    sizes = {slot: array.size for slot, array in attempt.given.items() if slot >= 0}
    return all(slot < len(outputs) and outputs[slot].size == size for slot, size in sizes.items())


def _primitive(attempt: Attempt) -> dict[str, Any]:
    """Return what MindSpore's primitive of the same name is made of and given."""
    (op,) = attempt.kernel.ops
    bound = bind(op)
    inputs = [one.index for one in bound.tensors if isinstance(one, Param)]
    settings = {k: v for k, v in bound.settings.items() if _is_json(v)}
    for name in _FORMATS & settings.keys():  # graphs have them by number, constructors by name
        number = settings[name]
        settings[name] = _LAYOUTS[number] if number in range(len(_LAYOUTS)) else number
    for name in _WINDOWS & settings.keys() if op.op_type in ("MaxPool", "AvgPool") else ():
        settings[name] = settings[name][-2:]  # of all four axes there
    joined = OPS[op.op_type].tensors < 0
    return {"primitive": op.op_type, "inputs": inputs, "tuple": joined, "settings": settings}


def _is_json(value: object) -> bool:
    if isinstance(value, tuple | list):
        return all(_is_json(item) for item in value)
    return isinstance(value, bool | int | float | str)


def _golden(flow: Trace, attempt: Attempt) -> Iterator[tuple[str, Array]]:
    """Tensors of the golden that were compared with the operator's."""
    for (io, slot), item in flow.index.get((attempt.block, attempt.number), {}).items():
        source = item.pair.golden.source
        try:
            if source is not None:
                yield f"{io}.{slot}", source.array()
        except FormatError:  # unreadable; the comparison has told so
            continue


def _write(out: NewFolder, name: str, array: Array) -> str:
    held, dtype = npy_array(array)
    with out.file(f"{name}.npy") as file:
        save_npy(file, held)
    return dtype


def _check(root: Path, attempt: Attempt) -> None:
    """Make sure that the folder tells the same as the dump; raises GraphError if it does not."""
    expected: Mapping[int, Array] = attempt.results()
    found = read_case(root).reference()
    for slot, array in expected.items():
        if not np.array_equal(found[given_name(slot)], array, equal_nan=array.dtype.kind in "fc"):
            raise GraphError("views/case-differs", folder=str(root), tensor=given_name(slot))


def _printable(text: str) -> str:
    """Return a name that may stand in a docstring of a script, whatever it holds."""
    return "".join(c if c.isprintable() and c not in '\\"{}' else "_" for c in text)[:200]
