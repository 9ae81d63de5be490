"""The commands `fieldforge cache ...`: inspect, verify, prune and pack the store."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

import click

from ...cache.disk import Disk
from ...cache.opening import SUFFIX, read_secret
from ...cache.record import Record
from ...cache.store import Store
from ...runtime.process import StoreError, classes, current
from ...stages.compile.pins import Pin, add_pins, parse_pins
from ...stages.compile.stage import Compile
from ..backends.backend import BACKENDS, Backend
from ..engine.engine import Engine, engine, using
from .arguments import Size, backend_of, find_program, report_errors
from .printed import print_table

_SHORT = 12  # digits of a key in a table


@click.group()
def cache() -> None:
    """Inspect, verify, prune and pack the store of stage results."""


@cache.command(epilog="Example: ls $(fieldforge cache path)")
@report_errors
def path() -> None:
    """Print the folder of the store, which FIELDFORGE_CACHE_DIR sets."""
    click.echo(str(engine().store.path))


@cache.command(epilog="Example: fieldforge cache stats")
@report_errors
def stats() -> None:
    """Count the results in the store and in the layers below it."""
    found = ((place, store.stats()) for place, store in _stores(engine().store))
    print_table(
        ("store", "results", "files of their own", "size"),
        ((place, f"{each.records}", f"{each.blobs}", f"{each.size / 1e6:.1f} MB")
         for place, each in found),
    )  # fmt: skip


@cache.command("ls", epilog="Example: fieldforge cache ls --program smooth --stage compile")
@click.option("--program", help="List only results of this program.")
@click.option("--stage", help="List only results of this stage.")
@report_errors
def list_records(program: str | None, stage: str | None) -> None:
    """List results: key, stage, program, size, creation time and duration."""
    lines = (
        (record.key[:_SHORT], record.stage, record.program, f"{_size(record)}",
         time.strftime("%Y-%m-%d %H:%M", time.localtime(record.created)), f"{record.seconds:.3f}")
        for record in engine().store.records(stage, program)
    )  # fmt: skip
    print_table(("key", "stage", "program", "size", "made", "seconds"), lines)


@cache.command(epilog="Example: fieldforge cache show 3fa9c2d1e0b7 --file log.txt")
@click.argument("key")
@click.option("--file", "name", help="Print this file of the result as text.")
@report_errors
def show(key: str, name: str | None) -> None:
    """Print the key components and files of a result; KEY may be its first digits."""
    record = _record(key)
    if name is not None:
        click.echo(_file(record, name).decode(errors="replace"), nl=False)
        return
    click.echo(f"{record.stage} of {record.program}, {record.seconds:.3f} s\nkey  {record.key}")
    for title, pairs in (("made of", record.components), ("about", record.meta)):
        click.echo(f"\n{title}")
        for label, value in pairs:
            click.echo(f"  {label}: {value}")
    click.echo("\nfiles")
    for output in record.outputs:
        for file in output.files:
            click.echo(f"  {output.port}/{file.name}  {file.size}  {file.sha256[:_SHORT]}")


@cache.command(epilog="Example: fieldforge cache verify")
@report_errors
def verify() -> None:
    """Verify all results, quarantine damaged ones, and exit with 1 if there were any."""
    from ...cache.checking import verify as check

    found = check(_own_disk())
    click.echo(f"{found.records} results, {found.blobs} files, {found.unused} of them unused")
    for key in found.incomplete:
        click.echo(f"incomplete: {key} names a file that is missing or damaged")
    if not found.is_sound:
        raise click.ClickException(
            f"{found.damaged} damaged, {len(found.incomplete)} incomplete; builds replace them."
        )
    click.echo("All results are intact.")


@cache.command(epilog="Example: fieldforge cache gc --size 2G --dry-run")
@click.option("--size", type=Size(), help="Bytes to keep, such as 500M [FIELDFORGE_CACHE_SIZE].")
@click.option("--files", type=int, help="Number of files to keep.")
@click.option("--days", type=float, help="Drop results that were not used for this many days.")
@click.option(
    "--all", "everything", is_flag=True, help="Also drop results that were used recently."
)
@click.option("--dry-run", is_flag=True, help="Report what would be dropped; drop nothing.")
@report_errors
def gc(
    size: int | None, files: int | None, days: float | None, everything: bool, dry_run: bool
) -> None:
    """Drop the least recently used results, but none that was used within four hours."""
    from ...cache.eviction import DAY, Budget

    budget = Budget(size=current().cache_size if size is None else size)
    if files is not None:
        budget = classes.evolve(budget, files=files)
    if days is not None:
        budget = classes.evolve(budget, age=days * DAY)
    if everything:
        budget = classes.evolve(budget, spare=0.0)
    try:
        found = _own_disk().prune(budget, dry=dry_run)
    except OSError as error:
        raise StoreError(f"The store cannot be pruned: {error.strerror}.") from error
    click.echo(
        f"{'Would drop' if dry_run else 'Dropped'} {found.records} results and {found.blobs} "
        f"files, {found.freed / 1e6:.1f} MB; {found.size / 1e6:.1f} MB are left."
    )


@cache.command(epilog="Example: fieldforge cache pack model.dynamics:step -o model.ffpack")
@click.argument("programs", metavar="MODULE:PROGRAM...", nargs=-1, required=True)
@click.option("-o", "--output", required=True, help=f"The file to write, such as model{SUFFIX}.")
@click.option("--backend", type=click.Choice(sorted(BACKENDS)), help="Build by this backend.")
@report_errors
def pack(programs: tuple[str, ...], output: str, backend: str | None) -> None:
    """Pack all results that programs need to start into one file; build missing ones.

    The programs then start without a compiler, once FIELDFORGE_CACHE_LAYERS names the file or it
    is unpacked. FIELDFORGE_CACHE_KEY signs the pack.
    """
    from ...cache.pack import Recorder, write_pack

    recorder = Recorder(engine().store)
    pins: list[Pin] = []
    for name in programs:
        entry = find_program(name, backend, recorder)
        with using(Engine(recorder)):
            entry.trace()
            entry.build()
        pins += _pins(backend_of(entry))
    head = {"programs": list(programs), "pins": [pin.row() for pin in dict.fromkeys(pins)]}
    records = [recorder.seen[key] for key in sorted(recorder.seen)]
    count = write_pack(output, recorder, records, head, read_secret(current().cache_key))
    size = os.path.getsize(os.path.expanduser(output)) / 1e6
    click.echo(f"{output}: {count} results of {len(programs)} programs, {size:.1f} MB")


@cache.command(epilog="Example: fieldforge cache unpack model.ffpack")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--trust", is_flag=True, help="Accept a pack that FIELDFORGE_CACHE_KEY did not sign.")
@report_errors
def unpack(file: Path, trust: bool) -> None:
    """Copy the results of a pack to the store; skip damaged and unsigned ones."""
    from ...cache.pack import Pack, unpack as copy

    secret = read_secret(current().cache_key)
    owners = (file.stat().st_uid,) if trust else ()
    found = Pack(file, secret=secret, signed=not trust, owners=owners)
    if not found.is_pack:
        raise StoreError(
            f"'{file}' is no pack, or it is damaged.",
            hints=("'fieldforge cache pack' writes packs.",),
        )
    if secret is None and not trust:
        raise StoreError(
            f"'{file}' is not verified by a key, and the contents of a pack run as code.",
            hints=("Give --trust if it is yours, or name its key in FIELDFORGE_CACHE_KEY.",),
        )
    disk = _own_disk()
    count = copy(found, disk)
    if not count:
        signed = "" if trust else " and signed by the key"
        raise StoreError(f"'{file}' holds no result that is intact{signed}.")
    if disk.stats().failed_writes:
        raise StoreError(f"Not all results of '{file}' could be written to {disk.path}.")
    add_pins(disk.path, parse_pins(found.head().get("pins", ())))
    click.echo(f"{count} results are in {disk.path}")


def _pins(backend: Backend) -> Iterable[Pin]:
    target = backend.target
    for _, stage in backend.workflow.nodes:
        if isinstance(stage, Compile) and target is not None:
            yield Pin(tuple(sorted(stage.environment().items())), target)


def _own_disk() -> Disk:
    for _, store in _stores(engine().store):
        if isinstance(store, Disk) and store.writable:
            return store
    raise StoreError("There is no store on disk to work on.")


def _stores(used: Store) -> list[tuple[str, Store]]:
    """Return the store and the layers below it, by place."""
    layers = getattr(used, "layers", (used,))
    places = [used.path, *current().cache_layers] if len(layers) > 1 else [used.path]
    disks = layers[1:] if len(layers) > 1 else layers
    return [(str(place), store) for place, store in zip(places, disks, strict=False)]


def _record(key: str) -> Record:
    found = [record for record in engine().store.records() if record.key.startswith(key)]
    if len(found) != 1:
        raise StoreError(
            f"{len(found) or 'No'} results have a key that begins with '{key}', expected one.",
            hints=("'fieldforge cache ls' lists them.",),
        )
    return found[0]


def _file(record: Record, name: str) -> bytes:
    for output in record.outputs:
        files = engine().store.read(record, output.port) or {}
        if name in files:
            return files[name]
    known = ", ".join(file.name for output in record.outputs for file in output.files)
    raise StoreError(f"The result has no file '{name}' that is whole; it names {known or 'none'}.")


def _size(record: Record) -> int:
    return sum(file.size for output in record.outputs for file in output.files)
