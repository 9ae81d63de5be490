"""The code that makes a result is in its key: the toolchain's, and the user's."""

import functools
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import attrs
import pytest

from fieldforge.cache import code
from fieldforge.cache.code import (
    code_digest,
    function_digest,
    reach,
    read_sources,
    toolchain_digest,
)
from fieldforge.cache.fingerprint import fingerprint

from ..processes import python


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Make a small toolchain: lower uses rewrite, compile uses neither."""
    files = {
        "stages/__init__.py": "",
        "stages/lower/__init__.py": "from .fuse import fuse\n",
        "stages/lower/fuse.py": "from ...runtime.language import (\n    types,\n)\n"
        "from ..ir import rewrite\n",
        "stages/ir/__init__.py": "",
        "stages/ir/rewrite.py": "import fieldforge.cache.store\n",
        "stages/compile/__init__.py": "def run():\n    from ...runtime.calls.plan import Plan\n",
        "runtime/__init__.py": "",
        "runtime/language/types.py": "",
        "runtime/calls/plan.py": "",
        "runtime/native/call.hpp": "struct Call;\n",
        "runtime/notes.txt": "",
        "cache/__init__.py": "",
        "cache/store.py": "from ..stages.lower import fuse  # a loop does no harm\n",
        "cache/__pycache__/store.py": "",
        "workflows/__init__.py": "",
    }
    for name, text in files.items():
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (1_000_000_000, 1_000_000_000))
    return tmp_path / "tree"


@pytest.fixture
def memo(tmp_path: Path) -> str:
    (tmp_path / "v1/tmp").mkdir(parents=True)
    return str(tmp_path / "v1" / "sources.json")


def test_all_sources_are_read_and_nothing_else(tree):
    names = set(read_sources(str(tree), None))
    assert "runtime/native/call.hpp" in names
    assert "stages/lower/fuse.py" in names
    assert not {"runtime/notes.txt", "cache/__pycache__/store.py"} & names
    assert len(names) == 13


def test_a_module_reaches_what_it_imports_and_the_packages_around(tree):
    sources = read_sources(str(tree), None)
    assert reach(sources, ["stages.compile"]) == (
        "runtime/__init__.py",
        "runtime/calls/plan.py",
        "stages/__init__.py",
        "stages/compile/__init__.py",
    )
    assert set(reach(sources, ["stages.lower"])) == {
        "cache/__init__.py",
        "cache/store.py",
        "runtime/__init__.py",
        "runtime/language/types.py",
        "stages/__init__.py",
        "stages/ir/__init__.py",
        "stages/ir/rewrite.py",
        "stages/lower/__init__.py",
        "stages/lower/fuse.py",
    }


def test_an_edit_changes_the_digest_of_its_file_only(tree):
    before = read_sources(str(tree), None)
    (tree / "stages/ir/rewrite.py").write_text("# faster\n")
    after = read_sources(str(tree), None)
    changed = {name for name in before if before[name].digest != after[name].digest}
    assert changed == {"stages/ir/rewrite.py"}


def test_a_remembered_source_is_not_read_again(tree, memo, monkeypatch):
    fresh = read_sources(str(tree), memo)
    monkeypatch.setattr(code, "_read", lambda *_: pytest.fail("read again"))
    assert read_sources(str(tree), memo) == fresh


def test_an_edit_of_equal_size_is_seen(tree, memo):
    (tree / "runtime/calls/plan.py").write_text("a = 1\n")
    os.utime(tree / "runtime/calls/plan.py", (1_000_000_000, 1_000_000_000))
    before = read_sources(str(tree), memo)
    (tree / "runtime/calls/plan.py").write_text("a = 2\n")
    after = read_sources(str(tree), memo)
    assert before["runtime/calls/plan.py"].digest != after["runtime/calls/plan.py"].digest


def test_a_file_that_may_still_change_under_its_time_stamp_is_not_remembered(tree, memo):
    (tree / "runtime/calls/plan.py").write_text("a = 1\n")
    read_sources(str(tree), memo)
    assert b"runtime/calls/plan.py" not in Path(memo).read_bytes()
    assert b"runtime/language/types.py" in Path(memo).read_bytes()


@pytest.mark.parametrize("content", [b"", b"{}", b"fieldforge-sources-1 00\n{}", b"\xff" * 99])
def test_a_damaged_memo_is_none(content, tree, memo):
    expected = read_sources(str(tree), None)
    Path(memo).write_bytes(content)
    assert read_sources(str(tree), memo) == expected
    assert read_sources(str(tree), memo) == expected


def test_a_flipped_bit_in_the_memo_is_noticed(tree, memo, flipped):
    expected = read_sources(str(tree), memo)
    content = Path(memo).read_bytes()
    for bit in range(0, 8 * len(content), 37):
        flipped(Path(memo), bit, content)
        assert read_sources(str(tree), memo) == expected


def test_without_a_store_there_is_no_memo(tree, tmp_path):
    read_sources(str(tree), str(tmp_path / "nowhere" / "sources.json"))
    assert not (tmp_path / "nowhere").exists()


def test_two_processes_agree_on_the_toolchain(memo):
    script = (
        "import sys; from fieldforge.cache.code import *; m = sys.argv[1] or None;"
        "print(toolchain_digest(memo=m), toolchain_digest('cache.store', memo=m))"
    )

    def ask(seed: str, memo: str) -> str:
        return python("-c", script, memo, check=True, env={"PYTHONHASHSEED": seed}).stdout

    for _ in range(5):  # somebody may be editing the sources at this moment
        said = {ask("1", ""), ask("2", memo), ask("3", memo)}
        if len(said) == 1:
            break
    assert len(said) == 1
    whole, part = said.pop().split()
    assert whole != part


def test_a_module_of_ours_may_be_named_in_full():
    assert toolchain_digest("fieldforge.cache.store") == toolchain_digest("cache.store")
    assert toolchain_digest("cache.sealed") != toolchain_digest("cache.store")
    assert toolchain_digest("not.ours") == toolchain_digest()


def test_a_file_edited_under_a_running_process_makes_its_results_its_own(tree, monkeypatch):
    monkeypatch.setattr(code, "_ROOT", str(tree))
    script = f"""
import os, time
from fieldforge.cache import code
code._ROOT = {str(tree)!r}
code._wheel_record = lambda: None
time.sleep(0.02)
os.utime({str(tree / "runtime/calls/plan.py")!r})
print(code.toolchain_digest(), code.toolchain_digest("runtime.language.types"))
"""
    run = functools.partial(subprocess.run, check=True, capture_output=True, text=True)
    first, second = (run([sys.executable, "-c", script]).stdout.split() for _ in range(2))
    assert first[0] != second[0]
    assert first[1] == second[1]


def test_an_installed_wheel_is_known_by_its_record(tmp_path, monkeypatch):
    info = tmp_path / "fieldforge-1.0.dist-info"
    info.mkdir()
    monkeypatch.setattr(code, "_ROOT", str(tmp_path / "fieldforge"))
    code._wheel_record.cache_clear()
    try:
        (info / "RECORD").write_text("fieldforge/__init__.py,sha256=aa,1\n")
        assert code._wheel_record() is None
        code._wheel_record.cache_clear()
        (info / "RECORD").write_text("fieldforge/cache/code.py,sha256=aa,1\n")
        one = code._wheel_record()
        code._wheel_record.cache_clear()
        (info / "RECORD").write_text("fieldforge/cache/code.py,sha256=bb,1\n")
        assert len({one, code._wheel_record(), None}) == 3
    finally:
        monkeypatch.undo()
        code._wheel_record.cache_clear()


USER = """
import functools

FACTOR = 2

def helper(x):
    return x + 1

def my_pass(ir):
    return helper(ir) * FACTOR

def made(n):
    def inner(ir, scale=1):
        return ir * n
    return inner

def counts(n):
    def down(k):
        return down(k - n) if k else 0
    return down

pair = [lambda x: x + 1, lambda x: x + 2]
"""


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Return a function that imports a text as a module of the user's."""
    counter = iter(range(100))

    def load(text: str, folder: str = "") -> Any:
        path = tmp_path / (folder or f"m{next(counter)}") / "mine.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        spec = importlib.util.spec_from_file_location("mine", path)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "mine", module)
        spec.loader.exec_module(module)
        return module

    return load


def test_a_user_s_function_is_its_text_and_not_its_place(load):
    one, other = (function_digest(load(USER).my_pass) for _ in range(2))
    assert one is not None
    assert one == other


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("helper(ir) * FACTOR", "helper(ir) + FACTOR"),
        ("return x + 1", "return x - 1"),
        ("FACTOR = 2", "FACTOR = 3"),
    ],
)
def test_an_edit_of_the_function_or_of_what_stands_beside_it_is_seen(old, new, load):
    before = function_digest(load(USER).my_pass)
    after = function_digest(load(USER.replace(old, new)).my_pass)
    assert before != after


def test_what_a_function_closes_over_counts(load):
    mine = load(USER)
    digests = {function_digest(mine.made(n)) for n in (1, 2, True, 1.0)}
    assert len(digests) == 4
    assert function_digest(mine.made(1)) == function_digest(mine.made(1))
    assert function_digest(mine.made(object())) is None


def test_a_function_that_calls_itself_has_a_digest(load):
    mine = load(USER)
    assert function_digest(mine.counts(1)) is not None
    assert function_digest(mine.counts(1)) != function_digest(mine.counts(2))


def test_two_lambdas_on_one_line_differ(load):
    one, other = load(USER).pair
    assert function_digest(one) != function_digest(other)


def test_a_function_without_source_has_no_digest():
    space: dict[str, Any] = {}
    exec("def f(x): return x", space)
    assert function_digest(space["f"]) is None


def test_an_edit_after_the_first_look_does_not_change_what_is_loaded(load):
    mine = load(USER)
    before = function_digest(mine.my_pass)
    Path(mine.__file__).write_text(USER.replace("+ 1", "+ 9"))
    assert function_digest(mine.my_pass) == before


STAGE = """
import attrs
from fieldforge.stages.base import Stage

@attrs.frozen
class Mine(Stage):
    name = "mine"
    times: int = 1

    def run(self, ir):
        return {"ir": ir}
"""


def test_a_user_s_stage_is_keyed_by_its_source_and_the_toolchain(load):
    changed = STAGE.replace('{"ir": ir}', '{"ir": [ir]}')
    one, same, other = (code_digest(load(text).Mine()) for text in (STAGE, STAGE, changed))
    assert one is not None
    assert one == same
    assert one != other


def test_the_options_of_a_stage_are_not_its_code(load):
    mine = load(STAGE).Mine
    assert code_digest(mine()) == code_digest(mine(times=2))
    assert fingerprint(mine()) != fingerprint(mine(times=2))


def test_a_user_s_stage_without_source_must_not_outlive_the_process():
    space: dict[str, Any] = {"__name__": "nowhere"}
    exec(STAGE, space)
    assert code_digest(space["Mine"]()) is None


def test_a_user_s_pass_among_the_options_is_in_the_fingerprint(load):
    one = fingerprint((load(USER).my_pass,))
    other = fingerprint((load(USER.replace("FACTOR = 2", "FACTOR = 3")).my_pass,))
    assert one != other


CALLABLE = """
import attrs

@attrs.frozen
class P:
    n: int = 1
    def __call__(self, x): return x
"""


def test_a_callable_value_of_a_user_s_class_counts_with_its_code(load):
    text = CALLABLE
    assert fingerprint(load(text).P()) == fingerprint(load(text).P())
    assert fingerprint(load(text).P()) != fingerprint(load(text.replace("return x", "pass")).P())


@attrs.frozen
class Options:
    passes: tuple[Any, ...]


def test_the_code_of_options_of_ours_counts():
    from fieldforge.cache import sealed, store
    from fieldforge.cache.store import Stats

    plain = set(code._modules(Options(())))
    assert set(code._modules(Options((sealed.seal, (store.ignore,))))) - plain == {
        "fieldforge.cache.sealed",
        "fieldforge.cache.store",
    }
    assert code_digest(Stats()) == toolchain_digest("cache.store")
