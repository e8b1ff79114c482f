"""Family transformer: kernels, gradients and refusals."""

from ops.transformer_cases import CASES

from kit.oracle.families import FamilyTests
from workbench.ops.rows.transformer import ROWS


class TestTransformer(FamilyTests):
    rows, cases = ROWS, CASES
