"""The pod template of an engine: the small part of a PodTemplateSpec that is passed through."""

from collections.abc import Iterator
from typing import Annotated

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
    key: Text
    optional: Boolean | None = None


class FieldRef(Model):
    """A field of the pod itself."""

    field_path: Text
    api_version: str | None = None


class EnvVarSource(Model):
    """Where the value of a variable comes from; exactly one of the three."""

    secret_key_ref: KeyRef | None = None
    config_map_key_ref: KeyRef | None = None
    field_ref: FieldRef | None = None

    def faults(self) -> Iterator[Fault]:
        """MD-N3: one source."""
        given = [source for source in (self.secret_key_ref, self.config_map_key_ref, self.field_ref) if source]
        if len(given) != 1:
            hint = "keep exactly one of secretKeyRef, configMapKeyRef, fieldRef"
            yield Fault("MD-N3", (), f"{len(given)} sources where one is needed", hint)


class EnvVar(Model):
    """An environment variable of the engine."""

    name: Text
    value: str | None = None
    value_from: EnvVarSource | None = None

    def faults(self) -> Iterator[Fault]:
        """MD-N3 (one kind of value) and MD-N4."""
        if self.value is not None and self.value_from is not None:
            yield Fault("MD-N3", (), f"{self.name} has both value and valueFrom", "keep one of the two")
        if self.name in _OURS or self.name.startswith(_OUR_PREFIXES):
            yield Fault("MD-N4", ("name",), f"Modelplane sets {self.name} itself", "remove it, or rename yours")

    def cautions(self) -> Iterator[Fault]:
        """MD-N4 for what is set on some clusters only."""
        if self.name in _SOMETIMES_OURS:
            message = f"Modelplane sets {self.name} itself on Dynamo clusters"
            yield Fault("MD-N4", ("name",), message, "take another name if the value differs")


class Container(Model):
    """The inference engine; image, command and arguments are passed through untouched."""

    name: Text
    image: Text
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    env: tuple[EnvVar, ...] = ()

    def faults(self) -> Iterator[Fault]:
        """MD-V20 and MD-N3 (one variable of a name)."""
        if self.name != ENGINE_CONTAINER:
            message = "the only container must be called engine"
            yield Fault("MD-V20", ("name",), message, f"rename {self.name!r} to engine")
        yield from repeated(((variable.name,) for variable in self.env), "MD-N3", ("env",), "name")

    def cautions(self) -> Iterator[Fault]:
        """Rule `args`: a flag and its value in one argument reach the engine as one word."""
        for index, text in enumerate(self.args):
            flag, blank, value = text.partition(" ")
            if flag.startswith("--") and "=" not in flag and blank and value.strip():
                message = f"{text!r} reaches the engine as one word"
                hint = f"write {flag}={value.strip()}, or make two items of it: {flag} and {value.strip()}"
                yield Fault("args", ("args", index), message, hint)


class PullSecret(Model):
    """A registry pull secret."""

    name: Text


class PodSpec(Model):
    """The engine container and the secrets its image needs."""

    containers: Annotated[tuple[Container, ...], Field(min_length=1, max_length=1)]
    image_pull_secrets: tuple[PullSecret, ...] = ()

    @property
    def engine(self) -> Container:
        """The one container."""
        return self.containers[0]


class PodMetadata(Model):
    """Labels and annotations that are copied onto the pods."""

    labels: Annotated[dict[str, LabelValue], Field(max_length=32)] = {}
    annotations: Annotated[dict[str, Annotated[str, Field(max_length=8192)]], Field(max_length=32)] = {}

    def faults(self) -> Iterator[Fault]:
        """MD-V14 to MD-V19."""
        yield from reserved_faults(self.labels, "MD-V14", ("labels",))
        yield from label_faults(self.labels, "MD-V15..V17", ("labels",))
        yield from annotation_faults(self.annotations, "MD-V18..V19", ("annotations",))


class PodTemplate(Model):
    """Pod template of one member; `spec` is required here (MD-N2), because a member without one cannot run."""

    metadata: PodMetadata = PodMetadata()
    spec: PodSpec
