"""What a torchair form does beyond its plan, and the script lines that put it to use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.config.torchair.write import encode
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.config.context import Context
    from workbench.config.torchair.reading import TorchairReading
    from workbench.config.torchair.settings import Torchair


def notes(r: TorchairReading) -> Iterator[Message]:
    """Say what follows from a form that its plan does not show."""
    settings, dump = r.form, r.dump
    for name, value in settings.environment.values().items():
        yield Message("config/ta-variable", name=name, value=value)
    if settings.options:
        yield Message("config/ta-options", names=list(settings.options))
    if dump.dump_config_path is not None and not r.captures:
        yield from _file_notes(r)
    if not dump.enable_dump:
        return
    relative = not dump.dump_path.startswith("/")
    yield Message("config/ta-path-relative" if relative else "config/ta-path", path=dump.dump_path)
    tree = "config/ta-tree-capture" if r.captures else "config/ta-tree"
    yield Message(tree, folder=rank_folder(r.context))
    yield Message("config/ta-ranks")
    if r.captures:
        yield from _capture_notes(settings)
    else:
        yield from _graph_notes(settings)


def world(context: Context) -> tuple[int, int]:
    """How many processes there are and which this is: the launcher's WORLD_SIZE and RANK, or the only one."""
    size = max(context.number("WORLD_SIZE", 1), 1)
    return size, context.number("RANK", context.rank) if size > 1 else 0


def rank_folder(context: Context) -> str:
    """Folder of a process."""
    size, rank = world(context)
    return f"worldsize{size}_global_rank{rank}"


def _file_notes(r: TorchairReading) -> Iterator[Message]:
    if not r.context.here:
        yield Message("config/ta-file-decides", path=r.dump.dump_config_path)
    yield Message("config/ta-file-tree")
    yield Message("config/ta-file-scene")


def _capture_notes(settings: Torchair) -> Iterator[Message]:
    yield Message("config/ta-capture")
    if settings.dump_config.data_dump_stage == "original":
        yield Message("config/ta-capture-original")


def _graph_notes(settings: Torchair) -> Iterator[Message]:
    dump, environment = settings.dump_config, settings.environment
    yield Message("config/ta-csv" if dump.dump_data == "stats" else "config/ta-containers")
    if dump.dump_layer:
        yield Message("config/ta-data-operators")
        if environment.DUMP_GE_GRAPH not in ("1", "2", "3"):
            yield Message("config/ta-names")
    if dump.quant_dumpable:
        yield Message("config/ta-quantized")
    yield Message("config/ta-index" if dump.dump_step else "config/ta-index-all")


def code(r: TorchairReading, file: str) -> str:
    """Return the script lines: variables, folder, configuration, compilation; then how to run it."""
    lines = encode(form_of(r.form))
    folder = r.dump.dump_path
    if r.dump.enable_dump:
        make = (
            f"os.makedirs({folder!r}, exist_ok=True)  # torchair refuses a folder that is missing\n"
        )
        lines = lines if lines.startswith("import os\n") else f"import os\n\n{lines}"
        lines = lines.replace("\nconfig = torchair", f"\n{make}config = torchair", 1)
    return f"{lines}# put these lines where the script compiles its model, then: python {file or 'script.py'}\n"


def form_of(settings: Torchair) -> dict[str, object]:
    """Return the form with every setting that is set, as decoded."""
    return {key: value for key, value in settings.data().items() if value != {}}
