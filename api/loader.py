"""Load a fleet directory: all documents checked, or all problems at once, each with file and line.

A directory without a Fleet is valid; commands that touch stacks ask for one. Nothing is decided from what could not be
read: one error anywhere and nothing is loaded.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from api.base import API_VERSION, Kind
from api.base import Path as FieldPath
from api.caches import ModelCache
from api.checks import check
from api.classes import InferenceClass
from api.clusters import InferenceCluster
from api.codes import Code
from api.config_maps import ConfigMap
from api.deployments import ModelDeployment
from api.documents import FleetDocuments, Identity, identity
from api.errors import InvalidFleet, Problem, Severity
from api.exported import wanted_only
from api.fleets import Fleet, Secret
from api.internal import instead
from api.problems import Describer, field_path, given, near_name, subject, suggestion
from api.providers import CLOUDS, ProviderConfig
from api.reading import RawDocument, Reading, read
from api.routing import InferenceGateway, ModelEndpoint, ModelService
from api.surroundings import CheckCel, Fits

_OURS: dict[str, type[Kind]] = {
    "Fleet": Fleet,
    "InferenceClass": InferenceClass,
    "InferenceCluster": InferenceCluster,
    "InferenceGateway": InferenceGateway,
    "ModelCache": ModelCache,
    "ModelDeployment": ModelDeployment,
    "ModelEndpoint": ModelEndpoint,
    "ModelService": ModelService,
}
KINDS: dict[tuple[str, str], type[Kind]] = {
    **{(API_VERSION, name): kind for name, kind in _OURS.items()},
    ("v1", "ConfigMap"): ConfigMap,
    ("v1", "Secret"): Secret,
    **{(version, kind): ProviderConfig for version in CLOUDS for kind in ("ProviderConfig", "ClusterProviderConfig")},
}
"""What a directory may hold, by apiVersion and kind."""

_UNUSED = {
    ("v1", "Namespace"): "remove it: namespaces are made where replicas need them",
    ("v1", "Config"): "name a kubeconfig under fromFile in Fleet.spec.secrets, or keep it outside the fleet directory",
}
"""What often lies beside a fleet's documents and does no harm."""

_NAMESPACED = {name: kind.namespaced for (_, name), kind in KINDS.items()}
IGNORE_UNKNOWN = "MODELPLANE_IGNORE_UNKNOWN"
_OR_SKIP = ", or skip such documents with --ignore-unknown"


def ignores_unknown(variables: Mapping[str, str]) -> bool:
    """Whether the environment asks to skip documents of other systems, as `--ignore-unknown` does."""
    return variables.get(IGNORE_UNKNOWN, "").strip().lower() in {"1", "true", "yes", "on"}


def load(
    directory: Path,
    files: Sequence[Path] = (),
    *,
    check_cel: CheckCel | None = None,
    fits: Fits | None = None,
    ignore_unknown: bool = False,
) -> FleetDocuments:
    """Load the documents below a directory, and those of `files` besides: files, other directories, STDIN.

    `check_cel` compiles a device selector and says what is wrong with it (MD-F1), `fits` tries requests on the devices
    of a class (MD-F2); without them expressions are not read. With `ignore_unknown` documents of other systems are
    skipped with a warning, else they are errors.
    Raises InvalidFleet with every problem of every file, warnings included, in order of file and line.
    """
    loading = _Loading(directory, files, ignore_unknown=ignore_unknown)
    documents = loading.documents()
    declared = set(loading.declared) if loading.identified else None
    loading.problems.extend(check(documents, loading.describer, declared, check_cel, fits, loading.doubled))
    problems = sorted(
        set(loading.problems), key=lambda problem: (problem.file, problem.line, problem.path, problem.code)
    )
    if any(problem.severity is Severity.ERROR for problem in problems):
        raise InvalidFleet(problems)
    return replace(documents, warnings=tuple(problems))


class _Loading:
    """One load: what was read, what it is, and what is wrong so far."""

    def __init__(self, directory: Path, files: Sequence[Path] = (), *, ignore_unknown: bool = False) -> None:
        self.directory = directory
        self._ignore_unknown = ignore_unknown
        readings = read(directory, files)
        for file in _values(readings, files):
            del readings[file]
        self.raw = [document for reading in readings.values() for document in reading.documents]
        self.problems = [problem for reading in readings.values() for problem in reading.problems]
        self.identified = all(reading.complete for reading in readings.values())
        self.declared: dict[Identity, RawDocument] = {}
        self.doubled: set[str] = set()
        self.valid: list[Kind] = []
        if not self.raw and not self.problems:
            hint = "*.yaml, *.yml and *.json below the directory are read; is it the fleet's? (-f, MODELPLANE_FLEET)"
            message = "no documents here"
            self.problems.append(Problem(code=Code.NO_DOCUMENTS, message=message, file=str(directory), hint=hint))
        for document in self.raw:
            self._add(document)

    def documents(self) -> FleetDocuments:
        """The valid documents so far."""
        by_kind: dict[str, list[Any]] = {}
        for document in self.valid:
            by_kind.setdefault(type(document).__name__, []).append(document)

        def named(kind: str) -> dict[str, Any]:
            return {document.name: document for document in by_kind.get(kind, ())}

        def keyed(kind: str) -> dict[tuple[str, str], Any]:
            return {(document.namespace, document.name): document for document in by_kind.get(kind, ())}

        return FleetDocuments(
            directory=self.directory,
            fleet=next(iter(by_kind.get("Fleet", ())), None),
            gateway=next(iter(by_kind.get("InferenceGateway", ())), None),
            classes=named("InferenceClass"),
            clusters=named("InferenceCluster"),
            deployments=keyed("ModelDeployment"),
            caches=keyed("ModelCache"),
            services=keyed("ModelService"),
            endpoints=keyed("ModelEndpoint"),
            config_maps=keyed("ConfigMap"),
            secrets=keyed("Secret"),
            provider_configs={(config.cloud, config.name): config for config in by_kind.get("ProviderConfig", ())},
            places=self.declared,
        )

    def describer(self, document: Kind) -> Describer:
        """Problems of a document that was read."""
        return Describer(self.declared[identity(document)], document.subject)

    def _add(self, document: RawDocument) -> None:
        describer = Describer(document, subject(document.value, _NAMESPACED))
        kind = self._kind(document, describer)
        if kind is None:
            return
        value, left_out = wanted_only(document.value)
        if left_out:
            self.problems.append(_left_out(describer, left_out))
        try:
            parsed = kind.parse(value)
        except ValidationError as error:
            self._add_invalid(document, describer, kind, list(describer.refusals(kind, error)))
            return
        if self._declare(identity(parsed), document, describer):
            self.problems.extend(describer.cautions(parsed))
            self.valid.append(parsed)

    def _add_invalid(
        self, document: RawDocument, describer: Describer, kind: type[Kind], problems: list[Problem]
    ) -> None:
        """Keep what an invalid document is called, so that references to it are no faults of their own."""
        self.problems.extend(problems)
        name = _raw_identity(kind, document.value)
        if name is None or any(problem.path.startswith("metadata") for problem in problems):
            self.identified = False
        else:
            self._declare(name, document, describer)

    def _declare(self, name: Identity, document: RawDocument, describer: Describer) -> bool:
        first = self.declared.get(name)
        if name[0] == "Fleet":
            first = first or next((place for other, place in self.declared.items() if other[0] == "Fleet"), None)
        if first is None:
            self.declared[name] = document
            return True
        at: FieldPath = ("metadata", "name")
        place = f"{first.file}:{first.line(at)}"
        self.doubled.add(name[0])
        what = "a second Fleet" if name[0] == "Fleet" else f"a second {describer.subject}"
        message = f"{what}; the first is at {place}"
        other = "" if name[0] == "Fleet" else ", or give one of them another name"
        hint = f"keep one of the two{other}: {document.file}:{document.line(at)} and {place}"
        self.problems.append(describer.problem(Code.DUPLICATE_DOCUMENT, at, message, hint, rule="META-X3"))
        return False

    def _kind(self, document: RawDocument, describer: Describer) -> type[Kind] | None:
        """The model of a document; what has none is a problem or, where it is harmless, a warning."""
        value = document.value
        if not isinstance(value, dict) or not ({"apiVersion", "kind"} & value.keys()):
            hint = f"write apiVersion, kind, metadata and spec, or move the file out of the fleet directory{_OR_SKIP}"
            message = "neither apiVersion nor kind: no manifest"
            self._refuse_foreign(describer.problem(Code.NOT_A_DOCUMENT, (), message, hint))
            return None
        version, name = value.get("apiVersion"), value.get("kind")
        for field, found in (("apiVersion", version), ("kind", name)):
            if not isinstance(found, str):
                self._refuse(_without(field, value, describer))
                return None
        if kind := KINDS.get((str(version), str(name))):
            return kind
        if unused := _UNUSED.get((str(version), str(name))):
            problem = describer.problem(Code.IGNORED_DOCUMENT, ("kind",), "is not used", unused, Severity.WARNING)
            self.problems.append(problem)
            return None
        problem = replace(_unknown(str(version), str(name), describer), rule="META-X4")
        if _OR_SKIP in problem.hint:
            self._refuse_foreign(problem)
        else:
            self._refuse(problem)
        return None

    def _refuse_foreign(self, problem: Problem) -> None:
        """Refuse a document of another system, or skip it where that was asked for."""
        if not self._ignore_unknown:
            self._refuse(problem)
            return
        what = "it is not ours" if problem.code == Code.NOT_A_DOCUMENT else problem.message
        hint = "nothing to do: --ignore-unknown was given"
        told = replace(problem, code=Code.IGNORED_DOCUMENT, message=f"skipped: {what}", hint=hint)
        self.problems.append(replace(told, severity=Severity.WARNING))

    def _refuse(self, problem: Problem) -> None:
        self.identified = False
        self.problems.append(problem)


def _left_out(describer: Describer, paths: Sequence[FieldPath]) -> Problem:
    shown = ", ".join(field_path(path) for path in paths)
    message = f"what a cluster wrote is ignored: {shown}"
    hint = "remove it: documents say what is wanted"
    return describer.problem(Code.EXPORTED, paths[0], message, hint, Severity.WARNING, "META-X5")


def _values(readings: Mapping[Path, Reading], files: Sequence[Path]) -> set[Path]:
    """Files that hold a value of a Secret are data even where they are called `*.yaml`, as kubeconfigs are."""
    sources = {
        os.path.realpath(document.file.parent / source)
        for reading in readings.values()
        for document in reading.documents
        for source in _from_files(document.value)
    }
    return {file for file in readings if file not in files and os.path.realpath(file) in sources}


def _from_files(value: object) -> Iterator[str]:
    """Find the `fromFile` entries of a Fleet, valid or not."""
    if isinstance(value, dict):
        if value.get("kind") == "Fleet":
            yield from _from_files(_inside(value, "spec", "secrets"))
        elif isinstance(source := value.get("fromFile"), str):
            yield source
        elif isinstance(keys := value.get("keys"), dict):
            yield from _from_files(list(keys.values()))
    elif isinstance(value, list):
        for item in value:
            if isinstance(item, dict) and item.get("kind") != "Fleet":
                yield from _from_files(item)


def _inside(value: object, *path: str) -> object:
    for part in path:
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _raw_identity(kind: type[Kind], value: Any) -> Identity | None:
    metadata = value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(name, str):
        return None
    if kind is ProviderConfig:
        return (value["kind"], CLOUDS[value["apiVersion"]], name)
    if not kind.namespaced:
        return (value["kind"], "", name)
    namespace = metadata.get("namespace")
    return (value["kind"], namespace if isinstance(namespace, str) and namespace else "default", name)


def _without(field: str, value: dict[str, Any], describer: Describer) -> Problem:
    beside = set(value) - {"apiVersion", "kind", "metadata", "spec", "data", "stringData"}
    typo = next((key for key in sorted(beside) if near_name(key, [field])), None)
    if typo is not None:
        return describer.problem(Code.UNKNOWN_FIELD, (typo,), "unknown field", f"did you mean {field}?")
    hint = f"add apiVersion: {API_VERSION}" if field == "apiVersion" else f"add kind: one of {', '.join(_OURS)}"
    if value.get(field) is not None:
        return describer.problem(Code.WRONG_TYPE, (field,), f"must be a text, not {given(value[field])}", hint)
    return describer.problem(Code.MISSING_FIELD, (field,), "is required", hint)


def _unknown(version: str, name: str, describer: Describer) -> Problem:
    """A document of another kind or system, with what was probably meant."""
    if hint := instead(version, name):
        return describer.problem(Code.UNKNOWN_KIND, ("kind",), f"{name} is made by Modelplane itself", hint)
    foreign = f"it belongs to another system: apply it with kubectl and move it out of the fleet directory{_OR_SKIP}"
    if kinds := [kind for known, kind in KINDS if known == version]:
        near = near_name(name, kinds)
        hint = f"did you mean {near}?" if near else suggestion(name, kinds) if version == API_VERSION else foreign
        return describer.problem(Code.UNKNOWN_KIND, ("kind",), f"there is no kind {name} in {version}", hint)
    right = [known for known, kind in KINDS if kind == name]
    near = right[0] if len(right) == 1 else near_name(version, [API_VERSION])
    hint = f"did you mean {near}?" if near else foreign
    return describer.problem(Code.UNKNOWN_API_VERSION, ("apiVersion",), f"{version} is not known here", hint)
