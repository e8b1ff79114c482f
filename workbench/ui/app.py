"""The whole workbench as one object: what is dumped, what runs, and what came of it."""

from __future__ import annotations

from html import escape
from textwrap import indent
from typing import TYPE_CHECKING, Any

from workbench.config import new
from workbench.core.faces import make_face
from workbench.graph.flow import Flow
from workbench.graph.networks import load_graph
from workbench.graph.nodes import Graph
from workbench.pipeline.rehearse import rehearse, why_not
from workbench.ui.code import config_code

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from workbench.config import Config
    from workbench.graph.flow import Network
    from workbench.pipeline.compare import Comparison

    Report = Callable[[int, int, str], None]


class Workbench:
    """A rehearsal and its settings; a plain object that `form` puts a face on.

    Parameters
    ----------
    config : Config or name of a surface
    graph : Graph or Flow, or text that `workbench.graph.networks.load_graph` reads
    device : str
        Profile of the simulated NPU.
    faults : sequence of str
        Defects planted in it.
    precision_mode : str, optional
    seed, iterations, ranks : int

    >>> Workbench(graph="mlp").run().verdict
    'warn'
    """

    def __init__(
        self,
        config: Config | str = "mindspore-o0o1",
        graph: Network | str = "lenet",
        *,
        device: str = "a2",
        faults: Sequence[str] = (),
        precision_mode: str | None = None,
        seed: int = 0,
        iterations: int = 1,
        ranks: int = 1,
    ) -> None:
        self.config = new(config) if isinstance(config, str) else config
        self.graph = graph
        self.device, self.faults = device, tuple(faults)
        self.precision_mode, self.seed, self.iterations = precision_mode, seed, iterations
        self.ranks = ranks
        self.comparison: Comparison | None = None

    def load_graph(self) -> Network:
        """Return the graph itself; raises GraphError if there is none of that name."""
        if isinstance(self.graph, Graph | Flow):
            return self.graph
        return load_graph(self.graph, self.seed, self.ranks)

    def reason(self) -> str:
        """Why nothing can run with these settings; empty if it can."""
        return why_not(self.config)

    def run(
        self,
        *,
        out: str | Path | None = None,
        report: Report | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> Comparison:
        """Run reference and simulated NPU and compare them; the answer is kept in ``comparison``."""
        self.comparison = rehearse(
            self.load_graph(),
            self.config,
            device=self.device,
            faults=self.faults,
            precision_mode=self.precision_mode,
            seed=self.seed,
            iterations=self.iterations,
            ranks=self.ranks,
            out=out,
            report=report,
            cancelled=cancelled,
        )
        return self.comparison

    def form(self) -> Any:
        """Return the panel: configure, run, see where the runs part."""
        return make_face("workbench", self)

    def to_code(self) -> str:
        """Python that does the same; a graph object of one's own stands there by its name."""
        graph = repr(self.graph) if isinstance(self.graph, str) else "graph"
        lines = [
            "import workbench as wb",
            "",
            "bench = wb.Workbench(",
            f"{indent(config_code(self.config), '    ')},",
            f"    {graph},",
            f"    device={self.device!r},",
            f"    faults={self.faults!r},",
            f"    precision_mode={self.precision_mode!r},",
            f"    seed={self.seed!r},",
            f"    iterations={self.iterations!r},",
            f"    ranks={self.ranks!r},",
            ")",
            "comparison = bench.run()",
            "comparison",
        ]
        return "\n".join(lines) + "\n"

    def _repr_html_(self) -> str:
        if self.comparison is not None:
            return self.comparison._repr_html_()
        text = f"{self!r}\n\n{self.config.explain()}\n\n{self.to_code()}"
        return f"<pre>{escape(text)}</pre>"

    def __repr__(self) -> str:
        graph = self.graph if isinstance(self.graph, str) else self.graph.name
        state = self.comparison.verdict if self.comparison is not None else "not run yet"
        return f"<Workbench {self.config.surface.name}, {graph} on {self.device}: {state}>"
