"""A fleet of clusters that were handed over pays for no cloud's SDK."""

import subprocess
import sys

import pytest
from sites import SDKS

from components import clouds


def loaded(script: str) -> set[str]:
    told = f"{script}\nimport sys; print(*(name for name in {SDKS!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_no_program_loads_an_sdk_by_itself() -> None:
    script = "from programs.registry import KINDS, program_of\nfor kind in KINDS: program_of(kind)\n"
    assert loaded(f"{script}import stacks.converge, cli") == set()


@pytest.mark.parametrize(("source", "sdk"), {"EKS": "pulumi_aws", "Vultr": "ediri_vultr"}.items())
def test_a_cloud_loads_its_own_sdk_and_no_other(source: str, sdk: str) -> None:
    assert loaded(f"from components import clouds; clouds.prepare([{source!r}, 'Existing'])") == {sdk}


def test_every_source_but_existing_is_a_cloud() -> None:
    assert set(clouds.MODULES) == {"EKS", "GKE", "AKS", "Nebius", "Vultr"}


LAZY = """
import re, sys
from programs.registry import KINDS, program_of
for kind in KINDS: program_of(kind)
from components import clouds
clouds.prepare(["AKS"])
for name, module in list(sys.modules.items()):
    path = object.__getattribute__(module, "__dict__").get("__file__")
    if type(module).__name__ == "_LazyModule" or not name.startswith("pulumi_kubernetes.") or not path: continue
    for group, version in re.findall(r"'_([a-z]+)[.](v[a-z0-9]+)[.]", open(path).read()):
        wanted = sys.modules.get("pulumi_kubernetes." + group + "." + version)
        if wanted is None or type(wanted).__name__ == "_LazyModule": print(wanted or group + "." + version)
"""
"""Names the parts of the SDK that loaded classes mention in their annotations, and that are not loaded."""


def test_programs_in_threads_find_every_part_of_the_sdk_loaded() -> None:
    done = subprocess.run([sys.executable, "-c", LAZY], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
