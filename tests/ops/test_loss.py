"""Family loss: kernels, gradients and refusals."""

from ops.loss_cases import CASES

from kit.oracle.families import FamilyTests
from workbench.ops.rows.loss import ROWS


class TestLoss(FamilyTests):
    rows, cases = ROWS, CASES
