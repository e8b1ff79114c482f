"""Which blocks and ``DumpConfig`` of a script count, and what sets a dump where it is not read."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from workbench.config.python_text import dotted, source_of
from workbench.config.tensorflow.facts import OPTIMIZER, USES
from workbench.config.tensorflow.rank import rank_test

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.config.tensorflow.facts import Block, Call, Facts

HELPERS = ("session_dump_config", "update_custom_op")
"""Functions of the vendor's precision_tool that put dump settings into a configuration."""


def counting_blocks(facts: Facts) -> list[Block]:
    """Return the blocks that npu_bridge reads; every one if it reads none of them."""
    blocks = [block for block in facts.blocks if block.entries or block.extra]
    return [block for block in blocks if block.name == OPTIMIZER] or blocks


def read_blocks(facts: Facts) -> list[Block]:
    """Return the blocks whose settings npu_bridge reads: of its own name, in what a session is given."""
    return [
        block
        for block in counting_blocks(facts)
        if not block.name_is_known or (block.name == OPTIMIZER and not is_idle(facts, block))
    ]


def is_idle(facts: Facts, block: Block) -> bool:
    """Whether a script with a session gives the configuration of a block to nothing."""
    if facts.calls.keys().isdisjoint(USES) or not block.config or block.uses:
        return False
    return block.config not in facts.handed_on


def counting_dumps(facts: Facts) -> list[Call]:
    """Return the ``DumpConfig`` that ``NPURunConfig`` is given; every one if that cannot be told."""
    if facts.runs and not any("dump_config" in run.entries or run.extra for run in facts.runs):
        return []
    given = [run.entries["dump_config"].node for run in facts.runs if "dump_config" in run.entries]
    known = {key for call in facts.dumps for key in (id(call.node), call.variable)}
    meant: set[int | str] = set()
    for value in given:
        parts = [part for part in ast.walk(value) if isinstance(part, ast.expr)]
        here: set[int | str] = {id(part) for part in parts}
        here |= {source_of(part) for part in parts if isinstance(part, ast.Name | ast.Attribute)}
        if here.isdisjoint(known) and not isinstance(value, ast.Constant):
            return facts.dumps
        meant |= here
    found = [call for call in facts.dumps if id(call.node) in meant or call.variable in meant]
    return found if given else facts.dumps


def unknown_dumps(facts: Facts) -> Iterator[ast.expr]:
    """Yield what ``NPURunConfig`` is given for a ``DumpConfig`` that the script does not make."""
    for run in facts.runs:
        entry = run.entries.get("dump_config")
        if entry is None or is_none(entry.node) or is_no_dump(facts, entry.node):
            continue
        if not facts.dumps:
            yield entry.node


def dump_choices(facts: Facts) -> Iterator[ast.IfExp]:
    """Yield each ``dump_config=config if … else None`` of ``NPURunConfig``, and its reverse."""
    for run in facts.runs:
        entry = run.entries.get("dump_config")
        node = None if entry is None else entry.node
        if isinstance(node, ast.IfExp) and is_none(node.body) != is_none(node.orelse):
            yield node


def chosen_rank(facts: Facts, choice: ast.IfExp) -> int | None:
    """Rank on which a choice is no ``None``, and on no other."""
    found = rank_test(choice.test, facts.once)
    return found.rank if found is not None and found.is_it == is_none(choice.orelse) else None


def untold(facts: Facts, key: str) -> Iterator[tuple[str, int]]:
    """Yield expressions that a setting may come from, and that only a run knows."""
    for call in counting_dumps(facts):
        for text in call.extra:
            name = text.lstrip("*")
            yield (f"{name}[{key!r}]" if text.startswith("**") else name), call.line
    for block in counting_blocks(facts):
        yield from block.extra
    for node in unknown_dumps(facts):
        yield f"{source_of(node)}._{key}", node.lineno
    yield from _elsewhere(facts, key)


def _elsewhere(facts: Facts, key: str) -> Iterator[tuple[str, int]]:
    """Yield what sets a dump outside the script, or in a way that is not read."""
    for name in HELPERS:
        if name in facts.calls:
            yield name, facts.calls[name]
    if facts.dumps or facts.blocks:
        return
    for place in facts.places:
        targets = place.node.targets if isinstance(place.node, ast.Assign) else []
        for target in targets:
            if isinstance(target, ast.Attribute) and is_npu_device(target.value):
                yield f"{source_of(target.value)}.{key}", target.lineno


def is_npu_device(node: ast.expr) -> bool:
    """Whether an expression is ``npu_device.global_options().dump_config``."""
    return (
        isinstance(node, ast.Attribute)
        and node.attr == "dump_config"
        and isinstance(node.value, ast.Call)
        and dotted(node.value.func).endswith("global_options")
    )


def is_none(node: ast.expr) -> bool:
    """Whether an expression is ``None``."""
    return isinstance(node, ast.Constant) and node.value is None


_OTHERS = (
    *("ProfilingConfig", "MemoryConfig", "ExperimentalConfig", "NPURunConfig"),
    *("dict", "list", "tuple", "set", "str", "int", "float", "bool", "bytes"),
)
"""What is called and makes no ``DumpConfig``."""


def is_no_dump(facts: Facts, node: ast.expr) -> bool:
    """Whether an expression is plainly no ``DumpConfig``: another object, or the class itself."""
    if isinstance(node, ast.Name) and node.id in facts.once:
        node = facts.once[node.id]
    if isinstance(node, ast.Name | ast.Attribute):
        name = dotted(node).rpartition(".")[2]
        return facts.meaning.get(name, name) == "DumpConfig"
    if isinstance(node, ast.Call):
        return dotted(node.func).rpartition(".")[2] in _OTHERS
    plain = ast.Constant | ast.Dict | ast.List | ast.Tuple | ast.Set | ast.JoinedStr | ast.Lambda
    return isinstance(node, plain) and not is_none(node)
