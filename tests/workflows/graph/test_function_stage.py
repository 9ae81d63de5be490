import pytest

from fieldforge.runtime.process.errors import OptionError, WorkflowError
from fieldforge.workflows.engine.events import Warned
from fieldforge.workflows.engine.inspection import make_trace
from fieldforge.workflows.graph.function_stage import Text, stage
from fieldforge.workflows.graph.graph import Workflow

from ..stand_ins import Read, Sort, Source, Words, count


@stage(provides={"ordered": Words})
def shorten(ordered, *, letters=2):
    count("shorten")
    return Words(tuple(word[:letters] for word in ordered.words))


@stage(provides={"report": Text})
def report(ordered):
    return Text(f"{len(ordered.words)} words")


CHAIN = Workflow.chain(Read(), Sort())
INPUTS = {"source": Source("p", "pear fig")}


def run(engine, flow):
    return engine.run(flow, INPUTS, program="p")


def test_function_becomes_a_stage_with_ports_and_options():
    assert (shorten.name, shorten.needs, dict(shorten.provides)) == (
        "shorten", ("ordered",), {"ordered": Words},
    )  # fmt: skip
    assert shorten.letters == 2
    assert shorten(Words(("pear",)), letters=1) == Words(("p",))


def test_own_stage_runs_between_others_and_can_be_looked_at(engine):
    flow = CHAIN.insert_after("sort", shorten).insert_after("shorten", report)

    trace = make_trace("p", flow.plan, run(engine, flow), engine.store)

    assert trace["shorten"].text == "fi pe"
    assert trace["report"].text == "2 words"


def test_own_stage_is_cached_like_ours(engine):
    flow = CHAIN.insert_after("sort", shorten)
    run(engine, flow)

    again = run(engine, flow)
    changed = run(engine, flow.replace(shorten=shorten.with_options(letters=1)))

    assert again["shorten"].outcome == "memory"
    assert changed["shorten"].outcome == "ran"
    assert engine.store.find(changed["shorten"].key) is not None


def test_source_of_the_function_is_in_the_key(engine):
    def variant(sign):
        @stage(provides={"ordered": Words}, name="mark")
        def mark(ordered):
            return Words(tuple(word + sign for word in ordered.words))

        return mark

    one = run(engine, CHAIN.insert_after("sort", variant("!")))["mark"]
    two = run(engine, CHAIN.insert_after("sort", variant("?")))["mark"]

    assert one.key != two.key
    assert two.outputs["ordered"].get().words == ("fig?", "pear?")


def test_function_without_source_is_remembered_in_memory_only_and_says_so(engine, seen):
    scope = {"stage": stage, "Words": Words}
    text = "@stage(provides={'ordered': Words})\ndef hidden(ordered):\n    return ordered\n"
    exec(compile(text, "<nowhere>", "exec"), scope)
    flow = CHAIN.insert_after("sort", scope["hidden"])

    first, second = run(engine, flow), run(engine, flow)

    assert (first["hidden"].outcome, second["hidden"].outcome) == ("ran", "memory")
    assert engine.store.find(first["hidden"].key) is None
    assert ["in this process only" in event.message for event in warnings(seen)] == [True]


def warnings(seen):
    return [event for event in seen.events if isinstance(event, Warned)]


def test_text_with_an_own_stage_parses_back():
    flow = CHAIN.insert_after("sort", shorten.with_options(letters=4))

    assert str(flow) == "read -> sort -> shorten(letters=4)"
    registry = {"read": Read, "sort": Sort, "shorten": shorten}
    assert Workflow.parse(str(flow), registry) == flow


def test_unknown_option_names_the_nearest():
    with pytest.raises(OptionError, match=r"no option 'leters'.\nHint: Did you mean 'letters'"):
        shorten.with_options(leters=3)


def test_option_without_default_is_refused():
    with pytest.raises(WorkflowError, match="Option 'letters' of stage 'cut' has no default"):

        @stage(provides={"ordered": Words})
        def cut(ordered, *, letters):
            return ordered
