"""Change every bit of a record and of a file, and cut them at every length: all of it is noticed.

python -m tests.faults.flips
"""

import argparse
import sys
from pathlib import Path

import attrs

from fieldforge.cache.disk import Disk
from fieldforge.cache.pack import Pack, write_pack
from fieldforge.cache.store import keep_result, read_outputs

from .report import tell
from .sample import key

SIZE = 20480  # more than a record takes in
OUTPUTS = {"out": {"library.so": bytes(range(256)) * (SIZE // 256), "log.txt": b"fine " * 300}}


@attrs.define
class Report:
    """How many changes there were, every `step`-th from `first` on, and which were believed."""

    step: int
    first: int
    flips: int = 0
    cuts: int = 0
    believed: list[str] = attrs.field(factory=list)

    @property
    def is_clean(self) -> bool:
        return not self.believed

    @property
    def text(self) -> str:
        lines = [f"{self.flips} flipped bits and {self.cuts} cuts, {len(self.believed)} believed"]
        return "\n".join([*lines, *self.believed])


def run(folder: Path, step: int, first: int = 0) -> Report:
    report = Report(step, first)
    disk = Disk(folder / "store")
    record = keep_result(disk, key(1), stage="compile", program="p", components={}, outputs=OUTPUTS)
    (blob,) = (folder / "store/v1/cas").glob("*/*")
    for path in (folder / "store/v1/act" / key(1)[:2] / key(1), blob):
        _spoil(path, disk, report)
    pack = folder / "all.ffpack"
    write_pack(pack, disk, [record], {"programs": ["p"]})
    _spoil_pack(pack, report)
    return report


def _spoil(path: Path, disk: Disk, report: Report) -> None:
    content = path.read_bytes()
    for what, spoilt in _versions(content, report):
        path.unlink(missing_ok=True)
        path.write_bytes(spoilt)
        record = disk.find(key(1))
        if record is not None and disk.read(record, "out") is not None:
            report.believed.append(f"{path.name[:8]}: {what}")
    path.unlink(missing_ok=True)
    path.write_bytes(content)


def _spoil_pack(path: Path, report: Report) -> None:
    """A pack has bits that mean nothing, such as dates; it must give the truth or nothing."""
    content = path.read_bytes()
    for what, spoilt in _versions(content, report, 8):
        path.write_bytes(spoilt)
        pack = Pack(path)
        record = pack.find(key(1))
        if record is not None and read_outputs(pack, record) not in (None, OUTPUTS):
            report.believed.append(f"pack: {what}")
    path.write_bytes(content)


def _versions(content: bytes, report: Report, each: int = 1):  # type: ignore[no-untyped-def]
    for bit in range(report.first * each, 8 * len(content), report.step * each):
        report.flips += 1
        spoilt = bytearray(content)
        spoilt[bit // 8] ^= 1 << bit % 8
        yield f"bit {bit}", bytes(spoilt)
    for size in range(report.first * each, len(content), report.step * each):
        report.cuts += 1
        yield f"cut to {size}", content[:size]
    yield "zeros", bytes(len(content))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--step", type=int, default=1, help="only every n-th bit and length")
    parser.add_argument("--first", type=int, default=0, help="begin with this one")
    args = parser.parse_args()
    return tell(lambda folder: run(folder, args.step, args.first))


if __name__ == "__main__":
    sys.exit(main())
