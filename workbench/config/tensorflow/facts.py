"""What a training script does that concerns dumps, as data: filled by `scan`."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from workbench.config.form.settings import Unresolved
from workbench.config.python_text import dotted
from workbench.config.tensorflow.text_kind import bound

if TYPE_CHECKING:
    from workbench.config.tensorflow.text_kind import Bound
    from workbench.core.words import Message

OPTIMIZER = "NpuOptimizer"
"""Name of the custom optimizer that npu_bridge reads."""


USES = {
    "init_resource": "init",
    "npu_config_proto": "session",
    "set_keras_session_npu_config": "session",
    "RunConfig": "session",
    "NPURunConfig": "session",
    "Session": "session",
    "InteractiveSession": "session",
    "MonitoredTrainingSession": "session",
    "managed_session": "session",
}
"""Calls that take a session's configuration, and what the session is for."""


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
    """The settings of one custom optimizer; ``config`` is the ConfigProto that it was added to, under ``test``.

    ``extra`` are the parameters whose keys cannot be told, with their lines; ``gone`` those that were set and
    taken out again.
    """

    variable: str
    config: str
    scope: str
    line: int
    name: Any = ""
    entries: list[Entry] = field(default_factory=list)
    extra: list[tuple[str, int]] = field(default_factory=list)
    uses: set[str] = field(default_factory=set)
    test: Test | None = None
    gone: list[Entry] = field(default_factory=list)

    @property
    def name_is_known(self) -> bool:
        """Whether the script tells the name."""
        return not isinstance(self.name, Unresolved)

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


@dataclass
class Facts:
    """Everything found; ``calls`` are called names with their first line.

    ``aliases`` are names of a function for members of what is known, ``changes`` what happens to a map of
    parameters beside the setting of members, with lines. ``meaning`` says what names of the script are called
    where they come from, empty if they have nothing to do with npu_bridge; ``bare`` are parameters that are set
    without a proto member.
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
    aliases: dict[tuple[str, str], ast.expr] = field(default_factory=dict)
    changes: list[tuple[str, int]] = field(default_factory=list)

    def add(self, block: Block) -> Block:
        """Keep a block, and find it by the names of its variable and its configuration."""
        self.blocks.append(block)
        self.latest[block.scope, "variable", block.variable] = block
        if block.config:
            self.latest[block.scope, "config", block.config] = block
        return block

    @cached_property
    def bound(self) -> Bound:
        """What names and members are bound to."""
        return bound(self.tree)

    @cached_property
    def filled(self) -> set[str]:
        """Names of objects that are changed by item or by a method after they were made."""
        return {
            dotted(node.value)
            for node in ast.walk(self.tree)
            if (isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load))
            or (
                isinstance(node, ast.Attribute)
                and node.attr in ("update", "pop", "setdefault", "clear")
            )
        }

    @cached_property
    def handed_on(self) -> set[str]:
        """Names of objects that are used as a whole anywhere, not only their members."""
        owners = {id(node.value) for node in ast.walk(self.tree) if isinstance(node, ast.Attribute)}
        return {
            dotted(node)
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Name | ast.Attribute)
            and isinstance(node.ctx, ast.Load)
            and id(node) not in owners
        }

    def full(self, scope: str, node: ast.expr) -> ast.expr:
        """Return an expression with the names of members at its root written out."""
        if isinstance(node, ast.Attribute):
            whole = ast.Attribute(self.full(scope, node.value), node.attr, node.ctx)
            return ast.copy_location(whole, node)
        if isinstance(node, ast.Subscript):
            part = ast.Subscript(self.full(scope, node.value), node.slice, node.ctx)
            return ast.copy_location(part, node)
        match node:
            case ast.Call(func=ast.Attribute(value=map_, attr="get_or_create"), args=[key]):
                part = ast.Subscript(self.full(scope, map_), key, ast.Load())
                return ast.copy_location(part, node)
        while isinstance(node, ast.Name):
            if (scope, node.id) in self.aliases:
                return self.aliases[scope, node.id]
            if not scope:
                break
            scope = scope.rpartition(".")[0]
        return node

    def nearest(self, scope: str, kind: str, name: str) -> Block | None:
        """Latest block that a name means in a function: its own, or one of the code around it."""
        while (scope, kind, name) not in self.latest:
            if not scope:
                return None
            scope = scope.rpartition(".")[0]
        return self.latest[scope, kind, name]
