"""Values of the Secrets that documents name, for the program that needs them. They are never printed."""

from api.errors import ModelplaneError
from api.secrets import secret_values
from programs.context import Context


class MissingSecret(ModelplaneError):
    """A Secret, or a key of one, that a program needs and that nothing provides."""

    code = "MP331"


def secret_value(context: Context, name: str, key: str, namespace: str) -> str:
    """The value of one key.

    Raises:
        MissingSecret: no document and no `Fleet.spec.secrets` entry provides it, or its source cannot be read.

    """
    values = secret_values(context.documents, namespace, name)
    if key not in values:
        raise MissingSecret(
            f"Secret {namespace}/{name} has no key {key}",
            hint="add the key to the Secret, or to its entry in Fleet spec.secrets",
        )
    return values[key]
