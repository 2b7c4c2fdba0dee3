"""The selector language against one device, what is refused when it is loaded, and what bounds it."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.classes import Attribute, Capacity, Device
from scheduler.cel import Match, compile_error, compile_selector, match, view
from scheduler.cel.functions import NAMESPACES, UNAVAILABLE

H100 = Device.model_validate(
    {
        "name": "gpu",
        "driver": "gpu.nvidia.com",
        "deviceClassName": "gpu.nvidia.com",
        "count": 8,
        "attributes": {
            "cudaComputeCapability": {"version": "9.0.0"},
            "architecture": {"string": "Hopper"},
            "x/y": {"int": 3},
            "index": {"int": 3},
            "ecc": {"bool": True},
        },
        "capacity": {"memory": {"value": "81559Mi"}},
    }
)
M = 'device.capacity["gpu.nvidia.com"].memory'
C = 'device.attributes["gpu.nvidia.com"].cudaComputeCapability'
A = 'device.attributes["gpu.nvidia.com"].architecture'
I = 'device.attributes["gpu.nvidia.com"].index'  # noqa: E741  # as short as the others

MATCHES = {
    # the worked table of the reference
    f'{M}.compareTo(quantity("80Gi")) >= 0': False,
    f'{M}.compareTo(quantity("79Gi")) >= 0': True,
    f'{M} > quantity("1Gi")': False,
    f'{C}.isGreaterThan(semver("8.9.0"))': True,
    f'{C}.isGreaterThan(semver("9.0.0"))': False,
    f'{C}.compareTo(semver("9.0.0")) >= 0': True,
    f'{C}.compareTo(semver("9.0")) >= 0': False,
    f'{C}.compareTo(semver("9.0", true)) >= 0': True,
    'device.attributes["x"].y == 3': True,
    'device.attributes["nope"].y == 3': False,
    'device.attributes["gpu.nvidia.com"].nope == "a" || device.driver == "gpu.nvidia.com"': True,
    'device.driver == "gpu.nvidia.com" || device.attributes["gpu.nvidia.com"].nope == "a"': True,
    f'{A}.startsWith("Hop")': True,
    "device.driver": False,
    '"true"': False,
    # domains and presence
    '"x" in device.attributes': True,
    '"nope" in device.attributes': False,
    'size(device.attributes["nope"]) == 0': True,
    '"y" in device.attributes["x"]': True,
    "device.attributes.x.y == 3": True,
    'device.attributes["x"]["y"] == 3': True,
    "has(device.attributes.x.y)": True,
    "has(device.attributes.x.z)": False,
    'has(device.attributes["nope"].z)': False,
    "has(device.attributes.nope)": True,
    "has(device.driver)": True,
    'device.attributes["gpu.nvidia.com"].ecc': True,
    'device.attributes["gpu.nvidia.com"].index': False,
    # errors are no match in either polarity
    'device.attributes["nope"].y != 3': False,
    '!(device.attributes["nope"].y == 3)': False,
    'device.attributes["nope"].y == 3 && true': False,
    '!(device.attributes["nope"].y == 3 && false)': True,
    # numbers of every kind, in either order
    f"{I} >= 2.0": True,
    f"2.0 <= {I}": True,
    f"{I} == 3.0": True,
    f"3.0 == {I}": True,
    f"{I} == 3u": True,
    f"3u == {I}": True,
    f"3u >= {I} && {I} >= 3u": True,
    f"{I} < 3.5 && 3.5 > {I}": True,
    f"{I} in [1.0, 3.0]": True,
    "dyn(9007199254740993) == 9007199254740992.0": True,
    "9007199254740993 > 9007199254740992.0": False,
    "18446744073709551615u > -1": True,
    f"{I} + 1 == 4": True,
    f"{I} + 1.0 == 4.0": False,
    f"{I} + 1u == 4u": False,
    # kinds that never equal
    f"{A} == 3": False,
    f"{A} != 3": True,
    f"{A} < 3": False,
    f'{C} == "9.0.0"': False,
    f'{C} != "9.0.0"': True,
    f'!("9.0.0" == {C})': True,
    f'!({C} == "9.0.0")': False,
    f"{C} != {A} && {A} != {C}": True,
    f"{M} != {I} && {I} != {M}": True,
    f"!({M} == {I})": False,
    f"!({I} == {M})": True,
    f"{M} != null && {C} != null && {I} != null": True,
    f'{C} in ["9.0.0"]': False,
    f'!({C} in ["9.0.0"])': False,
    f'{C} in [semver("9.0.0")]': True,
    f'{M} == quantity("83516416Ki")': True,
    f'{C} == semver("9.0.0+build")': True,
    # arithmetic
    'quantity("50k").sub(20) == quantity("49980")': True,
    'quantity("1Ki").add(quantity("1Ki")) == quantity("2Ki")': True,
    'sign(quantity("-1")) == -1': True,
    'quantity("1.5").isInteger()': False,
    'quantity("1.5").asInteger() == 1': False,
    'quantity("1.5").asApproximateFloat() == 1.5': True,
    'isQuantity("1.3Gi") && !isQuantity("200K")': True,
    f"{C}.major() == 9 && {C}.minor() == 0 && {C}.patch() == 0": True,
    'isSemver("1.2.3") && !isSemver("v1.2") && isSemver("v1.2", true)': True,
    'sign(quantity("80 Gi")) == 1': False,
    # the quantity table of the reference
    'quantity("50M").isLessThan(quantity("50Mi"))': True,
    'quantity("8Ei").compareTo(quantity("10Ei")) == 0': True,
    'quantity("256E").isGreaterThan(quantity("1Ei"))': True,
    'quantity("256e3").compareTo(quantity("256000")) == 0': True,
    '["1.3Gi", "5.", "100n", "1E3"].all(text, isQuantity(text))': True,
    '["200K", "1,3G", "10Mm", " 5Gi"].exists(text, isQuantity(text))': False,
    'isQuantity("Mi")': False,
    'semver("1.0.0-alpha.1").isLessThan(semver("1.0.0-beta"))': True,
    'semver("1.0.0").isGreaterThan(semver("1.0.0-rc.9"))': True,
    'isSemver("1.0.0-") || isSemver("1.0.0+")': False,
    'quantity("1").compareTo(semver("1.0.0")) == 0': False,
    # standard CEL
    f'{A} in ["Hopper", "Blackwell"]': True,
    f'["Ampere", "Ada"].exists(name, name == {A})': False,
    f'["Ampere", "Hopper"].exists(name, name == {A})': True,
    f'["Ampere", "Hopper"].exists_one(name, name == {A})': True,
    "[1, 2, 3].all(n, n > 0)": True,
    "[1, 0, 2].all(n, 4 / n > 0)": False,
    "[0, 1].exists(n, 4 / n == 4)": True,
    "[1, 2, 3].filter(n, n > 1) == [2, 3]": True,
    "[1, 2].map(n, n * 2) == [2, 4]": True,
    "[1, 2, 3].map(n, n > 1, n * 2) == [4, 6]": True,
    'device.attributes.exists(domain, domain == "x")': True,
    f'{A}.endsWith("per") && {A}.contains("opp") && {A}.matches("^Ho+pper$")': True,
    f"size({A}) == 6 && {A}.size() == 6": True,
    'int("7") == 7 && int(7.9) == 7 && double(7) == 7.0 && string(7) == "7" && uint(7) == 7u': True,
    "true ? false : 1 / 0 == 1": False,
    "false ? 1 / 0 == 1 : true": True,
    "(1 / 0 == 1) ? true : true": False,
    "-7 / 2 == -3 && -7 % 2 == -1": True,
    "9223372036854775807 + 1 > 0": False,
    "1u - 2u < 1u": False,
    '{"a": 1}.a == 1 && "a" in {"a": 1} && {"a": 1}["b"] == 1': False,
    '{"a": 1} == {"a": dyn(1.0)}': True,
    "{1: true}[dyn(1.0)]": True,
    "{true: 1} == dyn({1: 1})": False,
    "[1, 2][1] == 2 && [1, 2][2] == 3": False,
    'b"ab" == bytes("ab") && string(b"ab") == "ab"': True,
    '"\\u00e9" == "é" && r"\\d" == "\\\\d" && "\\x41\\101" == "AA"': True,
    "null == null && null != dyn(1)": True,
    "dyn(1) == 1": True,
    "0x1F == 31 && .5 == 0.5 && 1e3 == 1000.0 && 1e3 >= 1000": True,
    "1-1 == 0 && 1 -1 == 0 && - 1 == -1 && !!true": True,
    "[[1], [2]].exists(l, l.exists(n, n == 2))": True,
    "true // a comment\n": True,
    '"a" < "b" && b"a" < b"b" && false < true': True,
    "dyn([1]) < dyn([2])": False,
    '("a" + "b" == "ab") && ([1] + [2] == [1, 2])': True,
    ".device.driver == 'gpu.nvidia.com'": True,
    "0.0 / 0.0 == 0.0 / 0.0": False,
    "1.0 / 0.0 > 1.0e300": True,
    # what Kubernetes adds
    f'{A}.lowerAscii() == "hopper" && {A}.upperAscii() == "HOPPER" && "É".lowerAscii() == "É"': True,
    f'{A}.charAt(0) == "H" && "abc".charAt(3) == ""': True,
    '"abc".charAt(4) == ""': False,
    '"abca".indexOf("a") == 0 && "abca".indexOf("a", 1) == 3': True,
    '"abc".indexOf("x") == -1 && "abc".indexOf("") == 0': True,
    '"abca".lastIndexOf("a") == 3 && "abca".lastIndexOf("a", 1) == 0 && "abc".lastIndexOf("") == 3': True,
    '"abc".indexOf("a", -1) == 0 || "abc".lastIndexOf("a", -1) == 0': False,
    f'{A}.substring(1) == "opper" && {A}.substring(1, 3) == "op" && "abc".substring(3) == ""': True,
    '"abc".substring(2, 1) == "" || "abc".substring(4) == ""': False,
    f'{A}.replace("p", "q") == "Hoqqer"': True,
    '"aaa".replace("a", "b", 2) == "bba" && "ab".replace("", "-") == "-a-b-"': True,
    f'{A}.split("p") == ["Ho", "", "er"] && "a,b,c".split(",", 2) == ["a", "b,c"] && "".split(",").size() == 1': True,
    '"abc".split("") == ["a", "b", "c"] && "abc".split("", 2) == ["a", "bc"] && "a".split(",", 0) == []': True,
    '" a\u00a0".trim() == "a"': True,
    f"{I}.lowerAscii() == '3'": False,
    f'sets.contains(["Ampere", "Hopper"], ["Hopper"]) && sets.intersects([{A}], [{A}, {I}])': True,
    'sets.contains(["a"], ["a", "b"]) || sets.intersects(["a"], ["b"])': False,
    'sets.equivalent([1, 2, 1], [2, 1]) && sets.contains(["a"], []) && !sets.intersects([1], [])': True,
    'cel.bind(gpu, device.attributes["gpu.nvidia.com"], gpu.index == 3 && gpu.architecture == "Hopper")': True,
    "cel.bind(x, 1, cel.bind(x, x + 1, x == 2))": True,
    "cel.bind(x, 1 / 0 == 1, true || x)": True,
    "cel.bind(x, 1 / 0 == 1, x || false)": False,
    # fields that may be absent
    'device.attributes["gpu.nvidia.com"].?architecture.orValue("none") == "Hopper"': True,
    'device.attributes["gpu.nvidia.com"].?nope.orValue("none") == "none"': True,
    'device.attributes["gpu.nvidia.com"][?"index"].value() == 3': True,
    'device.attributes["nope"].?y.value() == 3': False,
    "device.attributes.?x.?y.orValue(0) == 3 && device.?attributes.x.y.orValue(0) == 3": True,
    'device.attributes["x"].?y.hasValue() && !device.attributes["x"].?z.hasValue()': True,
    'device.attributes["x"].?ready.orValue(true)': True,
    'device.attributes["x"].?z.or(device.attributes["x"].?y).value() == 3': True,
    'device.attributes["x"].?y.optMap(n, n + 1).orValue(0) == 4': True,
    'device.attributes["x"].?z.optMap(n, n + 1).orValue(0) == 0': True,
    'device.attributes["x"].?y.optFlatMap(n, optional.of(n + 1)).orValue(0) == 4': True,
    "optional.of(1).value() == 1 && !optional.none().hasValue()": True,
    "[1, 2][?1].hasValue() && ![1, 2][?2].hasValue() && {'a': 1}.?b.orValue(2) == 2": True,
    '"a.?b" == "a.?" + "b" && "[?" != "["': True,
}


@pytest.mark.parametrize("expression", MATCHES)
def test_match(expression: str) -> None:
    assert match(expression, H100).matched is MATCHES[expression]


REFUSED = {
    "device.driver ==": "syntax error: the expression ends too early",
    "device.foo(": "syntax error: the expression ends too early, a ) is missing",
    "device.driver == '(' || ['a', (1": "syntax error: the expression ends too early, a ) is missing",
    "device.driver in ['a', 'b)'": "syntax error: the expression ends too early, a ] is missing",
    "device.driver == ]": "syntax error at column 18 near ']'",
    "true ||\n ]": "syntax error at line 2, column 2 near ']'",
    "": "syntax error: the expression ends too early",
    'device.driver == "abc': "syntax error: the string that begins at column 18 has no end",
    '"\\d" == "d"': "syntax error: '\\\\d' is not an escape; write \\\\ for a backslash",
    "if == 1": "syntax error at column 1: if is a reserved word",
    "99999999999999999999 > 1": "the number 99999999999999999999 does not fit 64 bits",
    "node.driver == 'x'": "column 1: there is no variable node; a selector reads device",
    "device.drivers == 'x'": "column 8: device has no field drivers, only driver, attributes and capacity",
    "device.driver.name == 'x'": "column 15: a string has no field name",
    "device.foo()": "column 8: there is no function foo()",
    "device.driver.startWith('gpu')": "column 15: there is no function startWith(); did you mean startsWith()?",
    "device.driver.find('x') == 'x'": "column 15: find() cannot be used in a selector here",
    "math.least(1, 2) == 1": "column 6: math.least() cannot be used in a selector here",
    "type(1) == type(2)": "column 1: type() cannot be used in a selector here",
    f'compareTo({M}, quantity("1Gi")) == 1': "column 1: compareTo() is a method; write value.compareTo(…)",
    f'isGreaterThan({C}, semver("1.0.0"))': "column 1: isGreaterThan() is a method; write value.isGreaterThan(…)",
    'contains("ab", "a")': "column 1: contains() is a method; write value.contains(…)",
    'quantity("-1").sign() == -1': "column 16: sign() is a function, not a method; write sign(…)",
    f'{M}.compareTo(semver("1.0.0")) < 0': "column 42: compareTo() does not take (Quantity, Semver)",
    'quantity("1").add(1.0) == quantity("2")': "column 15: add() does not take (Quantity, double)",
    "bool(1)": "column 1: bool() does not take (int)",
    "1.0.size() == 1": "column 5: size() does not take (double)",
    "9007199254740993 == 9007199254740992.0": "== does not take (int, double); write both as int or both as double",
    "1e3 != 1000": "!= does not take (double, int); write both as int or both as double",
    "null == 1": "== does not take (null_type, int)",
    '{"a": 1} == {"a": 1.0}': "== does not take (map(string, int), map(string, double))",
    "{true: 1} == {1: 1}": "== does not take (map(bool, int), map(int, int))",
    "[1] < [2]": "< does not take (list(int), list(int))",
    "1 + 1.0 > 2": "+ does not take (int, double); write both as int or both as double",
    "'a' in [1]": "in does not take (string, list(int))",
    "-(1u) == 1u": "- does not take a uint",
    "{1: true}[1.0]": "[] does not take (map(int, bool), double)",
    "[true][0u]": "[] does not take (list(bool), uint)",
    "[1, 2.0] == []": "the elements of a list must be of one type, not int and double",
    f'[{A}, "x"] == []': "the elements of a list must be of one type, not any and string",
    "{1: 1, 'a': 2} == {}": "the keys of a map must be of one type, not int and string",
    "{1: 1, 2: 'a'} == {}": "the values of a map must be of one type, not int and string",
    "true ? 1 : 'a'": "both results of ? must be of one type, not a int and a string",
    "dyn(true)": "the result is a dyn, not a boolean",
    'int("seven") == 7 || true': "column 1: int() does not take (string)",
    'double("x") == 7.0 || true': "column 1: double() cannot read 'x'",
    f'{A}.matches("(") || true': "column 50: '(' is not a regular expression: missing ): (",
    f"{A}.exists(c, c == 'H')": "column 50: exists() needs a list or a map, not an attribute",
    "[1].exists(n, n)": "column 5: the test of exists() is a int, not a boolean",
    'device.attributes["x"].?y': "the result is a optional_type(any), not a boolean",
    'device.attributes["x"].?y == 3': "== cannot compare an optional value; ask hasValue() or write orValue(…)",
    'device.attributes["x"].?y.orValue()': "column 27: orValue() does not take 0 arguments",
    "{'a': 1}.?b.orValue('x') == 2": "column 13: orValue() does not take (optional_type(int), string)",
    "device.?drivers.hasValue()": "column 9: device has no field drivers, only driver, attributes and capacity",
    "device.driver.?x.hasValue()": "column 16: a string has no field x",
    'has(device.attributes["x"].?y)': 'column 1: has() takes a field, as in has(device.attributes["domain"].name)',
    "[?optional.of(1)] == [1]": "syntax error: only a field or a key can be optional, as in .?name and [?key]",
    "device.?driver() == 'x'": "syntax error at column 9: a call cannot be optional",
    "(3).optMap(n, n).hasValue()": "column 5: optMap() needs an optional value, not a int",
    "cel.bind(x, 1)": "column 5: write cel.bind(name, value, expression)",
    "size(1, 2) == 1": "column 1: size() does not take 2 arguments",
    "device.driver": "the result is a string, not a boolean",
    '"true"': "the result is a string, not a boolean",
    "1 + 1": "the result is a int, not a boolean",
    "!1": "! takes a boolean, not a int",
    "true && 1": "&& takes booleans, not a int",
    "1 ? true : false": "the test before ? is a int, not a boolean",
    f'{M} >= quantity("80Gi")': ">= is not defined for quantities; write left.compareTo(right) >= 0",
    f'{M} - quantity("1Gi") == quantity("1Gi")': "- is not defined for quantities; write left.sub(right)",
    f'{M} == "80Gi"': "quantities cannot equal a string; write quantity(…) or semver(…) around it",
    "has(device)": 'column 1: has() takes a field, as in has(device.attributes["domain"].name)',
    "[1].exists(1, true)": "column 5: write exists(name, expression)",
    "device.driver.exists(c, c == 'g')": "column 15: exists() needs a list or a map, not a string",
    "Thing{a: 1}.a == 1": "syntax error at column 1: messages cannot be built",
    "(" * 10_000 + "true" + ")" * 10_000: "the expression is longer than 10240 characters",
    "!" * 100 + "true": "the expression is nested more than 64 levels deep",
    "1 + " * 100 + "1 > 0": "the expression is nested more than 64 levels deep",
}


@pytest.mark.parametrize("expression", REFUSED, ids=lambda text: text[:40])
def test_refused_when_loaded(expression: str) -> None:
    assert compile_error(expression) == REFUSED[expression]
    assert match(expression, H100).matched is False


@pytest.mark.parametrize("name", sorted(UNAVAILABLE))
def test_functions_of_kubernetes_that_are_missing_here_are_refused_by_name(name: str) -> None:
    assert compile_error(f"device.driver.{name}() == 1") == f"column 15: {name}() cannot be used in a selector here"


@pytest.mark.parametrize("name", sorted(NAMESPACES))
def test_libraries_of_kubernetes_that_are_missing_here_are_refused_by_name(name: str) -> None:
    problem = compile_error(f"{name}.any(device.driver)")
    assert problem == f"column {len(name) + 2}: {name}.any() cannot be used in a selector here"


def test_what_is_refused_elsewhere_is_told_apart_from_what_only_fails_here() -> None:
    assert compile_error('device.attributes["nope"].y == 3') is None
    assert match('device.attributes["nope"].y == 3', H100).problem == "no such key: y"


COSTLY = {
    "string doubling": '["aaaaaaaa"]' + ".map(a, a + a)" * 60 + ".size() > 0",
    "nested loops": "[1,2,3,4,5,6,7,8,9].all(a, " * 7 + "true" + ")" * 7,
    "device maps in loops": "device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, a != b)))",
}


@pytest.mark.parametrize("expression", COSTLY.values(), ids=COSTLY)
def test_costly_expressions_are_refused_before_they_run(expression: str) -> None:
    began = time.process_time()
    assert "too long" in (compile_error(expression) or "")
    assert time.process_time() - began < 5


def test_long_lists_and_chains_are_usable() -> None:
    names = ", ".join(f'"model-{number}"' for number in range(400))
    assert match(f"{A} in [{names}]", H100).matched is False
    assert compile_error(f"[{names}].exists(name, name == {A})") is None
    assert match(" || ".join([f'{A} == "nope"'] * 150 + ["true"]), H100).matched is True
    assert match("(" * 2000 + "true" + ")" * 2000, H100).matched is True


def test_an_open_string_with_many_escapes_is_refused_at_once() -> None:
    began = time.process_time()
    assert "has no end" in (compile_error('"' + "\\n" * 4000) or "")
    assert "has no end" in (compile_error('true || """' + "\\n" * 4000 + '"') or "")
    assert time.process_time() - began < 5


MALFORMED: dict[str, tuple[dict[str, object], str]] = {
    "an amount": ({"capacity": {"bad": {"value": "80 Gi"}}}, "bad: '80 Gi' is not a Kubernetes quantity"),
    "a version": (
        {"attributes": {"x/bad": {"version": "9.0"}}},
        "x/bad: '9.0' is not a semantic version: write major.minor.patch",
    ),
    "an attribute without a value": ({"attributes": {"bad": {}}}, "bad: the attribute has no value"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_device_with_a_malformed_fact_matches_nothing(name: str) -> None:
    fields, problem = MALFORMED[name]
    attributes = {key: Attribute.model_construct(**fact) for key, fact in fields.get("attributes", {}).items()}  # type: ignore[attr-defined]  # a mapping in all cases
    capacity = {key: Capacity.model_construct(**fact) for key, fact in fields.get("capacity", {}).items()}  # type: ignore[attr-defined]  # as above
    broken = H100.model_copy(
        update={"attributes": {**H100.attributes, **attributes}, "capacity": {**H100.capacity, **capacity}}
    )
    for expression in ("true", f'{A} == "Hopper"', 'device.driver == "gpu.nvidia.com"'):
        assert match(expression, broken) == Match(matched=False, problem=problem)


def test_reads_are_the_facts_an_expression_names() -> None:
    reads = compile_selector(f'{M}.compareTo(quantity("1Gi")) > 0 && {A} == "Hopper" && {A} != ""').reads
    assert [(read.group, read.domain, read.name) for read in reads] == [
        ("capacity", "gpu.nvidia.com", "memory"),
        ("attributes", "gpu.nvidia.com", "architecture"),
    ]


WORDS = st.sampled_from(
    [
        *(M, C, A, I, "device", ".driver", "true", "1", "2.0", "3u", '"a"', "b'a'", "null", "x"),
        *("quantity(", "semver(", "int(", "string(", "type(", "has(", ".all(x,", ".map(x,", ".size()", ".compareTo("),
        *(")", "(", "[", "]", "{", "}", ".", ",", ":", "?", "!", "||", "&&", "in"),
        *("==", "!=", "<", "+", "-", "/", "%"),
    ]
)


@settings(derandomize=True, deadline=None)
@given(st.lists(WORDS, max_size=14))
def test_evaluation_never_raises(words: list[str]) -> None:
    selector = compile_selector(" ".join(words))
    assert selector.match(view(H100)).matched in {True, False}


@settings(derandomize=True, deadline=None)
@given(st.sampled_from([M, C, A, I]), st.sampled_from([M, C, A, I, "null", '"9.0.0"', "1.5", "device.driver"]))
def test_values_of_unlike_kinds_differ_and_are_never_the_same(left: str, right: str) -> None:
    same, other = match(f"{left} == {right}", H100), match(f"{left} != {right}", H100)
    if compile_error(f"{left} == {right}") is None:
        assert (same.matched, other.matched) == ((left == right), (left != right))
    else:
        assert compile_error(f"{left} != {right}") is not None
