from fieldforge.cache.memory import Memory
from fieldforge.workflows.engine.dump import Dump
from fieldforge.workflows.engine.engine import Engine
from fieldforge.workflows.engine.events import Collector, Dumped
from fieldforge.workflows.graph.graph import Workflow

from ..stand_ins import Measure, Read, Sort, Source, Total, Words

CHAIN = Workflow.chain(Read(), Sort(), Measure(), Total())


def test_chosen_stages_are_written_as_text_and_told(tmp_path):
    seen = Collector()
    engine = Engine(Memory(), observers=[seen], dump=Dump(tmp_path, frozenset({"sort"})))

    engine.run(CHAIN, {"source": Source("p", "b a"), "unit": Words(("m",))}, program="fruit")

    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert written == [tmp_path / "fruit" / "sort.txt"]
    assert written[0].read_text() == "a b"
    told = [event.path for event in seen.events if isinstance(event, Dumped)]
    assert told == [str(written[0])]
