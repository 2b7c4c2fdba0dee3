"""The base of every fleet document: camelCase outside, snake_case inside, frozen, typos refused.

A rule that reads more than one field is a method `faults` (refused) or `cautions` (reported only) of the model it
belongs to. One validator turns the faults of a model into a single error that carries all of them, so that a
document with three mistakes is told three things.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from api.grammar import DNS_LABEL, is_label_key, is_label_value

API_VERSION: Final = "modelplane.ai/v1alpha1"
GROUP_PREFIX = "modelplane.ai/"

Path = tuple[str | int, ...]
KeyRules = tuple[str, str, str]
"""Ids of three rules of one map: the form of a key, the length of its prefix, the form of a value."""
METADATA_RULES: Final[KeyRules] = ("META-X1", "META-X1", "META-X1")


@dataclass(frozen=True)
class Fault:
    """One rule that a model breaks: the rule's id, where below the model, what, and what to do."""

    rule: str
    at: Path
    message: str
    hint: str


class Model(BaseModel):
    """A part of a document. Unknown fields are errors, because a dropped typo would drop a GPU request."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
        use_attribute_docstrings=True,
    )

    def faults(self) -> Iterable[Fault]:
        """Rules over several fields that this model breaks; each one refuses the document."""
        return ()

    def cautions(self) -> Iterable[Fault]:
        """Rules that are reported and go on."""
        return ()

    def plain(self) -> dict[str, Any]:
        """The value as plain data, in the form a manifest has; defaults are spelled out."""
        return self.model_dump(by_alias=True, exclude_none=True, mode="json")

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, data: object) -> object:
        if isinstance(data, dict) and any(value is None for value in data.values()):
            return {key: value for key, value in data.items() if value is not None}
        return data

    @model_validator(mode="after")
    def _refuse_faults(self) -> Self:
        if found := tuple(self.faults()):
            text = "; ".join(fault.message for fault in found)
            raise PydanticCustomError("broken_rule", "{text}", {"text": text, "faults": found})
        return self


class Metadata(Model):
    """Name, namespace and labels of a document; the namespace of a cluster-scoped kind is empty."""

    name: Annotated[str, Field(pattern=DNS_LABEL)]
    """Name of the document, unique within its kind and namespace."""
    namespace: Annotated[str, Field(pattern=rf"^$|{DNS_LABEL}")] = ""
    """Namespace of a namespaced kind; `default` where none is written. Kinds of the whole fleet have none."""
    labels: dict[str, str] = {}
    """Labels by key. Those of an InferenceCluster are what cluster selectors match."""
    annotations: dict[str, str] = {}
    """Notes by key. Modelplane reads `modelplane.ai/wait-for-cache` of a ModelDeployment, `modelplane.ai/hourly-cost`
    of an InferenceClass, and no other.
    """

    def faults(self) -> Iterator[Fault]:
        """Keys and values that no API server would take."""
        yield from label_faults(self.labels, METADATA_RULES, ("labels",))
        yield from annotation_faults(self.annotations, METADATA_RULES, ("annotations",))


class Kind(Model):
    """A whole document. Subclasses set `kind`, `namespaced` and `spec`."""

    namespaced: ClassVar[bool] = True

    api_version: str = API_VERSION
    """Group and version of the kind."""
    kind: str
    """The kind of the document."""
    metadata: Metadata
    """Name, namespace and labels."""

    @property
    def name(self) -> str:
        """The document's own name."""
        return self.metadata.name

    @property
    def namespace(self) -> str:
        """The document's namespace; `default` where a namespaced document names none."""
        return (self.metadata.namespace or "default") if self.namespaced else ""

    @property
    def subject(self) -> str:
        """Kind and name, as an error message says it: `ModelDeployment ml-team/qwen`."""
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespaced else f"{self.kind} {self.name}"

    @classmethod
    def parse(cls, document: object) -> Self:
        """Check plain data, with fields named as in a manifest; pydantic's ValidationError carries the field paths."""
        return cls.model_validate(document, by_alias=True, by_name=False)


class Condition(Model):
    """One observed fact about an object, in the form Kubernetes gives it."""

    type: str
    """What is told, as in Ready."""
    status: str
    """True, False or Unknown."""
    reason: str = ""
    """The cause in one word, for programs."""
    message: str = ""
    """The cause in a sentence, for people."""
    last_transition_time: str = ""
    """When the status changed last, in RFC 3339."""


def label_faults(labels: dict[str, str], rules: KeyRules, at: Path) -> Iterator[Fault]:
    """Keys that are no label keys and values that are no label values."""
    yield from _key_faults(labels, "label", rules, at)
    for key, value in labels.items():
        if not is_label_value(value):
            yield Fault(
                rules[2],
                (*at, key),
                f"{value!r} is not a valid label value",
                "use at most 63 letters, digits, '-', '_' and '.', first and last a letter or digit",
            )


def annotation_faults(annotations: dict[str, str], rules: KeyRules, at: Path) -> Iterator[Fault]:
    """Keys that are no annotation keys."""
    yield from _key_faults(annotations, "annotation", rules, at)


def reserved_faults(entries: dict[str, str], rule: str, at: Path) -> Iterator[Fault]:
    """Labels or annotations under the prefix that only Modelplane sets."""
    for key in entries:
        if key.startswith(GROUP_PREFIX):
            hint = "take a prefix of your own, or none"
            yield Fault(rule, (*at, key), f"the {GROUP_PREFIX} prefix is reserved", hint)


def repeated(items: Iterable[tuple[object, ...]], rule: str, at: Path, what: str) -> Iterator[Fault]:
    """Entries of a keyed list whose key an earlier entry has already."""
    seen: set[tuple[object, ...]] = set()
    for index, key in enumerate(items):
        if key in seen:
            shown = ", ".join(str(part) for part in key)
            hint = f"rename it or remove one of the two: each {what} may appear once"
            yield Fault(rule, (*at, index), f"a second entry with {what} {shown}", hint)
        seen.add(key)


def _key_faults(entries: dict[str, str], what: str, rules: KeyRules, at: Path) -> Iterator[Fault]:
    for key in entries:
        prefix, slash, _ = key.partition("/")
        rule = rules[0]
        if slash and len(prefix) > 253:
            rule = rules[1]
            message, hint = f"the prefix of {key[:40]}… is longer than 253", "shorten what stands before the /"
        elif not is_label_key(key):
            message = f"{key!r} is not a valid {what} key"
            hint = "use [prefix/]name, the name at most 63 letters, digits, '-', '_' and '.'"
        else:
            continue
        yield Fault(rule, (*at, key), message, hint)
