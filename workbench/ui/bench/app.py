"""The whole workbench as one object: what is dumped, what runs, and what came of it."""

from __future__ import annotations

import tempfile
import weakref
from dataclasses import replace
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any

import traitlets as T

from workbench._faces import make_face
from workbench.comparison.measure.profiles import NOISE_FLOOR
from workbench.comparison.measure.profiles import PROFILES as VERDICT_PROFILES
from workbench.config import Config, new
from workbench.core.errors import FormatError, WorkbenchError
from workbench.core.problems import Problem
from workbench.core.text import escape_whole, one_line
from workbench.core.words import Message
from workbench.core.words.translate import LANGUAGES
from workbench.graph.control_flow import ControlFlow
from workbench.graph.graph import Graph
from workbench.npu.faults import check_settings, parse_fault
from workbench.npu.precision import MODES
from workbench.npu.profiles import PROFILES
from workbench.session.compare import compare
from workbench.session.comparison import Comparison
from workbench.session.provenance import PYTHON
from workbench.show.look.checked import TEXT, Checked, a, one_of, texts, whole
from workbench.show.look.kept_look import kept_look, look_again
from workbench.simulation.events import ITERATIONS, undumped
from workbench.simulation.inputs import network_with_inputs
from workbench.simulation.pair import dump_both, unsupported_reason
from workbench.ui.bench.code import bench_code, rehearsal_code, trees_code, unit_code
from workbench.ui.bench.export import Export
from workbench.ui.bench.job import Cancelled, Runner
from workbench.ui.bench.map_file import MapFile
from workbench.ui.bench.session import (
    keep_session,
    read_session,
    save_session,
    session_path,
    usual_path,
)
from workbench.ui.bench.trees import TreePair, Trees

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from workbench.comparison.result import Result
    from workbench.graph.control_flow import Network
    from workbench.scale.job import JobResult

    Report = Callable[[int, int, str], None]
    Asked = Callable[[], bool]
    _Settings = tuple[MapFile, str]


_REHEARSED = ("device", "faults", "precision_mode", "seed", "iterations", "ranks")

PANELS = ("configure", "run", "job", "align", "divergence", "operator", "source", "report")
"""Names of the panels, in the order of the work."""


def _are_faults(value: Any) -> bool:
    """Whether a value lists faults; raises GraphError for one that no run would take, whatever its graph."""
    if not texts(value):
        return False
    for one in value:
        check_settings(parse_fault(one))
    return True


class Workbench(T.HasTraits):
    """A comparison and all its settings; a plain object that `form` puts a face on.

    Set an attribute from a cell and every panel follows; ``observe`` says what changed.

    Parameters
    ----------
    config : Config or name of a surface
        What both runs of a rehearsal dump.
    graph : Graph or Flow, or text that `workbench.network.models.load_graph` reads
    target, golden : str, optional
        Trees that exist already; given, they are compared and nothing is rehearsed.
    trees : Trees, optional
        The same with graph files, model, rank and iteration.
    device : str
        Profile of the simulated NPU.
    faults : sequence of str
        Defects planted in it.
    precision_mode : str, optional
    set_dump : sequence of str
        Operators that are marked for ``dump_mode`` 2: names, patterns with ``*``, types or scopes.
    inputs : sequence of str
        What the network is fed: ``NAME=FILE.npy``, a folder with such files, or ``NAME=SIZE,SIZE`` for values of the
        seed.
    seed, iterations, ranks : int
    profile : str
        Rule of the verdicts.
    job : str
        Folder of the result of a job of many ranks (`workbench.compare_job`); `compare_unit` compares one of its units.
    map_file : MapFile, optional
    language : "en" or "zh"
    panel : str
        Name of the panel in front, or empty until somebody turns to one.
    look : dict, optional
        What was looked at in an earlier comparison, as `workbench.show.look.kept_look` keeps it; the next one
        begins there.
    session : path, optional
        File that keeps the settings at every change, `NOTEBOOK.session.json` beside the notebook if left out; empty:
        none. Of several workbenches with one file the one that was changed last is in it.
    lost : tuple of Message
        What of it the present comparison has no more.
    unsaved : Exception or empty text
        Why the session could not be saved; empty if it was.
    refused : Problem, optional
        Why the configuration that somebody is filling in is invalid; ``config`` is then the last valid one.

    >>> Workbench(graph="mlp").run().verdict
    'warn'
    """

    config: Any = Checked(Message("ui/expected-configuration"), a(Config))
    graph: Any = Checked(Message("ui/expected-network"), a(str, Graph, ControlFlow))
    trees: Any = Checked(Message("ui/expected-trees"), a(Trees), Trees())
    rehearsing: Any = Checked(Message("show/expected-boolean"), a(bool), True)
    device: Any = Checked(PROFILES, one_of(PROFILES), "a2")
    faults: Any = Checked(Message("ui/expected-faults"), _are_faults, ())
    precision_mode: Any = Checked((*MODES, None), one_of((*MODES, None)))
    set_dump: Any = Checked(Message("ui/expected-marks"), texts, ())
    inputs: Any = Checked(Message("ui/expected-inputs"), texts, ())
    seed: Any = whole(0, 2**64 - 1, 0)
    iterations: Any = whole(1, 100_000, 1)
    ranks: Any = whole(1, 1024, 1)
    profile: Any = Checked(VERDICT_PROFILES, one_of(VERDICT_PROFILES), NOISE_FLOOR)
    job: Any = Checked(TEXT, a(str), "")
    export: Any = Checked(Message("ui/expected-export"), a(Export), Export())
    language: Any = Checked(LANGUAGES, one_of(LANGUAGES), "en")
    panel: Any = Checked(("", *PANELS), one_of(("", *PANELS)), "")
    comparison: Any = Checked(Message("ui/expected-comparison"), a(Comparison, type(None)))
    lost: Any = T.Tuple()
    unsaved: Any = Checked(TEXT, a(str, Exception), "")
    refused: Any = Checked(Message("ui/expected-problem"), a(Problem, type(None)))

    def __init__(
        self,
        config: Config | str = "mindspore-o0o1",
        graph: Network | str = "lenet",
        *,
        target: str | Path = "",
        golden: str | Path = "",
        map_file: MapFile | None = None,
        look: Mapping[str, Any] | None = None,
        session: str | Path | None = None,
        **settings: Any,
    ) -> None:
        unknown = sorted(set(settings) - set(self.trait_names()))
        if unknown:
            known = sorted(self.trait_names())
            raise WorkbenchError("ui/unknown-settings", got=unknown, known=known)
        if target or golden:
            settings.setdefault("trees", Trees(str(target), str(golden)))
        settings.setdefault("rehearsing", "trees" not in settings)
        self.map_file, self.runner = map_file or MapFile(), Runner()
        self._look = look
        self._rehearsed: TreePair | None = None
        self._known: tuple[tuple[Any, ...], Network] | None = None
        config = new(config) if isinstance(config, str) else config
        super().__init__(config=config, graph=graph, **settings)
        place = usual_path() if session is None else session
        if str(place):
            keep_session(self, place)

    @T.observe("comparison")
    def _look_again(self, _change: Any) -> None:
        """Begin at a new comparison with the look that was kept, once; whoever follows hears of it later."""
        kept, self._look, self.lost = self._look, None, ()
        if self.comparison is None:
            self._look = kept
        elif kept is not None:
            self.lost = look_again(self.comparison.look, kept, self.comparison.result)

    @property
    def kept_look(self) -> Mapping[str, Any] | None:
        """What is looked at, by names; before there is a comparison, what the next one begins with."""
        if self.comparison is None:
            return self._look
        return kept_look(self.comparison.look, self.comparison.rows)

    def load_graph(self) -> Network:
        """Return the graph itself, read anew; raises GraphError if there is none of that name."""
        return self._load(self.graph, self.inputs)[0]

    def _load(
        self, graph: Network | str, inputs: Sequence[str]
    ) -> tuple[Network, dict[str, Any] | None]:
        """A graph, and what it is fed if that is given."""
        return network_with_inputs(graph, inputs, self.seed, self.ranks)

    @property
    def network(self) -> Network:
        """The graph as it was when its name or seed were set last; raises GraphError if there is none."""
        return self.look_up(self.graph)

    def look_up(self, graph: Network | str, inputs: Sequence[str] | None = None) -> Network:
        """Return a graph by its name, which ``graph`` could then be set to, as ``inputs`` could to what is given.

        Raises GraphError if there is none, or it cannot be fed so; FormatError for a file of an input that is no array.
        """
        inputs = self.inputs if inputs is None else inputs
        key = (graph, tuple(inputs), self.seed, self.ranks)
        if self._known is None or self._known[0] != key:
            self._known = (key, self._load(graph, inputs)[0])
        return self._known[1]

    def reason(self) -> Message | Problem | WorkbenchError | str | None:
        """Why nothing can run with these settings; ``None`` if it can."""
        if not self.rehearsing:
            lacking: Message | None = self.trees.lacking
            return lacking
        return self.refused or unsupported_reason(self.config) or self._no_network()

    @property
    def dumps_marked(self) -> bool:
        """Whether the configuration dumps the operators that the network marks."""
        try:
            return any(entry.kind == "marked" for entry in self.config.plan().select)
        except WorkbenchError:  # refused: that is said elsewhere
            return False

    def left_out(self) -> Message | None:
        """Say that a rehearsal runs iterations that the configuration does not dump; ``None`` if it dumps all."""
        try:
            plan = self.config.plan()
        except WorkbenchError:  # refused: that is said elsewhere
            return None
        first = plan.initial_iteration
        return undumped(plan, range(first, first + self.iterations), self.config)

    def _no_network(self) -> WorkbenchError | None:
        """Why there is no such graph; ``None`` if there is."""
        try:
            self.look_up(self.graph)
        except WorkbenchError as error:
            return error
        return None

    def run(
        self,
        *,
        out: str | Path | None = None,
        report: Report | None = None,
        cancelled: Asked | None = None,
    ) -> Comparison:
        """Rehearse, or compare the trees; the answer is kept in ``comparison``.

        What a rehearsal dumps lies in ``out``, or in a temporary folder as long as this object or until it
        runs again: the comparison looks into it. Once ``cancelled`` is true, what is compared by then is kept, as a
        partial comparison; raises `workbench.ui.bench.job.Cancelled` if that is nothing, and the answer before stays.
        """
        if not self.rehearsing:
            return self.compare(report=report, cancelled=cancelled)
        settings, left = self._settings(), self.left_out()
        pair = self._rehearse(out, _stopping(report, cancelled))
        try:
            found = self._compare(pair, settings, report, cancelled)
            found.result = _noted(found.result, left)
        except BaseException:
            pair.forget()
            raise
        if self._rehearsed is not None:
            self._rehearsed.forget()
        self._rehearsed = pair
        self.comparison = found
        return found

    def compare(
        self, *, report: Report | None = None, cancelled: Asked | None = None
    ) -> Comparison:
        """Compare the trees that are there, with the present map file and profile; for the rest see `run`."""
        found = self._compare(self._pair(), self._settings(), report, cancelled)
        self.comparison = found
        return found

    def read_job(self, folder: str = "") -> JobResult:
        """Return the result of the job as it is now; raises FormatError if ``job`` is no folder of one.

        ``folder`` is one that ``job`` could then be set to.
        """
        from workbench.scale.compare_job import read_job

        return read_job(folder or self.job)

    def compare_unit(
        self,
        rank: int,
        iteration: int,
        *,
        job: JobResult | None = None,
        report: Report | None = None,
        cancelled: Asked | None = None,
    ) -> Comparison:
        """Compare a unit of the job with the job's settings; the answer is kept in ``comparison``, as that of `run`.

        ``trees`` are those of the unit then, so that it can be compared again with another map file or profile; where
        ranks were joined there are none. ``job`` is what `read_job` gave, read anew if left out.
        """
        job = job or self.read_job()
        found = _kept(
            job.comparison(
                rank, iteration, progress=_stopping(report, cancelled), cancelled=cancelled
            )
        )
        code = unit_code(job.folder, rank, iteration)
        found.provenance = {**found.provenance, PYTHON: code}
        joined = job.axes is not None
        self.rehearsing = False
        own = Trees(job.target, job.golden, *job.given, rank=rank, iteration=iteration)
        self.trees = Trees() if joined else own
        self.comparison = found
        return found

    def _settings(self) -> _Settings:
        """Map file and profile as they are now: they may be changed while a comparison runs."""
        return MapFile(self.map_file.overrides), self.profile

    def _compare(
        self,
        pair: TreePair,
        settings: _Settings,
        report: Report | None,
        cancelled: Asked | None,
    ) -> Comparison:
        map_file, profile = settings
        code = bench_code([*pair.arguments, *_profile_code(profile)], map_file)
        found = compare(
            pair.target,
            pair.golden,
            map_file=map_file.overrides or None,
            profile=profile,
            progress=_stopping(report, cancelled),
            cancelled=cancelled,
            **pair.options,
        )
        _kept(found)
        found.provenance = {**({} if pair.form else found.provenance), PYTHON: code, **pair.form}
        if pair.remove is not None:
            found.result = _nameless(found.result)
        return found

    def form(self, panel: str = "") -> Any:
        """Return the face: all panels, or one of them by name (``configure``, ``run``, ``align``, …)."""
        return make_face("workbench", self, panel=panel)

    def to_code(self) -> str:
        """Python that does the same; a graph object of one's own stands there by its name."""
        return f"{self._code()}comparison\n"

    def _code(self) -> str:
        """Python up to the line that makes ``comparison``."""
        given = self._rehearsal_code() if self.rehearsing else trees_code(self.trees)
        return bench_code([*given, *_profile_code(self.profile)], self.map_file)

    def _rehearsal_code(self) -> list[str]:
        settings = {name: getattr(self, name) for name in _REHEARSED}
        for name in ("set_dump", "inputs"):
            if getattr(self, name):
                settings[name] = list(getattr(self, name))
        return rehearsal_code(self.config, self.graph, settings)

    def save(self, path: str | Path) -> Path:
        """Write settings and state of every panel as a session file."""
        return save_session(self, path)

    @classmethod
    def open(cls, path: str | Path) -> Workbench:
        """Return the workbench of a session file; raises FormatError if it is none."""
        return cls._of(path, read_session(path))

    @classmethod
    def resume(
        cls, path: str | Path | None = None, *, say: Callable[[str], None] = print
    ) -> Workbench:
        """Return the workbench that this notebook had before its kernel restarted, or a new one.

        Its settings are in a session file and stay there: ``path``, or ``NOTEBOOK.session.json`` beside the
        notebook. ``say`` is told what was resumed, or that there was nothing. Raises FormatError if the file is no
        session, which then stays as it is.
        """
        place = Path(path or session_path())
        if not place.exists():
            say(str(Message("ui/resumed-nothing", path=place)))
            return cls(session=place)
        kept = read_session(place)
        bench = cls._of(place, kept | {"session": place})
        code = "ui/resumed" if kept["graph"] is not None else "ui/resumed-without-network"
        say(str(Message(code, path=place, what=bench._what())))
        return bench

    @classmethod
    def _of(cls, path: str | Path, arguments: dict[str, Any]) -> Workbench:
        try:
            return cls(**{name: value for name, value in arguments.items() if value is not None})
        except WorkbenchError as error:
            raise FormatError(error.code, **error.values, place=str(path)) from error

    def _rehearse(self, out: str | Path | None, report: Report) -> TreePair:
        """Dump both trees, with the settings of now."""
        root = Path(out or tempfile.mkdtemp(prefix="rehearsal-"))
        config = self.config
        given = {name: getattr(self, name) for name in (*_REHEARSED, "set_dump")}
        pair = TreePair(
            root / "target",
            root / "golden",
            self._rehearsal_code(),
            form={f"Configuration ({config.surface.title})": config.to_text()},
            remove=None if out else weakref.finalize(self, rmtree, root, ignore_errors=True),
        )
        try:
            network, feeds = self._load(self.graph, self.inputs)
            dump_both(network, config, root, feeds=feeds, **given, report=report)
        except BaseException:
            pair.forget()
            raise
        return pair

    def _pair(self) -> TreePair:
        """The trees that are there."""
        if not self.rehearsing:
            if self.trees.lacking:
                raise WorkbenchError(self.trees.lacking.code)
            code = trees_code(self.trees)
            return TreePair(self.trees.target, self.trees.golden, code, self.trees.options)
        if self._rehearsed is None:
            raise WorkbenchError("ui/not-simulated")
        return self._rehearsed

    def _repr_html_(self) -> str:
        if self.comparison is not None:
            return str(self.comparison._repr_html_())
        text = f"{self!r}\n\n{self.config.explain()}\n\n{self.to_code()}"
        return f"<pre>{escape_whole(text)}</pre>"

    def _what(self) -> str:
        """What it compares, in a few words."""
        if not self.rehearsing:
            return f"{self.trees.target or 'no target'} against {self.trees.golden or 'no golden'}"
        graph = self.graph if isinstance(self.graph, str) else self.graph.name
        return f"{self.config.surface.name}, {graph} on {self.device}"

    def __repr__(self) -> str:
        state = self.comparison.verdict if self.comparison is not None else "not run yet"
        return one_line(f"<Workbench {self._what()}: {state}>")


def _stopping(report: Report | None, cancelled: Asked | None) -> Report:
    """Pass progress on. Once it is cancelled, what reports ends, unless it counts pairs: those that are done stay."""

    def noted(done: int, total: int, text: str) -> None:
        if not total and cancelled is not None and cancelled():
            raise Cancelled
        if report is not None:
            report(done, total, text)

    return noted


def _kept(found: Comparison) -> Comparison:
    """Return a comparison of which something was compared; raises Cancelled for one that was stopped before."""
    if found.result.partial and all(row.status == "uncomparable" for row in found.rows):
        raise Cancelled
    return found


def _profile_code(profile: str) -> list[str]:
    """Return the argument that says by which rule verdicts are made, if it is not the usual one."""
    return [] if profile == NOISE_FLOOR else [f"profile={profile!r}"]


def _noted(result: Result, left: Message | None) -> Result:
    """Return a result that says which iterations were not dumped, if some were not."""
    return result if left is None else replace(result, facts={**result.facts, ITERATIONS: left})


def _nameless(result: Result) -> Result:
    """Return a result whose trees are called what they are, not by their temporary folder."""
    return replace(
        result,
        target=replace(result.target, path="rehearsal/target"),
        golden=replace(result.golden, path="rehearsal/golden"),
    )
