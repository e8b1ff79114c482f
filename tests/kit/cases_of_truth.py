"""Forty cases in which something is wrong or missing, forty in which nothing is: what has to be said of each.

The expectations were written down before the first run, by somebody who had read the reference alone; the first
commit of this file has them. What was found to be expected wrongly is changed here with its reason.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kit.build.truth_pairs import (
    Side,
    array,
    at,
    behind_link,
    beside,
    block,
    drop,
    drop_folder,
    exchange,
    exchanged,
    last_bit,
    negative_zero,
    next_token,
    noise,
    other_times,
    raw,
    renamed,
    shuffled_times,
    sim,
    softmax_shifted,
    stale,
    sum_backwards,
    sum_in_blocks,
    sum_wide,
    tanh_by_exp,
    to_bfloat16,
    with_prefix,
    without_graph,
    zero,
)


class Case(NamedTuple):
    """Two dumps and what must be said of them.

    Attributes
    ----------
    verdicts : str
        Verdicts that are right; ``trouble`` stands for a comparison that ends with a message instead.
    exits : tuple of int
    first : str
        Pieces of names; that of the first defect, if there is one, contains one of them. Empty: any.
    never : str
        Words that must not stand in sentence and findings.
    options : tuple of str
        Further arguments of ``workbench compare``.
    wrong : str
        Why the program does not say so yet.
    """

    name: str
    target: Side
    golden: Side
    verdicts: str
    exits: tuple[int, ...]
    first: str = ""
    never: str = ""
    options: tuple[str, ...] = ()
    wrong: str = ""


MLP, LENET, TRANSFORMER = sim("mlp"), sim("lenet"), sim("transformer")
A2 = {name: sim(name, "a2") for name in ("mlp", "lenet", "transformer")}
STEPS, A2_STEPS = (sim("mlp_train", device, iterations=2) for device in ("reference", "a2"))
ONE_STEP = sim("mlp_train", "a2")
JOB = sim("mlp", "a2", ranks=2)
JOB_GOLDEN = sim("mlp", ranks=2)
OUTPUTS, INPUTS = (("io", frozenset(("output",))),), (("io", frozenset(("input",))),)
STATISTICS = (("saved", "statistic"),)
BLOCK = block()
HOT = block(hot=True, run={"Softmax": softmax_shifted})
FINAL = "BiasAdd.Default_head*.output.0.*"
HEAD = "Default/head-Dense/BiasAdd-op0"


def spoilt(operator: str, change, **more) -> Side:
    """The block with an operator that gives something else."""
    return block(alter={operator: change}, **more)


FALSE_PASSES = (
    # -- something is missing, or no tensor
    Case("the final output is missing", A2["mlp"].but(drop(FINAL)), MLP, "incomplete", (3,)),
    Case("the golden's final output is missing", A2["mlp"], MLP.but(drop(FINAL)), "incomplete", (3,)),
    Case("no outputs", A2["mlp"].but(drop("*.output.*")), MLP, "incomplete", (3,)),
    Case("all files are emptied", A2["mlp"].but(raw("*.npy", lambda _: b"")), MLP,
         "incomplete inconclusive trouble", (2, 3)),
    Case("the final output is cut", A2["mlp"].but(raw(FINAL, lambda x: x[: len(x) // 2])), MLP,
         "incomplete", (3,)),
    Case("the final output is garbage", A2["mlp"].but(raw(FINAL, lambda x: bytes(reversed(x)))), MLP,
         "incomplete", (3,)),
    Case("a dump of nothing but a graph", A2["mlp"].but(drop("*.npy")), MLP,
         "incomplete inconclusive trouble", (2, 3)),
    Case("the second iteration is missing", A2_STEPS.but(drop_folder("Net/0/1")), STEPS,
         "incomplete", (3,)),
    Case("the second rank is missing", JOB.but(drop_folder("rank_1")), JOB_GOLDEN, "incomplete", (3,)),
    Case("a value between two operators is in neither's files",
         A2["mlp"].but(drop("MatMul.*_1-Dense*.output.0.*", "BiasAdd.*_1-Dense*.input.0.*")), MLP,
         "incomplete", (3,)),
    Case("the same of the golden, its files are cut",
         A2["mlp"], MLP.but(raw("MatMul.*_1-Dense*.output.0.*", lambda x: x[:100]),
                            raw("BiasAdd.*_1-Dense*.input.0.*", lambda x: x[:100])),
         "incomplete", (3,)),
    Case("half is enough, but not without the final output", A2["mlp"].but(drop(FINAL)), MLP,
         "incomplete", (3,), options=("--require", "50")),
    Case("something else may be missing", A2["mlp"].but(drop(FINAL)), MLP, "incomplete", (3,),
         options=("--allow-missing", "*ReLU*")),
    Case("the run ended early", sim("lenet", "a2", faults=("aicore-exception:Default/fc2-Dense/MatMul-op0",)),
         LENET, "fail incomplete", (1, 3), "fc2"),
    # -- an operator gives something else
    Case("a row is zero", spoilt("Tanh-op0", at(5, zero)), BLOCK, "fail", (1,), "Tanh",
         "wrong-weight-element overwritten-element"),
    Case("a tile is zero", spoilt("Add-op0", at(np.s_[16:32, 32:48], zero)), BLOCK, "fail", (1,), "Add",
         "wrong-weight-element"),
    Case("a row has the other sign", spoilt("MatMul-op1", at(9, np.negative)), BLOCK, "fail", (1,), "MatMul-op1",
         "wrong-weight-element"),
    Case("two rows are exchanged", spoilt("Tanh-op0", exchanged(0, 3, 40)), BLOCK, "fail", (1,), "Tanh",
         "swapped-inputs"),
    Case("two columns are exchanged", spoilt("MatMul-op0", exchanged(1, 3, 40)), BLOCK, "fail", (1,),
         "MatMul-op0", "swapped-inputs"),
    Case("0.2 % too much", spoilt("MatMul-op1", lambda x: x * 1.002), BLOCK, "fail", (1,), "MatMul-op1"),
    Case("shifted by one column", spoilt("ReLU-op0", lambda x: np.roll(x, 1, 1)), BLOCK, "fail", (1,), "ReLU"),
    Case("the last row is the one before", spoilt("MatMul-op2", lambda x: x[[*range(63), 62]]), BLOCK,
         "fail", (1,), "MatMul-op2", "overrun wrong-weight-element"),
    Case("NaN on both sides, in other places", spoilt("Add-op0", at((3, 4), lambda _: np.nan)),
         spoilt("Add-op0", at((30, 8), lambda _: np.nan)), "fail inconclusive", (1, 3), "Add"),
    Case("one hundredth too much", spoilt("Tanh-op0", lambda x: x + 0.01), BLOCK, "fail", (1,), "Tanh"),
    Case("one operator rounds to bfloat16", spoilt("Add-op0", to_bfloat16), BLOCK, "fail", (1,), "Add"),
    Case("one element of the final output", spoilt("Softmax-op0", at((7, 7), lambda x: x * 1.1 + 0.01)), BLOCK,
         "fail", (1,), "Softmax"),
    Case("one element of a weight", block(feeds={"w1": at((7, 7), lambda x: x + 1)}), BLOCK, "fail", (1,),
         "MatMul-op1"),
    Case("nothing was computed", block(run={"Tanh": lambda a: a}), BLOCK, "fail", (1,), "Tanh"),
    Case("the last columns are not written", spoilt("MatMul-op2", at(np.s_[:, 16:], zero)), BLOCK, "fail", (1,),
         "MatMul-op2", "wrong-weight-element"),
    Case("no graphs, and a row has the other sign",
         spoilt("MatMul-op1", at(9, np.negative)).but(without_graph), BLOCK.but(without_graph),
         "fail inconclusive", (1, 3), "MatMul-op1", "overwritten"),
    Case("the golden is wrong", BLOCK, spoilt("Tanh-op0", at(5, zero)), "fail inconclusive", (1, 3), "Tanh"),
    Case("beside a channel of 300 two have the other sign",
         block(hot=True, run={"Softmax": softmax_shifted}, alter={"Mul-op0": at(np.s_[:, 20:22], np.negative)}),
         HOT, "fail", (1,), "Mul-op0"),
    # -- files of something else
    Case("two files are exchanged",
         BLOCK.but(exchange("Tanh.*.output.0.*", "MatMul.Default_MatMul-op1.*.output.0.*")), BLOCK,
         "fail", (1,), "Tanh MatMul-op1 Add"),
    Case("the second iteration is a copy of the first",
         A2_STEPS.but(stale("rank_0/Net/0/1", "rank_0/Net/0/0")), STEPS, "fail inconclusive", (1, 3)),
    Case("the bytes under another dtype", A2["mlp"].but(array(FINAL, lambda x: x.view(np.int32))), MLP,
         "fail incomplete inconclusive", (1, 3), "head"),
    Case("another seed", sim("mlp", "a2", seed=1), MLP, "fail inconclusive", (1, 3), never="bit-flip"),
    Case("another token", sim("transformer", "a2", feeds=next_token), TRANSFORMER, "fail", (1,), never="bit-flip"),
    Case("outputs alone, and a factor",
         sim("lenet", "a2", plan=OUTPUTS, faults=("scaled-output:Default/conv2-Conv2d/Conv2D-op0:1.5",)),
         sim("lenet", plan=OUTPUTS), "fail", (1,), "conv2"),
    Case("statistics alone, and a factor",
         sim("transformer", "a2", plan=STATISTICS,
             faults=("scaled-output:Default/layer1-EncoderLayer/norm1-Norm/LayerNorm-op0:1.5",)),
         TRANSFORMER, "fail", (1,), "layer1-EncoderLayer/norm1"),
    Case("an operator too many", block(between="Tanh"), BLOCK, "fail", (1,), "Tanh MatMul-op0"),
)  # fmt: skip

AGREE, UNACCUSED = "pass warn", "pass warn incomplete inconclusive"

FALSE_ACCUSATIONS = (
    # -- another device, other rounding
    Case("a copy", A2["mlp"], A2["mlp"].but(lambda root: None), "pass", (0,)),
    Case("a2", A2["mlp"], MLP, AGREE, (0,)),
    Case("910a", sim("lenet", "910a"), LENET, AGREE, (0,)),
    Case("950", sim("transformer", "950"), TRANSFORMER, AGREE, (0,)),
    Case("float16 is forced", sim("lenet", "a2", precision_mode="force_fp16"), LENET, AGREE, (0,)),
    Case("mixed with bfloat16", sim("transformer", "a2", precision_mode="allow_mix_precision_bf16"),
         TRANSFORMER, AGREE, (0,)),
    Case("two steps of a training", sim("mlp_train", "a3", iterations=2), STEPS, AGREE, (0,)),
    Case("summed from the end", block(run={"MatMul": sum_backwards}), BLOCK, AGREE, (0,)),
    Case("summed in blocks", block(run={"MatMul": sum_in_blocks}), BLOCK, AGREE, (0,)),
    Case("summed in float64", block(run={"MatMul": sum_wide}), BLOCK, AGREE, (0,)),
    Case("Softmax less the largest", block(run={"Softmax": softmax_shifted}), BLOCK, AGREE, (0,)),
    Case("tanh by exp", block(run={"Tanh": tanh_by_exp}), BLOCK, AGREE, (0,)),
    Case("every last bit", block(alter={"*": last_bit}), BLOCK, AGREE, (0,)),
    Case("noise of 1e-6 in sums", block(alter={"MatMul": noise(1e-6)}), BLOCK,
         "pass warn inconclusive", (0, 3)),
    Case("zero with a sign", block(run={"ReLU": negative_zero}), BLOCK, AGREE, (0,)),
    Case("tiny numbers", block(feeds={"w1": lambda w: w * 1e-20}, run={"MatMul": sum_in_blocks}),
         block(feeds={"w1": lambda w: w * 1e-20}), AGREE, (0,)),
    # -- other names, other files
    Case("an hour later", A2["mlp"].but(renamed(other_times)), MLP, AGREE, (0,)),
    Case("in another order of time", A2["mlp"].but(renamed(shuffled_times)), MLP, AGREE, (0,)),
    Case("renamed operators", block(named=with_prefix, run={"MatMul": sum_in_blocks}), BLOCK, AGREE, (0,)),
    Case("other files beside", A2["mlp"].but(beside("notes.txt", b"run 7\n"), beside(".DS_Store", b"\0\0")), MLP,
         AGREE, (0,)),
    Case("behind a link", A2["mlp"].but(behind_link), MLP, AGREE, (0,)),
    Case("columns first", A2["mlp"].but(array("*.npy", np.asfortranarray)), MLP, AGREE, (0,)),
    Case("no graphs", A2["mlp"].but(without_graph), MLP.but(without_graph), UNACCUSED, (0, 3)),
    Case("no graphs of a transformer", A2["transformer"].but(without_graph), TRANSFORMER.but(without_graph),
         UNACCUSED, (0, 3), never="overwritten"),
    Case("no graph of the target", A2["transformer"].but(without_graph), TRANSFORMER, UNACCUSED, (0, 3),
         never="overwritten"),
    Case("no graphs, summed in blocks", block(run={"MatMul": sum_in_blocks}).but(without_graph),
         BLOCK.but(without_graph), UNACCUSED, (0, 3)),
    # -- less, more or other tensors
    Case("outputs against everything", sim("mlp", "a2", plan=OUTPUTS), MLP, AGREE, (0,)),
    Case("everything against outputs", A2["lenet"], sim("lenet", plan=OUTPUTS), AGREE, (0,)),
    Case("inputs against everything", sim("mlp", "a2", plan=INPUTS), MLP, "incomplete", (3,)),
    Case("statistics", sim("transformer", "a2", plan=STATISTICS), sim("transformer", plan=STATISTICS),
         UNACCUSED, (0, 3)),
    Case("memory in outputs that nobody reads",
         A2["transformer"].but(array("LayerNorm.*.output.[12].*", lambda x: np.full_like(x, 7e8))), TRANSFORMER,
         AGREE, (0,)),
    Case("one step of two", ONE_STEP, STEPS, AGREE, (0,), options=("--iteration", "0")),
    Case("one rank of two", A2["mlp"], JOB_GOLDEN, AGREE, (0,), options=("--rank", "0:0")),
    Case("no Parameter files", BLOCK.but(drop("Parameter.*")), BLOCK, AGREE, (0,)),
    Case("no files of weights at all", A2["mlp"].but(drop("MatMul.*.input.1.*", "BiasAdd.*.input.1.*")), MLP,
         AGREE, (0,)),
    Case("an operator whose values are in its neighbors' files", A2["mlp"].but(drop("ReLU.*")), MLP, AGREE, (0,)),
    Case("exchanged terms", block(swapped=True, run={"MatMul": sum_in_blocks}), BLOCK, AGREE, (0,)),
    Case("computed twice", block(twice=True), BLOCK, AGREE, (0,)),
    Case("an inserted cast", block(inserted="Cast"), BLOCK, AGREE, (0,)),
    Case("compiled for inference, in containers", sim("lenet", "a2", surface="acl"), LENET,
         "pass warn incomplete", (0, 3)),
)  # fmt: skip
