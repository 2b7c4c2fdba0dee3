"""What an engine is told to serve, as far as its command line says it.

Modelplane passes commands through and injects no flag, so this is for checks only. Flags are those of the engines that
are common (vLLM, SGLang, TGI); a text with a variable in it is not known here.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from api.base import Path
from api.pods import Container

MOUNT = "/mnt/models"
_MODEL_FLAGS = ("--model", "--model-path", "--model-id", "--model-dir")
_MODEL_VARIABLES = ("MODEL", "MODEL_ID", "MODEL_NAME", "MODEL_PATH", "HF_MODEL_ID", "VLLM_MODEL")

Word = tuple[str, Path]
"""A word of a command line, and the item of `command` or `args` that it stands in."""


@dataclass(frozen=True)
class Told:
    """What an engine is told. `model` is None where nothing says it, or only a variable of a shell does."""

    model: str | None
    revision: str | None
    at: Path
    """Where below the container the model is named, else the field that should name it."""
    silent: bool
    """Neither command nor arguments nor environment say which model."""

    @property
    def is_path(self) -> bool:
        """Whether the model is a path, most often the mount of the cache."""
        return self.model is not None and self.model.startswith("/")

    @property
    def is_mount(self) -> bool:
        """Whether the model is the mount of the cache itself."""
        return self.model is not None and self.model.rstrip("/") == MOUNT


def told(container: Container) -> Told:
    """Read the command line of an engine."""
    line = words(container)
    named = _model(line, bare=not container.command)
    revision = flag(line, "--revision")
    variable = any(entry.name in _MODEL_VARIABLES for entry in container.env)
    field = next((name for name in ("args", "command") if getattr(container, name)), None)
    return Told(
        model=named[0] if named and "$" not in named[0] else None,
        revision=revision[0] if revision else None,
        at=named[1] if named else (field,) if field else (),
        silent=named is None and not variable and not any(MOUNT in word for word, _ in line),
    )


def words(container: Container) -> tuple[Word, ...]:
    """The words of an engine's command line; the script of a shell is taken apart."""
    given = [(item, ("command", index)) for index, item in enumerate(container.command)]
    given += [(item, ("args", index)) for index, item in enumerate(container.args)]
    if not is_shell(container.command):
        return tuple(given)
    return tuple((word, at) for item, at in given for word in _script_words(item))


def flag(line: Sequence[Word], name: str) -> Word | None:
    """The value of `--name=value` or `--name value`, with the place of the flag; the last one counts."""
    found: Word | None = None
    for index, (word, at) in enumerate(line):
        if word.startswith(f"{name}="):
            found = word.removeprefix(f"{name}="), at
        elif word == name and index + 1 < len(line):
            found = line[index + 1][0], at
    return found


def is_shell(command: Sequence[str]) -> bool:
    """Whether a command hands a script to a shell."""
    return bool(command) and command[0].rpartition("/")[2] in ("sh", "bash", "dash", "ash", "zsh")


def _script_words(item: str) -> list[str]:
    try:
        return shlex.split(item, comments=True)
    except ValueError:
        return item.split()


def _model(line: Sequence[Word], *, bare: bool) -> Word | None:
    """The model that is named: by a flag, behind `serve`, or first where the image's entry point serves."""
    for name in _MODEL_FLAGS:
        if found := flag(line, name):
            return found
    for index, (word, _) in enumerate(line[:-1]):
        if word == "serve" and not line[index + 1][0].startswith("-"):
            return line[index + 1]
    return line[0] if bare and line and not line[0][0].startswith("-") else None
