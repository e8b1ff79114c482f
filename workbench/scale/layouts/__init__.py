"""Layouts of jobs: how tensors lie on ranks of tensor, pipeline, data, context, expert and sequence parallelism.

Comes in: what every rank holds, and how it lies: given (`read_layouts`), or told from the dumps (`tell_layouts`).
Goes out: `join_tensor`: a whole tensor, with a ledger of steps and findings about its ranks; `job_of` with
`joined_dump`: a dump of whole tensors for `workbench.compare`; `join_pairs`, `find_on_ranks`: tensor by tensor.
Added here: a reading of the ranks in `explain`, its sentence (`found-…`) in `workbench.core.words.layouts`.
"""

from workbench.run.parallel import Parallel
from workbench.scale.layouts.files import (
    LayoutRow,
    LayoutTable,
    Numbered,
    layouts_of,
    parse_layouts,
    read_layouts,
)
from workbench.scale.layouts.flat import tell_parts, unflatten
from workbench.scale.layouts.grammar import Cut, Dim, FlatPart, TensorLayout, parse_layout
from workbench.scale.layouts.jobs import (
    Job,
    JoinedPair,
    find_on_ranks,
    job_of,
    join_one,
    join_pairs,
    joined_dump,
    not_joined,
    whole_array,
)
from workbench.scale.layouts.join import join_tensor
from workbench.scale.layouts.steps import Finding, Joined, Step
from workbench.scale.layouts.tell import tell_layouts, tell_tensor

__all__ = [
    "Cut",
    "Dim",
    "Finding",
    "FlatPart",
    "Job",
    "Joined",
    "JoinedPair",
    "LayoutRow",
    "LayoutTable",
    "Numbered",
    "Parallel",
    "Step",
    "TensorLayout",
    "find_on_ranks",
    "job_of",
    "join_one",
    "join_pairs",
    "join_tensor",
    "joined_dump",
    "layouts_of",
    "not_joined",
    "parse_layout",
    "parse_layouts",
    "read_layouts",
    "tell_layouts",
    "tell_parts",
    "tell_tensor",
    "unflatten",
    "whole_array",
]
