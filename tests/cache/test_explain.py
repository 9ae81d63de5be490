"""A miss is explained by the nearest record of the same stage and program."""

from fieldforge.cache.explain import Difference, differences, nearest
from fieldforge.cache.fingerprint import components_key
from fieldforge.cache.memory import Memory

OLD = {"cxx": "13.2", "isa": "v3", "source": "0f", "options": "fuse=1"}


def stored(store: Memory, sample, components, **changes):
    key = components_key(components)
    return sample.keep(store, key=key, components=components, **changes)


def test_the_record_that_shares_most_parts_is_the_nearest(sample):
    store = Memory()
    stored(store, sample, OLD | {"cxx": "12", "isa": "v2"})
    near = stored(store, sample, OLD)
    stored(store, sample, OLD | {"source": "aa", "isa": "v4"})
    stored(store, sample, OLD | {"cxx": "14"}, program="module:other")
    stored(store, sample, OLD | {"cxx": "14"}, stage="bind")
    assert nearest(store, "compile", "module:lap", OLD | {"cxx": "14"}) == near


def test_without_a_record_of_this_program_nothing_is_near(sample):
    store = Memory()
    stored(store, sample, OLD)
    assert nearest(store, "compile", "module:other", OLD) is None


def test_the_latest_of_equally_near_records_is_taken(sample, monkeypatch):
    store = Memory()
    for second, version in enumerate(["11", "12", "10"]):
        monkeypatch.setattr("time.time", lambda s=second: s)
        latest = stored(store, sample, OLD | {"cxx": version})
    assert nearest(store, "compile", "module:lap", OLD | {"cxx": "14"}) == latest


def test_differences_name_what_changed_appeared_and_went():
    new = {"cxx": "13.3", "isa": "v3", "source": "0f", "std": "20"}
    assert differences(OLD, new) == (
        Difference("cxx", "13.2", "13.3"),
        Difference("options", "fuse=1", None),
        Difference("std", None, "20"),
    )
    assert differences(tuple(OLD.items()), OLD) == ()
