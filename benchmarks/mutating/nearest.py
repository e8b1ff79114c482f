"""Which test files are near a module: by what they import, themselves or through one other file."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from pathlib import Path

STEPS = 4
"""How many files may stand between a test and a module, and one."""

_ELSEWHERE = 9
"""How many folders away a test of another area is."""


@dataclass(frozen=True)
class Suite:
    """The test files of a checkout, and what they import."""

    root: Path

    @cached_property
    def files(self) -> list[str]:
        """Test files, those that need a browser apart."""
        found = (path.relative_to(self.root) for path in (self.root / "tests").rglob("test_*.py"))
        return sorted(path.as_posix() for path in found if "browser" not in path.parts)

    @cached_property
    def _modules(self) -> dict[str, str]:
        """Module → file, of the package and of what tests share."""
        found = {}
        for base in (self.root, self.root / "tests", self.root / "benchmarks"):
            for path in sorted(base.rglob("*.py")):
                parts = list(path.relative_to(base).with_suffix("").parts)
                if parts[-1] == "__init__":
                    parts.pop()
                if parts and not parts[-1].startswith("test_"):
                    found.setdefault(".".join(parts), path.relative_to(self.root).as_posix())
        return found

    @cached_property
    def _imports(self) -> dict[str, frozenset[str]]:
        """File → modules of this checkout that it imports."""
        return {path: self._imported(path) for path in {*self.files, *self._modules.values()}}

    def _imported(self, path: str) -> frozenset[str]:
        tree = ast.parse((self.root / path).read_bytes())
        names = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        return frozenset(names & self._modules.keys())

    def near(self, path: str) -> list[str]:
        """Test files of a module, the nearest first; empty if none has to do with it."""
        users = {".".join(Path(path).with_suffix("").parts).removesuffix(".__init__")}
        found = {one: 0 for one in self.files if _distance(path, one) == (0, False)}
        for step in range(STEPS):
            for one in self.files:
                if users & self._imports[one]:
                    found.setdefault(one, step)
            # another room, or a test of the documents, imports tables of many and says little of any
            if any(_distance(path, one)[0] == 0 for one in found):
                break
            users |= {name for name, file in self._modules.items() if users & self._imports[file]}
        return sorted(
            found, key=lambda one: (_distance(path, one), found[one], self._size(one), one)
        )

    def _size(self, path: str) -> int:
        return (self.root / path).stat().st_size


def _distance(path: str, test: str) -> tuple[int, bool]:
    """How many folders lie between a module and a test, and whether the test is called otherwise."""
    ours, theirs = Path(path).parts[1:-1], Path(test).parts[1:-1]
    same = (one == other for one, other in zip(ours, theirs, strict=False))
    shared = len(list(takewhile(bool, same)))
    apart = len(ours) + len(theirs) - 2 * shared if shared or ours == theirs else _ELSEWHERE
    return apart, Path(test).stem != f"test_{Path(path).stem}"
