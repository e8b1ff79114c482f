"""The whole workbench as one object: what is dumped, what runs, and what came of it."""

from __future__ import annotations

import tempfile
import weakref
from dataclasses import replace
from html import escape
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any

import traitlets as T

from workbench.compare.profiles import NOISE_FLOOR
from workbench.compare.profiles import PROFILES as VERDICT_PROFILES
from workbench.config import Config, new
from workbench.core.errors import FormatError, WorkbenchError
from workbench.core.faces import make_face
from workbench.graph.flow import Flow
from workbench.graph.networks import load_graph
from workbench.graph.nodes import Graph
from workbench.pipeline.compare import Comparison, compare
from workbench.pipeline.rehearse import dump_both, why_not
from workbench.run.modes import MODES
from workbench.run.profiles import PROFILES
from workbench.show.labels import LANGUAGES
from workbench.ui.code import bench_code, rehearsal_code, trees_code
from workbench.ui.export import Export
from workbench.ui.job import Runner
from workbench.ui.map_file import MapFile
from workbench.ui.session import PLAIN, read_session, save_session, session_path
from workbench.ui.trees import Trees

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from workbench.compare.result import Result
    from workbench.graph.flow import Network

    Report = Callable[[int, int, str], None]
    Cancelled = Callable[[], bool]


_REHEARSED = ("device", "faults", "precision_mode", "seed", "iterations", "ranks")

KEPT = ["config", "graph", "faults", "trees", "export", *PLAIN]
"""Traits that a session file keeps."""


class Workbench(T.HasTraits):
    """A comparison and all its settings; a plain object that `form` puts a face on.

    Set an attribute from a cell and every panel follows; ``observe`` says what changed.

    Parameters
    ----------
    config : Config or name of a surface
        What both runs of a rehearsal dump.
    graph : Graph or Flow, or text that `workbench.graph.networks.load_graph` reads
    target, golden : str, optional
        Trees that exist already; given, they are compared and nothing is rehearsed.
    trees : Trees, optional
        The same with graph files, model, rank and iteration.
    device : str
        Profile of the simulated NPU.
    faults : sequence of str
        Defects planted in it.
    precision_mode : str, optional
    seed, iterations, ranks : int
    profile : str
        Rule of the verdicts.
    map_file : MapFile, optional
    language : "en" or "zh"
    refused : str
        Why the form that somebody is filling in would be refused; ``config`` is then the last one that would not.

    >>> Workbench(graph="mlp").run().verdict
    'warn'
    """

    config: Any = T.Instance(Config)
    graph: Any = T.Any()
    trees: Any = T.Instance(Trees, ())
    rehearsing: Any = T.Bool(True)
    device: Any = T.Unicode("a2")
    faults: Any = T.Tuple()
    precision_mode: Any = T.Unicode(None, allow_none=True)
    seed: Any = T.Int(0)
    iterations: Any = T.Int(1)
    ranks: Any = T.Int(1)
    profile: Any = T.Unicode(NOISE_FLOOR)
    export: Any = T.Instance(Export, ())
    language: Any = T.Unicode("en")
    comparison: Any = T.Instance(Comparison, allow_none=True)
    refused: Any = T.Unicode()

    def __init__(
        self,
        config: Config | str = "mindspore-o0o1",
        graph: Network | str = "lenet",
        *,
        target: str | Path = "",
        golden: str | Path = "",
        map_file: MapFile | None = None,
        **settings: Any,
    ) -> None:
        unknown = sorted(set(settings) - set(self.trait_names()))
        if unknown:
            known = sorted(self.trait_names())
            raise WorkbenchError(f"settings of a workbench must be some of {known}, got {unknown}")
        if target or golden:
            settings.setdefault("trees", Trees(str(target), str(golden)))
        settings.setdefault("rehearsing", "trees" not in settings)
        settings["faults"] = tuple(settings.get("faults", ()))
        self.map_file, self.runner = map_file or MapFile(), Runner()
        self._remove: weakref.finalize[..., Any] | None = None
        self._root: Path | None = None
        self._known: tuple[tuple[Any, ...], Network] | None = None
        config = new(config) if isinstance(config, str) else config
        super().__init__(config=config, graph=graph, **settings)

    @T.validate("device", "precision_mode", "profile", "language")
    def _one_of(self, proposal: Any) -> Any:
        known: dict[str, Iterable[str]] = {
            "device": PROFILES, "precision_mode": MODES, "profile": VERDICT_PROFILES, "language": LANGUAGES,
        }  # fmt: skip
        name, value = proposal["trait"].name, proposal["value"]
        choices = list(known[name])
        if value is None or value in choices:
            return value
        raise WorkbenchError(f"{name} must be one of {choices}, got {value!r}")

    @T.validate("iterations", "ranks")
    def _at_least_one(self, proposal: Any) -> Any:
        name, value = proposal["trait"].name, proposal["value"]
        if value < 1:
            raise WorkbenchError(f"{name} must be at least 1, got {value!r}")
        return value

    def load_graph(self) -> Network:
        """Return the graph itself, read anew; raises GraphError if there is none of that name."""
        if isinstance(self.graph, Graph | Flow):
            return self.graph
        return load_graph(self.graph, self.seed, self.ranks)

    @property
    def network(self) -> Network:
        """The graph as it was when its name or seed were set last; raises GraphError if there is none."""
        key = (self.graph, self.seed, self.ranks)
        if self._known is None or self._known[0] != key:
            self._known = (key, self.load_graph())
        return self._known[1]

    def reason(self) -> str:
        """Why nothing can run with these settings; empty if it can."""
        if not self.rehearsing:
            return str(self.trees.lacking)
        return str(self.refused) or why_not(self.config) or self._no_network()

    def _no_network(self) -> str:
        """Why there is no such graph; empty if there is."""
        try:
            return "" if self.network else "no graph"
        except WorkbenchError as error:
            return str(error)

    def run(
        self,
        *,
        out: str | Path | None = None,
        report: Report | None = None,
        cancelled: Cancelled | None = None,
    ) -> Comparison:
        """Rehearse, or compare the trees; the answer is kept in ``comparison``.

        What a rehearsal dumps lies in ``out``, or in a temporary folder as long as this object or until it
        runs again: the comparison looks into it.
        """
        if self.rehearsing:
            self._rehearse(out, report)
        return self.compare(report=report, cancelled=cancelled)

    def compare(
        self, *, report: Report | None = None, cancelled: Cancelled | None = None
    ) -> Comparison:
        """Compare the trees that are there, with the present map file and profile."""
        target, golden, options = self._places()
        found = compare(
            target,
            golden,
            map_file=self.map_file.overrides or None,
            profile=self.profile,
            progress=report,
            cancelled=cancelled,
            **options,
        )
        found.recipe = self._recipe(found.recipe)
        if self._remove is not None and self.rehearsing:
            found.result = _nameless(found.result)
        self.comparison = found
        return found

    def form(self, panel: str = "") -> Any:
        """Return the face: all panels, or one of them by name (``configure``, ``run``, ``align``, …)."""
        return make_face("workbench", self, panel=panel)

    def to_code(self) -> str:
        """Python that does the same; a graph object of one's own stands there by its name."""
        given = trees_code(self.trees)
        if self.rehearsing:
            settings = {name: getattr(self, name) for name in _REHEARSED}
            given = rehearsal_code(self.config, self.graph, settings)
        if self.profile != NOISE_FLOOR:
            given.append(f"profile={self.profile!r}")
        return bench_code(given, self.map_file)

    def save(self, path: str | Path) -> Path:
        """Write settings and state of every panel as a session file."""
        return save_session(self, path)

    @classmethod
    def open(cls, path: str | Path) -> Workbench:
        """Return the workbench of a session file; raises FormatError if it is none."""
        return cls._of(path, read_session(path))

    @classmethod
    def resume(cls, path: str | Path | None = None) -> Workbench:
        """Return the workbench that this notebook had before its kernel restarted, or a new one.

        Its settings are kept in a session file from now on: ``path``, or ``NOTEBOOK.session.json`` beside the
        notebook. Raises FormatError if the file is no session, which then stays as it is.
        """
        place = Path(path or session_path())
        bench = cls.open(place) if place.exists() else cls()
        for item, names in ((bench, KEPT), (bench.map_file, ["overrides"])):
            item.observe(lambda _change: save_session(bench, place), names)
        return bench

    @classmethod
    def _of(cls, path: str | Path, arguments: dict[str, Any]) -> Workbench:
        try:
            return cls(**arguments)
        except WorkbenchError as error:
            raise FormatError(f"{path}: {error}") from error

    def _rehearse(self, out: str | Path | None, report: Report | None) -> None:
        root = Path(out or tempfile.mkdtemp(prefix="rehearsal-"))
        remove = None if out else weakref.finalize(self, rmtree, root, ignore_errors=True)
        try:
            dump_both(
                self.load_graph(),
                self.config,
                root,
                device=self.device,
                faults=self.faults,
                precision_mode=self.precision_mode,
                seed=self.seed,
                iterations=self.iterations,
                ranks=self.ranks,
                report=report,
            )
        except BaseException:
            if remove is not None:
                remove()
            raise
        if self._remove is not None:
            self._remove()
        self._root, self._remove = root, remove

    def _places(self) -> tuple[str | Path, str | Path, dict[str, Any]]:
        """Target, golden, and how they are read."""
        if not self.rehearsing:
            if self.trees.lacking:
                raise WorkbenchError(f"{self.trees.lacking}, got {self.trees!r}")
            return self.trees.target, self.trees.golden, self.trees.options
        if self._root is None:
            raise WorkbenchError("rehearsal must have run before its trees are compared, got none")
        return self._root / "target", self._root / "golden", {}

    def _recipe(self, known: Mapping[str, str]) -> dict[str, str]:
        """How it is made again: a rehearsal from its settings, trees as `compare` says."""
        if not self.rehearsing:
            return {**known, "Python": self.to_code()}
        name = f"Configuration ({self.config.surface.title})"
        return {"Python": self.to_code(), name: self.config.to_text()}

    def _repr_html_(self) -> str:
        if self.comparison is not None:
            return str(self.comparison._repr_html_())
        text = f"{self!r}\n\n{self.config.explain()}\n\n{self.to_code()}"
        return f"<pre>{escape(text)}</pre>"

    def __repr__(self) -> str:
        graph = self.graph if isinstance(self.graph, str) else self.graph.name
        state = self.comparison.verdict if self.comparison is not None else "not run yet"
        what = f"{self.config.surface.name}, {graph} on {self.device}"
        if not self.rehearsing:
            what = f"{self.trees.target or 'no target'} against {self.trees.golden or 'no golden'}"
        return f"<Workbench {what}: {state}>"


def _nameless(result: Result) -> Result:
    """Return a result whose trees are called what they are, not by their temporary folder."""
    return replace(
        result,
        target=replace(result.target, path="rehearsal/target"),
        golden=replace(result.golden, path="rehearsal/golden"),
    )
