"""Big trees for benchmarks: dumps as the workbench reads them, with a rank that is wrong from some place on."""

import numpy as np
from job_trees import write_job

from workbench.dump.reader import load


def test_a_job_is_a_dump_and_one_rank_is_wrong_from_its_place_on(tmp_path):
    assert write_job(tmp_path / "job", 2, 2, 3, 64, wrong=(1, 1, 2)) == 12
    held = {}
    for record in load(tmp_path / "job").records:
        key = record.key
        held[key.rank, key.iteration, int(key.op_name.rpartition("op")[2])] = record.source.array()
    assert len(held) == 12
    wrong = [
        place for place, array in held.items() if not np.array_equal(array, held[(0, *place[1:])])
    ]
    assert wrong == [(1, 1, 2)]
    np.testing.assert_allclose(held[1, 1, 2], 1.5 * held[0, 1, 2], rtol=1e-6)


def test_sparse_files_take_no_disk_and_read_as_zeros(tmp_path):
    write_job(tmp_path / "job", 1, 1, 2, 1 << 22, sparse=True)
    records = load(tmp_path / "job").records
    assert [record.source.array().shape for record in records] == [(1 << 20,)] * 2
    assert not any(record.source.array().any() for record in records)
    files = [path.stat() for path in (tmp_path / "job").rglob("*.npy")]
    assert sum(one.st_blocks for one in files) * 512 < 1 << 20 < sum(one.st_size for one in files)
