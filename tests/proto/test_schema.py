"""One notation for all messages: what Google's own descriptors say of it."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, text_format

from workbench.dump.formats.container_header import HEADER
from workbench.graph_files.ge.schema import GE_IR
from workbench.graph_files.mindspore.messages import SCHEMAS
from workbench.proto.schema import SCALARS, Field, Schema, fields

ALL = {schema.name: schema for schema in (GE_IR, HEADER, *SCHEMAS.values())}
TOY = Schema(
    "toy",
    {
        "Net": fields("1 name string, 2 size int32*, 3 part Net*, 4 colour Colour, 5 count Rest@, 6 rest Rest"),
        "Rest": fields("1 text text, 2 real double"),
    },
    {"Colour": ("RED", "", "BLUE")},
    frozenset(("Rest",)),
)  # fmt: skip


@pytest.mark.parametrize("syntax", ["proto2", "proto3"])
def test_a_schema_is_what_protobufs_own_description_of_it_is(syntax):
    """The same file, as protoc would describe it."""
    expected = text_format.Parse(
        """
        name: "toy.proto" syntax: "SYNTAX"
        enum_type { name: "Colour" value { name: "RED" number: 0 } value { name: "BLUE" number: 2 } }
        message_type { name: "Net"
          field { name: "name" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING }
          field { name: "size" number: 2 label: LABEL_REPEATED type: TYPE_INT32 }
          field { name: "part" number: 3 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".Net" }
          field { name: "colour" number: 4 label: LABEL_OPTIONAL type: TYPE_ENUM type_name: ".Colour" }
          field { name: "count" number: 5 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".Net.CountEntry" }
          field { name: "rest" number: 6 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".Rest" }
          nested_type { name: "CountEntry" options { map_entry: true }
            field { name: "key" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING }
            field { name: "value" number: 2 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".Rest" } } }
        message_type { name: "Rest" oneof_decl { name: "value" }
          field { name: "text" number: 1 label: LABEL_OPTIONAL type: TYPE_BYTES oneof_index: 0 }
          field { name: "real" number: 2 label: LABEL_OPTIONAL type: TYPE_DOUBLE oneof_index: 0 } }
        """.replace("SYNTAX", syntax),
        descriptor_pb2.FileDescriptorProto(),
    )
    pool = descriptor_pool.DescriptorPool()
    theirs = descriptor_pb2.FileDescriptorProto()
    pool.AddSerializedFile(expected.SerializeToString()).CopyToProto(theirs)
    toy = Schema("toy", TOY.messages, TOY.enums, TOY.one_of, syntax)
    mine = descriptor_pb2.FileDescriptorProto()
    # two schemas of one name are one; this one has its own
    toy = Schema(f"toy-{syntax}", TOY.messages, TOY.enums, TOY.one_of, syntax)
    toy.message_class("Net").DESCRIPTOR.file.CopyToProto(mine)
    theirs.name = mine.name
    assert str(mine) == str(theirs)


@pytest.mark.parametrize("schema", ALL.values(), ids=ALL)
def test_rows_name_kinds_that_there_are_and_no_number_twice(schema):
    for message, rows in schema.messages.items():
        numbers = [row.number for row in rows]
        assert numbers == sorted(set(numbers)), message  # by number, as the printer lays them out
        for row in rows:
            assert row.kind in SCALARS or row.kind in schema.enums or row.kind in schema.messages
        assert schema.message_class(message).DESCRIPTOR.name == message


@pytest.mark.parametrize("schema", ALL.values(), ids=ALL)
def test_the_messages_are_nobody_elses(schema):
    for message in schema.messages:
        schema.message_class(message)
        with pytest.raises(KeyError):
            descriptor_pool.Default().FindMessageTypeByName(message)


def test_a_schema_is_itself_in_another_process():
    again = pickle.loads(pickle.dumps(GE_IR))
    assert again == GE_IR
    assert again.message_class("OpDef") is GE_IR.message_class("OpDef")
    assert again.to_python("ShapeDef", {"dim": (2,)}) == (2,)


def test_a_row_is_number_name_kind_and_how_many():
    assert fields("") == ()
    assert fields("3 a Net@,\n 4 b string") == (
        Field(3, "a", "Net", "@"),
        Field(4, "b", "string"),
    )
    assert TOY.enum_word("Colour", 2) == "BLUE"
    assert [TOY.enum_word("Colour", number) for number in (1, 7, -1)] == [1, 7, -1]


def test_googles_library_is_loaded_when_a_class_is_asked_for():
    code = (
        "import sys, workbench.dump.formats.container_header, workbench.graph_files.formats\n"
        "import workbench.graph_files.ge.binary, workbench.graph_files.ge.text; print('google.protobuf' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
