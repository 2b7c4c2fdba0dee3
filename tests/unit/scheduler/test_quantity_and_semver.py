import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.quantity import is_quantity, parse_quantity
from scheduler.semver import is_semver, parse_semver

QUANTITIES = {
    "80Gi": 80 * 2**30,
    "81559Mi": 81559 * 2**20,
    "1.5Gi": 3 * 2**29,
    "256e3": 256_000,
    "1E3": 1000,
    "1E": 10**18,
    "1e-2": None,
    "5.": 5,
    "+4k": 4000,
    "-4k": -4000,
    "8Ei": 2**63 - 1,
    "10Ei": 2**63 - 1,
    "-10Ei": -(2**63 - 1),
    "1000E": None,
    "0": 0,
    "0.5": None,
}


@pytest.mark.parametrize("text", QUANTITIES)
def test_a_quantity_is_a_whole_number_of_64_bits_or_not(text: str) -> None:
    quantity = parse_quantity(text)
    want = QUANTITIES[text]
    assert quantity.is_integer() == (want is not None)
    if want is None:
        with pytest.raises(ValueError, match="64-bit"):
            quantity.as_integer()
    else:
        assert quantity.as_integer() == want


@pytest.mark.parametrize(("text", "nanos"), [("1n", 1), ("0.1n", 1), ("-0.1n", -1), ("1u", 1000), (".5", 5 * 10**8)])
def test_a_quantity_is_rounded_away_from_zero_to_a_billionth(text: str, nanos: int) -> None:
    assert parse_quantity(text).nanos == nanos


@pytest.mark.parametrize("text", ["1.3Gi", "5.", "100n", "1E3", "1E", "+1", "0", ".5m", "256e3"])
def test_is_a_quantity(text: str) -> None:
    assert is_quantity(text)


WRONG_QUANTITIES = [
    "200K",
    "1,3G",
    "10Mm",
    " 5Gi",
    "5Gi ",
    "Mi",
    "",
    ".",
    "1e",
    "80GB",
    "80Gib",
    "0x1",
    "1\n",
    "1e9999",
]


@pytest.mark.parametrize("text", [*WRONG_QUANTITIES, "9" * 5000])
def test_is_no_quantity(text: str) -> None:
    assert not is_quantity(text)


@pytest.mark.parametrize(
    ("left", "order", "right"),
    [("50M", -1, "50Mi"), ("8Ei", 0, "10Ei"), ("256E", 1, "1Ei"), ("256e3", 0, "256000"), ("81559Mi", -1, "80Gi")],
)
def test_quantities_compare_by_amount(left: str, order: int, right: str) -> None:
    assert parse_quantity(left).compare(parse_quantity(right)) == order
    assert parse_quantity(right).compare(parse_quantity(left)) == -order


def test_quantities_add_and_subtract_quantities_and_whole_numbers() -> None:
    assert parse_quantity("50k").minus(20) == parse_quantity("49980")
    assert parse_quantity("1Ki").plus(parse_quantity("24")) == parse_quantity("1048")
    assert parse_quantity("-3").sign() == -1
    assert parse_quantity("1.5").as_float() == 1.5
    assert parse_quantity("1e400").as_float() == float("inf")


STRICT = ["1.2.3", "0.0.0", "9.0.0", "1.0.0-rc.1", "1.0.0+build.5", "1.0.0-a-b+c-d", "1.0.0-0a"]
NOT_STRICT = [
    "9.0",
    "v1.2.3",
    "1.2.3.4",
    "01.2.3",
    "1.2.3-01",
    "1.0.0-",
    "1.0.0+",
    "1.0.0-a..b",
    "1.0.0+_",
    "",
    " 1.2.3",
]


@pytest.mark.parametrize("text", STRICT)
def test_is_a_strict_version(text: str) -> None:
    assert is_semver(text)
    assert is_semver(text, normalize=True)


@pytest.mark.parametrize("text", [*NOT_STRICT, "1.2.x", "1.2.٣", f"1.2.{2**64}"])
def test_is_no_strict_version(text: str) -> None:
    assert not is_semver(text)


@pytest.mark.parametrize(
    ("text", "strict"),
    [("9.0", "9.0.0"), ("9", "9.0.0"), ("v1.2", "1.2.0"), ("01.002.0", "1.2.0"), ("v1.2.3-rc.1", "1.2.3-rc.1")],
)
def test_a_version_is_normalized(text: str, strict: str) -> None:
    assert parse_semver(text, normalize=True) == parse_semver(strict)


@pytest.mark.parametrize("text", ["vv1.2.3", "1.2-rc1", "1.2+build", " 1.2.3", "", "v", "1.0.0-"])
def test_is_no_version_even_when_normalized(text: str) -> None:
    assert not is_semver(text, normalize=True)


def test_versions_are_ordered_as_semver_org_says() -> None:
    ordered = ["1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11"]
    ordered += ["1.0.0-rc.1", "1.0.0", "1.0.1", "1.9.0", "1.10.0", "2.0.0-1", "2.0.0-1a"]
    versions = [parse_semver(text) for text in ordered]
    for place, version in enumerate(versions):
        assert [version.compare(other) for other in versions] == [
            (place > other) - (place < other) for other in range(len(versions))
        ]
    assert parse_semver("1.0.0+a") == parse_semver("1.0.0+b")


@settings(derandomize=True, deadline=None)
@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    for parse in (parse_quantity, parse_semver, lambda given: parse_semver(given, normalize=True)):
        with contextlib.suppress(ValueError):
            parse(text)
