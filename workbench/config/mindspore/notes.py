"""What a user should know beyond the plan: one table of notes for the five surfaces."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.config.mindspore.reading import (
    BY_MSPROBE,
    is_alone,
    own_device,
    own_rank,
)
from workbench.core.words import RowMessage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.config.mindspore.reading import MindSporeReading

    When = Callable[[MindSporeReading], bool]


class Note(NamedTuple):
    """A name, the surfaces that it is for, its sentence, and when it holds; values come from the form."""

    id: str
    on: str
    says: str
    when: When = lambda r: True


def _mode(number: int) -> When:
    return lambda r: r.debug_mode == number


def _counts(r: MindSporeReading) -> bool:
    section = r.common
    return r.debug_mode == 3 and section.overflow_number > 0 and r.limited


def _marked(r: MindSporeReading) -> bool:
    return r.dump_mode == 2


def _is_bin(r: MindSporeReading) -> bool:
    return r.common.file_format == "bin"


def _is_npy(r: MindSporeReading) -> bool:
    return not _is_bin(r)


def _tensors(r: MindSporeReading) -> bool:
    return r.saved != "statistic"


def _since(*release: int) -> When:
    return lambda r: r.context.release() >= release


def _before(*release: int) -> When:
    return lambda r: bool(r.context.release()) and r.context.release() < release


def _useless_kept(r: MindSporeReading) -> bool:
    return r.context.variable("MINDSPORE_DUMP_IGNORE_USELESS_OUTPUT") == "0"


def _useless_left_out(r: MindSporeReading) -> bool:
    return not _useless_kept(r)


def _full_by_msprobe(r: MindSporeReading) -> bool:
    return r.saved == "full" and r.by_msprobe


NOTES = (
    Note(
        "tree-kernels",
        "o0o1 cpu gpu",
        "Folder tree: {path}/rank_{rank}/{net}/GRAPH/ITERATION, with graphs and execution_order beside {net}.",
    ),
    Note(
        "tree-o2",
        "o2",
        "Folder tree: {path}/STEP/TIME/DEVICE/MODEL/MODEL_ID/ITERATION.",
        _before(*BY_MSPROBE),
    ),
    Note(
        "tree-msprobe",
        "o2",
        "msprobe writes the folder tree {path}/rank_{rank}/START/step_STEP.",
        _since(*BY_MSPROBE),
    ),
    Note(
        "acl-json",
        "o2",
        "MindSpore writes {path}/acl_dump_{device}.json for ACL before each step.",
        _before(*BY_MSPROBE),
    ),
    Note(
        "acl-json-msprobe",
        "o2",
        "msprobe writes {path}/acl_dump_{process}.json for ACL before each step.",
        _since(*BY_MSPROBE),
    ),
    Note(
        "full-by-msprobe",
        "o2",
        "msprobe saves tensors or statistics; with 'full' it saves statistics only.",
        _full_by_msprobe,
    ),
    Note(
        "tree-ge",
        "ge",
        "Folder tree: {path}/TIME/DEVICE/MODEL/MODEL_ID/ITERATION, without a level for steps.",
    ),
    Note("ge-switch", "ge", "Needs ENABLE_MS_GE_DUMP=1. This kind of dump will be removed."),
    Note(
        "names-short",
        "o0o1 cpu gpu",
        "File names hold the short operator name and no dtype.",
        _before(2, 3),
    ),
    Note(
        "names-full",
        "o0o1 cpu gpu",
        "File names hold the full operator name and no dtype.",
        lambda r: _since(2, 3)(r) and _before(2, 4)(r),
    ),
    Note(
        "names-dtype",
        "cpu",
        "Dtypes in file names begin with a capital: Float32.",
        _since(2, 4),
    ),
    Note("overflow", "o0o1", "Only operators that overflow are dumped.", _mode(3)),
    Note(
        "overflow-record",
        "o2 ge",
        "An overflow writes Opdebug.Node_OpDebug beside the dump of its operator.",
        _mode(3),
    ),
    Note(
        "overflow-limit",
        "o0o1 o2 ge",
        "Dumping stops after {limit:count overflow}.",
        _counts,
    ),
    Note(
        "exception",
        "o0o1",
        "The inputs of the operator that fails on the device are saved, and the run ends.",
        _mode(4),
    ),
    Note(
        "exception-acl",
        "o2 ge",
        "An operator that fails writes an exception record of ACL.",
        _mode(4),
    ),
    Note(
        "marked",
        "o0o1 o2 ge",
        "Mark operators with mindspore.set_dump(net.layer); without marks nothing is dumped.",
        _marked,
    ),
    Note(
        "containers",
        "o2 ge",
        "Files are ACL containers in device format; convert them to npy.",
        _is_bin,
    ),
    Note(
        "fractal-nz",
        "o2",
        "2-D FRACTAL_NZ tensors keep the device order, although the header says otherwise.",
        _is_npy,
    ),
    Note(
        "no-ir",
        "o2 ge",
        "No IR is written. MS_DEV_SAVE_GRAPHS=2 saves one before the last passes, DUMP_GE_GRAPH the final graph "
        "with the names to select.",
    ),
    Note(
        "exception-dump",
        "o2 ge",
        'set_context(ascend_config={{"exception_dump": "2"}}) does not work during a dump; "1" does.',
    ),
    Note("sink-size", "o2", "Use sink size 1; any other value ends the run."),
    Note("sink-mode", "gpu", "Turn data sink off, or some steps are not dumped."),
    Note(
        "constants",
        "o0o1 o2 ge",
        "Constants and parameters have no files of their own.",
        _since(2, 3),
    ),
    Note(
        "parameters",
        "cpu gpu",
        "Parameters have files too; names and types select them like operators.",
    ),
    Note(
        "constants-cpu",
        "cpu",
        "Constants are never written (the tutorial says otherwise).",
        _since(2, 3),
    ),
    Note(
        "unused",
        "o0o1",
        "Unused outputs are not dumped; MINDSPORE_DUMP_IGNORE_USELESS_OUTPUT=0 dumps them.",
        _useless_left_out,
    ),
    Note("unused-kept", "o0o1", "Unused outputs are dumped too.", _useless_kept),
    Note(
        "npy-dtypes",
        "o0o1 o2",
        "npy files hold bfloat16 as float32 and int4 as int8.",
        _tensors,
    ),
    Note(
        "ids-cpu",
        "cpu",
        'The "-opN" suffixes in the dumped IR can differ from those of file names.',
        _since(2, 7),
    ),
    Note(
        "two-devices",
        "o0o1 o2 gpu ge",
        "Training on two kinds of device at once cannot be dumped.",
    ),
    Note(
        "second-run",
        "o0o1 cpu gpu",
        "A second run into the same folder adds files and keeps the old ones.",
    ),
)
"""Notes in the order that they are told."""

COMPLEX = (
    Note(
        "complex64",
        "o0o1",
        "complex64 tensors are not dumped, complex128 tensors are.",
        _tensors,
    ),
    Note(
        "complex-statistics",
        "o0o1 o2 ge gpu",
        "complex64 and complex128 tensors get no statistics.",
        lambda r: r.saved != "tensor",
    ),
    Note(
        "complex-cpu",
        "cpu",
        "A graph with complex numbers does not compile during a dump.",
        _since(2, 10),
    ),
)
"""Notes on networks with complex numbers, which a form does not tell."""

OTHER_WAY = Note(
    "other-way",
    "o0o1 o2 ge",
    "Nothing is dumped: e2e_dump_settings selects the other kind of dump.",
    lambda r: r.by_kernel == (r.form.target in ("o2", "ge")),
)
"""The only note where a form asks for the dump of another surface."""


def notes(r: MindSporeReading) -> Iterator[RowMessage]:
    """Yield what a plan does not show."""
    if not r.has_common:
        return
    if OTHER_WAY.when(r):
        yield RowMessage(OTHER_WAY.id, OTHER_WAY.says)
        return
    values = {
        "path": r.folder,
        "net": r.common.net_name,
        "rank": 0 if r.form.target == "cpu" and is_alone(r.context) else own_rank(r.context),
        "device": own_device(r.context),
        "process": own_rank(r.context, own_device(r.context)),
        "limit": r.common.overflow_number,
    }
    for note in NOTES:
        if r.form.target in note.on.split() and note.when(r):
            yield RowMessage(note.id, note.says, **values)


def complex_notes(r: MindSporeReading) -> Iterator[RowMessage]:
    """Yield what becomes of complex numbers, for whoever knows that the network has some."""
    for note in COMPLEX:
        if r.has_common and r.form.target in note.on.split() and note.when(r):
            yield RowMessage(note.id, note.says)
