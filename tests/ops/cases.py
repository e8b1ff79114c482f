"""The cases of every operator: one row each, in the table of its family.

``tests`` is on pytest's path: a family is ``ops.matrix_cases`` here, in tests of other folders and in ``conformance/``.
"""

from __future__ import annotations

from ops import (
    activation_cases,
    collective_cases,
    elementwise_cases,
    indexing_cases,
    loss_cases,
    matrix_cases,
    movement_cases,
    normalization_cases,
    pooling_cases,
    quantization_cases,
    recurrent_cases,
    reduction_cases,
    transformer_cases,
    update_cases,
)

FAMILIES = {
    "activation": activation_cases.CASES,
    "collective": collective_cases.CASES,
    "elementwise": elementwise_cases.CASES,
    "indexing": indexing_cases.CASES,
    "loss": loss_cases.CASES,
    "matrix": matrix_cases.CASES,
    "movement": movement_cases.CASES,
    "normalization": normalization_cases.CASES,
    "pooling": pooling_cases.CASES,
    "quantization": quantization_cases.CASES,
    "recurrent": recurrent_cases.CASES,
    "reduction": reduction_cases.CASES,
    "transformer": transformer_cases.CASES,
    "update": update_cases.CASES,
}
"""By the names of the modules of `workbench.ops.rows`."""

CASES = {name: case for family in FAMILIES.values() for name, case in family.items()}
