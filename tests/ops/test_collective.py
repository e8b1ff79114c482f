"""Family collective: kernels, gradients and refusals."""

from ops.collective_cases import CASES

from kit.oracle.families import FamilyTests
from workbench.ops.rows.collective import ROWS


class TestCollective(FamilyTests):
    rows, cases, ranks = ROWS, CASES, True
