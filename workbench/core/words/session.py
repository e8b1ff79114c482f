"""What `workbench.session` says: name → sentence."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    # compare
    "selected": "no row {got!r}: use a row, its index (0 to {last}) or an operator name",
    "no-defect": "the comparison found no defect",
    "require": "require {got!r} is not a percentage: give a number above 0, at most 100",
    "chosen": "{name} {got!r} is neither one number nor two (target, golden)",
    # extract, next configuration, inspect
    "no-suspect": "no defect to dump again",
    "tree-surface": "cannot tell which surface wrote a tree of layout {layout}; use --surface ({known:list})",
    "unnamed": "not dumped, {surface} cannot select them by name: {names:list}",
    "unnamed-all": "all operators are dumped: {surface} cannot select {names:list} by name",
    # views of an operator
    "no-row": "select a row or name an operator",
    "row": "no row {got!r}: use a row or its index (0 to {last})",
    "operator": "no operator {got!r} among {count:count operator}",
    "operator-near": "no operator {got!r} among {count:count operator}; similar: {near:list}",
    "operator-ambiguous": "{got!r} fits {count:count operator}, such as {known:list}; use a longer part of the name",
    # results of other tools
    "result-header": "not a known result table: the header has {got}; known tables: {known:semicolons}",
    "result-header-known": "{tool} {kind}: {columns:list}",
    "result-json": "not a result: invalid JSON: {why}",
    "sheet-line": "the row is not text: {why}",
    "sheet-wide": "the row has {got:count cell}, more than the limit of {limit:count}",
    "sheet-old": "not a readable workbook: an old .xls file or protected by a password; save it as .xlsx",
    "sheet-unreadable": "cannot read the workbook: {kind}: {why}",
    "sheet-blank": "more than {limit:count} blank rows in a row",
    "sheet-parts": "the workbook has {got:count} parts, more than the limit of {limit:count}",
    "sheet-size": "part {part!r} of the workbook unpacks to more than {limit:count byte}",
    "sheet-xml": "part {part!r} of the workbook declares a document type or is not UTF-8",
    "openpyxl": "reading {path} needs openpyxl: pip install 'npu-accuracy-workbench[xlsx]'",
    "pyarrow": "parquet needs pyarrow: pip install 'npu-accuracy-workbench[scale]'",
    "parquet": "cannot read the parquet file: {why}",
    "parquet-damaged": "the file is damaged: its content does not match its checksum",
    "parquet-foreign": "not a comparison written by to_parquet",
    "parquet-size": "the parquet file has {got:count} {what}, more than the limit of {limit:count}",
    "parquet-column": "column {name!r}: expected one of {expected} without null, got {got}",
    "sheet-kind": "not a table of the result's kind",
    "sheet-rows": "more rows that cannot be read",
    "sheet-cells": "{got} cells in a row of {expected} columns",
    "sheet-operator": "no operator name",
    "foreign-side": "{side} of {tool}'s result",
    "foreign-figures": "as {tool} defines them",
    "foreign-verdicts": "its own column {column!r}",
    "foreign-unjudged": "nobody",
    "foreign-none": "None of {pairs:count pair} could be judged; result of {tool} ({kind}), judged by {judge}.",
    "foreign-pass": "{judged:count pair} judged, none fails{open}; result of {tool} ({kind}), judged by {judge}.",
    "foreign-fail": (
        "{failing:count} of {judged:count pair} fail, first {first}{open}; result of {tool} ({kind}), "
        "judged by {judge}."
    ),
    "foreign-open": "; {count:count} could not be judged",
    # envelopes
    "envelope-head": "runs, seed, dtype or network of the envelope is not valid: {got}",
    "envelope-entry": "tensor {number} of the envelope is not valid: {got}",
}
