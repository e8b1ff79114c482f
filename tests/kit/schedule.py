"""Which process runs which tests: whole files, the longest first by the seconds they took when last recorded.

`durations.json` holds the seconds of each file; ``make durations`` runs all tests and records them anew.
A file that is not in it comes first. The files of the browser make two groups, each of which one process
runs with one Chromium and one JupyterLab; with no more than two processes the second begins about when the
first has ended.
"""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from xdist.scheduler import LoadFileScheduling

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ROOT = Path(__file__).parents[2]
DURATIONS = Path(__file__).parents[1] / "durations.json"
BROWSER = "tests/browser/"


def recorded() -> dict[str, float]:
    """Seconds by file, as they were recorded."""
    return json.loads(DURATIONS.read_text(encoding="utf-8"))


def halves(files: Iterable[str], seconds: Mapping[str, float]) -> dict[str, str]:
    """File of the browser → its group, of two that take about as long."""
    load = Counter({f"{BROWSER}1": 0.0, f"{BROWSER}2": 0.0})
    group = {}
    for file in sorted(files, key=lambda file: (-seconds.get(file, 0), file)):
        group[file] = min(load, key=load.__getitem__)
        load[group[file]] += seconds.get(file, 0)
    return group


def ordered(scopes: Mapping[str, float | None], processes: int) -> list[str]:
    """Files and groups in the order in which they begin; ``None`` stands for unknown seconds.

    Unknown ones come first, then the longest. Groups of the browser wait for much: they begin at once where a
    process is left for the others, else all but one begin when the other processes have had files for as long
    as the group before takes.
    """
    longest = sorted(scopes, key=lambda scope: -(scopes[scope] or 0))
    groups = [scope for scope in longest if scope.startswith(BROWSER)]
    files = [scope for scope in longest if not scope.startswith(BROWSER)]
    found = [*(scope for scope in files if scopes[scope] is None), *groups[:1]]
    files = [scope for scope in files if scopes[scope] is not None]
    for before, group in pairwise(groups):
        wait = 0 if processes > len(groups) else (scopes[before] or 0) * (processes - 1)
        while files and wait > 0:
            wait -= scopes[files[0]] or 0
            found.append(files.pop(0))
        found.append(group)
    return [*found, *files]


class LongestFirst(LoadFileScheduling):
    """Gives each process whole files and groups in the order of `ordered`."""

    def __init__(self, config, log=None) -> None:
        super().__init__(config, log)
        self._group: dict[str, str] = {}

    def schedule(self) -> None:
        collections = [*self.registered_collections.values()]
        if self.collection is None and all(one == collections[0] for one in collections):
            self._lay_out(collections[0])
        super().schedule()

    def _lay_out(self, nodeids: list[str]) -> None:
        seconds = recorded()
        files = dict.fromkeys(nodeid.partition("::")[0] for nodeid in nodeids)
        self._group = halves((file for file in files if file.startswith(BROWSER)), seconds)
        scopes: dict[str, float | None] = {}
        for file in files:
            group = self._group.get(file)
            if group is None:
                scopes[file] = seconds.get(file)
            else:
                scopes[group] = (scopes.get(group) or 0) + seconds.get(file, 0)
        for scope in ordered(scopes, self.numnodes):
            self.workqueue[scope] = {}  # filled by the class above, in this order

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return self._group.get(file, file)


class Recorder:
    """A plugin that writes how long each file has taken, beside those of the files that did not run."""

    def __init__(self) -> None:
        self._seconds: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report) -> None:
        self._seconds[report.nodeid.partition("::")[0]] += report.duration

    def pytest_sessionfinish(self) -> None:
        known = {file: s for file, s in recorded().items() if (ROOT / file).is_file()}
        known |= {file: round(seconds, 1) for file, seconds in self._seconds.items()}
        text = json.dumps(dict(sorted(known.items())), indent=0)
        DURATIONS.write_text(f"{text}\n", encoding="utf-8")
