"""What a training script does that concerns dumps, as data: filled by `scan`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ast

    from workbench.core.words import Message

OPTIMIZER = "NpuOptimizer"
"""Name of the custom optimizer that npu_bridge reads."""


@dataclass(frozen=True, slots=True)
class Test:
    """One condition around a statement, whether it must hold, and the conditions around that."""

    node: ast.expr
    holds: bool
    outer: Test | None


@dataclass(frozen=True, slots=True)
class Place:
    """A statement, the function that it is in, and the conditions that it runs under."""

    node: ast.AST
    scope: str
    test: Test | None


@dataclass(frozen=True, slots=True)
class Entry:
    """One setting: ``parameter_map[key].member = value`` or an argument (no member)."""

    key: str
    member: str
    node: ast.expr
    line: int
    test: Test | None


@dataclass(slots=True)
class Block:
    """The settings of one custom optimizer; ``config`` is the ConfigProto that it was added to.

    ``extra`` are the parameters whose keys cannot be told, with their lines.
    """

    variable: str
    config: str
    scope: str
    line: int
    name: Any = ""
    entries: list[Entry] = field(default_factory=list)
    extra: list[tuple[str, int]] = field(default_factory=list)
    uses: set[str] = field(default_factory=set)

    @property
    def only_init(self) -> bool:
        """Whether the settings reach nothing but ``init_resource``."""
        return self.uses == {"init"}


@dataclass(slots=True)
class Call:
    """Arguments of ``DumpConfig`` or ``NPURunConfig``.

    ``extra`` are those that cannot be told, ``refused`` what Python refuses of them.
    """

    node: ast.Call
    variable: str
    line: int
    entries: dict[str, Entry] = field(default_factory=dict)
    extra: list[str] = field(default_factory=list)
    refused: list[Message] = field(default_factory=list)


@dataclass(slots=True)
class Facts:
    """Everything found; ``calls`` are called names with their first line.

    ``meaning`` says what names of the script are called where they come from, empty if they have
    nothing to do with npu_bridge; ``bare`` are parameters that are set without a proto member.
    """

    tree: ast.Module
    names: dict[str, Any]
    once: dict[str, ast.expr]
    places: list[Place] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    dumps: list[Call] = field(default_factory=list)
    runs: list[Call] = field(default_factory=list)
    calls: dict[str, int] = field(default_factory=dict)
    imports: dict[str, int] = field(default_factory=dict)
    meaning: dict[str, str] = field(default_factory=dict)
    bare: list[Entry] = field(default_factory=list)
    rewrites: dict[str, tuple[Any, int]] = field(default_factory=dict)
    environment: dict[str, tuple[Any, int]] = field(default_factory=dict)
    latest: dict[tuple[str, str, str], Block] = field(default_factory=dict)

    def add(self, block: Block) -> Block:
        """Keep a block, and find it by the names of its variable and its configuration."""
        self.blocks.append(block)
        self.latest[block.scope, "variable", block.variable] = block
        if block.config:
            self.latest[block.scope, "config", block.config] = block
        return block

    def nearest(self, scope: str, kind: str, name: str) -> Block | None:
        """Latest block that a name means in a function: its own, or one of the code around it."""
        while (scope, kind, name) not in self.latest:
            if not scope:
                return None
            scope = scope.rpartition(".")[0]
        return self.latest[scope, kind, name]
