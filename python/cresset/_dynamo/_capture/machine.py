"""Executes bytecode on inside values, instruction by instruction; `dialects.py` makes the instructions of a version of Python those that are known here."""

import operator
import sys
import types

from ...fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode, RestartTrace
from . import attributes, calls, objects, operators
from .code import listing
from .dialects import NULL_BELOW
from .signals import Break, Restart, Skip, Stop
from .world import DELETED, NULL, Raw

_BINARY = [
    operator.add, operator.and_, operator.floordiv, operator.lshift, operator.matmul, operator.mul, operator.mod, operator.or_, operator.pow, operator.rshift,
    operator.sub, operator.truediv, operator.xor, operator.iadd, operator.iand, operator.ifloordiv, operator.ilshift, operator.imatmul, operator.imul,
    operator.imod, operator.ior, operator.ipow, operator.irshift, operator.isub, operator.itruediv, operator.ixor,
]  # fmt: skip
_COMPARE = {"<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt, ">=": operator.ge}
_SIGNALS = (Break, Skip, Stop, Restart, RestartTrace)


class _Close(GeneratorExit):
    """Ends a generator of a capture."""


_RETURNED, _YIELDED = object(), object()


class Machine:
    """One frame that is being executed. `slots` holds its variables; cells in those that have one."""

    def __init__(self, world, code, namespace, builtins, slots, parent=None):
        self.world, self.code, self.globals, self.builtins = world, code, namespace, builtins
        self.listing = listing(code)
        self.instructions = self.listing.instructions
        self.slots, self.stack, self.index = slots, [], 0
        self.parent, self.names, self.result = parent, (), None
        self.current = None
        self.function = None
        self.unit = None  # of a comprehension that is running: the count of steps at its start, and the range of its instructions

    def line(self):
        """The line that is running."""
        return (self.current.line if self.current else self.code.co_firstlineno) or self.code.co_firstlineno

    # ---- the loop -----------------------------------------------------------------------------------------------------------

    def run(self):
        """Executes to the end, or to the next `yield`; gives which, with the value in `result`."""
        world = self.world
        world.where.append(self)
        try:
            while True:
                instruction = self.current = self.instructions[self.index]
                if self.parent is None:
                    self.before_step()
                self.index += 1
                try:
                    ended = _HANDLERS.get(instruction.name, _unknown)(self, instruction)
                except _SIGNALS as signal:
                    if not hasattr(signal, "lines"):
                        signal.lines = world.stack_trace()
                    raise
                except GuardOnDataDependentSymNode as error:
                    signal = Break(f"a number that only the data tells decides: {error}", "torch._check says what holds of it")
                    signal.lines, signal.on_data = world.stack_trace(), True
                    raise signal from None
                except (Exception, _Close) as error:
                    ended = None
                    if not self.catch(error, instruction):
                        raise
                if ended is not None:
                    return ended
        finally:
            world.where.pop()

    def before_step(self):
        """Counts steps of the captured frame itself."""
        world = self.world
        if world.steps == world.stop_at:
            raise Stop()
        if self.unit is not None and self.index not in self.unit[1]:
            self.unit = None
        if self.unit is None and self.current.loop is not None:
            self.unit = world.steps, range(self.index, self.current.loop[0])
        world.steps += 1

    def catch(self, error, instruction):
        """Goes to the handler of an error; false if there is none."""
        row = self.listing.handler(instruction.offset)
        if row is None:
            return False
        del self.stack[row.depth :]
        if row.lasti:
            self.stack.append(instruction.offset)
        self.stack.append(error)
        self.index = self.listing.index[row.target]
        return True

    def jump(self, instruction):
        self.index = instruction.jump

    def pop(self, count):
        """The last values of the stack, the deepest first."""
        if count == 0:
            return []
        taken = self.stack[-count:]
        del self.stack[-count:]
        return taken

    # ---- variables ----------------------------------------------------------------------------------------------------------

    def local(self, number, name):
        """The value of a variable."""
        value = self.slots[number]
        if type(value) is Raw:
            value = self.slots[number] = self.world.bring(value.value, value.place)
        if value is NULL:
            raise UnboundLocalError(f"cannot access local variable '{name}' where it is not associated with a value")
        return value

    def op_LOAD_FAST(self, i):
        self.stack.append(self.local(i.arg, i.value))

    def op_LOAD_FAST_AND_CLEAR(self, i):
        self.stack.append(self.slots[i.arg])
        self.slots[i.arg] = NULL

    def op_LOAD_FAST_LOAD_FAST(self, i):
        self.stack += [self.cell(number) if number in i.cells else self.local(number, name) for number, name in zip(i.arg, i.value, strict=True)]

    def op_STORE_FAST_LOAD_FAST(self, i):
        (into, number), (_, name) = i.arg, i.value
        self.slots[into] = self.stack.pop()
        self.stack.append(self.cell(number) if number in i.cells else self.local(number, name))

    def op_STORE_FAST_STORE_FAST(self, i):
        first, second = i.arg
        self.slots[first] = self.stack.pop()
        self.slots[second] = self.stack.pop()

    def op_STORE_FAST(self, i):
        self.slots[i.arg] = self.stack.pop()

    def op_DELETE_FAST(self, i):
        if self.slots[i.arg] is NULL:
            raise UnboundLocalError(f"cannot access local variable '{i.value}' where it is not associated with a value")
        self.slots[i.arg] = NULL

    def cell(self, number):
        """A variable that is a cell."""
        cell = self.slots[number]
        return cell.value if type(cell) is Raw else cell

    def op_MAKE_CELL(self, i):
        value = self.slots[i.arg]
        self.slots[i.arg] = types.CellType() if value is NULL else types.CellType(value)

    def op_COPY_FREE_VARS(self, i):
        closure = self.function.__closure__
        self.slots[len(self.slots) - len(closure) :] = closure

    def op_LOAD_CLOSURE(self, i):
        self.stack.append(self.cell(i.arg))

    def op_LOAD_DEREF(self, i):
        try:
            self.stack.append(self.world.read_cell(self.cell(i.arg), i.value))
        except ValueError:
            raise NameError(f"cannot access free variable '{i.value}' where it is not associated with a value in enclosing scope") from None

    def op_STORE_DEREF(self, i):
        self.world.write_cell(self.cell(i.arg), self.stack.pop())

    def op_DELETE_DEREF(self, i):
        cell = self.cell(i.arg)
        if id(cell) in self.world.cells:
            self.world.cell_writes[id(cell)] = DELETED
        else:
            del cell.cell_contents

    def op_LOAD_CLASSDEREF(self, i):
        raise Break("a class within the function")

    def op_LOAD_GLOBAL(self, i):
        self.stack.append(self.world.read_global(self.globals, self.builtins, i.value))

    def op_LOAD_GLOBAL_TO_CALL(self, i):
        self.push_callee(self.world.read_global(self.globals, self.builtins, i.value))

    def push_callee(self, function):
        """Pushes what is to be called, without an object that it is a method of."""
        self.stack += (NULL, function) if NULL_BELOW else (function, NULL)

    def op_STORE_GLOBAL(self, i):
        self.world.write_global(self.globals, i.value, self.stack.pop())

    def op_DELETE_GLOBAL(self, i):
        self.world.read_global(self.globals, {}, i.value)
        self.world.write_global(self.globals, i.value, DELETED)

    def op_LOAD_CONST(self, i):
        self.stack.append(i.value)

    # ---- the stack ----------------------------------------------------------------------------------------------------------

    def op_POP_TOP(self, i):
        self.stack.pop()

    def op_PUSH_NULL(self, i):
        self.stack.append(NULL)

    def op_SWAP(self, i):
        s = self.stack
        s[-1], s[-i.arg] = s[-i.arg], s[-1]

    def op_COPY(self, i):
        self.stack.append(self.stack[-i.arg])

    def op_NOP(self, i):
        pass

    op_RESUME = op_CACHE = op_PRECALL = op_NOP

    # ---- operators ----------------------------------------------------------------------------------------------------------

    def op_UNARY_POSITIVE(self, i):
        self.stack.append(operators.unary(self, operator.pos, "__pos__", self.stack.pop()))

    def op_UNARY_NEGATIVE(self, i):
        self.stack.append(operators.unary(self, operator.neg, "__neg__", self.stack.pop()))

    def op_UNARY_INVERT(self, i):
        self.stack.append(operators.unary(self, operator.invert, "__invert__", self.stack.pop()))

    def op_UNARY_NOT(self, i):
        self.stack.append(not operators.truth(self, self.stack.pop()))

    def op_BINARY_OP(self, i):
        b, a = self.stack.pop(), self.stack.pop()
        self.stack.append(operators.binary(self, _BINARY[i.arg], a, b))

    def op_COMPARE_OP(self, i):
        b, a = self.stack.pop(), self.stack.pop()
        self.stack.append(operators.binary(self, _COMPARE[i.value], a, b))

    def op_COMPARE_TO_BOOL(self, i):
        self.op_COMPARE_OP(i)
        self.op_TO_BOOL(i)

    def op_TO_BOOL(self, i):
        self.stack.append(operators.truth(self, self.stack.pop()))

    def op_IS_OP(self, i):
        b, a = self.stack.pop(), self.stack.pop()
        self.stack.append((objects.identity(self, a) is objects.identity(self, b)) != bool(i.arg))

    def op_CONTAINS_OP(self, i):
        box, item = self.stack.pop(), self.stack.pop()
        self.stack.append(operators.contains(self, box, item) != bool(i.arg))

    def op_BINARY_SUBSCR(self, i):
        key, box = self.stack.pop(), self.stack.pop()
        self.stack.append(operators.get_item(self, box, key))

    def op_STORE_SUBSCR(self, i):
        key, box, value = self.stack.pop(), self.stack.pop(), self.stack.pop()
        operators.set_item(self, box, key, value)

    def op_BINARY_SLICE(self, i):
        box, start, stop = self.pop(3)
        self.stack.append(operators.get_item(self, box, slice(start, stop)))

    def op_STORE_SLICE(self, i):
        value, box, start, stop = self.pop(4)
        operators.set_item(self, box, slice(start, stop), value)

    def op_DELETE_SUBSCR(self, i):
        key, box = self.stack.pop(), self.stack.pop()
        operators.delete_item(self, box, key)

    # ---- attributes ---------------------------------------------------------------------------------------------------------

    def op_LOAD_ATTR(self, i):
        self.stack.append(attributes.get_attribute(self, self.stack.pop(), i.value))

    def op_LOAD_METHOD(self, i):
        self.push_callee(attributes.get_attribute(self, self.stack.pop(), i.value))

    def super_attribute(self, i):
        """An attribute of `super()`, whose arguments are on the stack."""
        made, cls, owner = self.pop(3)
        args = (cls, owner) if i.arg or made is super else ()
        return attributes.get_attribute(self, calls.call(self, made, args, {}), i.value)

    def op_LOAD_SUPER_ATTR(self, i):
        self.stack.append(self.super_attribute(i))

    def op_LOAD_SUPER_METHOD(self, i):
        self.push_callee(self.super_attribute(i))

    def op_STORE_ATTR(self, i):
        owner, value = self.stack.pop(), self.stack.pop()
        attributes.set_attribute(self, owner, i.value, value)

    def op_DELETE_ATTR(self, i):
        attributes.delete_attribute(self, self.stack.pop(), i.value)

    # ---- calls --------------------------------------------------------------------------------------------------------------

    def op_KW_NAMES(self, i):
        self.names = self.code.co_consts[i.arg]

    def op_CALL(self, i):
        names, self.names = self.names, ()
        self.call(self.pop(i.arg), names)

    def op_CALL_KW(self, i):
        names = self.stack.pop()
        self.call(self.pop(i.arg), names)

    def invoke(self, function, args, kwargs):
        """`function(*args, **kwargs)`, within the capture."""
        return calls.call(self, function, args, kwargs)

    def call(self, args, names):
        """Calls what is on the stack; the last arguments are those with names."""
        function, args = self.pop_callee(args)
        kwargs = {}
        if names:
            count = len(args) - len(names)
            kwargs = dict(zip(names, args[count:], strict=True))
            args = args[:count]
        self.stack.append(calls.call(self, function, tuple(args), kwargs))

    def pop_callee(self, args):
        """The callable and its arguments: a method is on the stack as a function and an object."""
        above, below = self.stack.pop(), self.stack.pop()
        if below is NULL:
            return above, args
        return below, args if above is NULL else [above, *args]

    def op_CALL_FUNCTION_EX(self, i):
        kwargs = self.stack.pop() if i.arg & 1 else {}
        args = self.stack.pop()
        function, own = self.pop_callee([])
        if own:
            raise Break("a call of an unknown shape")
        args = args if type(args) is tuple else tuple(operators.items_of(self, args))
        self.stack.append(calls.call(self, function, args, dict(kwargs)))

    def op_MAKE_FUNCTION(self, i):
        code = self.stack.pop()
        closure = self.stack.pop() if i.arg & 8 else tuple(types.CellType() for _ in code.co_freevars)
        function = self.made_function(code, closure)
        for flag in (4, 2, 1):
            if i.arg & flag:
                self.complete(function, flag, self.stack.pop())
        self.stack.append(function)

    def made_function(self, code, closure):
        """A function of the frame's globals."""
        function = types.FunctionType(code, self.globals, code.co_name, None, closure)
        function.__qualname__ = code.co_qualname
        self.world.made_functions.add(id(function))
        self.world.keep.append(function)
        return function

    def complete(self, function, flag, value):
        """Gives a function its annotations (4), the defaults of its keywords (2) or its defaults (1)."""
        if flag == 4:
            function.__annotations__ = dict(zip(value[::2], value[1::2], strict=True))
        elif flag == 2:
            function.__kwdefaults__ = dict(value) or None
        else:
            function.__defaults__ = value

    def op_SET_FUNCTION_ATTRIBUTE(self, i):
        function, value = self.stack.pop(), self.stack.pop()
        if i.arg == 8:  # the first of them
            function = self.made_function(function.__code__, value)
        else:
            self.complete(function, i.arg, value)
        self.stack.append(function)

    def op_RETURN_CONST(self, i):
        self.result = i.value
        return _RETURNED

    def op_RETURN_VALUE(self, i):
        self.result = self.stack.pop()
        return _RETURNED

    def op_LOAD_BUILD_CLASS(self, i):
        raise Break("a class is made within the function", "make it outside")

    def op_IMPORT_NAME(self, i):
        names, level = self.stack.pop(), self.stack.pop()
        if level == 0 and i.value not in sys.modules:
            raise Break(f"{i.value} is imported for the first time", "import it outside of the function")
        with self.world.unwatched():
            module = __import__(i.value, self.globals, None, names, level)
        self.stack.append(module)

    def op_IMPORT_FROM(self, i):
        module = self.stack[-1]
        try:
            self.stack.append(attributes.get_attribute(self, module, i.value))
        except AttributeError:
            if f"{module.__name__}.{i.value}" in sys.modules:
                self.stack.append(sys.modules[f"{module.__name__}.{i.value}"])
            else:
                raise ImportError(f"cannot import name '{i.value}' from '{module.__name__}'", name=module.__name__) from None

    # ---- jumps --------------------------------------------------------------------------------------------------------------

    def op_JUMP(self, i):
        self.jump(i)

    def op_POP_JUMP_IF_TRUE(self, i):
        if operators.truth(self, self.stack.pop()):
            self.jump(i)

    def op_POP_JUMP_IF_FALSE(self, i):
        if not operators.truth(self, self.stack.pop()):
            self.jump(i)

    def op_POP_JUMP_IF_NONE(self, i):
        if self.stack.pop() is None:
            self.jump(i)

    def op_POP_JUMP_IF_NOT_NONE(self, i):
        if self.stack.pop() is not None:
            self.jump(i)

    def op_JUMP_IF_TRUE_OR_POP(self, i):
        if operators.truth(self, self.stack[-1]):
            self.jump(i)
        else:
            self.stack.pop()

    def op_JUMP_IF_FALSE_OR_POP(self, i):
        if not operators.truth(self, self.stack[-1]):
            self.jump(i)
        else:
            self.stack.pop()

    # ---- iteration ----------------------------------------------------------------------------------------------------------

    def op_GET_ITER(self, i):
        self.stack.append(operators.iterator(self, self.stack.pop()))

    def op_FOR_ITER(self, i):
        try:
            self.stack.append(operators.advance(self, self.stack[-1]))
        except StopIteration:
            self.stack.pop()
            self.jump(i)

    def op_UNPACK_SEQUENCE(self, i):
        items = operators.items_of(self, self.stack.pop())
        if len(items) != i.arg:
            raise ValueError(f"unpacking: expected {i.arg} values, got {len(items)}")
        self.stack.extend(reversed(items))

    def op_UNPACK_EX(self, i):
        before, after = i.arg & 255, i.arg >> 8
        items = list(operators.items_of(self, self.stack.pop()))
        if len(items) < before + after:
            raise ValueError(f"unpacking: expected {before + after} values or more, got {len(items)}")
        end = len(items) - after
        self.stack.extend(reversed([*items[:before], items[before:end], *items[end:]]))

    # ---- building -----------------------------------------------------------------------------------------------------------

    def op_BUILD_TUPLE(self, i):
        self.stack.append(tuple(self.pop(i.arg)))

    def op_BUILD_LIST(self, i):
        self.stack.append(self.pop(i.arg))

    def op_BUILD_SET(self, i):
        self.stack.append(set(map(objects.as_key, self.pop(i.arg))))

    def op_BUILD_MAP(self, i):
        flat = self.pop(2 * i.arg)
        self.stack.append(dict(zip(map(objects.as_key, flat[::2]), flat[1::2], strict=True)))

    def op_BUILD_CONST_KEY_MAP(self, i):
        keys = self.stack.pop()
        self.stack.append(dict(zip(keys, self.pop(i.arg), strict=True)))

    def op_BUILD_STRING(self, i):
        self.stack.append("".join(self.pop(i.arg)))

    def op_BUILD_SLICE(self, i):
        self.stack.append(slice(*self.pop(i.arg)))

    def op_LIST_TO_TUPLE(self, i):
        self.stack.append(tuple(self.stack.pop()))

    def op_LIST_APPEND(self, i):
        value = self.stack.pop()
        self.stack[-i.arg].append(value)

    def op_SET_ADD(self, i):
        value = self.stack.pop()
        self.stack[-i.arg].add(objects.as_key(value))

    def op_MAP_ADD(self, i):
        value, key = self.stack.pop(), self.stack.pop()
        self.stack[-i.arg][objects.as_key(key)] = value

    def op_LIST_EXTEND(self, i):
        items = self.stack.pop()
        self.stack[-i.arg].extend(operators.items_of(self, items))

    def op_SET_UPDATE(self, i):
        items = self.stack.pop()
        self.stack[-i.arg].update(map(objects.as_key, operators.items_of(self, items)))

    def op_DICT_UPDATE(self, i):
        other = self.stack.pop()
        self.stack[-i.arg].update(operators.mapping_of(self, other))

    def op_DICT_MERGE(self, i):
        other = operators.mapping_of(self, self.stack.pop())
        into = self.stack[-i.arg]
        twice = [key for key in other if key in into]
        if twice:
            raise TypeError(f"got multiple values for keyword argument '{twice[0]}'")
        into.update(other)

    def op_CONVERT_VALUE(self, i):
        self.stack.append(calls.call(self, (None, str, repr, ascii)[i.arg], (self.stack.pop(),), {}))

    def op_FORMAT_VALUE(self, i):
        spec = self.stack.pop() if i.arg & 4 else ""
        value = self.stack.pop()
        convert = (None, str, repr, ascii)[i.arg & 3]
        if convert is not None:
            value = calls.call(self, convert, (value,), {})
        self.stack.append(calls.call(self, format, (value, spec), {}))

    # ---- matching -----------------------------------------------------------------------------------------------------------

    def op_GET_LEN(self, i):
        self.stack.append(calls.call(self, len, (self.stack[-1],), {}))

    def op_MATCH_MAPPING(self, i):
        self.stack.append(bool(type(self.stack[-1]).__flags__ & (1 << 6)))

    def op_MATCH_SEQUENCE(self, i):
        self.stack.append(bool(type(self.stack[-1]).__flags__ & (1 << 5)))

    def op_MATCH_KEYS(self, i):
        keys, subject = self.stack[-1], self.stack[-2]
        found = tuple(subject[key] for key in keys) if all(key in subject for key in keys) else None
        self.stack.append(found)

    def op_MATCH_CLASS(self, i):
        names, cls, subject = self.stack.pop(), self.stack.pop(), self.stack.pop()
        self.stack.append(operators.match_class(self, subject, cls, i.arg, names))

    # ---- errors and contexts ------------------------------------------------------------------------------------------------

    def op_PUSH_EXC_INFO(self, i):
        error = self.stack.pop()
        self.stack.append(self.world.handled[-1] if self.world.handled else None)
        self.world.handled.append(error)
        self.stack.append(error)

    def op_POP_EXCEPT(self, i):
        self.stack.pop()
        self.world.handled.pop()

    def op_CHECK_EXC_MATCH(self, i):
        kinds = self.stack.pop()
        self.stack.append(isinstance(self.stack[-1], kinds))

    def op_RERAISE(self, i):
        error = self.stack.pop()
        raise error

    def op_RAISE_VARARGS(self, i):
        cause = self.stack.pop() if i.arg == 2 else NULL
        if i.arg == 0:
            if not self.world.handled:
                raise RuntimeError("No active exception to reraise")
            raise self.world.handled[-1]
        error = self.stack.pop()
        if isinstance(error, type) and issubclass(error, BaseException):
            error = calls.call(self, error, (), {})
        if not isinstance(error, Exception):
            raise Break(f"{type(error).__name__} is raised")
        if self.world.handled and error is not self.world.handled[-1]:
            error.__context__ = self.world.handled[-1]
        if cause is not NULL:
            raise error from cause
        raise error

    def op_LOAD_ASSERTION_ERROR(self, i):
        self.stack.append(AssertionError)

    def op_BEFORE_WITH(self, i):
        manager = self.stack.pop()
        leave = attributes.get_attribute(self, manager, "__exit__")
        enter = attributes.get_attribute(self, manager, "__enter__")
        entered = calls.call(self, enter, (), {})
        self.stack += [leave, entered]

    def op_WITH_EXCEPT_START(self, i):
        error = self.stack[-1]
        self.stack.append(calls.call(self, self.stack[-4], (type(error), error, error.__traceback__), {}))

    # ---- generators ---------------------------------------------------------------------------------------------------------

    def op_YIELD_VALUE(self, i):
        self.result = self.stack.pop()
        return _YIELDED

    def op_SEND(self, i):
        value = self.stack.pop()
        receiver = self.stack[-1]
        try:
            self.stack.append(
                operators.advance(self, receiver) if value is None else calls.call(self, attributes.get_attribute(self, receiver, "send"), (value,), {})
            )
        except StopIteration as end:
            self.stack.pop()
            self.stack.append(end.value)
            self.jump(i)

    def op_END_SEND(self, i):
        del self.stack[-2]

    def op_CLEANUP_THROW(self, i):
        error = self.stack.pop()
        if not isinstance(error, StopIteration):
            raise error
        self.stack[-2:] = None, error.value

    def op_STOPITERATION_ERROR(self, i):
        error = self.stack[-1]
        if isinstance(error, StopIteration):
            made = RuntimeError("generator raised StopIteration")
            made.__cause__ = error
            self.stack[-1] = made


def _unknown(machine, instruction):
    raise Break(f"the instruction {instruction.name}")


_HANDLERS = {name[3:]: handler for name, handler in vars(Machine).items() if name.startswith("op_")}


class Generator:
    """A generator whose frame is executed by a machine. It can be iterated by anything."""

    def __init__(self, machine, function, args, kwargs):
        self.machine, self.function, self.args, self.kwargs = machine, function, args, kwargs
        self.started = self.finished = self.running = False
        self.__name__ = function.__name__

    def __iter__(self):
        return self

    def __next__(self):
        return self.send(None)

    def send(self, value):
        """Goes on to the next `yield`, whose expression gives `value`."""
        return self._resume(value, None)

    def throw(self, kind, value=None, traceback=None):
        """Raises an error where it stands."""
        error = kind if isinstance(kind, BaseException) else value if isinstance(value, BaseException) else kind() if value is None else kind(value)
        return self._resume(None, error)

    def close(self):
        """Ends it."""
        if not self.started or self.finished:
            self.finished = True
            return
        try:
            self._resume(None, _Close())
        except (_Close, StopIteration):
            return
        raise RuntimeError("generator ignored GeneratorExit")

    def _resume(self, value, error):
        if self.finished:
            if error is not None and not isinstance(error, _Close):
                raise error
            raise StopIteration
        if self.running:
            raise ValueError("generator already executing")
        machine = self.machine
        if not self.started and value is not None:
            raise TypeError("can't send non-None value to a just-started generator")
        if error is not None and (not self.started or not machine.catch(error, machine.current)):
            self.finished = True
            raise error
        if error is None:
            machine.stack.append(value)
        self.started = self.running = True
        try:
            how = machine.run()
        except StopIteration as inner:
            self.finished = True
            raise RuntimeError("generator raised StopIteration") from inner
        except BaseException:
            self.finished = True
            raise
        finally:
            self.running = False
        if how is _YIELDED:
            return machine.result
        self.finished = True
        raise StopIteration(machine.result)


def start_of_body(machine):
    """The index after the instructions that make cells, for a generator also after the one that makes it."""
    for i, instruction in enumerate(machine.instructions):
        if instruction.name == "RETURN_GENERATOR":
            return i + 1
        if instruction.name == "RESUME":
            return 0
    return 0


def execute(machine, function, args, kwargs):
    """Runs a function that is called within the frame: its result, or its generator."""
    flags = machine.code.co_flags
    if flags & 0x280:
        raise Break("a coroutine")
    if flags & 0x20:
        at = start_of_body(machine)
        for instruction in machine.instructions[: at - 1]:
            _HANDLERS.get(instruction.name, _unknown)(machine, instruction)
        machine.index = at
        return Generator(machine, function, args, kwargs)
    machine.run()
    return machine.result
