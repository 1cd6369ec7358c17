"""Free bytes of the disks to which the service writes."""

import os
import tempfile

import pytest

from modhub.admin.free_space import free_bytes


@pytest.fixture(autouse=True)
def _temporary(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_a_folder_has_the_free_bytes_of_its_disk(tmp_path):
    # C-RUN-28
    status = os.statvfs(tmp_path)
    expected = {"storage": pytest.approx(status.f_bavail * status.f_frsize, rel=0.1)}
    assert free_bytes({"modhub.storage": f"file://{tmp_path}"}) == expected


def test_a_temporary_folder_on_another_disk_is_measured_too(tmp_path):
    # C-RUN-28
    assert free_bytes({"modhub.storage": "file:///proc"}).keys() == {"storage", "temporary"}
    for storage in ("s3://bucket/prefix", "", f"file://{tmp_path}/lost"):
        assert free_bytes({"modhub.storage": storage}).keys() == {"temporary"}
