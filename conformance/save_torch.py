"""Make the files of ``tests/data/torch``; needs PyTorch, which nothing else here does."""

from pathlib import Path

import torch

HERE = Path(__file__).parents[1] / "tests/data/torch"
X = torch.arange(6, dtype=torch.float32).reshape(2, 3)
SAVED = {
    "plain": X,
    "list": [X, X.half()],
    "parameter": torch.nn.Parameter(X),
    "transposed": X.T,
    "views": (X[1], X[:, 1:]),
    "scalar": torch.tensor(3, dtype=torch.bfloat16),
    "empty": torch.zeros(0, 3),
    "bool": torch.tensor([True, False]),
    "complex": torch.tensor([1 + 2j]),
    "float8": X.to(torch.float8_e4m3fn),
    "uint16": torch.tensor([1, 65535], dtype=torch.uint16),
    "expanded": torch.ones(1, 3).expand(4, 3),
    "conjugated": torch.tensor([1 + 2j]).conj(),
    "dictionary": {"weight": X},
    "nested": [[X]],
    "sparse": X.to_sparse(),
    "code": torch.nn.Linear(1, 1),
}

for name, value in SAVED.items():
    torch.save(value, HERE / f"{name}.pt")
torch.save(X, HERE / "protocol5.pt", pickle_protocol=5)
torch.save(X, HERE / "legacy.pt", _use_new_zipfile_serialization=False)
# what torch_npu.save_npugraph_tensor calls in C++
(HERE / "add_device_0_0.pt").write_bytes(torch._C._pickle_save(X))
(HERE / "pair_device_0_0.pt").write_bytes(torch._C._pickle_save([X, X.half()]))
