"""One operator, looked at closely: where its error comes from, its source, neighbours, settings and elements."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from workbench.comparison.bind.anomalies import REWRITTEN
from workbench.comparison.measure.elements import read_elements
from workbench.comparison.result import Finding
from workbench.core.device_shape import arrange, is_plain
from workbench.core.errors import FormatError, WorkbenchError
from workbench.core.text import one_line
from workbench.core.words import Message
from workbench.graph.source_lines import frames_of
from workbench.views.attributes import graph_lines, settings_of_both
from workbench.views.index import SIDES
from workbench.views.origin import conclusion, error_origin
from workbench.views.source_lines import in_context
from workbench.views.values import side_values
from workbench.views.walk import neighbours

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pandas as pd

    from workbench.comparison.measure.elements import Elements, ErrorKind, HeatMap, Histogram
    from workbench.comparison.result import Row, Side
    from workbench.core.tensors import TensorRecord
    from workbench.graph.graph import Op, SourceFrame
    from workbench.show.plots.graph_picture import Neighbourhood
    from workbench.views.attributes import AttributeRow, GraphLines
    from workbench.views.extract import Extracted
    from workbench.views.index import Compared, RowIndex, RowRecords
    from workbench.views.origin import ErrorOrigin
    from workbench.views.source_lines import SourceContext
    from workbench.views.values import TensorSummaryRow


@dataclass(frozen=True, repr=False)
class OperatorView:
    """One execution of one operator, and one tensor of it: row ``index`` of the comparison.

    Everything is worked out when it is asked for, and what the dumps do not hold (any more) is empty, with the
    reason beside it. `elements` reads both files, up to a limit.
    """

    compared: Compared
    index: int

    @property
    def row(self) -> Row:
        """The tensor that is looked at."""
        return self.compared.rows[self.index]

    @property
    def name(self) -> str:
        """Name of the operator; that of the golden where the target has none."""
        return self.row.op_name or self.row.golden_op_name

    @property
    def _row_index(self) -> RowIndex:
        return self.compared.row_index

    @property
    def side(self) -> Side:
        """The side whose graph tells of it."""
        return "target" if self.row.op_name else "golden"

    @cached_property
    def _found(self) -> RowRecords:
        return self._row_index.find(self.row)

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What was found at this operator."""
        row = self.row
        place = (row.op_name, row.graph_id, row.iteration, row.rank)
        return tuple(
            one
            for one in self.compared.findings
            if row.op_name and place == (one.op_name, one.graph_id, one.iteration, one.rank)
        )

    @cached_property
    def origin(self) -> ErrorOrigin:
        """Whether the error originates here, is propagated or amplified, and why."""
        row = self.compared.original_rows[self.index]
        return error_origin(row, self._found, self._row_index.flow, self.findings)

    @cached_property
    def conclusion(self) -> tuple[Message, ...]:
        """What the walk through the data flow found it to be, by the rule that decided; empty if it was not judged."""
        flow, run = self._row_index.flow, self._found.run
        event = (
            flow.events.get((run.block, run.op)) if flow is not None and run is not None else None
        )
        return conclusion(event) if event is not None else ()

    @cached_property
    def tensors(self) -> tuple[int, ...]:
        """Indices of the rows of this execution, inputs first."""
        rows = self.compared.rows
        own = self._row_index.same_execution(self.row)
        return tuple(sorted(own, key=lambda n: (rows[n].io != "input", rows[n].slot, n)))

    @cached_property
    def trend(self) -> tuple[int, ...]:
        """Indices of the rows of this tensor in every rank and iteration."""
        rows = self.compared.rows
        found = self._row_index.same_tensor(self.row)
        return tuple(
            sorted(found, key=lambda n: (rows[n].rank, rows[n].iteration, rows[n].turn, n))
        )

    def operator(self, side: Side) -> Op | None:
        """Return the operator of one side's graph; ``None`` if there is none."""
        return self._row_index.operator(side, self._found.run_of(side))

    @cached_property
    def frames(self) -> tuple[SourceFrame, ...]:
        """The whole traceback as the graph has it, outermost first; of the golden where the target's has none."""
        for side in dict.fromkeys((self.side, "golden")):
            run = self._found.run_of("golden" if side == "golden" else "target")
            graph = self._row_index.graph("golden" if side == "golden" else "target", run)
            if graph is not None and run is not None and graph.ops[run.op].frames:
                return frames_of(graph, run.op)
        return (self.row.source,) if self.row.source is not None else ()

    @cached_property
    def source(self) -> SourceContext | None:
        """The user's line in its surroundings; ``None`` if no graph tells it."""
        return in_context(self.row.source) if self.row.source is not None else None

    @cached_property
    def neighbours(self) -> Neighbourhood:
        """What it reads and what reads it, three levels far."""
        return neighbours(self._row_index, self.side, self._found.run_of(self.side), self.index)

    @cached_property
    def attributes(self) -> tuple[AttributeRow, ...]:
        """Attributes and constant arguments of both sides, those that differ first."""
        return settings_of_both(self.operator("target"), self.operator("golden"))

    @cached_property
    def ir(self) -> dict[Side, GraphLines]:
        """What the graph files say of it, by side."""
        found: dict[Side, GraphLines] = {}
        for side in SIDES:
            run = self._found.run_of(side)
            text = graph_lines(self._row_index.graph(side, run), run.op if run is not None else -1)
            if text is not None:
                found[side] = text
        return found

    @cached_property
    def _read(self) -> tuple[Elements | None, Message | None]:
        """Read the elements; else why there are none."""
        row, found = self.row, self._found
        if self._row_index.flow is None:
            return None, Message("views/no-dumps")
        if not row.match_rule:
            return None, Message("views/no-counterpart", why=row.reason)
        if found.target is None or found.golden is None:
            return None, Message("views/files-unknown")
        lacking = [said for side in SIDES if (said := _lacking(found.record(side), side))]
        if lacking:
            return None, Message("views/several", said=lacking)
        try:
            return self._open(found), None
        except (WorkbenchError, OSError) as error:
            return None, Message("views/stated", reason=error)

    def _open(self, found: RowRecords) -> Elements | None:
        ours, theirs = found.target, found.golden
        if ours is None or theirs is None or ours.source is None or theirs.source is None:
            return None
        dtypes = tuple(
            getattr(spec, "dtype", "") for spec in (self.row.target_spec, self.row.golden_spec)
        )
        return read_elements(ours.source, theirs.source, (dtypes[0], dtypes[1]))

    @property
    def elements(self) -> Elements | None:
        """Both tensors, read up to a limit; ``None`` if they cannot be (see `why_no_elements`)."""
        return self._read[0]

    @property
    def why_no_elements(self) -> str:
        """Why no element can be shown; empty if they can."""
        return str(self._read[1] or "")

    @cached_property
    def doubts(self) -> tuple[Message, ...]:
        """What to keep in mind when its elements are looked at."""
        flow, found = self._row_index.flow, self._found
        told = []
        if flow is not None:
            for side, binding in zip(
                SIDES, (flow.pairing.target, flow.pairing.golden), strict=True
            ):
                for kind in binding.oddities.get(id(found.record(side)), ()):
                    code = "side-updated" if kind == REWRITTEN else "side-odd"
                    told.append(Message(f"views/{code}", side=side, kind=kind))
        elements = self.elements
        if elements is not None and elements.size < elements.total:
            cut = Message("views/elements-cut", read=elements.size, total=elements.total)
            told.append(cut)
        return tuple(told)

    @cached_property
    def values(self) -> tuple[TensorSummaryRow, ...]:
        """What both sides hold: NaN, infinities, what reaches the largest number, zeros, range, mean, deviation."""
        return side_values(self.row, self.elements)

    @property
    def device_format(self) -> str:
        """Format that the tensor has on the target's device, as its graph says; empty if it does not."""
        op, row = self.operator("target"), self.row
        if op is None:
            return ""
        specs = op.device_outputs if row.io == "output" else op.device_inputs
        return specs[row.slot].format if 0 <= row.slot < len(specs) else ""

    @cached_property
    def tiles(self) -> tuple[int, ...]:
        """Elements along every axis of the host's shape that lie in one tile of the device; 0: the axis is whole."""
        elements, spec = self.elements, self.row.target_spec
        if elements is None or spec is None:
            return ()
        whole = (0,) * len(elements.whole)
        try:
            if not self.device_format or is_plain(spec.format, self.device_format):
                return whole
            laid = arrange(elements.whole, spec.format, self.device_format, spec.dtype)
        except FormatError:  # a format without axes, or elements that lie as the device has them
            return whole
        cut = laid.dims.replace("*", " ").split()
        tiles = [laid.sizes[f"{x}0"] if f"{x}0" in cut else 0 for x in laid.letters]
        return tuple(tiles[len(tiles) - len(whole) :])

    def _some(self) -> Elements:
        if self.elements is None:
            raise WorkbenchError(
                "views/no-elements",
                name=self.name,
                io=self.row.io,
                slot=self.row.slot,
                why=self.why_no_elements,
            )
        return self.elements

    def worst(self, count: int = 20, kind: ErrorKind = "absolute") -> pd.DataFrame:
        """Return the elements that differ most: index, both values, absolute and relative error, ULP.

        Raises WorkbenchError if the elements cannot be read, or for a count outside 1 to 10000.
        """
        import pandas as pd

        found = self._some().worst(count, kind)
        columns = ("index", "target", "golden", "absolute", "relative", "ulp")
        data = {name: [getattr(one, name) for one in found] for name in columns}
        return pd.DataFrame({"Index": data.pop("index"), **{k.title(): v for k, v in data.items()}})

    def histogram(self, kind: ErrorKind = "absolute") -> Histogram:
        """Return how many elements have which error."""
        return self._some().histogram(kind)

    def heat_map(
        self,
        axes: tuple[int, int] | None = None,
        at: Sequence[int] | None = None,
        kind: ErrorKind = "absolute",
    ) -> HeatMap:
        """Return the errors in a plane, by default over the two axes that tell most, through the worst element."""
        return self._some().heat_map(axes, at, kind)

    def graded_in(self, compared: Compared) -> OperatorView:
        """Return the same tensor in a comparison that grades its rows otherwise; what was read of it is kept."""
        made = OperatorView(compared, self.index)
        if "_read" in self.__dict__:
            made.__dict__["_read"] = self._read
        return made

    def failing(self, step: int = 1) -> int:
        """Index of the next failing operator's row (``step`` 1) or the one before it (-1); -1 if there is none."""
        return self._row_index.failing(self.index, step)

    def extract(self, folder: str | Path) -> Extracted:
        """Write the operator alone into a new folder, with a script that computes it again."""
        from workbench.views.extract import extract_operator

        known = next((one for one in self.findings if one.defect), None)
        return extract_operator(self._row_index.flow, known or _as_finding(self), folder)

    def _repr_html_(self) -> str:
        from workbench.views.render import operator_html

        return operator_html(self, standalone=True)

    def __repr__(self) -> str:
        return one_line(
            f"<OperatorView {self.name} {self.row.io}.{self.row.slot}: {self.origin.kind}>"
        )


def _lacking(record: TensorRecord | None, side: Side) -> Message | None:
    """Why the elements of a record cannot be read; ``None`` if they may."""
    if record is None:
        return Message("views/side-lacks", side=side)
    if record.source is None:
        return Message("views/side-statistics", side=side)
    if record.path and not os.path.exists(record.path):
        return Message("views/side-gone", side=side, path=record.path)
    return None


def _as_finding(view: OperatorView) -> Finding:
    """An operator that nobody blames, as `extract` wants to be asked."""
    row = view.row
    return Finding(
        "info", row.op_name, row.op_type, row.graph_id, row.iteration, row.io, row.slot, 0.0,
        view.origin.local_error, row.inherited_error, row.noise_floor, (str(view.origin.text),), "",
        () if row.source is None else (row.source,), row.order, row.rank,
    )  # fmt: skip
