"""The store: whole files or none, nothing damaged is used, a bound, several processes."""

import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest

from tests.conftest import ROOT
from validation_core import keys
from validation_core import store as store_module
from validation_core.describe import describe
from validation_core.engine import SelfCheck
from validation_core.store import Store

SPEC = keys.canonical_text(SelfCheck(seed=3))
KINDS = ("models", "results", "tables", "jobs")


def arrays():
    rng = np.random.default_rng(0)
    return {
        "strided": rng.standard_normal((5, 4)).astype(np.float32).T,
        "scalar": np.array(2.5),
        "foreign bytes": np.arange(6, dtype=">f4").reshape(2, 3),
        "empty": np.zeros((0, 3)),
        "flags": np.array([True, False]),
        "file": np.arange(3),
    }


def keep(store, key, *, kind="results", size=1000, used=None):
    store.save(kind, key, {"a": np.zeros(size, np.uint8)}, spec=SPEC, meta={})
    path = store.path_of(kind, key)
    if used is not None:
        os.utime(path, (used, used))
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_saved_is_loaded(store, kind):
    meta = {"auc": np.float64(0.75), "losses": np.array([1.0, 2.0]), "device": "cpu", "none": None}
    store.save(kind, "k1", arrays(), spec=SPEC, meta=meta)
    stored = Store(store.root).load(kind, "k1")
    assert stored.spec == SPEC
    assert stored.meta == {"auc": 0.75, "losses": [1.0, 2.0], "device": "cpu", "none": None}
    assert stored.arrays.keys() == arrays().keys()
    for name, array in arrays().items():
        assert type(stored.arrays[name]) is np.ndarray
        assert stored.arrays[name].dtype == array.dtype.newbyteorder("=")
        np.testing.assert_array_equal(stored.arrays[name], array)
    assert store.has(kind, "k1")
    assert not store.notices


def test_text_arrays_are_kept_in_tables(store):
    store.save("tables", "t", {"names": np.array(["<b>a</b>", "θ"])}, spec="file.npz", meta={})
    assert store.load("tables", "t").arrays["names"].tolist() == ["<b>a</b>", "θ"]


def test_nothing_is_pickled_and_names_stay_inside(store):
    with pytest.raises(ValueError, match="plain numbers"):
        store.save("results", "k", {"a": np.array([{}])}, spec="", meta={})
    with pytest.raises(ValueError, match="named __about__"):
        store.save("results", "k", {"__about__": np.zeros(1)}, spec="", meta={})
    for key in ("../k", "", "a/b", "a.b"):
        with pytest.raises(ValueError, match="letters, digits"):
            store.has("results", key)
    assert not list((store.root / "tmp").iterdir())


def test_missing_and_deleted_keys_hold_nothing(store):
    assert store.load("models", "k") is None
    keep(store, "k")
    store.delete("results", "k")
    store.delete("results", "k")
    assert store.load("results", "k") is None
    assert not store.has("results", "k")


@pytest.mark.parametrize("kind", KINDS)
def test_any_flipped_byte_is_noticed_or_harmless(store, kind):
    path = store.path_of(kind, "k")
    store.save(kind, "k", arrays(), spec=SPEC, meta={"auc": 0.5})
    whole, saved = path.read_bytes(), keys.digest(**store.load(kind, "k").arrays)
    caught = 0
    for place in np.random.default_rng(1).integers(0, len(whole), 60):
        broken = bytearray(whole)
        broken[place] ^= 1 << int(place % 8)
        path.write_bytes(broken)
        stored = store.load(kind, "k")
        if stored is None:
            caught += 1
            assert not path.exists()
        else:  # the format's own padding: the content is as it was
            assert keys.digest(**stored.arrays) == saved
            assert (stored.spec, stored.meta) == (SPEC, {"auc": 0.5})
    assert caught > 10
    assert "damaged" in store.notices[0]


@pytest.mark.parametrize("content", [b"", b"not a store file", b"PK\x03\x04 cut short"])
@pytest.mark.parametrize("kind", ["models", "results"])
def test_a_damaged_file_is_moved_aside_said_and_made_again(store, kind, content):
    path = keep(store, "k", kind=kind)
    path.write_bytes(content)
    assert store.entries() == []
    assert store.load(kind, "k") is None
    assert [p.name for p in (store.root / "damaged").iterdir()] == [f"{kind}-{path.name}"]
    assert len(store.notices) == 1
    assert path.name in store.notices[0]
    keep(store, "k", kind=kind)
    assert store.load(kind, "k") is not None


def test_verify_reads_everything(store):
    keep(store, "good")
    bad = keep(store, "bad", size=5000)
    raw = bytearray(bad.read_bytes())
    raw[-3000] ^= 1
    bad.write_bytes(raw)
    assert len(store.entries()) == 2  # the description alone is sound
    problems = store.verify()
    assert len(problems) == 1
    assert "bad.npz" in problems[0]
    assert store.verify() == []


def test_entries_tell_what_is_there_last_used_first(store):
    keep(store, "old", used=1000)
    store.save("models", "new", arrays(), spec=SPEC, meta={"device": "cpu", "auc": 0.9})
    keep(store, "job", kind="jobs")
    new, old = store.entries()
    assert (new.kind, new.key, new.spec, new.meta["auc"]) == ("models", "new", SPEC, 0.9)
    new_path = store.path_of("models", "new")
    assert new.bytes == new_path.stat().st_size
    assert abs(new.created - time.time()) < 60
    assert old.used == 1000
    os.utime(new_path, (2000, 2000))  # clocks of file systems have steps
    store.load("results", "old")
    assert store.entries()[0].key == "old"


def test_the_bound_drops_what_was_used_longest_ago(tmp_path):
    store = Store(tmp_path, limit=30_000)
    for i in range(5):
        keep(store, f"k{i}", size=8000, used=1000 + i)
    store.load("results", "k2")
    keep(store, "k5", size=8000)
    remaining = {entry.key for entry in store.entries()}
    assert {"k5", "k2"} <= remaining
    assert not remaining & {"k0", "k1"}
    assert store.size() <= store.limit


def test_a_folder_is_not_measured_at_every_file(tmp_path, monkeypatch):
    """But when its room is used up, and after each hundredth of the bound: others write, too."""
    measured = []
    size = Store.size
    monkeypatch.setattr(Store, "size", lambda store: measured.append(1) or size(store))
    store = Store(tmp_path, limit=8_000_000)
    for i in range(30):
        keep(store, f"k{i}", size=8000)
    assert 2 <= len(measured) <= 5, "80 kB are ten of them"
    keep(Store(tmp_path), "other", size=7_900_000)
    keep(store, "large", size=80_000)
    assert not store.has("results", "k0")


def test_the_bound_is_one_for_all_and_lowering_it_prunes(tmp_path):
    store, other = Store(tmp_path), Store(tmp_path, limit=5)
    for i in range(4):
        keep(store, f"k{i}", size=8000, used=1000 + i)
    keep(store, "job", kind="jobs", size=8000)
    store.limit = 20_000
    assert other.limit == Store(tmp_path).limit == 20_000
    assert [entry.key for entry in store.entries()] == ["k3", "k2"]
    assert store.has("jobs", "job")
    store.limit = 1
    assert [entry.key for entry in store.entries()] == ["k3"]  # the last one stays, however large
    with pytest.raises(ValueError, match="positive"):
        store.limit = 0


def test_what_an_ended_writer_left_goes_after_an_hour(store):
    keep(store, "k")
    fresh, stale = store.root / "tmp" / "a.npz", store.root / "tmp" / "b.npz"
    for path in (fresh, stale):
        path.write_bytes(b"half")
    os.utime(stale, (1000, 1000))
    store.prune()
    assert fresh.exists()
    assert not stale.exists()


def test_the_gallery_is_read_second_and_never_written(tmp_path):
    gallery = Store(tmp_path / "gallery")
    keep(gallery, "shipped")
    bad = keep(gallery, "bad")
    bad.write_bytes(b"damaged")
    store = Store(tmp_path / "own", gallery=gallery.root)
    assert store.load("results", "shipped") is not None
    assert store.has("results", "shipped")
    assert store.load("results", "bad") is None
    assert bad.exists()
    assert "gallery" in store.notices[0]
    (entry,) = store.entries()
    assert entry.shipped
    assert store.size() == 0
    store.delete("results", "shipped")
    assert store.load("results", "shipped") is not None
    again = Store.at(json.loads(json.dumps(store.place())))
    assert again.load("results", "shipped") is not None


def test_an_unwritable_folder_is_said_and_replaced_in_memory(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    store = Store(blocked / "cache")
    assert "must be writable" in store.notices[0]
    assert "NPTLAB_CACHE" in store.notices[0]
    keep(store, "k")
    assert store.load("results", "k") is not None
    assert blocked.read_text() == "not a folder"
    again = Store.at(store.place())
    assert again.load("results", "k") is not None


def test_what_was_kept_in_memory_is_written_once_the_disk_is_back(tmp_path, monkeypatch):
    """Without another save."""
    monkeypatch.setattr(store_module, "RETRY", 0.02)
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    store = Store(blocked / "cache")
    keep(store, "k")
    assert store.awaits_disk
    blocked.unlink()
    for _ in range(500):
        if not store.awaits_disk:
            break
        time.sleep(0.02)
    assert (blocked / "cache" / "results").exists()
    assert not store.awaits_disk
    assert not store.notices


def test_the_folder_comes_from_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("NPTLAB_CACHE", str(tmp_path / "here"))
    assert Store().root == tmp_path / "here"


def test_a_folder_that_was_deleted_comes_back(tmp_path):
    store = Store(tmp_path / "store")
    (tmp_path / "store").rmdir()
    assert store.entries() == []
    keep(store, "k")
    assert store.has("results", "k")


WRITER = """
import sys, numpy as np, pathlib
from validation_core.store import Store
store = Store(pathlib.Path(sys.argv[1]), limit=60_000)
for i in range(40):
    rng = np.random.default_rng(i % 4)
    kind = ("models", "results")[i % 2]
    store.save(kind, f"k{i % 4}", {"a": rng.standard_normal(2000)}, spec=str(i % 4), meta={})
    found = store.load(kind, f"k{i % 4}")
    assert found is None or found.spec == str(i % 4)
    store.entries(); store.prune()
assert not store.notices, store.notices
"""


def test_several_processes_write_the_same_keys_at_once(tmp_path):
    command = [sys.executable, "-W", "error", "-c", WRITER, str(tmp_path)]
    writers = [subprocess.Popen(command, cwd=ROOT) for _ in range(3)]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    store = Store(tmp_path)
    assert store.verify() == []
    assert store.entries()
    assert not list((tmp_path / "tmp").iterdir())


def typed(name, **fields):
    return {"type": f"validation_core.some:{name}", "version": 1, **fields}


def test_a_specification_reads_as_a_person_would_say_it():
    gaussian = typed("Gaussian", perturbation="mean_shift", dim_x=50, dim_theta=10)
    spec = typed(
        "TrainTask",
        seed=0,
        gamma=0.15,
        benchmark=gaussian,
        recipe=typed("Classifier", preset="interactive", lr=2e-4, keep_best=False, device=None),
    )
    assert describe(json.dumps(spec, sort_keys=True)) == (
        "train · gaussian mean_shift (50,10) · gamma 0.15 · classifier interactive lr 0.0002 · "
        "seed 0"
    )
    several = [typed("SelfCheck", seed=i) for i in range(3)]
    assert describe(json.dumps(several)) == "self check · seed 0 and 2 more"
    grid = typed("Grid", betas=[0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 1.0], methods=[typed("SBC")])
    assert describe(json.dumps(grid)) == "grid · betas (0, 0.1, …, 1) · methods (sbc)"


@pytest.mark.parametrize("text", ["my file.npz", "", "3", "[]", "{}", '{"type": 3}'])
def test_other_text_is_given_as_it_is(text):
    assert describe(text) == text


def test_what_another_process_wrote_is_read_anew(tmp_path):
    """A file system gives a freed inode to the next file but one, here of the same size."""
    here, there = Store(tmp_path), Store(tmp_path)
    for done in range(8):
        here.save("jobs", "k", {}, spec="x", meta={"done": done})
        if done % 2 == 0:
            assert there.records()["k"].meta["done"] == done
