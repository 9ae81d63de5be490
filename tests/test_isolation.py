"""The tests write to a store of their own, in this process and in those that they start."""

import os
import tempfile
from pathlib import Path

from fieldforge.runtime.process.settings import Settings

from .processes import python

OWN = {"FIELDFORGE_CACHE_DIR", "FIELDFORGE_LOCAL_DIR"}
ASK = "from fieldforge.runtime.process.settings import current; print(current().cache_dir)"


def test_the_store_of_a_run_is_temporary_and_its_own():
    found = Settings.from_env()
    places = (tempfile.gettempdir(), "/dev/shm")
    assert any(found.cache_dir.is_relative_to(place) for place in places)
    assert found.cache_dir.parent.name.startswith("fieldforge-tests-")
    assert found.local_dir.parent == found.cache_dir.parent


def test_processes_that_tests_start_use_it():
    done = python("-c", ASK, check=True)
    assert Path(done.stdout.strip()) == Settings.from_env().cache_dir


def test_no_preference_of_the_user_reaches_a_test():
    names = {name for name in os.environ if name.startswith("FIELDFORGE_")}
    assert names - OWN <= {
        "FIELDFORGE_CXX", "FIELDFORGE_GPU", "FIELDFORGE_JOBS", "FIELDFORGE_TIERS",
    }  # fmt: skip
    assert os.environ["FIELDFORGE_TIERS"] == "compiled"  # what ran does not depend on a clock
