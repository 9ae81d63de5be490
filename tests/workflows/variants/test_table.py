"""Variants come and go while others call."""

import fieldforge as ff
from fieldforge.workflows.variants import builds as variant_builds

from ...dimensions import I, Line


@ff.field_operator
def same(u: Line) -> Line:
    return u


@ff.program(backend=ff.cpu)
def copy(u: Line, out: Line):
    same(u, out=out)


def test_a_build_of_a_function_that_has_changed_meanwhile_is_not_kept(own_engine, monkeypatch):
    program = copy.with_backend(ff.cpu)
    variants = program._variants
    built = []

    def build(*args):
        if not built:
            program._forget()  # as another thread does that saw a name bound anew
        built.append(real(*args))
        return built[-1]

    real = variant_builds.build
    monkeypatch.setattr(variant_builds, "build", build)
    out = ff.zeros({I: 2})
    program(ff.ones({I: 2}), out)

    assert out.asnumpy().tolist() == [1.0, 1.0]
    assert len(built) == 2
    assert list(variants.table.entries.values()) == built[1:]
    assert program.entries == (built[1],)


def test_variants_are_listed_with_the_reason_of_each(own_engine):
    program = copy.with_backend(ff.cpu)
    program.build()
    wide = ff.as_field([I], [0.0] * 8).ndarray[::2]
    gaps = ff.runtime.fields.field.make(wide, ff.domain({I: 4}))

    program(gaps, ff.zeros({I: 4}))

    rows = program.variants.splitlines()
    assert rows[1].endswith("(asked for by 'build')")
    assert rows[2].endswith("(a call with another layout of u than variant 0)")
