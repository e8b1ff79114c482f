"""Precision modes: names, what devices can run, and the lists of mixed precision."""

import pytest

from kit.words import refused
from workbench.core.errors import GraphError
from workbench.npu.precision import MODES, MODES_V2, modes_of, rule_of
from workbench.npu.profiles import PROFILES
from workbench.npu.rounding import ROUND

BRAIN = {"allow_fp32_to_bf16", "allow_mix_precision_bf16"}
TAPERED = {"cube_hif8", "mixed_hif8"}


def test_every_mode_of_the_documents_is_there():
    assert {*MODES} == BRAIN | TAPERED | {
        "force_fp32", "allow_fp32_to_fp16", "force_fp16", "must_keep_origin_dtype",
        "allow_mix_precision", "cube_fp16in_fp32out", "allow_mix_precision_fp16",
        "force_lowerprecision", "allow_fp32_to_lowprecision",
    }  # fmt: skip
    assert MODES_V2 == {
        "fp16": "force_fp16",
        "origin": "must_keep_origin_dtype",
        "mixed_float16": "allow_mix_precision_fp16",
        "mixed_bfloat16": "allow_mix_precision_bf16",
        "cube_fp16in_fp32out": "cube_fp16in_fp32out",
        "cube_hif8": "cube_hif8",
        "mixed_hif8": "mixed_hif8",
    }


@pytest.mark.parametrize("name", PROFILES)
def test_a_device_runs_the_modes_whose_formats_it_has(name):
    device = PROFILES[name]
    can = {*modes_of(device)}
    lacking = (BRAIN if "bfloat16" not in device.vector else set()) | (
        TAPERED if "hifloat8" not in device.cube else set()
    )
    assert can == MODES.keys() - lacking
    for mode in lacking:
        with refused("run/mode-unsupported", device=device.title, got=mode, known=modes_of(device)):
            rule_of(mode, device)
    for mode in can:
        assert rule_of(mode, device).formats <= {*ROUND} & {*device.formats}


def test_low_precision_is_bfloat16_where_there_is_any():
    assert rule_of("force_lowerprecision", PROFILES["910a"]).formats == {"float16"}
    assert rule_of("force_lowerprecision", PROFILES["a2"]).formats == {"bfloat16"}
    assert rule_of("allow_fp32_to_lowprecision", PROFILES["a2"]).formats == {"float16"}


def test_an_unknown_mode_gets_the_names_of_both_versions():
    with refused("core/choice", GraphError, subject="precision mode", got="fast") as error:
        rule_of("fast", PROFILES["a2"])
    assert {"force_fp16", "mixed_float16"} <= {*error.value.values["known"]}
