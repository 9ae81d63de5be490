"""`tune`: find the fastest options of one program on real fields, and keep them in a file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, Final

from ...runtime import _core
from ...runtime.calls.machine import processor
from ...runtime.process import FieldforgeError, NotCompilableError, classes, settings
from ...stages.ir.dataflow import Dataflow
from ...stages.option_kinds import SECONDS
from ..backends.backend import BACKENDS, Backend
from ..entries.decorated import address_of
from ..options.database import TUNED, Database, database, tuned_file
from ..options.machine_names import names_of
from ..options.schema import Option
from .bench import Cost, RealBench
from .candidates import Choice, applied, by_digest, by_row, tunable_options
from .journal import Journal
from .kept_plans import keep_plans
from .ranking import Ranking, machine_of
from .refit import sizes_of
from .report import Report, Watch, watching
from .search import Search, Trial, in_turns, unranked
from .subject import Subject, make_subject
from .tuned_file import Winner, entries, keep, kept, put
from .verdict import Verdict

PLANS: Final = ".plans.jsonl.gz"
LAST_ROUNDS: Final = (21, 40, 120)  # of the winner and the start; more if noise leaves it open
RESERVE: Final = 0.9  # of the budget is for the search, the rest for the last comparison


class TuningError(FieldforgeError, RuntimeError):
    """A program does not agree with the reference before any option is changed."""


class TuningInterrupt(KeyboardInterrupt):
    """Ctrl-C during a tuning; `report` has what was found until then, which is kept."""

    def __init__(self, report: Report) -> None:
        super().__init__(report.summary)
        self.report = report


def tune(
    program: Any,
    args: Mapping[str, Any],
    *,
    budget: float = 60.0,
    options: Iterable[str] | None = None,
    file: str | Path | None = None,
    cost: Cost | None = None,
    progress: Watch = "auto",
    clock: Callable[[], float] = monotonic,
) -> Report:
    """Try the tunable options of a program on real fields, and keep the fastest.

    Each candidate writes the fields of `args`; they have their first values again in the end. Its
    results are compared with those of the reference backend. Candidates are measured in turns with
    the best one so far, and replace it only if the difference is larger than noise, twice.

    Args:
        program: a program or operator with a backend, or a set-up.
        args: the arguments of a call by name, with 'offset_provider' where there are tables.
        budget: the seconds that it takes; longer only if the reference, the first build and one
            measurement need more.
        options: names of the options to try; all that only change speed by default.
        file: the tuned file to write; by default the one beside the model's file of options. With
            neither, nothing is written.
        cost: what to make small for a `Candidate`; the seconds of a call by default.
        progress: 'auto' tells of each trial on stderr; a function is called with each `Trial`.
        clock: the seconds that the budget is compared with.

    Raises:
        OptionError: an option cannot be tuned, or the budget is no number of seconds.
        TuningError: the program without any new option does not agree with the reference.
        TuningInterrupt: Ctrl-C; what was found is kept, and the next run goes on from there.

    >>> import fieldforge as ff
    >>> I = ff.Dimension("I")
    >>> Line = ff.Field[ff.Dims[I], ff.float64]
    >>> @ff.field_operator
    ... def halved(u: Line) -> Line:
    ...     return u / 2.0
    >>> @ff.program(backend=ff.cpu)
    ... def halve(u: Line, out: Line):
    ...     halved(u, out=out)
    >>> fields = {"u": ff.ones({I: 64}), "out": ff.zeros({I: 64})}
    >>> report = ff.tune(halve, fields, options=["jam"], progress=None)
    >>> print(report.summary)  # there are no rows to compute together
    Nothing that was tried on ... is faster than noise.

    """
    begin = clock()
    SECONDS.taken("budget", budget)
    subject = make_subject(program, args)
    given = subject.entry.backend
    if given is None:
        raise NotCompilableError(
            f"'{subject.entry.__name__}' runs embedded and has no options to tune.",
            hints=["Select a backend with 'with_backend'."],
        )
    job = _Job.make(subject, given, file)
    end = begin + RESERVE * budget
    bench = RealBench(subject, job.base, cost, lambda: end - clock(), subject.expected())
    job.program = bench.program()
    chosen = tunable_options(job.base, options)
    ranking = _ranking(subject, job.base, bench, chosen)
    search = Search(
        bench,
        chosen,
        job.base.options,
        job.journal.known(),
        keep=job.keep,
        ranked=ranking or unranked,
        best=by_row(job.best, job.program),
    )
    refusal, of_best = bench.first([(), search.best])
    if refusal:
        raise TuningError(f"'{job.address}' cannot be tuned: {refusal}.")
    if of_best:  # the program has changed since
        search.best = ()
    with watching(progress, lambda: end - clock(), budget) as tell:
        search.tell = partial(_tell, (job.journal.add, tell))
        try:
            search.run()
            is_over = bench.is_over()
            bench.left = lambda: begin + budget - clock()
            return job.finished(search, bench, is_over)
        except KeyboardInterrupt:
            raise TuningInterrupt(job.report(search, job.verdict, True)) from None
        finally:
            subject.restore()
            if ranking is not None and job.path is not None:
                keep_plans(job.path.with_suffix(PLANS), job.address, ranking)


@classes.define
class _Job:
    """Where one tuning starts, and what it has kept.

    `base` is the backend as it would be without the tuned file, `old` what that file has of it. The
    file names values of `program` by their expressions, a search by their rows.
    """

    subject: Subject
    address: str
    base: Backend
    arch: str
    path: Path | None
    journal: Journal
    old: list[dict[str, Any]]
    best: Choice = ()
    verdict: Verdict | None = None
    program: Dataflow | None = None

    @classmethod
    def make(cls, subject: Subject, given: Backend, file: str | Path | None) -> _Job:
        address = address_of(subject.entry.__definition__)
        base = _untuned(given, address)
        arch = next(reversed(names_of(base.target)), "")
        path = _path(file)
        best = kept(path, address, base.name, arch) if path is not None else ()
        try:
            applied(base, best)
        except ValueError:  # a value that is refused
            best = ()
        journal = Journal(path and path.with_suffix(".jsonl"), _context(subject, base, address))
        old = entries(path, (address, base.name, arch)) if path is not None else []
        return cls(subject, address, base, arch, path, journal, old, best)

    def keep(self, choice: Choice, verdict: Verdict) -> None:
        """Write a better choice at once, with its gain as far as it is known."""
        ratio = verdict.ratio * (self.verdict.ratio if self.verdict else 1.0)
        self.best, self.verdict = choice, Verdict(ratio, verdict.spread)
        self._write()

    def finished(self, search: Search, bench: RealBench, is_over: bool) -> Report:
        """Compare the winner with the start once more, if there is time, and write that gain.

        Where there is none, the file has again what it had before.
        """
        if search.best and not any(bench.ready([(), search.best])):
            self.verdict = in_turns(bench, (), search.best, LAST_ROUNDS) or self.verdict
            if self.verdict is not None and self.verdict.is_confirmed:
                self.best = search.best
                self._write()
            elif self.path is not None and self.path.is_file():
                put(self.path, (self.address, self.base.name, self.arch), self.old)
                _read_again()
        return self.report(search, self.verdict, is_over)

    def report(self, search: Search, verdict: Verdict | None, is_over: bool) -> Report:
        """Return what was found; an entry that is no better than noise is not reported."""
        is_found = verdict is not None and verdict.is_confirmed
        return Report(
            self.address,
            self.base.name,
            search.best if is_found else (),
            verdict,
            tuple(search.trials),
            self.path if is_found else None,
            is_over,
            is_logged=self.path is not None,
        )

    def _write(self) -> None:
        if self.path is None or self.verdict is None:
            return
        best = by_digest(self.best, self.program)
        winner = Winner(
            self.address, self.base.name, self.arch, best, date.today().isoformat(),
            processor(), self.verdict.gain, self.verdict.spread * self.verdict.gain,
            self.subject.shapes,
        )  # fmt: skip
        keep(self.path, winner)
        _read_again()


def _ranking(
    subject: Subject, base: Backend, bench: RealBench, options: tuple[Option, ...]
) -> Ranking | None:
    """Return what ranks changes by predicted seconds; None where nothing predicts them."""
    machine = machine_of(base)
    if machine is None:
        return None
    sizes = sizes_of(subject.arguments, subject.provider, _core.default_threads())
    return Ranking(bench, options, sizes, machine)


def _read_again() -> None:
    """Let the database of options read its files again."""
    settings.set_current(classes.evolve(settings.current()))


def _tell(hearers: Iterable[Callable[[Trial], None]], trial: Trial) -> None:
    for hear in hearers:
        hear(trial)


def _untuned(given: Backend, address: str) -> Backend:
    """Return the backend without what the tuned file sets; one made in Python is taken as it is."""
    plain = BACKENDS.get(given.name)
    known = database()
    if plain is None or known.applied(plain, address) != given:
        return given
    others = [layer for layer in known.layers if not _is_tuned(layer)]
    return Database(tuple(others)).applied(plain, address)


def _is_tuned(layer: Iterable[Any]) -> bool:
    return any(entry.origin.layer == TUNED for entry in layer)


def _path(file: str | Path | None) -> Path | None:
    if file is not None:
        return Path(file)
    model = settings.current().model_options
    return tuned_file(model) if model is not None else None


def _context(subject: Subject, base: Backend, address: str) -> str:
    """Digest what must be equal for a measurement to hold again."""
    parts = (address, repr(sorted(base.options.items(), key=str)), processor(), subject.shapes,
             str(subject.variant(subject.entry).text))  # fmt: skip
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
