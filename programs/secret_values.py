"""Values of the Secrets that documents name, for the program that needs them. They are never printed."""

import pulumi

from api.errors import ModelplaneError
from api.secrets import ConfigSource, SecretSource, resolve
from programs.context import Context
from programs.outputs import UNKNOWN


class MissingSecret(ModelplaneError):
    """A Secret's key that nothing provides, or whose source gives no value."""

    code = "MP331"


def secret_value(context: Context, name: str, key: str, namespace: str) -> str:
    """The value of one key, from documents, files, variables, Pulumi config or another stack's outputs.

    Where a fleet is previewed by the driver, a value that cannot be had is the marker of an unknown one.

    Raises:
        MissingSecret: nothing provides the key, or its source gives no value.
        UnreadableStack: the stack its source names cannot be read.

    """
    try:
        return _value(context, name, key, namespace)
    except ModelplaneError:
        if context.offline:
            return UNKNOWN.value
        raise


def all_values(context: Context, name: str, namespace: str) -> dict[str, str]:
    """The values of all keys of a Secret.

    Raises:
        MissingSecret: nothing provides the Secret, or a source of it gives no value.
        UnreadableStack: the stack a source names cannot be read.

    """
    values = resolve(context.documents, namespace, name)
    return {
        key: value if isinstance(value, str) else _resolved(context, value, f"Secret {namespace}/{name} key {key}")
        for key, value in values.items()
    }


def _value(context: Context, name: str, key: str, namespace: str) -> str:
    values = resolve(context.documents, namespace, name)
    if key not in values:
        raise MissingSecret(
            f"Secret {namespace}/{name} has no key {key}",
            hint="add the key to the Secret, or to its entry in Fleet spec.secrets",
        )
    value = values[key]
    return value if isinstance(value, str) else _resolved(context, value, f"Secret {namespace}/{name} key {key}")


def _resolved(context: Context, source: SecretSource, what: str) -> str:
    if isinstance(source, ConfigSource):
        value = pulumi.Config("modelplane").get(source.key)
        where = f"config modelplane:{source.key}"
    else:
        value = (context.reader(source.stack) or {}).get(source.output)
        where = f"output {source.output} of stack {source.stack}"
    if not isinstance(value, str) or not value:
        raise MissingSecret(f"{what}: {where} gives no text", hint="set it, or name another source")
    return value
