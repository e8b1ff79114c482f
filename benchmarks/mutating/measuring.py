"""One mutant after the other: its file is changed, the nearest tests run, the file is put back."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mutating.nearest import Suite
from mutating.running import FAILED, PASSED, Outcome, run

if TYPE_CHECKING:
    from mutating.mutants import Mutant

LIMIT = 60.0
"""Most seconds of one mutant."""

PATIENCE = 20.0
"""Most seconds of processor time of a test file without any: others are not near, whatever they import."""

CONSIDERED = 5
"""Test files that may be run for one mutant."""


class Bench:
    """A copy of the repository, and what its test files take without a fault."""

    def __init__(self, root: Path, baseline: dict[str, dict[str, Any]], budget: float) -> None:
        self.root, self.baseline, self.budget = root, baseline, budget
        self.tests = Suite(root)

    def outcome(self, mutant: Mutant) -> dict[str, Any]:
        """What the nearest tests say of a mutant."""
        files = self.chosen(mutant.path)
        told = {
            key: getattr(mutant, key) for key in ("area", "path", "line", "kind", "before", "after")
        }
        if not files:
            return told | {"outcome": "no test", "by": "", "seconds": 0.0, "tests": []}
        place = self.root / mutant.path
        good = place.read_bytes()
        try:
            self._put(place, mutant.applied(good))
            ran = self._run(files)
        finally:
            self._put(place, good)
        outcome = "killed" if ran.how else "survived"
        return told | {
            "outcome": outcome,
            "by": ran.how,
            "seconds": round(ran.seconds, 2),
            "tests": files,
        }

    def chosen(self, path: str) -> list[str]:
        """Test files of a module, the nearest first, until they take the seconds that a mutant has."""
        files, spent = [], 0.0
        own = [path] if b">>> " in (self.root / path).read_bytes() else []
        for file in [*own, *self.tests.near(path)[:CONSIDERED]]:
            known = self.known(file)
            if known["usable"] and (
                not files or files == own or spent + known["seconds"] <= self.budget
            ):
                files.append(file)
                spent += known["seconds"]
            if spent >= self.budget:
                break
        return files

    def known(self, file: str) -> dict[str, Any]:
        """Seconds that a test file takes without a fault, and what fails in it all the same."""
        if file not in self.baseline:
            ran = run(self.root, [file], LIMIT, without=[], first=False)
            usable = ran.status in (PASSED, FAILED) and ran.seconds <= PATIENCE
            self.baseline[file] = {
                "seconds": round(ran.seconds, 2), "usable": usable, "failed": ran.failed, "status": ran.status,
            }  # fmt: skip
        return self.baseline[file]

    def _run(self, files: list[str]) -> Outcome:
        """The nearest file alone, then the others together."""
        spent = 0.0
        for some in (files[:1], files[1:]):
            if some:
                usual = sum(self.known(file)["seconds"] for file in some)
                failing = [test for file in some for test in self.known(file)["failed"]]
                limit = min(LIMIT, 15 + 6 * usual)
                ran = run(self.root, some, limit, without=failing, first=True)
                spent += ran.seconds
                if ran.how:
                    break
        return Outcome(ran.status, spent, ran.failed)

    def _put(self, place: Path, data: bytes) -> None:
        """Write a module, without what was compiled of it: that is known by its second alone."""
        place.write_bytes(data)
        Path(importlib.util.cache_from_source(str(place))).unlink(missing_ok=True)
