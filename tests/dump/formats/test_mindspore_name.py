"""Names are checked against real file names of MindSpore 2.0.0 and 2.10.0 and the format tables."""

import pytest

from kit.words import refused
from workbench.core.errors import FormatError
from workbench.dump.formats.file import FileName
from workbench.dump.formats.mindspore_name import (
    format_name,
    parse_npy_name,
    sanitize,
    short_name,
)
from workbench.dump.formats.renamed import is_renamed, is_too_long
from workbench.dump.releases import release

CONV = FileName(
    "npy", "Conv2D", "Default/net.a/Conv2D-op12", 17, 0, 3, "input", 1, "NC1HWC0", "float16"
)


def spelled_by_2_0(parts):
    """The name as 2.0.0 prints it: no scope, no number format; names of parameters keep their dots."""
    numbers = f"{parts.task_id}.{parts.stream_id}.{parts.timestamp_us}"
    place = f"{parts.io}.{parts.slot}.{parts.format}"
    return f"{parts.op_type}.{parts.op_name}.{numbers}.{place}.npy"


def test_every_name_of_the_real_dumps_reads_and_writes_back_to_itself(real_pairs):
    count = 0
    for pair in real_pairs.values():
        old = pair.name.endswith("ms200")
        for path in pair.folder.rglob("*.npy"):
            if not is_renamed(path.name):
                count += 1
                assert not is_too_long("mindspore", path.name)
                parts = parse_npy_name(path.name)
                again = spelled_by_2_0(parts) if old else format_name(parts, "2.10.0", device="CPU")
                assert again == path.name
    assert count > 5000


def test_real_names_became_numbers_just_when_they_are_too_long(real_pairs):
    tables = [path for pair in real_pairs.values() for path in pair.folder.rglob("mapping.csv")]
    rows = [line.split(",") for path in tables for line in path.read_text().splitlines()]
    assert len(rows) == 8
    for short, name in rows:
        assert is_renamed(short)
        assert is_too_long("mindspore", name)
        assert format_name(parse_npy_name(name), "2.10.0", device="CPU") == name


@pytest.mark.parametrize(
    ("version", "device", "name"),
    [
        ("2.3.1", "Ascend", "Conv2D.Default_net_a_Conv2D-op12.0.3.17.input.1.NC1HWC0.npy"),
        ("2.4.0", "Ascend", "Conv2D.Default_net_a_Conv2D-op12.0.3.17.input.1.NC1HWC0.float16.npy"),
        ("2.10.0", "CPU", "Conv2D.Default_net_a_Conv2D-op12.0.3.17.input.1.NC1HWC0.Float16.npy"),
    ],
)
def test_each_version_writes_its_own_form(version, device, name):
    assert format_name(CONV, version, device=device) == name


@pytest.mark.parametrize("version", ["1.2.0", "2.2.14"])
def test_a_version_that_is_not_written_is_refused(version):
    with refused("dump/version-old", FormatError, got=version):
        format_name(CONV, version)


@pytest.mark.parametrize("version", ["", "two", "2", "2.x", "v2.3"])
def test_a_version_that_is_none_is_refused(version):
    with refused("dump/version", FormatError, got=version):
        release(version)


def test_a_release_candidate_counts_as_its_release():
    assert release("2.7.rc1") == release("2.7.0rc1") == (2, 7, 0)
    assert release("2.10.0") > release("2.9.1")


def test_slashes_backslashes_dots_and_spaces_become_underscores():
    assert sanitize(r"a/b\c.d e:f-g") == "a_b_c_d_e:f-g"


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("Default/net/Conv2D-op12", "Conv2D-op12"),
        ("a--b/c--d", "d"),
        ("moments.conv1.weight", "moments.conv1.weight"),
    ],
)
def test_old_versions_keep_the_last_part_alone(name, short):
    assert short_name(name) == short
