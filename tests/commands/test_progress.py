"""Progress bars: they go to the error stream, count what was done before, and say how fast it goes."""

import threading
import time

from stiction.basics.progress import bar, bars, parts


def test_a_bar_that_is_kept_says_what_was_done_and_how_fast(capsys):
    with bar("throws", 100, done=50, kept=True, speed="steps/s", per=800) as throws:
        time.sleep(0.01)
        throws.advance(50)
    output = capsys.readouterr()
    assert not output.out and "throws" in output.err and "100%" in output.err and "steps/s" in output.err


def test_a_bar_that_is_not_shown_says_nothing(capsys):
    with bar("throws", 2, shown=False, kept=True) as throws:
        throws.rename("throws of a box")
        throws.advance()
    assert capsys.readouterr().err == ""


def test_each_part_of_the_work_has_a_line(capsys):
    with parts() as report:
        report("guess", 0.5)
        report("guess", 1.0)
        report("residual", 3, 4)
    lines = capsys.readouterr().err.strip().splitlines()
    assert [line.split()[0] for line in lines[-2:]] == ["guess", "residual"] and "75%" in lines[-1]


def test_bars_need_no_thread(capsys):
    before = set(threading.enumerate())  # of these, some may end meanwhile
    with bars(own_thread=False) as start_bar:
        for name in ("throw", "batch"):
            advance = start_bar(name, 2).advance
            assert set(threading.enumerate()) <= before
            advance()
            advance()
    output = capsys.readouterr()
    assert not output.out and set(threading.enumerate()) <= before
