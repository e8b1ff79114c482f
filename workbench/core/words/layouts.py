"""What `workbench.scale.layouts` and `workbench.run.parallel` say: name → sentence."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    # how ranks share the work
    "sp-size": "sp is {got}, but sequence parallel uses the {tp} ranks of tp; set sp to 1 or {tp}",
    "ep-size": "ep is {got}, which does not divide dp × cp = {of}",
    "order": "order {got!r} does not name each of {known:list} once",
    "ranks-most": "the job has {got:count rank}; the most is {most:count}",
    "axis-twice": "{got!r} is given twice",
    "mode": "{got!r} is unknown; write cp=N:zigzag or dp=N:zero",
    "rank": "rank {got} does not exist in a job of {ranks:count rank}",
    # layouts as text
    "long": "the layout has {got:count character}; the most is {most:count}",
    "dim": "{got!r} is not a dimension; write a name with its axes, e.g. h[tp], (heads*dim)[tp] or 1",
    "axis": "unknown axis {got!r} in {where!r} (choose from {known:list})",
    "modifier": "unknown modifier {got!r} in {where!r} (choose from {known:list})",
    "modifiers": "{got!r} in {where!r} has modifiers that exclude each other or come twice",
    "declaration": (
        "{got!r} is not a declaration; write AXIS:replicated, AXIS:mean, AXIS:partial, "
        "dp:=GROUP ({known:list}), flat:NAME(SIZES),… or align:N"
    ),
    "part": "{got!r} in {where!r} is not a tensor; write NAME(SIZE,SIZE)",
    "flat-dims": "a flat buffer has 1 dimension, the layout has {got}",
    "twice": "{subject} {got:list} comes twice in {where!r}",
    "same-ranks": "layout {layout!r} uses the ranks of {axis} twice, or not as the job has them",
    # files of layouts
    "file-line": "{got!r} is not 'PATTERN: LAYOUT'",
    "file-value": "{key!r} is not a text",
    "file-json": "invalid {kind}: {why}",
    "file-keys": "unknown key {got!r} (choose from {known:list})",
    "numbered": "{got!r} is not 'NAME{{}}: AXIS COUNT COUNT …', e.g. layer{{}}-: pp 2 2",
    "numbered-counts": "{got!r} gives {count:count number} for axis {axis} of size {size}",
    # what cannot be joined
    "no-shards": "no rank holds the tensor",
    "dims": "layout {layout!r} has {dims:count dimension}, but rank {rank} holds shape ({got:times})",
    "types": "ranks hold different types: {got:list}",
    "part-missing": "no rank holds the part at {where}; dumped ranks: {got}",
    "replica-shapes": "ranks {ranks:list} hold the same part in different shapes: {got:list}",
    "stages": (
        "ranks {ranks:list} of several pipeline stages hold different values under one name; "
        "if they should be equal, declare pp:replicated"
    ),
    "part-shapes": "parts along {axis} do not fit each other: {got:list}",
    "sum-shapes": "parts of the sum have different shapes: {got:list}",
    "single": "layout {layout!r} has a dimension 1 that is not of size 1 in shape ({got:times})",
    "zigzag-size": "zigzag order needs a multiple of {pieces}, got {got}",
    "each-size": "size {got} has no {each:count} equal stretches",
    "cut-size": "{axis} cuts into {of} parts, which does not divide {got}",
    "flat-short": "the flat buffer has {got:count element}; its tensors need {need:count}",
    "no-layout": "no layout is known for {name!r}",
    "statistics": "only statistics were dumped",
    # steps of the ledger
    "step-checked": "{count:count replica} on {axes:list}: identical",
    "step-taken": "{count:count replica} on {axes:list}: not identical, the value of most ranks taken",
    "step-concatenated": "{count:count shard} concatenated along {dim} ({axis})",
    "step-zigzag-undone": "zigzag order of {axis} undone along {dim}",
    "step-summed": "{count:count partial sum} added over {axis}; another order may differ by up to {tolerance:number}",
    "step-averaged": "mean of {count:count value} over {axis}; another order may differ by up to {tolerance:number}",
    "step-divided": "divided by {count:count} ({axis}): each rank held the gradient of its own mean",
    "step-squeezed": "{count:count dimension} of size 1 removed",
    "step-unflattened": "cut out of a flat buffer at element {start:count}; {padding:count element} of padding",
    "step-renumbered": "renamed from {was!r} ({axis} {at})",
    "step-not-joined": "not joined: {why}",
    # findings
    "found-never-reduced": "partial sum that was never reduced on {axis}: the sum over its ranks is the golden's value",
    "found-reduced-twice": "reduced twice on {axis}: each of {count:count rank} already holds the sum",
    "found-replica-ulp": (
        "replica on rank {ranks:list} is off by {ulps} ulp on {axis} ({count:count} of {size:count element})"
    ),
    "found-replica-differs": (
        "replica on rank {ranks:list} differs from rank {taken} on {axis}: {count:count} of {size:count element},"
        " relative error {error:number}"
    ),
    "found-replica-stale": (
        "replica on rank {ranks:list} is stale: it holds the value of the previous iteration; rank {taken} does not"
    ),
    "found-replicas-apart": "ranks {ranks:list} should be identical on {axis}, but hold {count} different values",
    "found-shard-stale": "shard on rank {ranks:list} is stale: it holds the value of the previous iteration ({axis})",
    "found-zigzag-kept": "zigzag order of {axis} was not undone along {dim}",
    "found-zigzag-missing": "{dim} lies in natural order; the layout says zigzag on {axis}",
    "found-exchange-missing": "nothing from other ranks of {axis} arrived at rank {ranks:list}: zeros in its place",
    "found-exchange-differs": (
        "rank {ranks:list} received other values than rank {others:list} sent on {axis}: {count:count} of"
        " {size:count element}, relative error {error:number}"
    ),
    "found-shards-exchanged": "ranks {ranks:list} hold each other's shards ({axis})",
}
