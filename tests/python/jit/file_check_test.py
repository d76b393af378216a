"""torch.testing.FileCheck."""

import subprocess
import sys

import pytest
from cresset.testing import FileCheck

import cresset as torch


def fails(checks, *texts):
    with pytest.raises(RuntimeError, match="FileCheck: ") as error:
        checks.run(*texts)
    return str(error.value)


def test_patterns_come_in_their_order():
    FileCheck().check("a").check("b").run("a b")
    said = fails(FileCheck().check("b").check("a"), "a b c")
    assert "CHECK: a" in said and " c" in said
    fails(FileCheck().check("a").check("a"), "a")


def test_lines():
    FileCheck().check("a").check_next("b").run("a\nx b")
    FileCheck().check("a").check_next("b").run("a b\n b")
    FileCheck().check_next("b").run("\nb")
    for text in ("a\n\nb", "a b", "a"):
        fails(FileCheck().check("a").check_next("b"), text)
    FileCheck().check("a").check_same("b").run("a b")
    for text in ("a\nb", "b a"):
        fails(FileCheck().check("a").check_same("b"), text)


def test_absent_texts_between_two_matches():
    FileCheck().check("a").check_not("b").run("b a c")
    FileCheck().check("a").check_not("b").check("c").run("a c b")
    FileCheck().check_not("a").check("a").run("x a")
    fails(FileCheck().check("a").check_not("b"), "b a b")
    fails(FileCheck().check_not("b").check("a"), "b a")
    fails(FileCheck().check_not("b").check_not("c").check("a"), "c a")
    fails(FileCheck().check_not("z").check_dag("a").check_dag("b"), "z a b")
    fails(FileCheck().check_dag("a").check_not("z").check_dag("b"), "a z b")


def test_counts():
    FileCheck().check_count("a", 2).run("a\na a")
    FileCheck().check_count("a", 2, exactly=True).check("b").run("a a b a")
    FileCheck().check_count("a", 0, True).run("b")
    FileCheck().check_count("a", 2).check_next("b").run("a a\nb")
    fails(FileCheck().check_count("a", 2, exactly=True), "a a a")
    fails(FileCheck().check_count("a", 4), "a a a")
    fails(FileCheck().check_count("a", 2).check("a"), "a a")
    for count in (0, -1):
        with pytest.raises(RuntimeError, match="FileCheck: "):
            FileCheck().check_count("a", count)


def test_neighbours_in_any_order():
    FileCheck().check_dag("b").check_dag("a").check("c").run("a b c")
    FileCheck().check_dag("ab").check_dag("bc").run("abc")
    fails(FileCheck().check_dag("b").check_dag("a").check("c"), "a c b")


def test_highlighted_source():
    for text in ("x foo y\n  ~~~ \n", "x foo y\n z\nfoo\n~~~\n", "foo\n~~~"):
        FileCheck().check_source_highlighted("foo").run(text)
    for text in ("x foo y\n  ~~ \n", "x foo y\n ~~~ \n", "x foo y\n  ~~~~ \n", "x foo y\n ~~~~ \n", "foo", ""):
        fails(FileCheck().check_source_highlighted("foo"), text)


def test_regular_expressions():
    FileCheck().check_regex("a.c").check("d").run("xx abc d")
    fails(FileCheck().check_regex("a+").check("a"), "aaa b")
    with pytest.raises(RuntimeError):
        FileCheck().check_regex("(a").run("a")


def test_checks_in_a_text():
    text = "foo\nham\nbar bar\nend"
    FileCheck().run("x = 1  # CHECK: foo\n#CHECK-DAG: bar\n# CHECK-DAG: ham\n# CHECK-COUNT-EXACTLY-1: end\n# plain words", text)
    FileCheck().run("# CHECK: foo\n# CHECK-NEXT: ham\n# CHECK-NOT: foo\n# CHECK-COUNT-2: bar\n# CHECK-REGEX: e.d", text)
    fails(FileCheck(), "# CHECK: foo\n# CHECK-SAME: ham", text)
    for line in ("# CHECK-NEW: foo", "# CHECK-COUNT-x: foo", "# CHECK:"):
        assert line in fails(FileCheck(), line, text)


def test_bad_use():
    fails(FileCheck(), "text")
    fails(FileCheck(), "# no checks", "text")
    with pytest.raises(TypeError, match="got int"):
        FileCheck().check("a").run(3)
    with pytest.raises(TypeError):
        FileCheck().check(3)


def test_graph():
    @torch.jit.script
    def f(x):
        return x * x + 1

    FileCheck().check("aten::mul").check_next("aten::add").check("return").run(f.graph)


def test_checks_that_never_ran_are_printed():
    code = "from cresset.testing import FileCheck; FileCheck().check('some text'); FileCheck().check('other').run('other')"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "CHECK: some text" in said and "other" not in said
