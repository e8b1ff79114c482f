"""Kernels against the arguments of their rows: a setting reaches a kernel only where it is named, without a default."""

from __future__ import annotations

from inspect import Parameter, signature

import numpy as np
import pytest

from workbench.ops import OPS

HANDED_IN = {"product", "rounding"}
"""Parameters that are no settings: how the device multiplies, and how it rounds."""

UNREAD = {
    "LayerNorm": "begin_params_axis",
    "GroupNormGrad": "num_groups",
    "Cast": "dtype",
    "SliceGrad": "size",
    "FlashAttentionScore": "drop_mask inner_precise",
    "MoeGatingTopK": "out_flag",
}
"""Arguments of a row that its kernel does not read: shapes say the same, or they change no value.

A new one is read, has the only value for which it is computed (`OpDef.only`), or is decided here.
`drop_mask` speaks of a `keep_prob` below 1, which the kernel refuses; `inner_precise` of rounding.
"""

OWN = {
    name: [*signature(row.kernel).parameters.values()]
    for name, row in OPS.items()
    if getattr(row.kernel, "__module__", "numpy").startswith("workbench.")
}
"""Parameters of the kernels of this project; functions of NumPy have NumPy's."""


def needed_tensors(kernel):
    """How many arrays a kernel cannot do without."""
    if isinstance(kernel, np.ufunc):
        return kernel.nin
    places = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    parameters = signature(kernel).parameters.values()
    return sum(one.kind in places and one.default is Parameter.empty for one in parameters)


@pytest.mark.parametrize("name", OPS)
def test_a_kernel_takes_the_tensors_of_its_row(name):
    row = OPS[name]
    assert needed_tensors(row.kernel) <= len(row.positions)
    if isinstance(row.kernel, np.ufunc):
        assert row.kernel.nin == len(row.positions)
    else:
        signature(row.kernel).bind_partial(*row.positions)


@pytest.mark.parametrize("name", OWN)
def test_a_kernel_names_settings_of_its_row(name):
    named = {one.name for one in OWN[name] if one.kind is Parameter.KEYWORD_ONLY}
    assert named - {*OPS[name].settings, *OPS[name].defaults} <= HANDED_IN


@pytest.mark.parametrize("name", OWN)
def test_a_setting_has_its_default_in_the_row(name):
    assert {one.name for one in OWN[name] if one.default is not Parameter.empty} <= HANDED_IN


def reads_all(name):
    """Whether a kernel takes every setting, whatever its name."""
    return any(one.kind is Parameter.VAR_KEYWORD for one in OWN.get(name, []))


@pytest.mark.parametrize("name", [name for name in OPS if not reads_all(name)])
def test_a_kernel_reads_the_settings_of_its_row(name):
    unread = set(OPS[name].settings) - {one.name for one in OWN.get(name, [])} - {*OPS[name].only}
    assert unread == set(UNREAD.get(name, "").split())


@pytest.mark.parametrize("name", OPS)
def test_the_default_is_a_value_that_is_computed(name):
    row = OPS[name]
    assert row.only == {key: row.defaults[key] for key in row.only}
