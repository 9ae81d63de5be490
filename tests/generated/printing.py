"""Write a case as a test that needs nothing but fieldforge: program, data, comparison."""

from .case import Case, FieldSpec
from .grids import header
from .literals import spell
from .memory import in_one_memory, values_of
from .running import Disagreement

CHECK = """

def run(backend):
    arguments = make_arguments()
    given = {given}
    provider = {{"offset_provider": {tables}}}
    program_under_test.with_backend(backend)(**given, **provider)
    return {{name: arguments[name].asnumpy() for name in {written!r}}}


def {name}():
    meant = run(None)

    for backend in (ff.reference, ff.{backend}):
        given = run(backend)
        for name, array in meant.items():
            {comparison}
"""

NAMES = {"rows": 'cpu.with_options(tiers="rows")'}  # of backends that 'ff' has under no name


def as_test(found: Disagreement, name: str = "test_executions_agree") -> str:
    """Return the text of a test file for a disagreement."""
    case = found.case
    written = [spec.name for spec in case.fields if spec.written]
    ulps = max((spec.ulps for spec in case.fields), default=0)
    comparison = (
        "np.testing.assert_array_equal(given[name], array, err_msg=f'{name} by {backend.name}')"
        if not ulps
        else f"np.testing.assert_array_max_ulp(given[name], array, maxulp={ulps})"
    )
    head = [f"# {line}" for line in f"{found.stage}: {found.what}".splitlines()[:6]]
    return (
        "\n".join(head)
        + f"\n# compiled as {found.schedule}\n"
        + header(case.unstructured)
        + "\n\n"
        + case.text
        + "\n\n"
        + _arguments(case)
        + CHECK.format(
            name=name,
            backend=NAMES.get(found.schedule.backend, found.schedule.backend.replace("-", "_")),
            written=written,
            given=_given(case),
            comparison=comparison,
            tables="tables" if case.unstructured else "None",
        )
    )


def _given(case: Case) -> str:
    """Write the parameters of the program, made of fields and scalars."""
    known = {group.name: group for group in case.groups}
    texts = []
    for name in case.order:
        members = (
            ", ".join(f'arguments["{each}"]' for each in known[name].members)
            if name in known
            else ""
        )
        value = f"{known[name].kind}({members})" if name in known else f'arguments["{name}"]'
        texts.append(f'"{name}": {value}')
    return f"{{{', '.join(texts)}}}"


def _arguments(case: Case) -> str:
    fields = [f"        {spec.name}={_field(case, spec)}," for spec in case.fields]
    scalars = [f"        {name}={dtype}({_inner(text)})," for name, dtype, text in case.scalars]
    lines = ["def make_arguments():", "    made = dict(", *fields, *scalars, "    )"]
    return "\n".join([*lines, *_sharing(case), "    return made", ""])


def _sharing(case: Case) -> list[str]:
    """Put two fields into one memory, as the run did."""
    found = in_one_memory(case)
    if found is None:
        return []
    one, other, shift = found
    extents = [max(pair) for pair in zip(one.shape, other.shape, strict=True)]
    shape = (extents[0] + shift, *extents[1:])
    lines = [f"    memory = np.zeros({shape}, np.{_numpy(one.kind.dtype)})"]
    for spec, start in ((one, 0), (other, shift)):
        ranges = ", ".join(f":{extent}" for extent in spec.shape)
        name = f'made["{spec.name}"]'
        lines += [
            f"    part = memory[{start}:][{ranges}]",
            f"    part[...] = {name}.asnumpy()",
            f"    {name} = make(part, {name}.domain)",
        ]
    return lines


def _inner(text: str) -> str:
    return text.partition("(")[2].removesuffix(")") if "(" in text else text


def _field(case: Case, spec: FieldSpec) -> str:
    values = values_of(case, spec)
    numbers = ", ".join(spell(value) for value in values.ravel())
    box = ", ".join(f"{dim}: {spec.box[dim]}" for dim in spec.kind.dims)
    array = f"np.array([{numbers}], dtype=np.{_numpy(spec.kind.dtype)}).reshape({values.shape})"
    if spec.layout == "default":
        return f"ff.as_field({{{box}}}, {array})"
    return f"make({_laid_out(array, spec)}, ff.domain({{{box}}}))"


def _numpy(dtype: str) -> str:
    return "bool_" if dtype == "bool" else dtype


def _laid_out(array: str, spec: FieldSpec) -> str:
    turned = ", ".join("::-1" for _ in spec.kind.dims)
    every = ", ".join("::2" for _ in spec.kind.dims)
    match spec.layout:
        case "f":
            return f"np.array({array}, order='F')"
        case "reversed":
            return f"np.array({array}[{turned}], order='C')[{turned}]"
        case "gaps":
            repeated = array
            for axis in range(len(spec.kind.dims)):
                repeated = f"{repeated}.repeat(2, axis={axis})"
            return f"{repeated}[{every}]"
    return array
