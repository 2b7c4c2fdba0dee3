"""A fleet of clusters that were handed over pays for no cloud's SDK."""

import subprocess
import sys

import pytest

from components import clouds

SDKS = (
    "pulumi_aws",
    "pulumi_azure_native",
    "pulumi_eks",
    "pulumi_gcp",
    "pulumi_nebius",
    "ediri_vultr",
    "botocore",
    "google.auth",
)


def loaded(script: str) -> set[str]:
    told = f"{script}\nimport sys; print(*(name for name in {SDKS!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_no_program_loads_an_sdk_by_itself() -> None:
    script = "from programs import KINDS, program_of\nfor kind in KINDS: program_of(kind)\nimport stacks.converge, cli"
    assert loaded(script) == set()


@pytest.mark.parametrize(("source", "sdk"), {"EKS": "pulumi_aws", "Vultr": "ediri_vultr"}.items())
def test_a_cloud_loads_its_own_sdk_and_no_other(source: str, sdk: str) -> None:
    assert loaded(f"from components import clouds; clouds.prepare([{source!r}, 'Existing'])") == {sdk}


def test_every_source_but_existing_is_a_cloud() -> None:
    assert set(clouds.MODULES) == {"EKS", "GKE", "AKS", "Nebius", "Vultr"}
