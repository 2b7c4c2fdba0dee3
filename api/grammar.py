"""The text forms that names, labels, quantities and versions must have (api contract, section 2)."""

import re
from typing import Annotated

from pydantic import Field

_LABEL_CHARS = r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?"
_DNS_PART = r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?"

DNS_LABEL = r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"
DNS_LABEL_OF_ANY_LENGTH = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
DNS_SUBDOMAIN = r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$"
LABEL_KEY = rf"^(?:{_DNS_PART}(?:\.{_DNS_PART})*/)?{_LABEL_CHARS}$"
LABEL_VALUE = rf"^(?:{_LABEL_CHARS})?$"
QUANTITY = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|[eE][+-]?[0-9]+)?$"
_NUMBER = r"(?:0|[1-9][0-9]*)"
_PRE_RELEASE = rf"(?:{_NUMBER}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
SEMVER = (
    rf"^{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-{_PRE_RELEASE}(?:\.{_PRE_RELEASE})*)?"
    r"(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$"
)
_C_IDENTIFIER = r"[A-Za-z_][A-Za-z0-9_]{0,31}"
DEVICE_KEY = rf"^(?:{_DNS_PART}(?:\.{_DNS_PART})*/)?{_C_IDENTIFIER}$"
DURATION = r"^([0-9]+h)?([0-9]+m)?([0-9]+s)?$"
PERCENT = r"^(100|[1-9]?[0-9])%$"
HTTP_ADDRESS = r"^https?://[^\s/?#]+(/[^\s?#]*)?$"
CAPACITY_RESERVATION = r"^cr-[0-9a-f]+$"

DESCRIPTIONS = {
    DNS_LABEL: "lower-case letters, digits and '-', first and last a letter or digit, at most 63 characters",
    DNS_LABEL_OF_ANY_LENGTH: "lower-case letters, digits and '-', first and last a letter or digit",
    DNS_SUBDOMAIN: "lower-case letters, digits, '-' and '.', each part beginning and ending with a letter or digit",
    DURATION: "a duration such as 90s, 10m or 1h30m",
    PERCENT: "a share such as 20%",
    HTTP_ADDRESS: "an address that begins with http:// or https://",
    CAPACITY_RESERVATION: "a reservation id such as cr-0123456789abcdef0",
}
"""What a pattern asks for, in words; messages show these, never the expression."""

Text = Annotated[str, Field(min_length=1)]
Text32 = Annotated[str, Field(min_length=1, max_length=32)]
Text63 = Annotated[str, Field(min_length=1, max_length=63)]
Text253 = Annotated[str, Field(min_length=1, max_length=253)]
DnsLabel = Annotated[str, Field(min_length=1, max_length=63, pattern=DNS_LABEL)]
DnsSubdomain = Annotated[str, Field(min_length=1, max_length=253, pattern=DNS_SUBDOMAIN)]
Integer = Annotated[int, Field(strict=True)]
"""A whole number; true, 1.0 and "1" are refused."""
Boolean = Annotated[bool, Field(strict=True)]


DECIMAL = r"[0-9]{1,9}(\.[0-9]{1,6})?"
"""A price."""


def is_match(pattern: str, text: str) -> bool:
    """Whether the whole text has the form; `$` never lets a trailing newline through."""
    return re.fullmatch(pattern.removeprefix("^").removesuffix("$"), text) is not None


def is_dns_subdomain(text: str) -> bool:
    """A dot-joined row of DNS labels of at most 253 characters."""
    return len(text) <= 253 and is_match(DNS_SUBDOMAIN, text)


def is_label_key(text: str) -> bool:
    """An optional `prefix/` of at most 253 characters and a name of at most 63."""
    return len(text.partition("/")[0]) <= 253 and is_match(LABEL_KEY, text)


def is_label_value(text: str) -> bool:
    """Empty, or at most 63 characters that begin and end with a letter or digit."""
    return is_match(LABEL_VALUE, text)


def is_quantity(text: str) -> bool:
    """A Kubernetes quantity that is not negative, at most 32 characters."""
    return len(text) <= 32 and not text.startswith("-") and is_match(QUANTITY, text)


def is_semver(text: str) -> bool:
    """Strict `major.minor.patch[-pre][+build]`, at most 32 characters."""
    return len(text) <= 32 and is_match(SEMVER, text)


def is_object_key(text: str) -> bool:
    """A key of a Secret or ConfigMap."""
    return is_match(r"[-._a-zA-Z0-9]{1,253}", text)


def seconds(duration: str) -> int:
    """Length of a duration such as `1h30m` in seconds; the text must have the form of DURATION."""
    units = {"h": 3600, "m": 60, "s": 1}
    return sum(int(number) * units[unit] for number, unit in re.findall(r"([0-9]+)([hms])", duration))
