"""Put, get, evict, corrupt, crash, open again, delete, in any order: the store tells the truth.

    python -m tests.faults.model 1000

It needs hypothesis, and no pytest.
"""

import argparse
import os
import random
import shutil
import sys
import tempfile
from pathlib import Path

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from fieldforge.cache.disk import Disk
from fieldforge.cache.eviction import Budget

from .sample import SIZE, is_there, is_wrong, keep, key

NUMBERS = st.integers(0, 5)
STEPS = 20  # of each order


class StoreMachine(RuleBasedStateMachine):
    """The model is the set of results that must still be there."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="fieldforge-model-"))
        self.disk = Disk(self.root)
        self.sure: set[int] = set()

    @rule(n=NUMBERS)
    def put(self, n: int) -> None:
        keep(self.disk, n)
        self.sure.add(n)

    @rule(n=NUMBERS)
    def get(self, n: int) -> None:
        assert not is_wrong(self.disk, n)
        assert n not in self.sure or is_there(self.disk, n)

    @rule()
    def open_again(self) -> None:
        self.disk = Disk(self.root)

    @rule(size=st.integers(0, 4))
    def evict(self, size: int) -> None:
        self.disk.prune(Budget(size=size * SIZE, spare=0.0))
        assert self.disk.stats().size <= size * SIZE
        self.sure = {n for n in self.sure if is_there(self.disk, n)}

    @rule(seed=st.integers(0, 999), deed=st.sampled_from(["flip", "cut", "delete", "link"]))
    def corrupt(self, seed: int, deed: str) -> None:
        """Spoil any file; results that needed it are not sure any more."""
        files = [path for path in sorted(self.root.rglob("*")) if path.is_file()]
        if not files:
            return
        path, chance = random.Random(seed).choice(files), random.Random(seed)
        content = bytearray(path.read_bytes())
        path.unlink()
        if deed == "link":
            path.symlink_to("/etc/hostname")
        elif deed != "delete" and content:
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
            path.write_bytes(content[: len(content) // 2] if deed == "cut" else content)
        self.sure = {n for n in self.sure if is_there(self.disk, n)}

    @rule(n=NUMBERS)
    def crash_before_the_record(self, n: int) -> None:
        """Leave what a process leaves that dies between the file and its record, and a draft."""
        keep(self.disk, n)
        (self.root / "v1/act" / key(n)[:2] / key(n)).unlink()
        left = self.root / "v1/tmp" / f"{os.uname().nodename}-1-00"
        left.mkdir(exist_ok=True)
        (left / "draft").write_bytes(b"half")
        self.sure.discard(n)

    @rule()
    def delete_everything(self) -> None:
        shutil.rmtree(self.root / "v1", ignore_errors=True)
        self.sure.clear()

    @invariant()
    def counts_are_of_this_store(self) -> None:
        assert self.disk.stats().records >= len(self.sure)

    def teardown(self) -> None:
        keep(Disk(self.root), 0)
        assert os.listdir(self.root / "v1/tmp") == []
        shutil.rmtree(self.root)


def run(rounds: int) -> None:
    """Try that many orders of steps; a wrong one is an error, made short first."""
    chosen = settings(max_examples=rounds, stateful_step_count=STEPS, deadline=None, database=None)
    run_state_machine_as_test(StoreMachine, settings=chosen)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rounds", type=int)
    args = parser.parse_args()
    run(args.rounds)
    sys.stdout.write(f"{args.rounds} orders of up to twenty steps: equal to the model\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
