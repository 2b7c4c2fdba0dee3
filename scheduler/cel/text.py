"""The functions of text that Kubernetes adds to the language; positions count characters from 0."""

from collections.abc import Callable, Sequence
from string import ascii_lowercase, ascii_uppercase

from scheduler.cel.function import Function
from scheduler.cel.size import Size, joined
from scheduler.cel.values import CelError, Value, kind_of, no_overload

_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)
_UPPER = str.maketrans(ascii_lowercase, ascii_uppercase)
_SPACE = "\t\n\v\f\r \u0085\u00a0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


def _checked(name: str, kinds: str, run: Callable[..., Value]) -> Callable[..., Value]:
    """Make a function that takes values of these kinds, or the first of them, from one that need not check them."""
    wanted = kinds.split()

    def checked(*values: Value) -> Value:
        if [kind_of(value) for value in values] != wanted[: len(values)]:
            raise no_overload(f"{name}()", *values)
        return run(*values)

    return checked


def _char_at(text: str, position: int) -> str:
    if not 0 <= position <= len(text):
        raise CelError(f"index out of range: {position}")
    return text[position : position + 1]


def _index_of(text: str, part: str, start: int = 0) -> int:
    if start < 0:
        raise CelError(f"index out of range: {start}")
    return start if not part else text.find(part, start)


def _last_index_of(text: str, part: str, start: int | None = None) -> int:
    if start is None:
        return text.rfind(part)
    if start < 0:
        raise CelError(f"index out of range: {start}")
    if not part:
        return start
    return text.rfind(part, 0, start + len(part)) if start < len(text) else -1


def _substring(text: str, start: int, end: int | None = None) -> str:
    last = len(text) if end is None else end
    if not 0 <= start <= last <= len(text):
        raise CelError(f"there is no substring from {start} to {last}")
    return text[start:last]


def _split(text: str, separator: str, most: int = -1) -> list[Value]:
    if most == 0:
        return []
    if separator:
        return list(text.split(separator, most - 1 if most > 0 else -1))
    if 0 < most < len(text):
        return [*text[: most - 1], text[most - 1 :]]
    return list(text)


def _replaced_size(sizes: Sequence[Size]) -> Size:
    return joined([sizes[0], Size((sizes[0].count + 1) * sizes[2].count)])


def _split_size(sizes: Sequence[Size]) -> Size:
    return Size(sizes[0].count + 1, Size(sizes[0].count))


FUNCTIONS: dict[str, Function] = {
    "charAt": Function.of(_checked("charAt", "string int", _char_at), "string.(int) -> string"),
    "indexOf": Function.of(
        _checked("indexOf", "string string int", _index_of), "string.(string) -> int", "string.(string, int) -> int"
    ),
    "lastIndexOf": Function.of(
        _checked("lastIndexOf", "string string int", _last_index_of),
        *("string.(string) -> int", "string.(string, int) -> int"),
    ),
    "lowerAscii": Function.of(
        _checked("lowerAscii", "string", lambda text: text.translate(_LOWER)), "string.() -> string"
    ),
    "replace": Function.of(
        _checked("replace", "string string string int", str.replace),
        *("string.(string, string) -> string", "string.(string, string, int) -> string"),
        size=_replaced_size,
    ),
    "split": Function.of(
        _checked("split", "string string int", _split),
        *("string.(string) -> list(string)", "string.(string, int) -> list(string)"),
        size=_split_size,
    ),
    "substring": Function.of(
        _checked("substring", "string int int", _substring),
        *("string.(int) -> string", "string.(int, int) -> string"),
    ),
    "trim": Function.of(_checked("trim", "string", lambda text: text.strip(_SPACE)), "string.() -> string"),
    "upperAscii": Function.of(
        _checked("upperAscii", "string", lambda text: text.translate(_UPPER)), "string.() -> string"
    ),
}
