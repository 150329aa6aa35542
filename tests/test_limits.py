"""What a server's visitors may take follows from the memory that there is."""

import pytest

from validation_core import limits
from validation_core.limits import Limits, Quota

GB = 10**9


def test_a_large_machine_has_the_limits_that_are_documented_as_usual():
    assert Limits.of(24 * GB) == Limits.of(None) == Limits()


@pytest.mark.parametrize("memory", [GB // 4, GB // 2, GB, 2 * GB, 4 * GB, 8 * GB, 16 * GB])
def test_what_all_may_take_together_fits(memory):
    """The largest use of each part at once, from a quarter of a GB on where one starts at all."""
    these = Limits.of(memory)
    taken = (these.uploads.all + these.tables.all) * 10**6 + these.pages.all * 2 * 10**6
    assert taken <= 0.6 * memory
    assert these.workers >= 1
    assert these.readers * these.reader_memory <= max(300_000_000, 0.2 * memory)
    for share in (these.pages, these.uploads, these.tables, these.jobs):
        assert 0 < share.own <= share.all
    assert these.pages.own <= these.pages_of_address <= these.pages.all
    assert Limits.of(2 * memory).uploads.all >= these.uploads.all


def test_a_file_of_the_largest_size_is_taken_where_two_fit():
    assert Limits.of(4 * GB).uploads.own >= 200
    assert Limits.of(GB).uploads == Quota(112, 112)


@pytest.mark.parametrize(
    ("membership", "files", "expected"),
    [
        ("0::/", {"memory.max": "1000000000\n"}, GB),
        ("0::/", {"memory.max": "max\n"}, None),
        ("0::/a/b", {"a/memory.max": "1000", "a/b/memory.max": "max"}, 1000),
        ("0::/host/only", {"memory.max": "2000"}, 2000),
        ("9:cpu:/x\n4:memory:/x", {"memory/x/memory.limit_in_bytes": "3000"}, 3000),
        ("4:memory:/x", {"memory/memory.limit_in_bytes": "9223372036854771712"}, None),
        ("", {}, None),
    ],
)
def test_the_memory_of_a_container_counts_where_it_is_less(
    tmp_path, monkeypatch, membership, files, expected
):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "self").write_text(membership)
    monkeypatch.setattr(limits, "CGROUPS", tmp_path)
    monkeypatch.setattr(limits, "MEMBERSHIP", tmp_path / "self")
    monkeypatch.setattr(limits.os, "sysconf", lambda name: 4 * GB if "PAGES" in name else 1)
    assert limits.memory_bytes() == (expected or 4 * GB)


def test_a_system_that_tells_nothing_has_the_usual_limits(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "MEMBERSHIP", tmp_path / "none")
    monkeypatch.delattr(limits.os, "sysconf", raising=False)
    assert limits.memory_bytes() is None
