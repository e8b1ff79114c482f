"""What a user should know beyond the plan, a sentence each: one table for the five surfaces."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from workbench.config.mindspore.reading import (
    BY_MSPROBE,
    asks_e2e,
    by_msprobe,
    common,
    debug_mode,
    dump_mode,
    folder,
    limited,
    own_device,
    own_rank,
    saved,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.config.context import Context
    from workbench.config.mindspore.form import MindSporeForm

    When = Callable[[MindSporeForm, Context], bool]


class Note(NamedTuple):
    """A sentence, the surfaces that it is for, and when it holds; ``{words}`` come from the form."""

    on: str
    text: str
    when: When = lambda _form, _context: True


def _mode(number: int) -> When:
    return lambda form, _context: debug_mode(form) == number


def _counts(form: MindSporeForm, context: Context) -> bool:
    section = form.common_dump_settings
    return debug_mode(form) == 3 and section.overflow_number > 0 and limited(form, context)


def _marked(form: MindSporeForm, _: Context) -> bool:
    return dump_mode(form) == 2


def _is_bin(form: MindSporeForm, _: Context) -> bool:
    return form.common_dump_settings.file_format == "bin"


def _is_npy(form: MindSporeForm, context: Context) -> bool:
    return not _is_bin(form, context)


def _tensors(form: MindSporeForm, context: Context) -> bool:
    return saved(form, context) != "statistic"


def _since(*release: int) -> When:
    return lambda _form, context: context.release() >= release


def _before(*release: int) -> When:
    return lambda _form, context: bool(context.release()) and context.release() < release


def _useless_kept(_: MindSporeForm, context: Context) -> bool:
    return context.variable("MINDSPORE_DUMP_IGNORE_USELESS_OUTPUT") == "0"


def _useless_left_out(form: MindSporeForm, context: Context) -> bool:
    return not _useless_kept(form, context)


def _full_by_msprobe(form: MindSporeForm, context: Context) -> bool:
    return saved(form, context) == "full" and by_msprobe(form, context)


NOTES = (
    Note(
        "o0o1 cpu gpu",
        "the tree is {path}/rank_{rank}/{net}/GRAPH/ITERATION, with graphs and execution_order "
        "beside {net}",
    ),
    Note(
        "o2", "the tree is {path}/STEP/TIME/DEVICE/MODEL/MODEL_ID/ITERATION", _before(*BY_MSPROBE)
    ),
    Note("o2", "the tree is {path}/rank_{rank}/START/step_STEP, by msprobe", _since(*BY_MSPROBE)),
    Note(
        "o2",
        "{path}/acl_dump_{device}.json is what MindSpore tells ACL before each step",
        _before(*BY_MSPROBE),
    ),
    Note(
        "o2",
        "{path}/acl_dump_{process}.json is what msprobe tells ACL before each step",
        _since(*BY_MSPROBE),
    ),
    Note(
        "o2", "msprobe saves tensors or statistics: with 'full' statistics alone", _full_by_msprobe
    ),
    Note(
        "ge", "the tree is {path}/TIME/DEVICE/MODEL/MODEL_ID/ITERATION, without a level for steps"
    ),
    Note("ge", "export ENABLE_MS_GE_DUMP=1; this way to dump is going to be dropped"),
    Note("o0o1 cpu gpu", "file names hold the short operator name and no dtype", _before(2, 3)),
    Note(
        "o0o1 cpu gpu",
        "file names hold the full operator name and no dtype",
        lambda form, context: _since(2, 3)(form, context) and _before(2, 4)(form, context),
    ),
    Note("cpu", "dtypes in file names begin with a capital: Float32", _since(2, 4)),
    Note("o0o1", "operators that overflow are dumped, the others are not", _mode(3)),
    Note(
        "o2 ge",
        "an overflow leaves Opdebug.Node_OpDebug beside the dump of its operator",
        _mode(3),
    ),
    Note("o0o1 o2 ge", "after {limit} overflows nothing more is dumped", _counts),
    Note(
        "o0o1",
        "the inputs of the operator at which the device fails are saved, and the run ends",
        _mode(4),
    ),
    Note("o2 ge", "an operator that fails leaves an exception record of ACL", _mode(4)),
    Note(
        "o0o1 o2 ge",
        "mark operators by mindspore.set_dump(net.layer); without marks nothing is dumped",
        _marked,
    ),
    Note(
        "o2 ge", "files are containers of ACL in the device's format; convert them to npy", _is_bin
    ),
    Note(
        "o2", "2-D FRACTAL_NZ tensors keep the device's order although the header says not", _is_npy
    ),
    Note(
        "o2 ge",
        "no IR is written; MS_DEV_SAVE_GRAPHS=2 saves one before the last passes, DUMP_GE_GRAPH "
        "the final graph with the names to choose from",
    ),
    Note(
        "o2 ge",
        'set_context(ascend_config={{"exception_dump": "2"}}) does not work beside it; "1" does',
    ),
    Note("o2", "sink size must be 1: any other one ends the run"),
    Note("gpu", "data must not sink, or not every step is dumped"),
    Note("o0o1 o2 ge", "constants and parameters get no files of their own", _since(2, 3)),
    Note("cpu gpu", "parameters are files too, and names and types choose them like operators"),
    Note("cpu", "constants are never written, whatever the tutorial says", _since(2, 3)),
    Note(
        "o0o1",
        "outputs that nobody uses are left out; MINDSPORE_DUMP_IGNORE_USELESS_OUTPUT=0 keeps them",
        _useless_left_out,
    ),
    Note("o0o1", "outputs that nobody uses are dumped too", _useless_kept),
    Note("o0o1 o2", "bfloat16 becomes float32, int4 becomes int8 in npy files", _tensors),
    Note("o0o1", "complex64 tensors are left out, complex128 ones are not", _tensors),
    Note(
        "cpu",
        "a graph with complex numbers does not compile while dumping is on",
        _since(2, 10),
    ),
    Note(
        "cpu",
        "the numbers behind '-op' in the dumped IR are not always those of the file names",
        _since(2, 7),
    ),
    Note("o0o1 o2 gpu ge", "training on two kinds of device at once cannot be dumped"),
    Note(
        "o0o1 cpu gpu",
        "a second run into the same folder adds files and leaves the old ones",
    ),
)
"""Sentences in the order that they are said."""


def notes(form: MindSporeForm, context: Context) -> Iterator[str]:
    """Yield what a plan does not show."""
    if common(form) is None:
        return
    if asks_e2e(form, context) == (form.target in ("o2", "ge")):
        yield "nothing is dumped: e2e_dump_settings decides for the other way to dump"
        return
    words = {
        "path": folder(form, context),
        "net": form.common_dump_settings.net_name,
        "rank": own_rank(context),
        "device": own_device(context),
        "process": own_rank(context, own_device(context)),
        "limit": form.common_dump_settings.overflow_number,
    }
    for note in NOTES:
        if form.target in note.on.split() and note.when(form, context):
            yield note.text.format(**words)
