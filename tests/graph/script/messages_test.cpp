// Programs that do not compile: each error says what is wrong, and marks the words that it is about.

#include <gtest/gtest.h>

#include "cresset/graph/script/unit.h"
#include "tests/error_of.h"

namespace cresset::graph::script {
namespace {

struct Golden {
  const char* body;     // of "def f(x: Tensor, n: int, o: Optional[int], xs: List[int], d: Dict[str, int], t: Tuple[int, str]):"
  const char* message;  // part of the error
  const char* marked;   // the words above the marks
};

const Golden kGolden[] = {
    // names
    {"return y", "undefined value y", "y"},
    {"return x.nothing()", "'Tensor' has no attribute and no method 'nothing'", "x.nothing"},
    {"return xs.nothing()", "'List[int]' has no attribute and no method 'nothing'", "xs.nothing"},
    {"return n.real()", "'int' has no attribute and no method 'real'", "n.real"},
    {"return torch.nothing(x)", "module torch has no attribute 'nothing'", "torch.nothing"},
    {"return torch.nn.nothing(x)", "module torch.nn has no attribute 'nothing'", "torch.nn.nothing"},
    {"return math.nothing(1.0)", "module math has no attribute 'nothing'", "math.nothing"},
    {"if n > 0:\n        y = 1\n    return y", "y is not defined in the false branch", "y"},
    {"for i in xs:\n        y = i\n    return y", "y is not defined in the loop that may not run", "y"},
    {"del n\n    return n", "n is not defined in the code after del", "n"},
    // calls
    {"return torch.relu(x, 1, 2)", "expected at most 1 arguments but found 3 positional arguments", "torch.relu(x, 1, 2)"},
    {"return torch.relu(n)", "Expected a value of type 'Tensor' for argument 'self' but instead found type 'int'", "torch.relu(n)"},
    {"return torch.relu()", "Argument self not provided", "torch.relu()"},
    {"return torch.relu(x, wrong=1)", "Unknown keyword argument 'wrong'", "torch.relu(x, wrong=1)"},
    {"return n(1)", "a value of type int cannot be called", "n(1)"},
    {"return xs.append('a')", "Expected a value of type 'int' for argument 'el' but instead found type 'str'", "xs.append('a')"},
    {"return d['a', 'b']", "only tensors take several indices", "d['a', 'b']"},
    {"return d[1]", "Arguments for call are not valid", "d[1]"},
    {"return len(n)", "Arguments for call are not valid", "len(n)"},
    {"return range('a')", "range: expected ints, got str", "range('a')"},
    {"return isinstance(n)", "isinstance: expected 2 arguments, got 1", "isinstance(n)"},
    {"return hasattr(x, 'a', 1)", "hasattr: expected 2 arguments, got 3", "hasattr(x, 'a', 1)"},
    {"return isinstance", "a function of the compiler cannot be used as a value", "return isinstance"},
    {"return torch", "a module of Python cannot be used as a value", "return torch"},
    {"return int('1', *xs)", "only tuples can be starred in a call", "*xs"},
    // operators
    {"return o + 1", "Check that it is not None first", "o + 1"},
    {"return n + 'a'", "Arguments for call are not valid", "n + 'a'"},
    {"return xs + n", "Arguments for call are not valid", "xs + n"},
    {"return not t", "Could not cast value of type Tuple[int, str] to bool", "t"},
    {"if t:\n        return 1\n    return 2", "Could not cast value of type Tuple[int, str] to bool", "t"},
    {"return n.x", "'int' has no attribute and no method 'x'", "n.x"},
    {"return -d", "Arguments for call are not valid", "-d"},
    // assignment
    {"if n > 0:\n        n = 'a'\n    return n", "Variable 'n' had type int and gets a value of type str", "'a'"},
    {"for i in xs:\n        n = 1.5\n    return n", "Variable 'n' had type int", "1.5"},
    {"if n > 0:\n        y = 1\n    else:\n        y = 'a'\n    return y", "y is set to type int in the true branch and type str in the false branch", "y"},
    {"y: int = 'a'\n    return y", "Variable 'y' is annotated with type int and gets a value of type str", "'a'"},
    {"y: List[Optional[int]] = xs\n    return y", "annotated with type List[Optional[int]] and gets a value of type List[int]", "xs"},
    {"y: Dict[str, Optional[int]] = d\n    return y", "gets a value of type Dict[str, int]", "d"},
    {"y: Nothing = 1\n    return y", "Unknown type name 'Nothing'", "Nothing"},
    {"y: List = []\n    return y", "List: say what it holds", "List"},
    {"y: Dict[List[int], int] = {}\n    return y", "keys of dicts are", "Dict[List[int], int]"},
    {"y: int\n    return n", "annotated assignments without assigned value are not part of TorchScript", "y: int"},
    {"a, b, c = t\n    return a", "need 3 values to unpack but found 2", "a, b, c"},
    {"a, b = n\n    return a", "a value of type int cannot be unpacked", "a, b"},
    {"n.x = 1\n    return n", "a value of type int has no attributes to assign", "n.x"},
    {"t[0] = 1\n    return t", "elements of a value of type Tuple[int, str] cannot be assigned", "t[0]"},
    {"xs[0:1] = [1]\n    return xs", "slices of lists cannot be assigned", "xs[0:1]"},
    {"1 = n", "expected a name, an attribute or an element to assign to", "1"},
    // sequences
    {"return xs[n:n + slice(2)]", "a slice cannot be used as a value", "slice(2)"},
    {"return {'a': 1, 2: 3}", "Dict keys must contain only a single type", "{'a': 1, 2: 3}"},
    {"d: Dict[str, int] = {'a': 1, 'b': 'c'}\n    return d", "Dict values must contain only a single type", "{'a': 1, 'b': 'c'}"},
    {"print(n, end='')\n    return n", "print: keyword arguments, such as end, are not part of TorchScript", "print(n, end='')"},
    {"return t[2]", "Tuple index out of range: got 2 for 2 elements", "t[2]"},
    {"return t[n]", "a tuple of several types needs a constant index", "t[n]"},
    {"for i in n:\n        pass\n    return n", "a value of type int is not iterable", "n"},
    {"return x['a']", "a tensor cannot be indexed by a value of type str", "'a'"},
    {"return x.tolist()", "tolist() needs an annotation of its result", "x.tolist()"},
    // returns
    {"if n > 0:\n        return 1\n    return 'a'", "and this one a value of type str", "return 'a'"},
    {"return 1 if n > 0 else 'a'", "the branches of the conditional expression are of types int and str", "1 if n > 0 else 'a'"},
    {"break", "break stands outside of a loop", "break"},
    // Python that is no TorchScript
    {"return (lambda y: y)(x)", "lambda functions are not part of TorchScript", "lambda"},
    {"try:\n        return x\n    except Exception:\n        return x", "try blocks are not part of TorchScript", "try"},
    {"global n\n    return n", "global variables are not part of TorchScript", "global"},
    {"return {1, 2}", "sets are not part of TorchScript", ","},
    {"yield x", "'yield' is not part of TorchScript", "yield"},
    {"return [i for i in xs if i > 1]", "conditions within comprehensions", "if"},
    {"return (y := n)", "assignments within expressions", ":="},
    {"while n > 0:\n        n -= 1\n    else:\n        n = 3\n    return n", "else branches of while loops", "else"},
    {"def g():\n        return 1\n    return g()", "functions within functions", "def g()"},
    // what the language has forms for is not called by its name
    {"return ops.prim.isinstance(x, 'Tensor')", "module ops.prim has no attribute 'isinstance'", "ops.prim.isinstance"},
    {"return ops.prim.GetAttr(x, 'shape')", "module ops.prim has no attribute 'GetAttr'", "ops.prim.GetAttr"},
    {"return ops.prim.CallNative('os.system', 'true')", "module ops.prim has no attribute 'CallNative'", "ops.prim.CallNative"},
    // texts that are no programs
    {"return (1", "the bracket is not closed", "("},
    {"return 'a", "the string has no end", "'"},
    {"return $", "no word of the language begins with this letter", "$"},
    {"return 99999999999999999999", "the number is no int of 64 bits", "99999999999999999999"},
};

TEST(Messages, SayWhatIsWrongUnderTheWords) {
  for (const Golden& g : kGolden) {
    const std::string text =
        std::string("def f(x: Tensor, n: int, o: Optional[int], xs: List[int], d: Dict[str, int], t: Tuple[int, str]):\n    ") + g.body + "\n";
    const std::string said = error_of([&] { std::make_shared<CompilationUnit>()->define_text(text, nullptr); });
    EXPECT_NE(said.find(g.message), std::string::npos) << g.body << "\n" << said;
    // The last line of marks stands below the words.
    const size_t marks = said.find(" <--- HERE");
    if (marks == std::string::npos) {
      ADD_FAILURE() << g.body << " marks nothing: " << said;
      continue;
    }
    const size_t line = said.rfind('\n', marks), above = said.rfind('\n', line - 1);
    const size_t start = said.find('~', line), end = marks;
    EXPECT_EQ(said.substr(above + (start - line), end - start).substr(0, std::string(g.marked).size()), g.marked) << said;
  }
}

TEST(Messages, AreAtLeastSixty) { EXPECT_GE(std::size(kGolden), 60u); }

}  // namespace
}  // namespace cresset::graph::script
