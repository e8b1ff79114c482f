"""Modules of frameworks: what hooks see of each part. Run with the real ones where they are installed."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np
import pytest

import workbench as wb
from kit.words import refused

X = np.linspace(-2, 2, 2 * 3 * 8 * 8, dtype=np.float32).reshape(2, 3, 8, 8)


def files_of(root):
    """Operator, output and array of each file, in order of time."""
    paths = sorted(root.glob("*.npy"), key=lambda path: path.name.split(".")[-2])
    return [(*path.name.split(".")[:2], np.load(path)) for path in paths]


# ---------------------------------------------------------------- the protocol, without a framework


class Handle:
    def __init__(self, hooks, hook):
        self.hooks, self.hook = hooks, hook

    def remove(self):
        self.hooks.remove(self.hook)


class Tensor:
    """What the recorder asks of a tensor of PyTorch."""

    is_quantized = False

    def __init__(self, data, wide=True):
        self.data, self.wide = data, wide

    def detach(self):
        return self

    cpu = to_dense = resolve_conj = resolve_neg = detach

    def float(self):
        return Tensor(self.data)

    def numpy(self):
        if not self.wide:
            raise TypeError("unsupported ScalarType BFloat16")
        return self.data


class Part:
    """A module with forward hooks, as PyTorch's `nn.Module` calls them."""

    def __init__(self, function=None, **parts):
        self.function, self.parts, self.hooks = function, parts, []

    def register_forward_hook(self, hook):
        self.hooks.append(hook)
        return Handle(self.hooks, hook)

    def named_modules(self):
        yield "", self
        for name, part in self.parts.items():
            for inner, one in part.named_modules():
                yield f"{name}.{inner}" if inner else name, one

    def __call__(self, *args, **kwargs):
        result = self.forward(*args, **kwargs)
        for hook in self.hooks:
            hook(self, args, result)
        return result

    def forward(self, *args, **kwargs):
        if self.function:
            return self.function(*args, **kwargs)
        (value,) = args
        for part in self.parts.values():
            value = part(value)
        return value


class no_grad:
    entered = 0

    def __enter__(self):
        no_grad.entered += 1

    def __exit__(self, *_):
        return None


@pytest.fixture
def framework(monkeypatch):
    """A package that stands for PyTorch."""
    package = ModuleType("torch")
    package.nn = ModuleType("torch.nn")
    package.nn.Module, package.Tensor, package.no_grad = Part, Tensor, no_grad
    package.from_numpy = Tensor
    monkeypatch.setitem(sys.modules, "torch", package)
    return package


def apply(function):
    return Part(lambda one: Tensor(function(one.data)))


@pytest.mark.usefixtures("framework")
def test_every_part_is_recorded_when_it_is_done_and_no_hook_stays(tmp_path):
    block = Part(up=apply(lambda a: a + 1), down=apply(lambda a: a - 3))
    net = Part(first=apply(np.abs), block=block)
    before = no_grad.entered
    done = wb.golden(net, X, tmp_path / "out")
    found = files_of(tmp_path / "out")
    assert [name for name, _, _ in found] == ["first", "block_up", "block_down", "block", "Part"]
    first = np.abs(X)
    last = first + 1 - 3
    for (_, slot, got), want in zip(found, [first, first + 1, last, last, last], strict=True):
        assert slot == "0"
        np.testing.assert_array_equal(got, want)
    assert (done.engine, done.tensors, done.missing) == ("torch", 5, ())
    assert all(part.hooks == [] for _, part in net.named_modules())
    assert no_grad.entered == before + 1
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "inputs" / "input_0.npy"), X)


@pytest.mark.usefixtures("framework")
def test_a_part_that_is_called_twice_has_two_files_in_order_of_time(tmp_path):
    shared = apply(lambda a: a * 2)
    net = Part(lambda one: shared(shared(one)), shared=shared)
    wb.golden(net, (X,), tmp_path / "out")
    got = [array for name, _, array in files_of(tmp_path / "out") if name == "shared"]
    np.testing.assert_array_equal(got, [X * 2, X * 4])


@pytest.mark.usefixtures("framework")
def test_results_are_taken_apart_and_what_is_no_tensor_is_left_out(tmp_path):
    def several(one, scale):
        return {"a": Tensor(one.data), "b": [Tensor(one.data * scale.data, wide=False), None, 3]}

    wb.golden(Part(several), {"one": X, "scale": np.float32([2])}, tmp_path / "out")
    (name, first, a), (_, second, b) = files_of(tmp_path / "out")
    assert (name, first, second) == ("Part", "0", "1")
    np.testing.assert_array_equal(a, X)
    np.testing.assert_array_equal(b, X * 2)
    fed = {path.name for path in (tmp_path / "out" / "inputs").iterdir()}
    assert fed == {"one.npy", "scale.npy"}


@pytest.mark.usefixtures("framework")
def test_a_module_that_fails_leaves_no_hook_and_whole_files(tmp_path):
    def fails(_one):
        raise RuntimeError("mine")

    net = Part(good=apply(np.abs), bad=Part(fails))
    with pytest.raises(RuntimeError, match="mine"):
        wb.golden(net, X, tmp_path / "out")
    assert [name for name, _, _ in files_of(tmp_path / "out")] == ["good"]
    assert all(part.hooks == [] for _, part in net.named_modules())


@pytest.mark.usefixtures("framework")
def test_a_module_without_inputs_is_refused(tmp_path):
    with refused("golden/module-inputs", wb.GraphError):
        wb.golden(Part(apply(np.abs)), None, tmp_path / "out")


# ---------------------------------------------------------------- the real ones


def test_parts_of_pytorch(tmp_path):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    conv, norm = torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4)
    net = torch.nn.Sequential(conv, norm, torch.nn.ReLU(inplace=True), torch.nn.Flatten(),
                              torch.nn.Linear(144, 5), torch.nn.LSTM(5, 2)).eval()  # fmt: skip
    wb.golden(net, X, tmp_path / "out")
    found = {(name, int(slot)): array for name, slot, array in files_of(tmp_path / "out")}
    names = [*map(str, range(6)), "Sequential"]
    assert {name for name, _ in found} == {*names}
    # each result follows from the one before it, by NumPy alone
    windows = np.lib.stride_tricks.sliding_window_view(X, (3, 3), (2, 3))
    weight, bias = conv.weight.detach().numpy(), conv.bias.detach().numpy()
    by_hand = np.einsum("nchwij,ocij->nohw", windows, weight) + bias[:, None, None]
    np.testing.assert_allclose(found["0", 0], by_hand, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found["1", 0], found["0", 0] / np.sqrt(1 + norm.eps), rtol=1e-5)
    np.testing.assert_array_equal(found["2", 0], np.maximum(found["1", 0], 0))  # before it, too
    assert (found["1", 0] < 0).any()
    np.testing.assert_array_equal(found["3", 0], found["2", 0].reshape(2, -1))
    for slot in range(3):  # output, state and cell of the LSTM are those of the whole
        np.testing.assert_array_equal(found["Sequential", slot], found["5", slot])
    assert not [one for one in net.modules() if one._forward_hooks]


def test_bfloat16_of_pytorch_is_written_wider(tmp_path):
    torch = pytest.importorskip("torch")
    net = torch.nn.ReLU()
    given = torch.from_numpy(X).to(torch.bfloat16)
    wb.golden(net, given, tmp_path / "out")
    ((_, _, got),) = files_of(tmp_path / "out")
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, np.maximum(given.float().numpy(), 0))


@pytest.mark.filterwarnings(
    "ignore:__array__ implementation:DeprecationWarning"
)  # Keras on PyTorch
def test_layers_of_keras(tmp_path):
    keras = pytest.importorskip("keras")
    image = keras.Input((8, 8, 3))
    flat = keras.layers.Flatten(name="flat")(keras.layers.ReLU(name="act")(image))
    model = keras.Model(image, keras.layers.Dense(3, name="top")(flat), name="net")
    wb.golden(model, X.transpose(0, 2, 3, 1), tmp_path / "out")
    found = files_of(tmp_path / "out")
    assert [name.rpartition("_")[2] for name, _, _ in found] == ["act", "flat", "top", "net"]
    act, flat, top, whole = (array for *_, array in found)
    np.testing.assert_array_equal(act, np.maximum(X.transpose(0, 2, 3, 1), 0))
    np.testing.assert_array_equal(flat, act.reshape(2, -1))
    kernel, bias = map(np.asarray, model.get_layer("top").get_weights())
    np.testing.assert_allclose(top, flat @ kernel + bias, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(whole, top)
    assert not [layer for layer in model.layers if "call" in vars(layer)]
