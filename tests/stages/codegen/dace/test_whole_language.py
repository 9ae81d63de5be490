"""Tables, scans, regions by DaCe: what is true of compiled code is true of this backend's."""

import pytest

from fieldforge.stages.codegen.dace.stage import CodegenDace

from .. import grids
from ..test_neighbours import (  # noqa: F401
    test_a_field_that_is_gathered_is_updated_in_place_from_its_old_values,
    test_a_horizontal_displacement_is_moved_inside_the_input,
    test_a_missing_neighbour_reads_nothing_from_outside,
    test_a_sparse_field_of_another_origin_is_refused,
    test_an_array_of_neighbours_is_as_large_as_the_table_says,
    test_an_input_that_lacks_a_neighbour_is_refused_with_the_range,
    test_an_output_may_be_the_memory_of_a_gathered_input,
)
from ..test_random_programs import (  # noqa: F401
    test_random_programs_agree_bit_for_bit_with_the_oracle,
)
from ..test_regions import (  # noqa: F401
    test_a_branch_is_read_on_its_own_part_only,
    test_a_region_of_neighbours_is_asked_by_their_index,
    test_an_array_of_one_branch_is_filled_where_that_branch_is_taken,
    test_what_does_not_vary_with_the_level_is_read_only_if_a_level_needs_it,
)
from ..test_scans import (  # noqa: F401
    test_a_field_that_a_scan_reads_is_updated_in_place,
)

pytestmark = [pytest.mark.needs_dace, pytest.mark.needs_compiler]


@pytest.fixture(autouse=True)
def native_uses_dace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grids, "Codegen", CodegenDace)
