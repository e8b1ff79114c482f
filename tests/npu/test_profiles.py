"""The table of devices."""

import pytest

from kit.words import refused
from workbench.core.errors import GraphError
from workbench.npu.precision import modes_of
from workbench.npu.profiles import HF32, PROFILES, profile
from workbench.npu.rounding import ROUND


def test_the_devices_of_the_platform_files():
    """What each multiplies and how it overflows, as the vendor's platform files say."""
    half, full = {"float16", "int8", "uint8"}, {"bfloat16", "float32", HF32}
    eight = {"float8_e4m3fn", "float8_e5m2", "hifloat8"}
    assert {name: set(row.cube) for name, row in PROFILES.items()} == {
        "910a": half,
        "310p": half,
        "a2": half | full,
        "a3": half | full,
        "950": half | full | eight,
    }
    assert {name: row.overflow for name, row in PROFILES.items()} == {
        "910a": "saturate",
        "310p": "saturate",
        "a2": "either",
        "a3": "either",
        "950": "inf_nan",
    }
    assert {name: row.record for name, row in PROFILES.items() if not row.record} == {"950": ""}


@pytest.mark.parametrize("name", PROFILES)
def test_every_row_is_whole(name):
    row = PROFILES[name]
    for source, sums in row.cube.items():
        assert sums == ("int32" if "int" in source else "float32")
    assert {f for f in row.formats if "int" not in f} <= ROUND.keys()
    assert {row.training, row.inference} <= {*modes_of(row)}
    assert profile(name) is row


def test_an_unknown_device_is_refused():
    with refused("core/choice", GraphError, subject="device", got="a9", known=sorted(PROFILES)):
        profile("a9")
