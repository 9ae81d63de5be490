"""An archive of somebody else is read member by member, up to the size that each states."""

import io
import tracemalloc
import zipfile

import pytest

from fieldforge.runtime.process.archive import Archive, ArchiveError


def archive(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> io.BytesIO:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as made:
        for name, content in members.items():
            made.writestr(name, content)
    return stream


def test_members_are_read_by_name():
    opened = Archive(archive({"a": b"one", "b/c": b"two"}))

    assert opened.sizes == {"a": 3, "b/c": 3}
    assert opened.read("b/c", most=3) == b"two"


@pytest.mark.parametrize(
    ("stream", "said"),
    [
        (io.BytesIO(b"nonsense"), "it is no zip archive"),
        (archive({"../a": b""}), "'../a' is no plain file"),
        (archive({"/a": b""}), "'/a' is no plain file"),
        (archive({"a/": b""}), "'a/' is no plain file"),
        (io.BytesIO(archive({"@": b""}).getvalue().replace(b"@", b"\0")), "'' is no plain file"),
        (archive({"a": b"x"}, zipfile.ZIP_BZIP2), "'a' is compressed by method 12"),
    ],
)
def test_what_is_no_plain_archive_is_refused(stream, said):
    with pytest.raises(ArchiveError, match=said):
        Archive(stream)


def test_a_member_that_says_too_much_is_not_decompressed():
    opened = Archive(archive({"a": bytes(1 << 26)}))

    with pytest.raises(ArchiveError, match="'a' has 67108864 bytes, expected at most 1000"):
        opened.read("a", most=1000)


def test_a_member_that_says_too_little_costs_no_more_than_it_says():
    stream = archive({"a": bytes(1 << 26)})
    content = bytearray(stream.getvalue())
    central = content.find(b"PK\x01\x02")
    content[central + 24 : central + 28] = (1000).to_bytes(4, "little")
    opened = Archive(io.BytesIO(content))
    tracemalloc.start()

    with pytest.raises(ArchiveError, match="'a' is damaged"):
        opened.read("a", most=1000)

    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


@pytest.mark.parametrize("at", range(40))
def test_a_damaged_member_is_refused(at):
    content = bytearray(archive({"a": bytes(range(256)) * 4}).getvalue())
    content[31 + at] ^= 0x55

    with pytest.raises(ArchiveError, match=r"'a' is (damaged|cut off)"):
        Archive(io.BytesIO(content)).read("a", most=1 << 20)
