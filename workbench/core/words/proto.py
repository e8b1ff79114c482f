"""What `workbench.proto` says: name → sentence."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    # binary
    "message": "invalid protobuf message {message}: {why}",
    "deep": "messages are nested more than {limit} deep",
    "fields": "the message has more than {limit:count field}",
    "field-type": "field {number} ({name}) of {message}: expected {kind}, got wire type {got}",
    "tag": "invalid protobuf field tag {got:#x}; the file is damaged",
    "cut-off": (
        "field {number} ends at byte {got}, but its message ends at byte {end}; the file is truncated or damaged"
    ),
    "varint": "unterminated integer before byte {end}; the file is truncated or damaged",
    # text
    "field-repeated": "field {name!r} is not allowed here: another value is already set\n{excerpt}",
    "close": "expected a field or {expected!r}, got {got!r}\n{excerpt}",
    "close-without-block": "{got!r} closes no block\n{excerpt}",
    "block-open": "the block of line {line} is not closed with {expected!r}; is the file truncated?\n{excerpt}",
    "no-field": "expected 'name: value' or 'name {{ … }}', got {got!r}\n{excerpt}",
    "string-open": "field {name!r}: the string has no closing quote on its line, got {got!r}\n{excerpt}",
    "no-value": "field {name!r} has no value, got {got!r}\n{excerpt}",
    "no-colon": "field {name!r} needs a ':' before its value\n{excerpt}",
    "blocks-deep": "blocks are nested deeper than {most} levels\n{excerpt}",
    "item": "each item of {name!r} must be {expected}\n{excerpt}",
    "list-open": "the list {name!r} must continue with ',' or ']'\n{excerpt}",
    "escape": "field {name!r}: invalid escape {got}\n{excerpt}",
    "value-kind": "field {name!r}: expected {expected}, got {got}\n{excerpt}",
    "int32": "a 32-bit integer",
    "int64": "a 64-bit integer",
    "uint32": "an unsigned 32-bit integer",
    "uint64": "an unsigned 64-bit integer",
    "float": "a number",
    "bool": "true or false",
    "block": "a block '{{ … }}'",
    "word": "a word or a number",
    "string": "a quoted string",
    "value": "a value",
}
