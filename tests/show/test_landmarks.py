"""Where to look first, against rows whose story is plain."""

import math

from kit.build.sample_results import make_row
from workbench.show.look.landmarks import largest_jump


def test_the_largest_jump_is_where_an_error_grows_most_beyond_what_explains_it():
    rows = [
        make_row(status="fail", error=0.5, inherited_error=0.4, noise_floor=1e-3),
        make_row(status="fail", error=0.1, inherited_error=1e-4, noise_floor=1e-3),  # a hundredfold
        make_row(status="fail", error=9.0, inherited_error=1e-4, noise_floor=1e-3, io="input"),
        make_row(status="pass", error=9e-4, inherited_error=0.0, noise_floor=1e-6),
    ]
    assert largest_jump(rows) is rows[1]
    sick = make_row(status="fail", error=math.nan, inherited_error=0.1, noise_floor=1e-3)
    behind = make_row(status="fail", error=math.nan, inherited_error=math.inf, noise_floor=1e-3)
    assert largest_jump([*rows, behind, sick]) is sick
    assert largest_jump([behind]) is None


def test_there_is_no_jump_where_nothing_is_beyond_what_explains_it():
    assert largest_jump([]) is None
    assert largest_jump([make_row(status="equal", error=0.0), make_row(error=None)]) is None
