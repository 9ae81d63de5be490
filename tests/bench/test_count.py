"""The gate of instruction counts fails where it must."""

import count


def test_a_quarter_more_instructions_fail_and_fewer_do_not():
    before = {"by position": 1000.0, "by keyword": 2000.0}

    assert count.compare({"by position": 1250.0, "by keyword": 100.0}, before) == []
    assert count.compare({"by position": 1251.0, "by keyword": 2000.0}, before) == [
        "by position: 1251 instructions, 1000 on file"
    ]


def test_a_call_that_is_no_longer_counted_fails():
    assert count.compare({}, {"by position": 1000.0}) == ["by position: not counted"]


def test_counts_are_read_from_the_dumps_of_callgrind(tmp_path):
    (tmp_path / "callgrind.out.2").write_text(
        "# callgrind\ndesc: Trigger: Client Request: 5 fields\n\nsummary: 424000\n"
    )
    (tmp_path / "callgrind.out.1").write_text("desc: Trigger: Program termination\nsummary: 1\n")

    assert dict(count._read(tmp_path)) == {"5 fields": 424000 / count.TIMES}
