"""One rank hands the others their parts."""

import pickle
import queue
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor

import attrs
import pytest

from fieldforge.errors import ArgumentError
from fieldforge.runtime.decomposition.scattering import scattered


@attrs.frozen
class Comm:
    """Ranks that are threads; objects travel as pickles."""

    rank: int
    size: int
    boxes: defaultdict

    def send(self, value, dest, tag):
        self.boxes[dest, tag].put(pickle.dumps(value))

    def recv(self, source, tag):
        assert source == 0
        return pickle.loads(self.boxes[self.rank, tag].get(timeout=20))


@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_each_rank_gets_its_own_part_of_an_iterator(ranks):
    boxes = defaultdict(queue.SimpleQueue)

    def run(rank):
        made = ({"of": number} for number in range(ranks)) if rank == 0 else None
        return scattered(Comm(rank, ranks, boxes), made)

    with ThreadPoolExecutor(ranks) as pool:
        found = list(pool.map(run, range(ranks)))

    assert found == [{"of": rank} for rank in range(ranks)]


def test_fewer_parts_than_ranks_are_an_error():
    with pytest.raises(ArgumentError, match="Expected a part for each of 3 ranks, got 2"):
        scattered(Comm(0, 3, defaultdict(queue.SimpleQueue)), [1, 2])
