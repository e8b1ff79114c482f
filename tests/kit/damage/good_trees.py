"""Good trees of every surface and writer, and all that the workbench does with a tree."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import workbench as wb
from kit.damage import good_dumps as good
from kit.damage.good_texts import ge_texts
from workbench.config import new
from workbench.graph.networks import load_graph

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.graph.nodes import Graph


@cache
def graph() -> Graph:
    return load_graph("mlp")


def simulated(surface: str, device: str = "a2", **settings: object) -> Callable[[Path], object]:
    """The tree that a surface's form asks for."""

    def make(root: Path) -> object:
        config = new(surface, **settings)
        return wb.simulate(graph(), None, config, root, device=device, surface=surface)

    return make


def files(*tables: Callable[[], good.Files]) -> Callable[[Path], object]:
    """A tree out of good files, ours or a vendor's."""

    def make(root: Path) -> None:
        for table in tables:
            for path, data in table().items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_bytes(data)

    return make


def with_graphs(surface: str) -> Callable[[Path], object]:
    def make(root: Path) -> None:
        simulated(surface)(root)
        for path, data in ge_texts().items():
            (root / path).write_bytes(data)

    return make


TREES: dict[str, Callable[[Path], object]] = {
    "mindspore-o0o1": simulated("mindspore-o0o1"),
    "mindspore-o0o1 with statistics": simulated(
        "mindspore-o0o1", e2e_dump_settings__stat_calc_mode="host", common_dump_settings__saved_data="full"
    ),
    "mindspore-cpu": simulated("mindspore-cpu", "reference"),
    "mindspore-o2": simulated("mindspore-o2", common_dump_settings__file_format="npy"),
    "mindspore-o2 in containers": simulated("mindspore-o2", common_dump_settings__file_format="bin"),
    "mindspore-ge": simulated("mindspore-ge"),
    "tensorflow": with_graphs("tensorflow"),
    "torchair": simulated("torchair"),
    "acl": simulated("acl"),
    "graph engine with records": files(
        good.container_files, good.overflow_files, good.overflow_texts, good.exception_files, good.raw_files
    ),
    "statistics of the graph engine": files(good.tables("ge")),
    "statistics of msprobe": files(good.tables("msprobe-l2")),
    "golden": files(good.golden_files),
    "mapped names": files(good.mindspore_tree, good.side_files, good.mapped_tree),
}  # fmt: skip


def acts(root: Path, tree: Path, whole: Path, number: int) -> list[Callable[[], object]]:
    """Load, look into, compare with the whole tree, convert."""
    return [
        lambda: good.ask_tree(tree),
        lambda: json.dumps(wb.inspect(wb.load(tree), at="models.py:100")),
        lambda: _compare(tree, whole, number),
        lambda: _compare(whole, tree, number + 1),
        lambda: good.ask_conversion(root, tree, number),
    ]


def _compare(target: Path, golden: Path, number: int) -> None:
    found = wb.compare(target, golden)
    cover, result = found.coverage, found.result
    for side, tensors in (("target", result.target.tensors), ("golden", result.golden.tensors)):
        skipped = sum(count for key, count in cover.skipped.items() if key.startswith(side))
        assert cover.matched + getattr(cover, f"unmatched_{side}") + skipped == tensors, (
            side,
            cover,
        )
    assert json.dumps(found.to_json(), allow_nan=False)
    assert found._repr_html_()
    if number % 10 == 0:
        from workbench.show.report import report_html
        from workbench.show.tables import csv_text

        assert report_html(result)
        assert csv_text(result)
