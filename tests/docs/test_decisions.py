"""Decision records state what became of them, and agree about it."""

import pytest
from generate import decisions


def test_what_one_record_says_of_another_stands_there_too():
    said = {
        (number, verb, other)
        for number, path in decisions.records().items()
        for verb, other in decisions.relations(path.read_text())
    }
    backwards = {(other, decisions.BACK[verb], number) for number, verb, other in said}
    assert said == backwards
    assert said  # the records are found


def test_a_record_follows_what_it_refines():
    for number, path in decisions.records().items():
        for verb, other in decisions.relations(path.read_text()):
            assert (other < number) == (verb in {"Refines", "Supersedes"}), path.name


def test_the_page_shows_the_status_of_every_record():
    rows = decisions.page().splitlines()[6:]
    assert len(rows) == len(decisions.records())
    assert "superseded by [0018]" in next(row for row in rows if row.startswith("| [0006]"))
    assert "[0025](0025-rows-stay-near.md)" in next(
        row for row in rows if row.startswith("| [0008]")
    )


def test_a_record_without_a_status_is_refused():
    with pytest.raises(ValueError, match="Status: accepted"):
        decisions.status("# 0001 A title\n\n**Context.** ...")
