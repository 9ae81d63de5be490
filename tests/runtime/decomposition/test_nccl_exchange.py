"""Halos that travel from GPU to GPU, by a stand-in for NCCL on simulated devices."""

import ctypes
import gc
import queue
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import attrs
import numpy as np
import pytest

import fieldforge as ff
from fieldforge.errors import ArgumentError
from fieldforge.examples.icosahedral import Cell, Edge, K, icosahedral
from fieldforge.examples.shallow_water.simulation import Case, simulate
from fieldforge.runtime import gpu
from fieldforge.runtime.decomposition import nccl
from fieldforge.runtime.decomposition.mesh import decompose
from fieldforge.runtime.decomposition.nccl_exchange import NcclExchange
from fieldforge.runtime.decomposition.partitioning import bisect
from fieldforge.runtime.process.device import Device, DeviceType
from fieldforge.workflows.backends.backend import BACKENDS

from ...processes import python

MESH = icosahedral(2, 1)


@attrs.frozen
class Comm:
    """What an exchange asks of mpi4py, for ranks that are threads."""

    rank: int
    size: int
    said: queue.SimpleQueue

    def bcast(self, value):
        if self.rank:
            return self.said.get(timeout=20)
        for _ in range(1, self.size):
            self.said.put(value)
        return value


class StandIn:
    """NCCL for threads: bytes go through queues, in the order of the streams."""

    def __init__(self):
        self.boxes = defaultdict(queue.SimpleQueue)
        self.groups = 0

    def unique_id(self):
        return b"the same"

    def communicator(self, size, name, rank, device):
        assert name == b"the same"
        return StandInRanks(self.boxes, rank, device)


class StandInRanks:
    def __init__(self, boxes, rank, device):
        self._boxes, self._rank, self._device, self._later = boxes, rank, device, None

    @contextmanager
    def group(self):
        self._later = []
        yield
        for array, rank, stream in self._later:
            words = self._boxes[rank, self._rank].get(timeout=20)
            assert len(words) == array.nbytes
            stream.sync()
            ctypes.memmove(array.ptr, words, len(words))
        self._later = None

    def send(self, array, rank, stream):
        assert stream.device == array.device == self._device
        stream.sync()
        self._boxes[self._rank, rank].put(ctypes.string_at(array.ptr, array.nbytes))

    def destroy(self):
        self._boxes["destroyed"].put(self._rank)

    def receive(self, array, rank, stream):
        assert array.device == self._device
        self._later.append((array, rank, stream))


def values(part, dims, dtype):
    dim = next(each for each in dims if each in part.points)
    ids = part.points[dim].global_ids % 97
    whole = ids if len(dims) == 1 else ids[:, None] + np.arange(4)
    whole = whole.T if dims[-1] == dim and len(dims) == 2 else whole
    mine = np.moveaxis(np.array(whole, dtype), dims.index(dim), 0).copy()
    mine[part.points[dim].owned :] = 0
    return whole.astype(dtype), np.moveaxis(mine, 0, dims.index(dim))


def on_each_rank(run, ranks):
    library, said = StandIn(), queue.SimpleQueue()
    with ThreadPoolExecutor(ranks) as pool:
        runs = [pool.submit(run, Comm(rank, ranks, said), library) for rank in range(ranks)]
        return [each.result(timeout=60) for each in runs]


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_halos_arrive_for_every_kind_of_field(ranks):
    parts = decompose(
        MESH.connectivities(), Cell, bisect(MESH.cell_points, ranks), attached=["E2C", "V2C"],
        halo=2, ranks=ranks,
    )  # fmt: skip
    kinds = [((Cell,), np.float64), ((K, Edge), np.float32), ((Cell, K), np.int16)]

    def run(comm, library):
        part, number = parts[comm.rank], comm.rank % 2
        device = gpu.Device(number, platform="null")
        exchange = NcclExchange(comm, part.patterns, device=device, library=library)
        made = [values(part, *kind) for kind in kinds]
        place = Device(DeviceType.NULL, number)
        fields = [
            ff.as_field(dims, mine, device=place)
            for (dims, _), (_, mine) in zip(kinds, made, strict=True)
        ]
        with gpu.use_stream(gpu.Stream(device)):
            for untouched in (False, True, True):
                exchange.start(*fields, untouched=untouched)
                exchange.finish()
            found = [field.asnumpy() for field in fields]
        for (expected, _), got in zip(made, found, strict=True):
            np.testing.assert_array_equal(got, expected)
        exchange.close()

    on_each_rank(run, ranks)


def test_fields_of_the_host_are_refused():
    (part,) = decompose(
        MESH.connectivities(), Cell, np.zeros(MESH.cells, int), attached=["E2C", "V2C"], halo=1
    )
    (two, _) = decompose(
        MESH.connectivities(), Cell, bisect(MESH.cell_points, 2), attached=["E2C", "V2C"], halo=1
    )
    device = gpu.Device(0, platform="null")
    comm = Comm(0, 1, queue.SimpleQueue())
    alone = NcclExchange(comm, part.patterns, device=device, library=StandIn())
    field = ff.zeros({Cell: MESH.cells})
    alone(field)  # there is nothing to send

    exchange = NcclExchange(comm, two.patterns, device=device, library=StandIn())
    with pytest.raises(ArgumentError, match=r"Expected fields on .*, got one that lies elsewhere"):
        exchange.start(ff.zeros({Cell: len(two.points[Cell].levels)}))


class Library:
    """The functions of NCCL, of which one fails; `ended` tells how communicators ended."""

    def __init__(self):
        self.ended = []
        self.ncclGetErrorString = lambda code: b"it is odd"  # functions take attributes
        self.ncclGetUniqueId = lambda place: 3
        self.ncclCommInitRank = self._begin
        self.ncclCommDestroy = lambda handle: self._end("destroyed", handle)
        self.ncclCommAbort = lambda handle: self._end("aborted", handle)

    def _begin(self, place, _size, _name, rank):
        ctypes.cast(place, ctypes.POINTER(ctypes.c_void_p))[0] = 100 + rank
        return 0

    def _end(self, how, handle):
        self.ended.append((how, handle.value))
        return 0


def communicator(library, rank):
    device = gpu.Device(0, platform="null")
    return nccl.Nccl(library).communicator(2, b"x" * nccl.ID_SIZE, rank, device)


def test_a_communicator_that_is_destroyed_ends_once():
    library = Library()
    made = communicator(library, 1)
    made.destroy()
    made.destroy()
    del made
    gc.collect()

    assert library.ended == [("destroyed", 101)]


def test_a_communicator_that_nobody_destroys_is_aborted_with_its_last_reference():
    library = Library()
    made = communicator(library, 0)
    assert library.ended == []
    del made
    gc.collect()

    assert library.ended == [("aborted", 100)]


def test_a_process_that_ends_aborts_its_communicators():
    program = """
from tests.runtime.decomposition.test_nccl_exchange import Library, communicator
library = Library()
library.ended = type("Told", (list,), {"append": lambda self, each: print(*each, flush=True)})()
kept = communicator(library, 1)
"""
    done = python("-c", program, check=True, cwd=Path(__file__).parents[3])

    assert done.stdout.split() == ["aborted", "101"]


def test_an_exchange_that_is_closed_destroys_its_communicator():
    def run(comm, library):
        device = gpu.Device(0, platform="null")
        exchange = NcclExchange(comm, (), device=device, library=library)
        exchange.close()
        return library

    library = on_each_rank(run, 2)[0]

    assert sorted(library.boxes["destroyed"].get(timeout=1) for _ in range(2)) == [0, 1]


def test_errors_of_nccl_are_told():
    with pytest.raises(nccl.NcclError, match=r"ncclGetUniqueId failed: it is odd \(code 3\)"):
        nccl.Nccl(Library()).unique_id()


@pytest.mark.needs_compiler
def test_the_model_has_the_bits_of_the_cpu_on_a_simulated_gpu_by_any_exchange():
    case = Case(name="5", level=2, days=0.1)
    on_cpu = simulate(case, ff.cpu.with_options(numerics="strict"))
    simulated = attrs.evolve(
        BACKENDS["gpu-host"].with_options(on_device=True, numerics="strict"),
        allocator=BACKENDS["gpu"].allocator,
    )

    with gpu.use_platform("null"):
        runs = [simulate(case, simulated, ranks=ranks) for ranks in (1, 2)]

    for each in runs:
        assert (each.h.tobytes(), each.u.tobytes()) == (on_cpu.h.tobytes(), on_cpu.u.tobytes())
