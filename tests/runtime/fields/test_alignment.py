import numpy as np

from fieldforge.runtime.fields.alignment import align
from fieldforge.runtime.language.dimension import Dimension
from fieldforge.runtime.language.domain import Domain

I, J = Dimension("I"), Dimension("J")


def test_arrays_are_cut_to_the_common_domain_without_copies():
    a, b = np.arange(5), np.arange(12).reshape(3, 4)
    parts = [(a, Domain((I, (2, 7)))), (b, Domain((J, (0, 3)), (I, (4, 8))))]

    (left, right), common = align(parts)

    assert common == Domain((I, (4, 7)), (J, (0, 3)))
    assert np.array_equal(left, a[2:5, None])
    assert np.array_equal(right, b[:, 0:3].T)
    assert np.shares_memory(left, a)
    assert np.shares_memory(right, b)


def test_disjoint_domains_leave_nothing():
    (left, right), common = align(
        [(np.arange(3), Domain((I, (0, 3)))), (np.arange(3), Domain((I, (5, 8))))]
    )

    assert common.is_empty()
    assert left.shape == right.shape == (0,)
