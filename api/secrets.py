"""Values of Secrets, from Secret documents and from what Fleet.spec.secrets names.

Files and environment variables are read here. Outputs of other stacks and config values are only named, because a
program resolves those as Pulumi secrets. No error holds a value; where both places give a key, the Fleet's counts.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from api.base import Path as FieldPath
from api.codes import Code
from api.documents import FleetDocuments
from api.errors import ModelplaneError, Problem, Severity
from api.fleets import Fleet, KeySource, Secret
from api.problems import field_path

LARGEST_VALUE = 1024 * 1024
"""Bytes; no Secret of Kubernetes holds more."""


@dataclass(frozen=True)
class StackSource:
    """A value that is an output of another stack."""

    stack: str
    output: str


@dataclass(frozen=True)
class ConfigSource:
    """A value that is a secret of the Pulumi configuration."""

    key: str


SecretSource = StackSource | ConfigSource


def secret_values(documents: FleetDocuments, namespace: str, name: str) -> dict[str, str]:
    """Values of a Secret by key, as far as documents, files and the environment hold them.

    Raises ModelplaneError naming Secret, key and place for a Secret that nothing brings, and for a file or variable
    that is absent, empty, too large or no text. The caller keeps the values out of every text.
    """
    secret = documents.secrets.get((namespace, name))
    sources = dict(_sources(documents, namespace, name))
    if secret is None and not sources:
        hint = "bring it with Fleet.spec.secrets, or with a Secret document for local use"
        where = documents.where(documents.fleet) if documents.fleet else str(documents.directory)
        raise ModelplaneError(f"there is no Secret {namespace}/{name}", where=where, hint=hint, code=Code.NO_SUCH_VALUE)
    values = _written(documents, secret) if secret else {}
    for key, (path, source) in sources.items():
        if source.from_file is None and source.from_env is None:
            values.pop(key, None)
        else:
            values[key] = _fetched(documents, f"Secret {namespace}/{name} key {key}", path, source)
    return values


def secret_sources(documents: FleetDocuments, namespace: str, name: str) -> dict[str, SecretSource]:
    """Keys of a Secret whose values a program resolves: outputs of other stacks and config values."""
    found: dict[str, SecretSource] = {}
    for key, (_, source) in _sources(documents, namespace, name):
        if source.from_stack is not None:
            found[key] = StackSource(source.from_stack.stack, source.from_stack.output)
        elif source.from_config is not None:
            found[key] = ConfigSource(source.from_config)
    return found


def resolve(documents: FleetDocuments, namespace: str, name: str) -> dict[str, str | SecretSource]:
    """All keys of a Secret: a value where it is known here, else where it comes from. Raises as secret_values does."""
    return {**secret_values(documents, namespace, name), **secret_sources(documents, namespace, name)}


def unresolved(documents: FleetDocuments) -> tuple[Problem, ...]:
    """Warnings for files and variables of Fleet.spec.secrets that give no value on this machine."""
    problems = []
    for index, secret in enumerate(documents.fleet.spec.secrets if documents.fleet else ()):
        for key, source in secret.keys.items():
            path: FieldPath = ("spec", "secrets", index, "keys", key)
            what = f"Secret {secret.namespace}/{secret.name} key {key}"
            try:
                if source.from_file is not None or source.from_env is not None:
                    _fetched(documents, what, path, source)
            except ModelplaneError as error:
                problems.append(_warning(documents, path, error))
    return tuple(problems)


def _sources(documents: FleetDocuments, namespace: str, name: str) -> Iterator[tuple[str, tuple[FieldPath, KeySource]]]:
    for index, secret in enumerate(documents.fleet.spec.secrets if documents.fleet else ()):
        if (secret.namespace, secret.name) == (namespace, name):
            for key, source in secret.keys.items():
                yield key, (("spec", "secrets", index, "keys", key), source)


def _written(documents: FleetDocuments, secret: Secret) -> dict[str, str]:
    values = {}
    for key, value in secret.values().items():
        try:
            values[key] = value.decode()
        except UnicodeDecodeError:
            where = documents.where(secret, ("data", key))
            raise _error(secret.subject, f"key {key} is no text", where, "encode a UTF-8 text in base64") from None
    return values


def _fetched(documents: FleetDocuments, what: str, path: FieldPath, source: KeySource) -> str:
    fleet = documents.fleet
    where = documents.where(fleet, path) if isinstance(fleet, Fleet) else ""
    if source.from_env is not None:
        value = os.environ.get(source.from_env, "")
        if not value:
            hint = f"export {source.from_env}"
            raise _error(what, f"the environment variable {source.from_env} is not set or empty", where, hint)
        return value
    base = (documents.file(fleet) if isinstance(fleet, Fleet) else None) or documents.directory / "fleet.yaml"
    file = base.parent / Path(source.from_file or "").expanduser()
    hint = "write the file, or name another; the path is relative to the Fleet's document"
    try:
        with file.open("rb") as stream:
            content = stream.read(LARGEST_VALUE + 1)
    except OSError as error:
        raise _error(what, f"the file {file} cannot be read: {error.strerror}", where, hint) from None
    return _text(content, what, file, where)


def _text(content: bytes, what: str, file: Path, where: str) -> str:
    """A single line loses the newline that editors put behind it; more lines stay as they are."""
    if len(content) > LARGEST_VALUE:
        raise _error(what, f"the file {file} is larger than {LARGEST_VALUE} bytes", where, "name the right file")
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise _error(what, f"the file {file} is no text", where, "save it as UTF-8") from None
    if not text.strip():
        raise _error(what, f"the file {file} is empty", where, "write the value into it")
    return text.rstrip("\r\n") if text.count("\n") == 1 else text


def _error(what: str, message: str, where: str, hint: str) -> ModelplaneError:
    return ModelplaneError(f"{what}: {message}", where=where, hint=hint, code=Code.NO_SUCH_VALUE)


def _warning(documents: FleetDocuments, path: FieldPath, error: ModelplaneError) -> Problem:

    file, _, line = documents.where(documents.fleet, path).rpartition(":") if documents.fleet else ("", "", "0")
    return Problem(
        code=error.error_code,
        message=error.message,
        file=file,
        line=int(line),
        subject=documents.fleet.subject if documents.fleet else "",
        path=field_path(path),
        hint=error.hint,
        severity=Severity.WARNING,
    )
