"""The pod template of an engine: the small part of a PodTemplateSpec that is passed through."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from api.base import Fault, Model, annotation_faults, label_faults, repeated, reserved_faults
from api.grammar import Boolean, Text

ENGINE_CONTAINER = "engine"
_OURS = ("HF_HUB_CACHE", "MODEL_EXPRESS_URL")
_OUR_PREFIXES = ("MODELPLANE_", "MX_")
_SOMETIMES_OURS = ("POD_NAME", "POD_UID", "POD_NAMESPACE")

LabelValue = Annotated[str, Field(max_length=63)]


class KeyRef(Model):
    """A key of a Secret or ConfigMap beside the pod."""

    name: Text
    """Name of the Secret or ConfigMap."""
    key: Text
    """Key in it."""
    optional: Boolean | None = None
    """Start the pod also where the object or the key is missing."""


class FieldRef(Model):
    """A field of the pod itself."""

    field_path: Text
    """Field of the pod, as in status.podIP or metadata.name."""
    api_version: str | None = None
    """Version that the path is read in; v1 where absent."""


@dataclass(frozen=True)
class NamedObject:
    """A Secret or ConfigMap that a variable takes its value from, with the field that names it."""

    kind: Literal["Secret", "ConfigMap"]
    field: str
    reference: KeyRef


class EnvVarSource(Model):
    """Where the value of a variable comes from; exactly one of the three."""

    secret_key_ref: KeyRef | None = None
    """A key of a Secret."""
    config_map_key_ref: KeyRef | None = None
    """A key of a ConfigMap."""
    field_ref: FieldRef | None = None
    """A field of the pod itself."""

    def faults(self) -> Iterator[Fault]:
        """MD-N3: one source."""
        given = [source for source in (self.secret_key_ref, self.config_map_key_ref, self.field_ref) if source]
        if len(given) != 1:
            hint = "keep exactly one of secretKeyRef, configMapKeyRef, fieldRef"
            yield Fault("MD-N3", (), f"{len(given)} sources where one is needed", hint)


class EnvVar(Model):
    """An environment variable of the engine."""

    name: Text
    """Name of the variable; those that Modelplane sets are refused."""
    value: str | None = None
    """The value as it is; $(NAME) stands for variables before it."""
    value_from: EnvVarSource | None = None
    """Where the value comes from instead."""

    @property
    def named_object(self) -> NamedObject | None:
        """The Secret or ConfigMap that holds the value; None for any other value."""
        if self.value_from and (secret := self.value_from.secret_key_ref):
            return NamedObject("Secret", "secretKeyRef", secret)
        if self.value_from and (config_map := self.value_from.config_map_key_ref):
            return NamedObject("ConfigMap", "configMapKeyRef", config_map)
        return None

    def faults(self) -> Iterator[Fault]:
        """MD-N3 (one kind of value) and MD-N4."""
        if self.value is not None and self.value_from is not None:
            yield Fault("MD-N3", (), f"{self.name} has both value and valueFrom", "keep one of the two")
        if self.name in _OURS or self.name.startswith(_OUR_PREFIXES):
            yield Fault("MD-N4", ("name",), f"Modelplane sets {self.name} itself", "remove it, or rename yours")

    def cautions(self) -> Iterator[Fault]:
        """MD-N4, for what is set on some clusters only."""
        if self.name in _SOMETIMES_OURS:
            message = f"Modelplane sets {self.name} itself on Dynamo clusters"
            yield Fault("MD-N4", ("name",), message, "take another name if the value differs")


class Container(Model):
    """The inference engine; image, command and arguments are passed through untouched."""

    name: Text
    """Always engine."""
    image: Text
    """Image of the engine, with registry and tag or digest."""
    command: tuple[str, ...] = ()
    """Entry point in place of the image's own."""
    args: tuple[str, ...] = ()
    """Arguments of the engine, one word an item."""
    env: tuple[EnvVar, ...] = ()
    """Environment variables, each name once; they come after those that Modelplane sets."""

    def faults(self) -> Iterator[Fault]:
        """MD-V20 and MD-N3 (one variable of a name)."""
        if self.name != ENGINE_CONTAINER:
            message = "the only container must be called engine"
            yield Fault("MD-V20", ("name",), message, f"rename {self.name!r} to engine")
        yield from repeated(((variable.name,) for variable in self.env), "MD-N3", ("env",), "name")

    def cautions(self) -> Iterator[Fault]:
        """MD-X2 (D17): a flag and its value in one argument reach the engine as one word."""
        for index, text in enumerate(self.args):
            flag, blank, value = text.partition(" ")
            if flag.startswith("--") and "=" not in flag and blank and value.strip():
                message = f"{text!r} reaches the engine as one word"
                hint = f"write {flag}={value.strip()}, or make two items of it: {flag} and {value.strip()}"
                yield Fault("MD-X2", ("args", index), message, hint)


class PullSecret(Model):
    """A registry pull secret."""

    name: Text
    """Name of the Secret."""


class PodSpec(Model):
    """The engine container and the secrets its image needs."""

    containers: Annotated[tuple[Container, ...], Field(min_length=1, max_length=1)]
    """The engine, one container and no other."""
    image_pull_secrets: tuple[PullSecret, ...] = ()
    """Secrets of the namespace that the registry of the image asks for."""

    @property
    def engine(self) -> Container:
        """The one container."""
        return self.containers[0]


class PodMetadata(Model):
    """Labels and annotations that are copied onto the pods."""

    labels: Annotated[dict[str, LabelValue], Field(max_length=32)] = {}
    """Labels for the pods; keys under modelplane.ai/ are refused."""
    annotations: Annotated[dict[str, Annotated[str, Field(max_length=8192)]], Field(max_length=32)] = {}
    """Annotations for the pods."""

    def faults(self) -> Iterator[Fault]:
        """MD-V14 to MD-V19, and MD-X1 (D05): the prefix is reserved in annotations too."""
        yield from reserved_faults(self.labels, "MD-V14", ("labels",))
        yield from label_faults(self.labels, ("MD-V15", "MD-V16", "MD-V17"), ("labels",))
        yield from reserved_faults(self.annotations, "MD-X1", ("annotations",))
        yield from annotation_faults(self.annotations, ("MD-V18", "MD-V19", ""), ("annotations",))


class PodTemplate(Model):
    """Pod template of one member; `spec` is required here (MD-N2), because a member without one cannot run."""

    metadata: PodMetadata = PodMetadata()
    """Labels and annotations of the member's pods."""
    spec: PodSpec
    """What runs in the member's pods."""
