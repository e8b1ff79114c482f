"""What moves data, by indices in plain Python, and its gradients."""

from __future__ import annotations

import numpy as np

from kit.oracle.differences import moved
from kit.oracle.loops import FLAT, ONE, X, Y, numbers, placed, whole
from kit.oracle.operator_case import OperatorCase
from kit.oracle.slopes import GradientCase, anywhere, one_tensor
from workbench.network.nn import functional as F
from workbench.network.symbolic import record, record_all


def reshape(inputs, settings):
    shape = settings["shape"]
    shape = [0 if size == -1 and 0 in shape else size for size in shape]
    out = np.empty(inputs[0].size)
    for place, value in enumerate(inputs[0].ravel().tolist()):
        out[place] = value
    return [out.reshape(shape)]


def flatten(inputs, settings):
    rows = [np.array([float(v) for v in row.ravel()]) for row in inputs[0]]
    return [np.array(rows)]


def expand_dims(inputs, settings):
    shape = list(inputs[0].shape)
    axis = settings["axis"]
    shape.insert(axis if axis >= 0 else len(shape) + 1 + axis, 1)
    return reshape(inputs, {"shape": shape})


def transpose(inputs, settings):
    x, order = inputs[0], settings["dims"]
    out = np.empty([x.shape[axis] for axis in order])
    for index in np.ndindex(x.shape):
        out[tuple(index[axis] for axis in order)] = x[index]
    return [out]


def concat(inputs, settings):
    axis = settings["axis"] % inputs[0].ndim
    shape = list(inputs[0].shape)
    shape[axis] = sum(array.shape[axis] for array in inputs)
    out, start = np.empty(shape), 0
    for array in inputs:
        for index in np.ndindex(array.shape):
            place = list(index)
            place[axis] += start
            out[tuple(place)] = array[index]
        start += array.shape[axis]
    return [out]


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


def _padded_from(place, size, mode):
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
        own = [_padded_from(i - b, n, mode) for i, b, n in zip(index, before, x.shape, strict=True)]
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


def triangle(keeps):
    def oracle(inputs, settings):
        x, diagonal = inputs[0], settings.get("diagonal", 0)
        return [placed(x.shape, x.dtype, lambda i: x[i] if keeps(i[-1] - i[-2], diagonal) else 0)]

    return oracle


def _strided(a, inputs, settings):
    return strided_slice([a], settings)


def _sliced(a, inputs, settings):
    return slices([a], settings)


def _padded(a, inputs, settings):
    return pad([a], settings)


def _before(inputs, settings):
    """Shape that a tensor had before it was padded."""
    shape, flat = list(inputs[0].shape), settings["paddings"]
    for k in range(len(flat) // 2):
        shape[-1 - k] -= flat[2 * k] + flat[2 * k + 1]
    return shape


def unstack(inputs, settings):
    x, axis = inputs[0], settings.get("axis", 0) % inputs[0].ndim
    rest = [n for k, n in enumerate(x.shape) if k != axis]
    found = []
    for place in range(x.shape[axis]):
        cells = [x[(*index[:axis], place, *index[axis:])].item() for index in np.ndindex(*rest)]
        found.append(np.array(cells).reshape(rest))
    return found


def fill(inputs, settings):
    out = np.empty(settings["shape"])
    for index in np.ndindex(out.shape):
        out[index] = inputs[0].item()
    return [out]


def evenly_spaced(inputs, settings):
    first, last = (float(one) for one in inputs)
    count = settings["num"]
    return [np.array([first + (last - first) * k / max(count - 1, 1) for k in range(count)])]


THIN = numbers(1, 3, 1, 4)

TAKEN = {"begin": (0, 2, -1), "end": (2, 0, -4), "strides": (1, -1, -2)}


CASES = {
    "Tril": OperatorCase(
        triangle(lambda ahead, diagonal: ahead <= diagonal),
        [([X], {}), ([X], {"diagonal": -1}), ([whole(4, 4)], {"diagonal": 2})],
        onnx="Trilu",
    ),
    "Triu": OperatorCase(
        triangle(lambda ahead, diagonal: ahead >= diagonal),
        [([X], {}), ([X], {"diagonal": -1}), ([whole(4, 4)], {"diagonal": 2})],
        onnx="Trilu",
    ),
    "Reshape": OperatorCase(
        reshape,
        [([X], {"shape": (4, 6)}), ([X], {"shape": (2, -1)}), ([X[:0]], {"shape": (0, 4, -1)})],
        gradient=one_tensor("Reshape", (3, -1)),
        onnx="Reshape Flatten Unsqueeze",
    ),
    "Flatten": OperatorCase(
        flatten,
        [*ONE, ([X[:, :0]], {})],
        gradient=one_tensor("Flatten", point=anywhere(2, 3, 2)),
        onnx="Flatten",
    ),
    "ExpandDims": OperatorCase(
        expand_dims,
        [([X], {"axis": 1}), ([X], {"axis": -1})],
        gradient=one_tensor("ExpandDims", 1),
        onnx="Unsqueeze",
    ),
    "Squeeze": OperatorCase(
        squeeze,
        [([THIN], {}), ([THIN], {"axis": (0,)}), ([THIN], {"axis": -2})],
        gradient=one_tensor("Squeeze", (1,), point=anywhere(2, 1, 3)),
        onnx="Squeeze",
    ),
    "Transpose": OperatorCase(
        transpose,
        [([X], {"dims": (2, 0, 1)}), ([X], {"dims": (0, 2, 1)})],
        gradient=one_tensor("Transpose", (2, 0, 1), point=anywhere(2, 3, 2)),
        onnx="Transpose",
    ),
    "Concat": OperatorCase(
        concat,
        [([X, Y], {"axis": 1}), ([X, numbers(2, 3, 1), Y], {"axis": -1})],
        gradient=[
            GradientCase(
                lambda x, y: record("Concat", (x, y, x), -1), (anywhere(2, 3), anywhere(2, 1))
            )
        ],
        onnx="Concat",
    ),
    "ConcatD": OperatorCase(concat, [([X, Y], {"axis": 2})]),
    "Stack": OperatorCase(
        stack,
        [([X, Y], {"axis": 0}), ([X, Y, X], {"axis": -1})],
        gradient=[
            GradientCase(
                lambda x, y, a=axis: record("Stack", (x, y), axis=a, num=2, N=2),
                (anywhere(2, 3), anywhere(2, 3)),
            )
            for axis in (0, -1)
        ],
        onnx="GRU LSTM",
    ),
    "Pack": OperatorCase(stack, [([X, Y], {"axis": 1})]),
    "Split": OperatorCase(
        split,
        [([X], {"axis": -1, "output_num": 2}), ([X], {"axis": 1, "output_num": 3})],
        gradient=[
            GradientCase(lambda x: record_all("Split", x, 1, 2), (anywhere(2, 4),)),
            GradientCase(lambda x: record_all("Split", x, -1, 2)[1], (anywhere(2, 4),)),
        ],
        onnx="Split",
    ),
    "SplitD": OperatorCase(
        split, [([X], {"axis": -1, "output_num": 2}), ([X], {"axis": 1, "output_num": 3})]
    ),
    "SplitV": OperatorCase(
        split_sizes,
        [
            ([X], {"split_dim": -1, "size_splits": (1, 3)}),
            ([X], {"split_dim": 1, "size_splits": (2, -1)}),
        ],
        gradient=[
            GradientCase(
                lambda x: record_all("SplitV", x, size_splits=(1, 3), split_dim=1, num_split=2),
                (anywhere(2, 4),),
            )
        ],
        onnx="Split",
    ),
    "Slice": OperatorCase(
        slices,
        [
            ([X], {"begin": (0, 1, 2), "size": (2, 1, -1)}),
            ([X], {"begin": (1, 0, 0), "size": (0, 3, 4)}),
        ],
        gradient=one_tensor("Slice", (0, 1), (2, 2)),
    ),
    "StridedSlice": OperatorCase(
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
        gradient=[
            GradientCase(lambda x, i=index: x[i], (anywhere(3, 4),))
            for index in (
                1,
                (slice(None), slice(None, None, 2)),
                (slice(2, None, -1), None),
                (..., -1),
            )
        ],
        onnx="Slice",
    ),
    "PadV3": OperatorCase(
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
        gradient=[
            GradientCase(lambda x, p=padding: F.pad(x, p, value=0.5), (anywhere(2, 3),))
            for padding in ((1, 2), (0, 1, 2, 0))
        ]
        + [
            GradientCase(lambda x, m=mode: F.pad(x, (1, 2), m), (anywhere(2, 3, 4),))
            for mode in ("reflect", "edge", "circular")
        ],
        onnx="Pad",
    ),
    "Tile": OperatorCase(
        tile,
        [([X], {"dims": (1, 2, 3)}), ([X], {"dims": (2,)}), ([FLAT], {"dims": (3, 1, 2)})],
        gradient=[
            *one_tensor("Tile", (2, 3)),
            *one_tensor("Tile", (2, 1, 3)),
            *one_tensor("Tile", (2,)),
        ],
        onnx="Tile",
    ),
    "BroadcastTo": OperatorCase(
        broadcast_to,
        [([THIN], {"shape": (2, 3, 2, 4)}), ([FLAT], {"shape": (2, -1)})],
        gradient=[
            *one_tensor("BroadcastTo", (4, 2, 3)),
            *one_tensor("BroadcastTo", (2, 3), point=anywhere(2, 1)),
        ],
        onnx="Expand",
    ),
    "ReverseV2": OperatorCase(
        reverse,
        [([X], {"axis": (0, -1)}), ([X], {"axis": (1,)})],
        gradient=one_tensor("ReverseV2", (1,)),
        onnx="ArgMax ArgMin",
    ),
    "ReverseSequence": OperatorCase(
        reverse_sequence,
        [
            ([X, np.array([1, 3])], {"seq_dim": 1, "batch_dim": 0}),
            ([X, np.array([2, 0, 1, 2])], {"seq_dim": 0, "batch_dim": 2}),
        ],
        onnx="ReverseSequence",
    ),
    "DepthToSpace": OperatorCase(
        depth_to_space, [([numbers(2, 8, 2, 3)], {"block_size": 2})], onnx="DepthToSpace"
    ),
    "SpaceToDepth": OperatorCase(
        space_to_depth, [([numbers(2, 3, 4, 6)], {"block_size": 2})], onnx="SpaceToDepth"
    ),
    "StridedSliceGrad": OperatorCase(
        moved(_strided, lambda _, s: s["shapex"]),
        [
            (
                [numbers(2, 2)],
                {"shapex": (4, 5), "begin": (0, 1), "end": (4, 4), "strides": (2, 2)},
            ),
            (
                [numbers(5)],
                {
                    "shapex": (3, 5),
                    "begin": (1, 0),
                    "end": (2, 0),
                    "strides": (1, 1),
                    "begin_mask": 2,
                    "end_mask": 2,
                    "shrink_axis_mask": 1,
                },
            ),
        ],
        by_differences=True,
    ),
    "SliceGrad": OperatorCase(
        moved(_sliced, lambda inputs, _: inputs[1].shape),
        [([numbers(2, 3), numbers(4, 4)], {"begin": (1, 0), "size": (2, 3)})],
        by_differences=True,
    ),
    "PadV3Grad": OperatorCase(
        moved(_padded, _before),
        [
            ([numbers(2, 1, 3, 7)], {"paddings": (2, 1, 1, 0), "mode": "reflect"}),
            ([numbers(1, 2, 3, 7)], {"paddings": (5, 1, 0, 2), "mode": "edge"}),
            ([numbers(2, 3, 7)], {"paddings": (2, 1), "mode": "circular"}),
        ],
        by_differences=True,
    ),
    "Unstack": OperatorCase(
        unstack, [([X], {"axis": 1, "num": 3}), ([X], {})], by_differences=True
    ),
    "FillV2": OperatorCase(fill, [([np.asarray(1.5)], {"shape": (2, 3)})], by_differences=True),
    "LinSpace": OperatorCase(
        evenly_spaced,
        [
            ([np.array(a), np.array(b)], {"num": n})
            for a, b, n in ((-1.0, 2.0, 5), (3.0, -3.0, 2), (0.5, 9.0, 1), (0.0, 1.0, 0))
        ],
    ),
    "Range": OperatorCase(None),
}
