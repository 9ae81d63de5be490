"""docs/gpu.md runs on the platform of these tests; the collection of pages runs it on null."""

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "gpu.md"


def test_the_page_runs_here(device, image):
    text = PAGE.read_text().replace('"null"', f'"{device.platform}"')
    if device.platform != "null":
        text = text.replace("ff.gpu_host.with_options(on_device=True)", "ff.gpu")
    text = text.replace("('null', True", f"('{device.platform}', True")
    test = doctest.DocTestParser().get_doctest(text, {}, "gpu.md", str(PAGE), 0)
    failures: list[str] = []
    doctest.DocTestRunner(verbose=False).run(test, out=failures.append)
    assert not failures, "".join(failures)
