"""Loops over indices for the operators that move elements, or read and write by index."""

from __future__ import annotations

import numpy as np

from kit.oracle.oracles_elementwise import X, Y, filled, numbers, whole


def placed(shape, dtype, source):
    """Array of a shape whose element at an index is ``source(index)``."""
    values = [source(index) for index in np.ndindex(*shape)]
    return np.array(values, dtype).reshape(shape)


def squeeze(inputs, settings):
    x, axis = inputs[0], settings.get("axis", ())
    named = {a % x.ndim for a in ((axis,) if isinstance(axis, int) else axis)}
    shape = [n for i, n in enumerate(x.shape) if not (i in named or (not named and n == 1))]
    return [np.array(x.ravel().tolist()).reshape(shape)]


def stack(inputs, settings):
    rank = inputs[0].ndim + 1
    axis = settings["axis"] % rank
    shape = list(inputs[0].shape)
    shape.insert(axis, len(inputs))
    return [placed(shape, inputs[0].dtype, lambda i: inputs[i[axis]][(*i[:axis], *i[axis + 1 :])])]


def pieces(x, axis, sizes):
    out, start = [], 0
    for size in sizes:
        shape = [size if i == axis else n for i, n in enumerate(x.shape)]
        out.append(
            placed(
                shape,
                x.dtype,
                lambda index, start=start: x[
                    tuple(k + start if i == axis else k for i, k in enumerate(index))
                ],
            )
        )
        start += size
    return out


def split(inputs, settings):
    x, axis = inputs[0], settings["axis"] % inputs[0].ndim
    count = settings["output_num"]
    return pieces(x, axis, [x.shape[axis] // count] * count)


def split_sizes(inputs, settings):
    x, axis = inputs[0], settings["split_dim"] % inputs[0].ndim
    sizes = list(settings["size_splits"])
    if -1 in sizes:
        sizes[sizes.index(-1)] = x.shape[axis] - sum(size for size in sizes if size >= 0)
    return pieces(x, axis, sizes)


def slices(inputs, settings):
    x, begin = inputs[0], settings["begin"]
    sizes = [
        n - b if s == -1 else s for n, b, s in zip(x.shape, begin, settings["size"], strict=True)
    ]
    return [
        placed(sizes, x.dtype, lambda i: x[tuple(b + k for b, k in zip(begin, i, strict=True))])
    ]


def strided_slice(inputs, settings):
    """By Python's own slices of nested lists, one axis at a time."""
    taken = nested(inputs[0].tolist(), _entries(inputs[0].ndim, settings))
    return [np.array(taken)]


def _entries(rank, settings):
    """What happens to each axis: a slice, an index, or "new" for an axis of size 1."""
    named = list(zip(settings["begin"], settings["end"], settings["strides"], strict=True))
    entries = []
    for place, (begin, end, stride) in enumerate(named):
        has = {name: settings.get(name, 0) & (1 << place) for name in settings if "mask" in name}
        if has.get("ellipsis_mask"):
            others = sum(
                not settings.get("new_axis_mask", 0) & (1 << k)
                for k in range(len(named))
                if k != place
            )
            entries += [slice(None)] * (rank - others)
        elif has.get("new_axis_mask"):
            entries.append("new")
        elif has.get("shrink_axis_mask"):
            entries.append(begin)
        else:
            first = None if has.get("begin_mask") else begin
            entries.append(slice(first, None if has.get("end_mask") else end, stride))
    return entries


def nested(values, entries):
    if not entries:
        return values
    if entries[0] == "new":
        return [nested(values, entries[1:])]
    if isinstance(entries[0], int):
        return nested(values[entries[0]], entries[1:])
    return [nested(item, entries[1:]) for item in values[entries[0]]]


def _source(place, size, mode):
    """Index inside an axis that a padded place shows; None for a constant."""
    if 0 <= place < size:
        return place
    if mode == "constant":
        return None
    if mode == "edge":
        return 0 if place < 0 else size - 1
    if mode == "circular":
        return place % size
    return -place if place < 0 else 2 * (size - 1) - place


def pad(inputs, settings):
    x, mode = inputs[0], settings.get("mode", "constant")
    flat = list(settings["paddings"])
    before = [0] * x.ndim
    shape = list(x.shape)
    for k in range(len(flat) // 2):
        before[-1 - k] = flat[2 * k]
        shape[-1 - k] += flat[2 * k] + flat[2 * k + 1]

    def value(index):
        own = [_source(i - b, n, mode) for i, b, n in zip(index, before, x.shape, strict=True)]
        return settings.get("constant_value") or 0 if None in own else x[tuple(own)]

    return [placed(shape, x.dtype, value)]


def tile(inputs, settings):
    x, dims = inputs[0], list(settings["dims"])
    rank = max(x.ndim, len(dims))
    sizes = [1] * (rank - x.ndim) + list(x.shape)
    repeats = [1] * (rank - len(dims)) + dims
    flat = x.reshape(sizes)
    shape = [n * r for n, r in zip(sizes, repeats, strict=True)]
    return [
        placed(shape, x.dtype, lambda i: flat[tuple(k % n for k, n in zip(i, sizes, strict=True))])
    ]


def broadcast_to(inputs, settings):
    x, wanted = inputs[0], settings["shape"]
    sizes = [1] * (len(wanted) - x.ndim) + list(x.shape)
    flat = x.reshape(sizes)
    shape = [n if w == -1 else w for n, w in zip(sizes, wanted, strict=True)]
    return [
        placed(
            shape,
            x.dtype,
            lambda i: flat[tuple(0 if n == 1 else k for k, n in zip(i, sizes, strict=True))],
        )
    ]


def reverse(inputs, settings):
    x = inputs[0]
    axes = {axis % x.ndim for axis in settings["axis"]}
    return [
        placed(
            x.shape,
            x.dtype,
            lambda i: x[tuple(x.shape[a] - 1 - k if a in axes else k for a, k in enumerate(i))],
        )
    ]


def reverse_sequence(inputs, settings):
    x, lengths = inputs
    seq, batch = settings["seq_dim"], settings["batch_dim"]

    def value(index):
        count = int(lengths[index[batch]])
        place = list(index)
        if index[seq] < count:
            place[seq] = count - 1 - index[seq]
        return x[tuple(place)]

    return [placed(x.shape, x.dtype, value)]


def depth_to_space(inputs, settings):
    x, b = inputs[0], settings["block_size"]
    n, c, h, w = x.shape
    depth = c // (b * b)

    def value(index):
        image, channel, row, column = index
        block = row % b * b + column % b
        return x[image, block * depth + channel, row // b, column // b]

    return [placed((n, depth, h * b, w * b), x.dtype, value)]


def space_to_depth(inputs, settings):
    x, b = inputs[0], settings["block_size"]
    n, c, h, w = x.shape

    def value(index):
        image, channel, row, column = index
        block, own = divmod(channel, c)
        return x[image, own, row * b + block // b, column * b + block % b]

    return [placed((n, c * b * b, h // b, w // b), x.dtype, value)]


def gather_d(inputs, settings):
    x, indices = inputs
    axis = settings["dim"] % x.ndim
    return [
        placed(
            indices.shape,
            x.dtype,
            lambda i: x[tuple(int(indices[i]) if a == axis else k for a, k in enumerate(i))],
        )
    ]


def gather_nd(inputs, settings):
    x, indices = inputs
    depth, lead = indices.shape[-1], indices.ndim - 1
    shape = (*indices.shape[:-1], *x.shape[depth:])
    return [placed(shape, x.dtype, lambda i: x[(*(int(k) for k in indices[i[:lead]]), *i[lead:])])]


def scatter_nd(combine):
    def oracle(inputs, settings):
        x, indices, updates = inputs
        out = {index: x[index].item() for index in np.ndindex(x.shape)}
        lead = indices.ndim - 1
        for index in np.ndindex(updates.shape):
            row = (k % n for k, n in zip(indices[index[:lead]].tolist(), x.shape, strict=False))
            place = (*row, *index[lead:])
            out[place] = combine(out[place], updates[index].item())
        return [filled(x, list(out.values()))]

    return oracle


def scatter_elements(inputs, settings):
    x, indices, updates = inputs
    axis = settings["axis"] % x.ndim
    out = {index: x[index].item() for index in np.ndindex(x.shape)}
    for index in np.ndindex(indices.shape):
        row = int(indices[index]) % x.shape[axis]
        place = (*index[:axis], row, *index[axis + 1 :])
        new = updates[index].item()
        out[place] = out[place] + new if settings["reduce"] in ("add", 1) else new
    return [filled(x, list(out.values()))]


def one_hot(inputs, settings):
    indices, on, off = inputs
    axis = settings["axis"] % (indices.ndim + 1)
    shape = (*indices.shape[:axis], settings["depth"], *indices.shape[axis:])
    return [
        placed(
            shape,
            on.dtype,
            lambda i: on.item() if indices[(*i[:axis], *i[axis + 1 :])] == i[axis] else off.item(),
        )
    ]


def triangle(keeps):
    def oracle(inputs, settings):
        x, diagonal = inputs[0], settings.get("diagonal", 0)
        return [placed(x.shape, x.dtype, lambda i: x[i] if keeps(i[-1] - i[-2], diagonal) else 0)]

    return oracle


ROWS = np.array([[0, 2], [1, 0], [0, -1]])
THIN = numbers(1, 3, 1, 4)
FLAT = numbers(5, seed=3)
TAKEN = {"begin": (0, 2, -1), "end": (2, 0, -4), "strides": (1, -1, -2)}
CASES = {
    "Squeeze": (squeeze, [([THIN], {}), ([THIN], {"axis": (0,)}), ([THIN], {"axis": -2})]),
    "Stack": (stack, [([X, Y], {"axis": 0}), ([X, Y, X], {"axis": -1})]),
    "Split": (
        split,
        [([X], {"axis": -1, "output_num": 2}), ([X], {"axis": 1, "output_num": 3})],
    ),
    "SplitV": (
        split_sizes,
        [
            ([X], {"split_dim": -1, "size_splits": (1, 3)}),
            ([X], {"split_dim": 1, "size_splits": (2, -1)}),
        ],
    ),
    "Slice": (
        slices,
        [
            ([X], {"begin": (0, 1, 2), "size": (2, 1, -1)}),
            ([X], {"begin": (1, 0, 0), "size": (0, 3, 4)}),
        ],
    ),
    "StridedSlice": (
        strided_slice,
        [
            ([X], TAKEN),
            ([X], {"begin": (1,), "end": (2,), "strides": (1,)}),
            ([X], TAKEN | {"begin_mask": 2, "end_mask": 5}),
            ([X], TAKEN | {"shrink_axis_mask": 2}),
            (
                [X],
                {"begin": (0, 0, 0, -1), "end": (0, 9, 0, 0), "strides": (1, 2, 1, 1)}
                | {"new_axis_mask": 1, "ellipsis_mask": 4, "shrink_axis_mask": 8},
            ),
        ],
    ),
    "PadV3": (
        pad,
        [
            ([X], {"paddings": (1, 2), "constant_value": 0.5}),
            ([X], {"paddings": (1, 0, 0, 2, 1, 1)}),
            ([X], {"paddings": (-1, 2, 0, -2), "constant_value": 0.5}),
            ([X], {"paddings": (3, 2, 1, 0), "mode": "reflect"}),
            ([X], {"paddings": (5, 2, 1, 0), "mode": "edge"}),
            ([X], {"paddings": (3, 4, 1, 3), "mode": "circular"}),
            ([whole(3)], {"paddings": (1, 1), "constant_value": 7}),
        ],
    ),
    "Tile": (
        tile,
        [([X], {"dims": (1, 2, 3)}), ([X], {"dims": (2,)}), ([FLAT], {"dims": (3, 1, 2)})],
    ),
    "BroadcastTo": (
        broadcast_to,
        [([THIN], {"shape": (2, 3, 2, 4)}), ([FLAT], {"shape": (2, -1)})],
    ),
    "ReverseV2": (reverse, [([X], {"axis": (0, -1)}), ([X], {"axis": (1,)})]),
    "ReverseSequence": (
        reverse_sequence,
        [
            ([X, np.array([1, 3])], {"seq_dim": 1, "batch_dim": 0}),
            ([X, np.array([2, 0, 1, 2])], {"seq_dim": 0, "batch_dim": 2}),
        ],
    ),
    "Tril": (
        triangle(lambda ahead, diagonal: ahead <= diagonal),
        [([X], {}), ([X], {"diagonal": -1}), ([whole(4, 4)], {"diagonal": 2})],
    ),
    "Triu": (
        triangle(lambda ahead, diagonal: ahead >= diagonal),
        [([X], {}), ([X], {"diagonal": -1}), ([whole(4, 4)], {"diagonal": 2})],
    ),
    "DepthToSpace": (depth_to_space, [([numbers(2, 8, 2, 3)], {"block_size": 2})]),
    "SpaceToDepth": (space_to_depth, [([numbers(2, 3, 4, 6)], {"block_size": 2})]),
    "GatherD": (
        gather_d,
        [
            ([X, whole(2, 5, 4, low=-3, high=3)], {"dim": 1}),
            ([X, whole(1, 3, 2, low=0, high=4)], {"dim": -1}),
        ],
    ),
    "GatherNd": (gather_nd, [([X, ROWS], {}), ([X, ROWS.reshape(3, 1, 2)[..., :1]], {})]),
    "TensorScatterUpdate": (
        scatter_nd(lambda old, new: new),
        [([X, ROWS, numbers(3, 4)], {}), ([FLAT, np.array([[4], [0]]), numbers(2)], {})],
    ),
    "TensorScatterAdd": (
        scatter_nd(lambda old, new: old + new),
        [([X, np.array([[1, 1], [1, 1], [0, -3]]), numbers(3, 4)], {})],
    ),
    "TensorScatterMul": (
        scatter_nd(lambda old, new: old * new),
        [([X, np.array([[1, 1], [1, 1], [0, -3]]), numbers(3, 4)], {})],
    ),
    "TensorScatterMax": (
        scatter_nd(max),
        [([X, np.array([[1, 1], [1, 1], [0, -3]]), numbers(3, 4)], {})],
    ),
    "TensorScatterMin": (
        scatter_nd(min),
        [([X, np.array([[1, 1], [1, 1], [0, -3]]), numbers(3, 4)], {})],
    ),
    "TensorScatterElements": (
        scatter_elements,
        [
            ([X, np.array([[[2, 0], [-1, 1]]]), numbers(1, 2, 2)], {"axis": 2, "reduce": "none"}),
            ([FLAT, np.array([1, 1, 4]), numbers(3)], {"axis": 0, "reduce": "add"}),
            ([FLAT, np.array([1, 3]), numbers(2)], {"axis": -1, "reduce": 0}),
        ],
    ),
    "OneHot": (
        one_hot,
        [
            ([whole(2, 3, low=-1, high=5), np.asarray(1.0), np.asarray(0.0)],
             {"depth": 4, "axis": -1}),
            ([whole(3, low=0, high=3), np.asarray(2), np.asarray(-1)], {"depth": 3, "axis": 0}),
        ],
    ),
}  # fmt: skip
CASES["SplitD"] = CASES["Split"]
