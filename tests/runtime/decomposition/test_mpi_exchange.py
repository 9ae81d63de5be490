"""Halos of fields on simulated GPUs by a stand-in for MPI: staged, or from the GPU's memory."""

import ctypes
import queue
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor

import attrs
import numpy as np
import pytest

import fieldforge as ff
from fieldforge.examples.icosahedral import Cell, Edge, icosahedral
from fieldforge.runtime.decomposition import mpi_exchange
from fieldforge.runtime.decomposition.mesh import decompose
from fieldforge.runtime.decomposition.mpi_exchange import MpiExchange, is_aware
from fieldforge.runtime.decomposition.partitioning import bisect
from fieldforge.runtime.process.device import Device, DeviceType

ON_NULL = Device(DeviceType.NULL, 0)
MESH = icosahedral(2, 1)


@attrs.define
class Request:
    """A persistent request: it copies when it starts, or when it is waited for."""

    start: object
    wait: object
    freed: bool = False

    def Start(self):
        self.start()

    def Wait(self):
        self.wait()

    def Free(self):
        self.freed = True


@attrs.define(slots=False)
class Comm:
    """What an exchange asks of mpi4py, for ranks that are threads; memory of GPUs is taken, too."""

    rank: int
    boxes: dict
    given: list = attrs.Factory(list)
    requests: list = attrs.Factory(list)
    freed: bool = False

    def Dup(self):
        return self

    def Free(self):
        self.freed = True

    def Send_init(self, buffer, rank, tag):
        box = self.boxes[self.rank, rank, tag]
        return self._keep(buffer, lambda: box.put(bytes(buffer)), lambda: None)

    def Recv_init(self, buffer, rank, tag):
        box, room = self.boxes[rank, self.rank, tag], np.frombuffer(buffer, np.uint8)
        return self._keep(
            buffer, lambda: None, lambda: np.copyto(room, np.frombuffer(box.get(timeout=20), "u1"))
        )

    def _keep(self, buffer, start, wait):
        self.given.append(buffer)
        self.requests.append(Request(start, wait))
        return self.requests[-1]


def exchanged(direct, place=ON_NULL):
    """Exchange fields of two kinds on three ranks, three times; return the communicators."""
    parts = decompose(
        MESH.connectivities(), Cell, bisect(MESH.cell_points, 3), attached=["E2C", "V2C"], halo=2
    )
    boxes = defaultdict(queue.SimpleQueue)

    def run(part):
        comm = Comm(part.rank, boxes)
        exchange = MpiExchange(comm, part.patterns, direct=direct)
        fields, wholes = [], []
        for dim, dtype in ((Cell, np.float64), (Edge, np.float32)):
            points = part.points[dim]
            mine = np.where(points.levels == 0, points.global_ids, -1).astype(dtype)
            fields.append(ff.as_field([dim], mine, device=place))
            wholes.append(points.global_ids)
        for _ in range(3):
            exchange.start(*fields)
            exchange.finish()
        for field, whole in zip(fields, wholes, strict=True):
            np.testing.assert_array_equal(field.asnumpy(), whole)
        exchange.close()
        return comm

    with ThreadPoolExecutor(3) as pool:
        return list(pool.map(run, parts))


def is_of_gpu(buffer):
    return isinstance(buffer, ctypes.Array)


@pytest.mark.parametrize("direct", [True, False])
def test_mpi_gets_memory_of_the_gpu_if_it_is_told_to_take_it(direct):
    comms = exchanged(direct)

    assert {is_of_gpu(each) for comm in comms for each in comm.given} == {direct}


@pytest.mark.parametrize("takes", [True, False])
def test_by_default_the_library_is_asked(monkeypatch, takes):
    monkeypatch.setattr(mpi_exchange, "takes_memory_of", lambda device: takes)

    assert {is_of_gpu(each) for comm in exchanged(None) for each in comm.given} == {takes}


def test_fields_of_the_host_are_sent_from_the_host():
    comms = exchanged(True, Device(DeviceType.CPU, 0))

    assert not any(is_of_gpu(each) for comm in comms for each in comm.given)


def test_an_exchange_that_is_closed_frees_its_requests_and_its_communicator():
    for comm in exchanged(None):
        assert comm.freed
        assert comm.requests
        assert all(each.freed for each in comm.requests)


class OpenMpi:
    def __init__(self, cuda):
        self.MPIX_Query_cuda_support = lambda: cuda


class Mpich:
    def MPIX_GPU_query_support(self, kind, place):
        ctypes.cast(place, ctypes.POINTER(ctypes.c_int))[0] = int(kind == 2)
        return 0


@pytest.mark.parametrize(
    ("library", "platform", "expected"),
    [
        (OpenMpi(1), "cuda", True), (OpenMpi(0), "cuda", False), (OpenMpi(1), "hip", False),
        (OpenMpi(1), "null", False), (Mpich(), "hip", True), (Mpich(), "cuda", False),
        (Mpich(), "null", False), (object(), "cuda", False),
    ],
)  # fmt: skip
def test_libraries_tell_in_their_own_ways(library, platform, expected):
    assert is_aware(library, platform) is expected
