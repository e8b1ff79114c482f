"""What a torchair form does beyond its plan, and the script lines that put it to use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.config.setting import shorten
from workbench.config.torchair.plan import captures
from workbench.config.torchair.write import encode
from workbench.config.words import join

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.config.context import Context
    from workbench.config.torchair.form import Torchair

GE_TREE = "{time}/{device_id}/{model_name}/{model_id}/{data_index}"


def notes(settings: Torchair, context: Context) -> Iterator[str]:
    """Say what follows from a form that its plan does not show."""
    dump = settings.dump_config
    for name, value in settings.environment.model_dump(exclude_unset=True).items():
        yield f"the script sets {name} to {shorten(value)}"
    if settings.options:
        yield f"other options of the CompilerConfig stay as they are: {join(settings.options)}"
    if dump.dump_config_path is not None and not captures(settings):
        yield from _file_notes(settings, context)
    if not dump.enable_dump:
        return
    yield f"dump_path is taken as {where(settings)}, and must exist before it is assigned"
    yield from _rank_notes(settings, context)
    if captures(settings):
        yield from _capture_notes(settings)
    else:
        yield from _graph_notes(settings)


def where(settings: Torchair) -> str:
    """Say what a path is relative to."""
    path = settings.dump_config.dump_path
    return repr(path) if path.startswith("/") else f"{path!r} below the folder of the start"


def rank_folder(context: Context) -> str:
    """Folder of a process: of the launcher's WORLD_SIZE and RANK, or of the only process there is."""
    size = max(context.number("WORLD_SIZE", 1), 1)
    rank = context.number("RANK", context.rank) if size > 1 else 0
    return f"worldsize{size}_global_rank{rank}"


def _file_notes(settings: Torchair, context: Context) -> Iterator[str]:
    path = settings.dump_config.dump_config_path
    if not context.here:
        yield f"{path} decides what is dumped and is not read here"
    yield "torchair adds no worldsize level to the folder that the JSON file names"
    yield "an exception scene in the JSON file has no effect: torch_npu has its own one on"


def _rank_notes(settings: Torchair, context: Context) -> Iterator[str]:
    folder = rank_folder(context)
    tree = folder if captures(settings) else f"{folder}/{GE_TREE}"
    yield (
        f"this process writes below {tree}; torchair makes the first level when it compiles, from "
        "torch.distributed (1 and 0 without it)"
    )


def _capture_notes(settings: Torchair) -> Iterator[str]:
    yield "the inputs of the graph and the output of each of its operators are torch files (.pt)"
    if settings.dump_config.data_dump_stage == "original":
        yield "stage 'original' runs the graph as traced, operator by operator, without capture"


def _graph_notes(settings: Torchair) -> Iterator[str]:
    dump, environment = settings.dump_config, settings.environment
    if dump.dump_data == "stats":
        yield "each operator leaves one .csv"
    else:
        yield "the files are read after msaccucmp has converted them"
    if dump.dump_layer:
        yield "data operators that feed a chosen operator are dumped as well"
        if environment.DUMP_GE_GRAPH not in ("1", "2", "3"):
            yield (
                "operator names are those of the compiled graph: run once with DUMP_GE_GRAPH=3 and "
                "take them from ge_proto_*_Build.txt"
            )
    if dump.quant_dumpable:
        yield "quant_dumpable matters only to a quantised network"
    if dump.dump_step:
        yield "data_index is the number of the iteration"
    else:
        yield "data_index counts from 0, one up with each iteration that is dumped"


def code(settings: Torchair, context: Context, file: str) -> str:
    """Return the script lines: variables, folder, configuration, compilation; then how to run it."""
    data = form_of(settings)
    lines = encode(data)
    folder = settings.dump_config.dump_path
    if settings.dump_config.enable_dump:
        make = (
            f"os.makedirs({folder!r}, exist_ok=True)  # torchair refuses a folder that is missing\n"
        )
        lines = lines if lines.startswith("import os\n") else f"import os\n\n{lines}"
        lines = lines.replace("\nconfig = torchair", f"\n{make}config = torchair", 1)
    return f"{lines}# put these lines where the script compiles its model, then: python {file or 'script.py'}\n"


def form_of(settings: Torchair) -> dict[str, object]:
    """Return the form with every setting that is set, as decoded."""
    data = settings.model_dump(exclude_unset=True)
    return {key: value for key, value in data.items() if value != {}}
