import threading
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

import attrs
import pytest

from fieldforge.cache.disk import Disk
from fieldforge.cache.memory import Memory
from fieldforge.runtime.process.errors import WorkflowError
from fieldforge.stages.base import Stage
from fieldforge.workflows.engine.engine import Engine
from fieldforge.workflows.engine.events import Collector, Failed, Finished, Started, Warned
from fieldforge.workflows.graph.graph import Workflow

from ..stand_ins import RUNS, Fail, Measure, Numbers, Read, Sort, Source, Total, Words

CHAIN = Workflow.chain(Read(), Sort(), Measure(), Total())
METRES = Words(("m",))


def inputs(text="pear fig", uses=()):
    return {"source": Source("p", text, uses), "unit": METRES}


def outcomes(results):
    return {name: result.outcome for name, result in results.items()}


def again(engine, seen=None):
    """Return an engine as another process would have it: the same store, nothing in memory."""
    return Engine(Disk(engine.store.path), observers=[seen] if seen else [])


def test_every_stage_runs_once_and_hands_on_what_it_made(engine):
    results = engine.run(CHAIN, inputs(), program="p")

    assert results["total"].outputs["entry"].get() == "7 m"
    assert RUNS == {"read": 1, "sort": 1, "measure": 1, "total": 1}
    assert outcomes(results) == dict.fromkeys(CHAIN.names, "ran")


def test_second_run_finds_everything_in_memory(engine):
    engine.run(CHAIN, inputs(), deep=False)

    results = engine.run(CHAIN, inputs(), deep=False)

    assert outcomes(results) == {
        "read": "memory", "sort": "memory", "measure": "memory", "total": "ran",
    }  # fmt: skip


def test_other_process_finds_one_record_and_runs_only_the_last_stage(engine):
    engine.run(CHAIN, inputs())
    RUNS.clear()

    results = again(engine).run(CHAIN, inputs())

    assert results["total"].outputs["entry"].get() == "7 m"
    assert outcomes(results) == {"measure": "deep", "total": "ran"}
    assert RUNS == {"total": 1, "decode": 2}


def test_artifacts_are_encoded_once_for_all_records(engine, monkeypatch):
    encoded = []
    files = Words.files
    monkeypatch.setattr(Words, "files", lambda self: encoded.append(self) or files(self))

    engine.run(CHAIN, inputs())

    assert [type(each) for each in encoded].count(Numbers) == 1


def test_other_process_finds_each_stage_on_disk_and_decodes_only_the_last(engine):
    engine.run(CHAIN, inputs(), until=["measure"])
    RUNS.clear()

    results = again(engine).run(CHAIN, inputs(), until=["measure"])

    assert set(outcomes(results).values()) == {"disk"}
    assert RUNS == {}
    assert results["measure"].outputs["lengths"].get() == Numbers(("3", "4"))
    assert RUNS == {"decode": 1}


def test_option_runs_its_stage_and_those_whose_input_changed(engine):
    engine.run(CHAIN, inputs())

    results = engine.run(CHAIN.replace(sort=Sort(backwards=True)), inputs())

    assert outcomes(results) == {
        "read": "memory", "sort": "ran", "measure": "ran", "total": "ran",
    }  # fmt: skip


def test_option_that_changes_nothing_stops_at_its_stage(engine):
    engine.run(CHAIN, inputs("fig"), deep=False)

    results = engine.run(CHAIN.replace(sort=Sort(backwards=True)), inputs("fig"), deep=False)

    assert results["sort"].outcome == "ran"
    assert results["measure"].outcome == "memory"


def test_input_from_outside_is_in_the_key_by_content(engine):
    engine.run(CHAIN, inputs(), until=["measure"])

    same = engine.run(CHAIN, {**inputs(), "unit": Words(("m",))}, until=["measure"])
    other = engine.run(CHAIN, {**inputs(), "unit": Words(("km",))}, until=["measure"])

    assert (same["measure"].outcome, other["measure"].outcome) == ("memory", "ran")


def test_version_of_a_stage_is_in_the_key(engine):
    @attrs.frozen
    class Newer(Sort):
        version: ClassVar = "2"

    old = engine.run(CHAIN, inputs(), until=["sort"])["sort"]
    new = engine.run(CHAIN.replace(sort=Newer()), inputs(), until=["sort"])["sort"]

    assert old.components["version"] != new.components["version"]
    assert old.key != new.key


def test_what_a_stage_says_of_its_environment_is_in_the_key(engine):
    @attrs.frozen
    class Elsewhere(Sort):
        def environment(self):
            return {"compiler": "g++ 13"}

    result = engine.run(CHAIN.replace(sort=Elsewhere()), inputs(), until=["sort"])["sort"]

    assert result.components["environment.compiler"] == "g++ 13"


def test_option_that_does_not_count_is_not_in_the_key(engine):
    engine.run(CHAIN, inputs(), until=["sort"])

    result = engine.run(CHAIN.replace(sort=Sort(delay=0.001)), inputs(), until=["sort"])["sort"]

    assert result.outcome == "memory"


def test_many_threads_build_each_stage_once(engine):
    flow = CHAIN.replace(sort=Sort(delay=0.05))
    start = threading.Barrier(16)

    def ask(_):
        start.wait()
        return engine.run(flow, inputs(), deep=False)["total"].outputs["entry"].get()

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(ask, range(16)))

    assert set(answers) == {"7 m"}
    assert (RUNS["read"], RUNS["sort"], RUNS["measure"]) == (1, 1, 1)


@pytest.mark.parametrize("executor", [None, ThreadPoolExecutor(2)], ids=["default", "executor"])
def test_independent_stages_run_at_once(executor, several_jobs):
    meeting = threading.Barrier(2, timeout=20)

    @attrs.frozen
    class Meet(Sort):
        def run(self, **found):
            meeting.wait()  # breaks unless the other branch is here at the same time
            return super().run(**found)

    flow = Workflow.merge(
        up=CHAIN.replace(sort=Meet()).upto("sort"),
        down=CHAIN.replace(sort=Meet(backwards=True)).upto("sort"),
    )

    results = Engine(Memory(), executor=executor).run(flow, inputs())

    assert results["down.sort"].outputs["ordered"].get().words == ("pear", "fig")
    assert list(results) == ["read", "up.sort", "down.sort"]


@pytest.fixture
def several_jobs(setting):
    setting(jobs=2)


def test_prerequisites_run_first_and_each_once(engine):
    shared = Source("shared", "c")
    top = (Source("left", "a", (shared,)), Source("right", "b", (shared,)))

    results = engine.run(CHAIN, inputs("d", top), until=["read"])

    assert RUNS["read"] == 4
    assert results["read"].outputs["words"].get().words == ("c", "a", "c", "b", "d")


def test_prerequisites_of_any_depth_do_not_recurse():
    source = Source("bottom", "x")
    for level in range(3000):
        source = Source(f"level{level}", "", (source,))

    results = Engine(Memory()).run(Workflow.chain(Read()), {"source": source})

    assert results["read"].outputs["words"].get().words == ("x",)
    assert RUNS["read"] == 3001


def test_source_that_needs_itself_is_refused(engine):
    one = Source("one", "a")
    object.__setattr__(one, "uses", (Source("two", "b", (one,)),))

    with pytest.raises(WorkflowError, match="'one' needs itself: 'one' -> 'two' -> 'one'"):
        engine.run(Workflow.chain(Read()), {"source": one}, program="one")


def test_trusted_prerequisites_are_not_looked_up_again(engine):
    below = Source("below", "a")
    engine.run(Workflow.chain(Read()), {"source": below}, deep=False)
    above = Source("above", "b", (below,))
    before = len(engine.observers[0].events)

    engine.run(Workflow.chain(Read()), {"source": above}, deep=False, trust=True)

    told = engine.observers[0].events[before:]
    assert [type(event) for event in told] == [Started, Finished]


def test_error_is_the_stages_own_with_the_program_as_a_note(engine, seen):
    flow = CHAIN.replace(sort=Fail())

    with pytest.raises(ValueError, match="cannot be sorted") as caught:
        engine.run(flow, inputs(), program="fruit")

    assert caught.value.__notes__ == ["While building 'fruit', stage 'sort'."]
    assert RUNS["measure"] == 0
    assert [event.stage for event in seen.events if isinstance(event, Failed)] == ["sort"]


def test_failed_stage_may_be_tried_again(engine):
    flow = CHAIN.replace(sort=Fail())
    for _ in range(2):
        with pytest.raises(ValueError, match="cannot be sorted"):
            engine.run(flow, inputs())

    assert RUNS["fail"] == 2


def test_first_error_cancels_what_has_not_begun(engine, setting):
    setting(jobs=0)  # stages run in turn
    flow = Workflow.merge(bad=Workflow.chain(Read(), Fail()), good=Workflow.chain(Read(), Sort()))

    with pytest.raises(ValueError, match="cannot be sorted"):
        engine.run(flow, inputs())

    assert RUNS["sort"] == 0


def test_missing_input_is_named(engine):
    with pytest.raises(WorkflowError, match="needs the input 'unit', got source"):
        engine.run(CHAIN, {"source": Source("p", "a")})


def test_stage_that_does_not_provide_its_port_is_named(engine):
    @attrs.frozen
    class Forgetful(Sort):
        def run(self, **found):
            return {}

    with pytest.raises(WorkflowError, match="'sort' must provide 'ordered', got nothing"):
        engine.run(CHAIN.replace(sort=Forgetful()), inputs())


def test_stage_that_provides_another_class_is_named(engine):
    @attrs.frozen
    class Wrong(Sort):
        def run(self, **found):
            return {"ordered": "pear"}

    with pytest.raises(WorkflowError, match="'ordered' of stage 'sort' must be 'Words', got 'str'"):
        engine.run(CHAIN.replace(sort=Wrong()), inputs())


def test_input_without_key_parts_is_refused(engine):
    @attrs.frozen
    class Silent(Stage):
        name: ClassVar = "silent"
        needs: ClassVar = ("source",)
        provides: ClassVar = {"words": Words}

    with pytest.raises(WorkflowError, match="'source' of stage 'silent' is no artifact"):
        engine.run(Workflow.chain(Silent()), {"source": Source("p", "a")})


def test_damaged_entry_is_made_again_and_reported(engine):
    class Damaged(Disk):
        """Finds records whose files have been lost."""

        def read(self, record, port):
            return None if record.stage == "sort" else super().read(record, port)

    engine.run(CHAIN, inputs(), until=["sort"])
    seen = Collector()
    other = Engine(Damaged(engine.store.path), observers=[seen])

    results = other.run(CHAIN, inputs(), until=["measure"])

    assert results["measure"].outputs["lengths"].get() == Numbers(("3", "4"))
    assert seen.ran() == ("sort", "measure")
    warnings = [event.message for event in seen.events if isinstance(event, Warned)]
    assert warnings == ["The stored output 'ordered' is missing or damaged; its stage runs again."]


def test_files_that_are_overwritten_on_disk_are_rebuilt(engine):
    first = engine.run(CHAIN, inputs())
    for file in engine.store.path.rglob("*"):
        if file.is_file() and file.parent.parent.name in ("act", "cas"):
            file.chmod(0o600)
            file.write_bytes(file.read_bytes()[:-3] + b"???")
    RUNS.clear()

    results = again(engine).run(CHAIN, inputs())

    assert results["total"].outputs["entry"].get() == first["total"].outputs["entry"].get()
    assert RUNS["sort"] == 1


def test_seconds_and_components_are_in_the_record(engine):
    result = engine.run(CHAIN, inputs(), until=["sort"], program="p")["sort"]

    record = engine.store.find(result.key)

    assert record is not None
    assert (record.stage, record.program) == ("sort", "p")
    assert dict(record.components)["option.backwards"] == "False"
    assert record.seconds == pytest.approx(result.seconds, abs=1e-5)


def test_processes_lock_only_what_is_awaited(engine):
    class Quick(Sort):
        is_awaited: ClassVar[bool] = False

    engine.run(Workflow.chain(Read(), Quick(), Measure(), Total()), inputs(), deep=False)

    results = again(engine).run(Workflow.chain(Read(), Quick()), inputs(), deep=False)
    keys = {name: result.key for name, result in results.items()}
    locks = {path.name for path in engine.store.path.glob("v1/lock/*/*")}
    assert keys["read"] in locks
    assert keys["sort"] not in locks
    assert outcomes(results) == {"read": "disk", "sort": "disk"}
