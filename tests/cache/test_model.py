"""T13: whatever is done to a store on disk in whatever order, it gives the truth or nothing."""

from ..faults.model import run


def test_a_store_equals_its_model_in_25_orders_of_steps():
    run(25)
