"""Good files of every kind that is read, to be damaged by `mutations`, and all that can be asked of one.

`READERS` has one row for every reader. Rows go over the package's own tables: a new kind of file
without a good example here is a KeyError.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kit.damage import good_dumps as dumps
from kit.damage import good_texts as texts
from workbench.comparison.map_file import read_overrides
from workbench.config import HOMES
from workbench.ir.detect import KINDS as KINDS_OF_GRAPHS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Files = dict[str, bytes]


@dataclass(frozen=True)
class Reader:
    """A reader: its good files, their good neighbours, and what asks everything of a file.

    Paths are relative to a folder of their own. ``ask`` gets that folder and the file, and a number by
    which it may choose options; it raises nothing but the package's errors. ``packed`` makes the file
    of a damaged piece.
    """

    files: Callable[[], Files]
    ask: Callable[[Path, Path, int], object]
    around: Callable[[], Files] = dict
    packed: Callable[[str, bytes], bytes] = field(default=lambda _name, data: data)


READERS: dict[str, Reader] = {
    "npy": Reader(dumps.npy_files, dumps.ask_npy),
    "container": Reader(dumps.container_files, dumps.ask_container),
    "slice": Reader(dumps.slice_files, dumps.ask_tree, dumps.slice_files),
    "conversion of a container": Reader(dumps.container_files, dumps.ask_conversion),
    "conversion of an npy file": Reader(dumps.device_npy_files, dumps.ask_conversion),
    "conversion of an overflow record": Reader(dumps.overflow_files, dumps.ask_conversion),
    "overflow record": Reader(dumps.overflow_files, dumps.ask_record),
    "overflow JSON": Reader(dumps.overflow_texts, dumps.ask_record),
    "exception": Reader(dumps.exception_files, dumps.ask_failure),
    "core of a kernel": Reader(dumps.core_files, dumps.ask_failure),
    "bare tensor": Reader(dumps.raw_files, dumps.ask_tree, dumps.container_files),
    "golden npy": Reader(dumps.golden_files, dumps.ask_tree),
    "PyTorch file": Reader(dumps.pytorch_files, dumps.ask_tree),
    **{
        f"statistic.csv of {name}": Reader(dumps.tables(name), dumps.ask_tree)
        for name in dumps.TABLES
    },
    "mapping.csv": Reader(
        lambda: {
            f"{at}/mapping.csv": "".join(text).encode() for at, text in dumps.mapped()[0].items()
        },
        dumps.ask_mapping,
        lambda: dumps.mapped()[1],
    ),
    "orders, metadata and graphs of a tree": Reader(
        dumps.side_files, dumps.ask_tree, dumps.mindspore_tree
    ),
    **{
        kind.title: Reader(texts.GRAPH_FILES[kind.title], texts.ask_graph)
        for kind in KINDS_OF_GRAPHS
    },
    "ONNX model": Reader(texts.onnx_models, texts.ask_onnx),
    "search for the computational graph": Reader(texts.ge_texts, texts.ask_search, texts.ge_texts),
    **{f"form of {name}": Reader(texts.forms(name), texts.ask_form(name)) for name in HOMES},
    "result as CSV": Reader(texts.results, texts.ask_result),
    "result as a workbook": Reader(lambda: {"result.xlsx": texts.workbook()}, texts.ask_result),
    "result as the parts of a workbook": Reader(
        texts.workbook_parts, texts.ask_result, packed=texts.repacked
    ),
    "map file": Reader(
        lambda: {"map.json": json.dumps(texts.MAP).encode()},
        lambda _root, path, _: read_overrides(path),
    ),
    "name of a file": Reader(texts.names, texts.ask_name),
}
