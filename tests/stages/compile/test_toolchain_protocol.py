import json

import attrs

from fieldforge.stages.artifacts import Generated
from fieldforge.stages.compile.compiler import Compiler, CppToolchain
from fieldforge.stages.compile.stage import Compile
from fieldforge.stages.compile.toolchain_protocol import Outcome, Toolchain


@attrs.frozen
class Backwards:
    """A compiler for tests: the library is the source backwards."""

    identity: str = "backwards 1.0"

    def compile(self, source, flags):
        return Outcome(source[::-1].encode(), f"compiled with {' '.join(flags)}", {"/a.h": "12"})


@attrs.frozen
class CompileBackwards(Compile):
    def toolchain(self) -> Toolchain:
        return Backwards()


def test_the_stage_works_with_any_toolchain():
    stage = CompileBackwards(flags=("-more",))

    compiled = stage.run(generated=Generated("text", "abc", "", ("-flag",)))["compiled"]

    assert compiled.library == b"cba"
    assert compiled.log == "compiled with -flag -more"
    assert json.loads(compiled.manifest) == {
        "compiler": "backwards 1.0", "flags": ["-flag", "-more"], "language": "text", "bytes": 3,
        "headers": {"/a.h": "12"},
    }  # fmt: skip
    assert stage.environment() == {"compiler": "backwards 1.0"}


def test_the_identity_of_a_toolchain_is_that_of_its_compiler():
    compiler = Compiler(("/bin/g++", "-m64"), "/bin/g++", "g++ 1", (("as", "0" * 64),))

    assert CppToolchain(compiler).identity == compiler.identity
    assert CppToolchain(compiler).command(["-O3"]) == ("/bin/g++", "-m64", "-pipe", "-O3")
