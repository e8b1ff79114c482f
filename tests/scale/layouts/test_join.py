"""Joining undoes any cutting, to the bit, and names what is wrong with ranks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.oracle.shards import coordinates, exact, shard, split_sum
from kit.words import refused
from workbench.core.errors import AlignError
from workbench.scale.layouts import Parallel, join_tensor, parse_layout, tell_tensor
from workbench.scale.layouts.placing import cut_whole, place

RNG = np.random.default_rng(5)
WHOLE = exact((4, 16, 12), RNG)
BEFORE = exact((4, 16, 12), RNG)


def cut(whole, parallel, text, rng=RNG):
    """Shards of a tensor on every rank, by the independent cutter; sums that have parts are split without rounding."""
    layout = parse_layout(text)
    experts = layout.of_experts
    order = [a for a in parallel.order.split("-") if a != ("cp" if experts else "ep")]
    names = ["edp" if a == "dp" and experts else parallel.inner if a == "tp" else a for a in order]
    axes = [(name, parallel.size(name)) for name in names]
    alias = {"sp": parallel.inner, "tp": parallel.inner, "dp": layout.dp or "dp"}
    dims, summed = [], []
    for dim in layout.dims:
        named = [(alias.get(c.axis, c.axis), c) for c in dim.cuts]
        own = [(axis, parallel.size(axis), c) for axis, c in named]
        dims.append(
            [(axis, ranks, c.order) for axis, ranks, c in own if not c.partial and ranks > 1]
        )
        summed += [(axis, ranks) for axis, ranks, c in own if c.partial and ranks > 1]
    values = whole
    pieces = {(): values}
    for _, ranks in summed:
        pieces = {
            (*key, number): part
            for key, one in pieces.items()
            for number, part in enumerate(split_sum(one, ranks, rng))
        }
    found = {}
    for rank in range(parallel.ranks):
        place = coordinates(rank, axes)
        found[rank] = shard(pieces[tuple(place[axis] for axis, _ in summed)], dims, place)
    return found


@st.composite
def layouts(draw):
    """A job and a layout of a tensor of one to three dimensions on it."""
    sizes = {axis: draw(st.sampled_from([1, 1, 2, 3])) for axis in ("tp", "cp", "dp", "pp")}
    experts = draw(st.booleans())
    of = sizes["cp"] * sizes["dp"]
    ep = draw(st.sampled_from([n for n in (1, 2, 3) if of % n == 0])) if experts else 1
    order = "-".join(draw(st.permutations(["tp", "cp", "ep", "dp", "pp"])))
    parallel = Parallel(**sizes, ep=ep, order=order)
    usable = ["tp", "ep", "edp"] if experts and ep > 1 else ["tp", "cp", "dp"]
    rank = draw(st.integers(1, 3))
    cuts = [[] for _ in range(rank)]
    for axis in draw(st.permutations(usable)):
        where = draw(st.sampled_from([*range(rank), None]))
        if where is not None:
            cuts[where].append(axis + draw(st.sampled_from(["", "", ":zigzag", ":partial"])))
    text = " ".join(f"d{n}[{','.join(one)}]" if one else f"d{n}" for n, one in enumerate(cuts))
    shape = tuple(
        draw(st.integers(1, 2)) * math.prod(2 * parallel.size(cut.partition(":")[0]) for cut in one)
        for one in cuts
    )
    return parallel, text, shape


@given(layouts(), st.integers(0, 9))
def test_joining_undoes_cutting(case, seed):
    parallel, text, shape = case
    rng = np.random.default_rng(seed)
    whole = exact(shape, rng)
    joined = join_tensor(
        cut(whole, parallel, text, rng), parse_layout(text), parallel, golden=whole
    )
    assert joined.array.dtype == whole.dtype
    np.testing.assert_array_equal(joined.array, whole)
    assert not joined.findings


MEANS = {
    "a mean of losses": ("dp=4", "# dp:mean", (), lambda whole, parts: [whole + p for p in parts]),
    "a mean of vectors": ("dp=4", "h[dp:mean]", (3,), lambda whole, parts: [whole + p for p in parts]),
    "a sum of scalars": ("tp=4", "# tp:partial", (), lambda whole, parts: [whole / 4 + p for p in parts]),
    "a gradient of own means": ("dp=4", "b[dp:scaled] h", (8, 3), lambda whole, _: np.split(whole * 4, 4)),
}  # fmt: skip


@pytest.mark.parametrize("name", MEANS)
def test_means_of_ranks_are_the_mean_and_their_gradients_its_gradient(name):
    """What ranks hold sums to nothing beside the whole, to the bit; a wrong rank moves the mean by its share."""
    sizes, text, shape, cut_up = MEANS[name]
    whole = exact(shape, RNG)
    parts = [np.float32(n) for n in (1, -3, 4, -2)]
    parallel, layout = Parallel.of(sizes), parse_layout(text)
    shards = {rank: np.asarray(one) for rank, one in enumerate(cut_up(whole, parts))}
    joined = join_tensor(shards, layout, parallel, golden=whole)
    np.testing.assert_array_equal(joined.array, whole)
    assert (joined.array.dtype, joined.findings) == (whole.dtype, ())
    wrong = join_tensor({**shards, 2: shards[2] + np.float32(8)}, layout, parallel, golden=whole)
    assert np.max(np.abs(wrong.array - whole)) == (8 if text.endswith("# tp:partial") else 2)


STRETCHES = [
    ("cp=2", "(b*s)[cp:each4] h"), ("cp=2", "(b*s)[cp:zigzag+each4] h"), ("dp=2,cp=2", "(b*s)[dp,cp:zigzag+each2] h"),
    ("tp=2,sp=2,cp=2", "(b*s)[cp:zigzag+each4,sp:each4] h"),
]  # fmt: skip


@pytest.mark.parametrize(("sizes", "text"), STRETCHES)
def test_a_cut_of_the_inner_of_two_dimensions_in_one_is_undone(sizes, text):
    """The oracle cuts the two dimensions, each by itself, and lays them into one."""
    parallel, layout = Parallel.of(sizes), parse_layout(text)
    apart = {"dp": "b[dp] s[cp:zigzag] h", "sp": "b s[cp:zigzag,sp] h"}
    plain = "b s[cp:zigzag] h" if "zigzag" in text else "b s[cp] h"
    shards = cut(WHOLE, parallel, next((apart[one] for one in apart if one in text), plain))
    shards = {rank: one.reshape(-1, one.shape[-1]) for rank, one in shards.items()}
    joined = join_tensor(shards, layout, parallel, golden=WHOLE.reshape(64, 12))
    np.testing.assert_array_equal(joined.array, WHOLE.reshape(64, 12))
    assert joined.findings == ()
    placing = place(layout, parallel)
    for rank, one in shards.items():
        np.testing.assert_array_equal(
            cut_whole(WHOLE.reshape(64, 12), placing, placing.cell(rank)), one
        )


OWN = {
    "a loss": ((), [1.0, 3.0], ["# dp:mean"], []),
    "its gradient": ((4, 2), None, ["d0[dp:scaled] d1"], []),
}
"""Whole shape, what two ranks hold of 2.0 (none: halves, doubled), layouts of a loss, and of any other tensor."""


@pytest.mark.parametrize("name", OWN)
def test_own_means_are_told_of_losses_alone(name):
    shape, held, told, other = OWN[name]
    whole = np.full(shape, 2, np.float32) if held else exact(shape, RNG)
    shards = dict(enumerate(np.float32(held) if held else np.split(whole * 2, 2)))
    found = [
        [*map(str, tell_tensor(shards, whole, Parallel(dp=2), own_means=own))]
        for own in (True, False)
    ]
    assert found == [told, other]


SHAPES = {"b": 4, "s": 16, "h": 12, "d": 6, "e": 4, "f": 48}
JOINED = [
    ("tp=2", "b h[tp]"), ("tp=4", "h[tp] d"), ("tp=2,sp=2", "b s[sp] h"), ("sp=4", "b s[sp] h"),
    ("cp=2", "b s[cp:zigzag] h"), ("cp=4", "s[cp:zigzag] b"), ("cp=2", "b s[cp] h"),
    ("tp=2,cp=2,sp=2", "s[cp:zigzag,sp] b h"),
    ("dp=4", "b[dp] h"), ("dp=2,tp=2", "b[dp] h[tp]"), ("dp=2", "f[dp]"), ("tp=2", "b h[tp:partial]"),
    ("tp=2,dp=2", "h[tp:partial] d"), ("dp=4,ep=2", "e[ep] h d"), ("dp=4,ep=4", "e[ep] h d"),
    ("tp=2,dp=4,ep=2", "e[ep] h[tp] d"), ("dp=4,ep=2", "e[ep] h[edp] d"),
    ("dp=4,ep=2", "f[dp] # dp:=edp ep:replicated"),
    ("tp=2,pp=2", "b h[tp]"), ("tp=2,dp=3", "h # tp:replicated"), ("tp=2", "b (h*d)[tp]"), ("tp=2", "b 1 h[tp]"),
    ("tp=2,cp=2,dp=2,pp=2", "b[dp] s[cp:zigzag] h[tp]"), ("tp=2,dp=2,order=dp-tp-cp-ep-pp", "b[dp] h[tp]"),
]  # fmt: skip


@pytest.mark.parametrize(("sizes", "text"), JOINED)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "bool"])
def test_every_layout_is_joined_to_the_bit(sizes, text, dtype):
    parallel, layout = Parallel.of(sizes), parse_layout(text)
    shape = tuple(np.prod([SHAPES.get(n, 1) for n in dim.names], dtype=int) for dim in layout.dims)
    whole = exact(shape, RNG)
    if "partial" not in text:
        whole = whole.astype(dtype)
    joined = join_tensor(cut(whole, parallel, text), layout, parallel)
    np.testing.assert_array_equal(joined.array, whole.squeeze(1) if "1" in text.split() else whole)
    assert joined.array.dtype == whole.dtype
    assert not joined.findings
    assert all(map(str, joined.steps))


def test_a_stage_of_a_pipeline_is_enough():
    parallel = Parallel.of("tp=2,pp=2")
    whole = exact((4, 6), RNG)
    shards = cut(whole, parallel, "b h[tp]")
    joined = join_tensor({r: shards[r] for r in (2, 3)}, parse_layout("b h[tp]"), parallel)
    np.testing.assert_array_equal(joined.array, whole)


def test_a_stage_is_explained_without_the_others():
    parallel = Parallel.of("tp=2,pp=2")
    shards = cut(WHOLE, parallel, "b s h[tp]")
    other = exact(WHOLE.shape, RNG)
    joined = join_tensor(
        {r: shards[r] for r in (2, 3)}, parse_layout("b s h[tp]"), parallel, golden=other
    )
    np.testing.assert_array_equal(joined.array, WHOLE)
    assert not joined.findings


def test_parts_of_sums_are_added_in_the_order_of_ranks_and_the_bound_holds():
    parts = {r: RNG.standard_normal((50,)).astype(np.float16) for r in range(8)}
    joined = join_tensor(parts, parse_layout("h[tp:partial]"), Parallel(tp=8))
    total = np.zeros(50, np.float32)
    for r in range(8):
        total = total + parts[r].astype(np.float32)
    np.testing.assert_array_equal(joined.array, total.astype(np.float16))
    backwards = np.zeros(50, np.float16)
    for r in reversed(range(8)):
        backwards += parts[r]
    off = np.abs(backwards.astype(float) - joined.array).max()
    assert 0 < off <= joined.tolerance < 0.1
    assert joined.steps[-1].values["tolerance"] == joined.tolerance


REFUSED = [
    ("tp=2", "b h[tp]", {0: (2, 3)}, "layouts/part-missing"),
    ("tp=2", "b h[tp]", {}, "layouts/no-shards"),
    ("tp=2", "b h[tp]", {0: (2,), 1: (2,)}, "layouts/dims"),
    ("tp=2", "b h", {0: (2, 3), 1: (2, 4)}, "layouts/replica-shapes"),
    ("tp=2", "b h[tp]", {0: (2, 3), 1: (4, 3)}, "layouts/part-shapes"),
    ("tp=2", "b h[tp:partial]", {0: (2, 3), 1: (2, 4)}, "layouts/sum-shapes"),
    ("cp=2", "s[cp:zigzag]", {0: (3,), 1: (3,)}, "layouts/zigzag-size"),
    ("cp=2", "s[cp:each2]", {0: (3,), 1: (3,)}, "layouts/each-size"),
    ("tp=2", "1 h[tp]", {0: (2, 3), 1: (2, 3)}, "layouts/single"),
    ("tp=2,sp=2", "s[sp] h[tp]", {0: (2, 3), 1: (2, 3)}, "layouts/same-ranks"),
    ("tp=2,cp=2,ep=2", "s[cp] e[ep]", {0: (2, 3), 1: (2, 3)}, "layouts/same-ranks"),
]


@pytest.mark.parametrize(("sizes", "text", "shapes", "code"), REFUSED)
def test_shards_that_do_not_fit_are_refused(sizes, text, shapes, code):
    shards = {rank: np.zeros(shape, np.float32) for rank, shape in shapes.items()}
    with refused(code, AlignError):
        join_tensor(shards, parse_layout(text), Parallel.of(sizes))


def test_shards_of_several_types_are_refused():
    shards = {0: np.zeros(2, np.float32), 1: np.zeros(2, np.float16)}
    with refused("layouts/types", AlignError, got=["float16", "float32"]):
        join_tensor(shards, parse_layout("h"), Parallel(tp=2))


def found(joined):
    assert all(map(str, [*joined.findings, *joined.steps]))
    return [(one.code, one.ranks, one.values.get("axis")) for one in joined.findings]


def off_by(rank, change):
    def plant(shards):
        shards[rank] = change(shards[rank].copy())

    return plant


def one_ulp(array):
    array.flat[3] = np.nextafter(array.flat[3], np.float32(1e9))
    return array


def stale(rank, text, parallel):
    return lambda shards: shards.update({rank: cut(BEFORE, parallel, text)[rank]})


def swap(one, other):
    return lambda shards: shards.update({one: shards[other], other: shards[one]})


def unreduced(shards):
    for group in ([0, 1, 2, 3], [4, 5, 6, 7])[: len(shards) // 4]:
        for rank, part in zip(group, split_sum(shards[group[0]], len(group), RNG), strict=True):
            shards[rank] = part


FAULTS = [
    ("tp=4,dp=2", "b[dp] s h", off_by(3, one_ulp), [("replica-ulp", (3,), "tp")]),
    ("tp=4,dp=2", "b s h", off_by(3, one_ulp), [("replica-ulp", (3,), "tp-dp")]),
    ("tp=4", "b s h", off_by(2, lambda a: a * 2), [("replica-differs", (2,), "tp")]),
    ("tp=4", "b s h", stale(1, "b s h", Parallel(tp=4)), [("replica-stale", (1,), "tp")]),
    ("dp=2", "b s h", stale(1, "b s h", Parallel(dp=2)), [("replica-stale", (1,), "dp")]),
    ("tp=4", "b s h[tp]", stale(2, "b s h[tp]", Parallel(tp=4)), [("shard-stale", (2,), "tp")]),
    ("tp=4", "b s h", unreduced, [("never-reduced", (0, 1, 2, 3), "tp")]),
    ("tp=4,dp=2", "b[dp] s h", unreduced, [("never-reduced", tuple(range(8)), "tp")]),
    ("tp=4", "b s h[tp]", swap(1, 2), [("shards-exchanged", (1, 2), "tp")]),
]  # fmt: skip


@pytest.mark.parametrize(("sizes", "text", "plant", "expected"), FAULTS)
def test_what_is_wrong_with_ranks_is_named(sizes, text, plant, expected):
    parallel = Parallel.of(sizes)
    shards, before = cut(WHOLE, parallel, text), cut(BEFORE, parallel, text)
    plant(shards)
    joined = join_tensor(shards, parse_layout(text), parallel, golden=WHOLE, before=before)
    assert found(joined) == expected
    assert all(map(str, joined.findings))


READINGS = [
    ("cp=2", "b s[cp:zigzag] h", "b s[cp] h", ("zigzag-kept", (0, 1), "cp")),
    ("cp=2", "b s[cp] h", "b s[cp:zigzag] h", ("zigzag-missing", (0, 1), "cp")),
    ("tp=2", "b s h", "b s h[tp:partial]", ("reduced-twice", (0, 1), "tp")),
    ("tp=2", "b s h[tp:partial]", "b s h", ("never-reduced", (0, 1), "tp")),
]


@pytest.mark.parametrize(("sizes", "real", "said", "expected"), READINGS)
def test_a_layout_that_is_not_the_tensors_is_named(sizes, real, said, expected):
    parallel = Parallel.of(sizes)
    shards = cut(WHOLE, parallel, real)
    joined = join_tensor(shards, parse_layout(said), parallel, golden=WHOLE)
    assert expected in found(joined)
    right = join_tensor(shards, parse_layout(real), parallel, golden=WHOLE)
    assert not right.findings


def test_a_zigzag_that_was_gathered_and_not_undone_is_named():
    shards = cut(WHOLE, Parallel(cp=2), "b s[cp:zigzag] h")
    gathered = np.concatenate([shards[0], shards[1]], axis=1)
    joined = join_tensor(
        {0: gathered, 1: gathered}, parse_layout("b s h"), Parallel(cp=2), golden=WHOLE
    )
    assert found(joined) == [("zigzag-kept", (0, 1), "cp")]
    assert joined.findings[0].values["dim"] == "s"


QUIET = {
    "a rounding error": lambda a: a * np.float32(1.0001),
    "an operator that is wrong everywhere": lambda a: a * 3,
    "other numbers": lambda a: exact(a.shape, np.random.default_rng(8)),
    "zeros": lambda a: a * 0,
    "NaN": lambda a: a * np.float32("nan"),
}


@pytest.mark.parametrize("what", QUIET)
@pytest.mark.parametrize("text", ["b s h", "b s h[tp]", "b s[cp:zigzag] h", "b[dp] s h[tp]"])
def test_an_error_of_the_operator_is_none_of_the_ranks(what, text):
    parallel = Parallel(tp=2, cp=2, dp=2)
    wrong = QUIET[what](WHOLE)
    joined = join_tensor(cut(wrong, parallel, text), parse_layout(text), parallel, golden=WHOLE)
    assert not joined.findings
    np.testing.assert_array_equal(joined.array, wrong)


def test_the_value_of_most_ranks_is_taken_and_two_that_differ_accuse_nobody():
    shards = dict.fromkeys(range(3), WHOLE) | {0: WHOLE * 2}
    joined = join_tensor(shards, parse_layout("b s h"), Parallel(tp=3))
    np.testing.assert_array_equal(joined.array, WHOLE)
    assert found(joined) == [("replica-differs", (0,), "tp")]
    joined = join_tensor({0: WHOLE, 1: WHOLE * 2}, parse_layout("b s h"), Parallel(tp=2))
    assert found(joined) == [("replicas-apart", (0, 1), "tp")]


def test_a_whole_that_an_axis_does_not_divide_is_not_cut():
    placing = place(parse_layout("h[tp]"), Parallel(tp=2))
    with refused("layouts/cut-size", AlignError, axis="tp", got=3):
        cut_whole(np.zeros(3), placing, (0,))


def test_nan_and_the_sign_of_zero_are_no_difference():
    one = np.array([0.0, np.nan, 1.0], np.float32)
    other = np.array([-0.0, np.nan, 1.0], np.float32)
    assert not join_tensor({0: one, 1: other}, parse_layout("h"), Parallel(tp=2)).findings


def test_steps_of_bfloat16_are_counted_in_its_own():
    one = np.array([1.0, 2.0], np.float32)
    other = np.array([1.0, 2.0 + 2.0**-6], np.float32)
    shards = {0: one, 1: one, 2: other}
    joined = join_tensor(shards, parse_layout("h"), Parallel(tp=3), dtype="bfloat16")
    assert [(f.code, f.values["ulps"]) for f in joined.findings] == [("replica-ulp", 1)]
    assert (
        join_tensor(shards, parse_layout("h"), Parallel(tp=3)).findings[0].code == "replica-differs"
    )


def test_rows_that_stay_are_not_stale():
    whole, before = WHOLE.copy(), BEFORE.copy()
    before[:, :, :6] = whole[:, :, :6]
    parallel, text = Parallel(tp=2), "b s h[tp]"
    near = whole.copy()
    near[:, :, 6:] *= np.float32(1.001)
    joined = join_tensor(
        cut(near, parallel, text), parse_layout(text), parallel, golden=whole, before=cut(before, parallel, text)
    )  # fmt: skip
    assert not joined.findings
