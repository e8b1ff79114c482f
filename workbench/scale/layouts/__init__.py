"""Layouts of jobs: how tensors lie on the ranks of tensor, pipeline, data, context, expert and sequence parallel runs.

Comes in: what every rank holds, and how it is laid out, given (`parse_layout`, `read_layouts`) or told from the dumps.
Goes out: `join_tensor`: whole tensors, with a ledger of steps and findings about the ranks.
Added here: a step or finding is a code in `steps` and a sentence in `workbench.core.words.layouts`.
"""

from workbench.run.parallel import Parallel
from workbench.scale.layouts.grammar import Cut, Dim, Part, TensorLayout, parse_layout
from workbench.scale.layouts.join import join_tensor
from workbench.scale.layouts.steps import Finding, Joined, Step

__all__ = [
    "Cut",
    "Dim",
    "Finding",
    "Joined",
    "Parallel",
    "Part",
    "Step",
    "TensorLayout",
    "join_tensor",
    "parse_layout",
]
