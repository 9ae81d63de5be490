"""A writer spells exactly the operations of the table."""

import pytest

from fieldforge.runtime.language.operations import BY_NAME
from fieldforge.stages.codegen.rows.operations import SpellingError, complete
from fieldforge.stages.codegen.rows.spellings import SPELLINGS, cast


def test_the_cpp_writer_spells_every_operation() -> None:
    assert SPELLINGS.keys() == BY_NAME.keys()
    assert complete("C++", SPELLINGS) is SPELLINGS


def test_missing_spellings_are_named_with_their_writer() -> None:
    few = {name: spell for name, spell in SPELLINGS.items() if name not in ("sqrt", "fma")}

    with pytest.raises(SpellingError) as refused:
        complete("CUDA", few)

    assert refused.value.message == "The CUDA writer lacks a spelling of 'sqrt', 'fma'."


def test_a_spelling_of_no_operation_is_an_error() -> None:
    with pytest.raises(SpellingError) as refused:
        complete("CUDA", {**SPELLINGS, "hypot": SPELLINGS["add"]})

    assert "spells 'hypot', which the language does not have" in refused.value.message


def test_a_conversion_of_a_conversion_is_no_declaration() -> None:
    """GCC 12 fails at `(f64(f32(r[i])) + 1.0)`, which may begin as a function of an array does."""
    assert cast("float64", "float32", "f32(r[i])").text == "f64(+f32(r[i]))"
    assert cast("float64", "float32", "(f32(r[i]) * a)").text == "f64((f32(r[i]) * a))"
