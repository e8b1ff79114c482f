"""Operators of the cube unit: products, convolutions, recurrent layers."""

from __future__ import annotations

from workbench.graph.infer import backward, matrix, recurrent
from workbench.graph.infer import backward_recurrent as back
from workbench.graph.opdef import OpDef

_TRANSPOSES = {"transpose_a": False, "transpose_b": False}
_CONV = {"group": 1, "pad_mode": "valid", "pad": 0, "stride": 1, "dilation": 1, "format": "NCHW"}
_RECURRENT = {
    "seq_length": None,
    "direction": "UNIDIRECTIONAL",
    "cell_depth": 1,
    "keep_prob": 1.0,
    "cell_clip": -1.0,
    "num_proj": 0,
    "time_major": True,
    "activation": "tanh",
    "is_training": False,
}
_RNN = {"cell_type": "LSTM", "use_peephole": False, "forget_bias": 0.0, **_RECURRENT}
_GRU = {"gate_order": "rzh", "reset_after": True, **_RECURRENT}
_LSTM = {
    "input_size": 0,
    "hidden_size": 0,
    "num_layers": 1,
    "has_bias": True,
    "bidirectional": False,
    "dropout": 0.0,
    "proj_size": 0,
}

CUBE: dict[str, OpDef] = {
    "Conv2D": OpDef("x weight", matrix.conv2d, "cube", 2, _CONV, matrix.pad_list),
    "Conv2DTranspose": OpDef(
        "dout weight input_size",
        matrix.conv2d_transpose,
        "cube",
        2,
        _CONV,
        matrix.transpose_pad_list,
    ),
    "Conv2DBackpropInput": OpDef(
        "dout weight input_size",
        matrix.conv2d_transpose,
        "cube",
        2,
        _CONV,
        matrix.transpose_pad_list,
    ),
    "Conv2DBackpropFilter": OpDef(
        "dout x filter_size",
        backward.conv2d_filter,
        "cube",
        2,
        _CONV,
        backward.filter_pad_list,
    ),
    "MatMul": OpDef("input mat2 transpose_a transpose_b", matrix.matmul, "cube", 2, _TRANSPOSES),
    "BatchMatMul": OpDef("x y transpose_a transpose_b", matrix.matmul, "cube", 2, _TRANSPOSES),
    "DynamicRNN": OpDef(
        "x w b seq_length init_h init_c",
        recurrent.dynamic_rnn,
        "cube",
        5,
        _RNN,
        places=(0, 1, 2, 4, 5),
    ),
    "DynamicGRUV2": OpDef(
        "x weight_input weight_hidden bias_input bias_hidden seq_length init_h",
        recurrent.dynamic_gru,
        "cube",
        6,
        _GRU,
        places=(0, 1, 2, 3, 4, 6),
    ),
    "LSTM": OpDef("x h c w", recurrent.lstm, "cube", 4, _LSTM),
    "DynamicRNNGrad": OpDef(
        "x w b y init_h init_c h c dy dh dc i j f o tanhct", back.dynamic_rnn, "cube", 16
    ),
    "LSTMGrad": OpDef("x h c w y hy cy dy dhy dcy reserve", back.lstm, "cube", 11, _LSTM),
}
