"""The digests of generated code: a sample of them, and what is said where they differ."""

import fnmatch
import importlib
import json
import re
from pathlib import Path
from types import ModuleType

import attrs
import pytest

ROOT = Path(__file__).parent.parent.parent
SAMPLE = ("tridiagonal.solve", "laplacians.seven_points", "drawn 9")  # seconds, without compilers

OURS = "[!d]*"  # DaCe's rows depend on its version


@pytest.fixture
def sources(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("bench.sources")


def on_file(sources: ModuleType) -> dict[str, str]:
    return json.loads(sources.FILE.read_text())


def test_a_sample_of_generated_code_has_the_digests_on_file(sources):
    kept = on_file(sources)

    found = {
        name: row
        for program in SAMPLE
        for name, row in sources.rows_of(program, pattern=OURS).items()
    }

    known = {
        name: kept[name] for name in fnmatch.filter(kept, OURS) if name.split("/")[1] in SAMPLE
    }
    assert list(sources.differing(found, known)) == []  # else see `python -m bench.sources --help`
    assert {"columns", "columns, landing", "columns, long", "columns, as rows"} <= {
        kind for row in found.values() for kind in row.kinds
    }


def test_every_text_of_a_row_counts_and_a_listing_by_itself(sources):
    texts = {"source.txt": "int a;", "plan.json": "1", "loops.txt": "nest 0"}
    row = sources.row_of(texts)
    known = {"cpu/a/usual": row.text, "cpu/b/usual": row.text}

    for name, said in (
        ("source.txt", "source, interface or plan"),
        ("plan.json", "source, interface or plan"),
        ("loops.txt", "listing"),
    ):
        found = {"cpu/a/usual": sources.row_of({**texts, name: "other"}), "cpu/b/usual": row}
        assert list(sources.differing(found, known)) == [f"cpu/a/usual: {said}"]
    changed = {"cpu/a/usual": attrs.evolve(row, listing="other"), "cpu/c/usual": row}
    assert list(sources.differing(changed, known, listings=False)) == [
        "cpu/b/usual: is no longer generated",
        "cpu/c/usual: is not on file",
    ]


def test_the_corpus_has_every_kind_of_platform_and_choice(sources):
    corpus = importlib.import_module("bench.corpus")

    rows = [name.split("/") for name in on_file(sources)]

    assert {program for _, program, _ in rows} == set(corpus.programs())
    assert {(target, choice) for target, _, choice in rows} == {
        (target, choice)
        for target, made in corpus.TARGETS.items()
        for choice, given in corpus.CHOICES.items()
        if getattr(given, made.takes) is not None
    }
    assert all(
        re.fullmatch(r"[0-9a-f]{12} [0-9a-f]{12}", text) for text in on_file(sources).values()
    )
