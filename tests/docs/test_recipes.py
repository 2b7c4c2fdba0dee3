"""Every recipe is valid, fits into the memory it asks for, and finds its place on the hardware it names."""

import re
import shlex
from pathlib import Path

import pytest
from docs.texts import ROOT

import cli
from api.deployments import ModelDeployment
from api.documents import FleetDocuments
from api.loader import load

RECIPES = ROOT / "examples" / "recipes"
FILES = sorted(RECIPES.glob("*.yaml"))
IDS = [file.stem for file in FILES]
ROOM = 1.1
"""What weights take, and a tenth for keys and values: less would not serve one request."""


def header(file: Path, name: str) -> str:
    found = re.search(rf"^# {name}: (.+)$", file.read_text(), re.MULTILINE)
    assert found, f"{file.name} does not say its {name.lower()}"
    return found[1]


def documents(file: Path) -> FleetDocuments:
    hardware = RECIPES / "hardware" / f"{header(file, 'Hardware')}.yaml"
    return load(RECIPES / "fleet", [hardware, file])


def memory_asked(deployment: ModelDeployment) -> dict[str, float]:
    """GiB of GPU memory that each engine asks for, by what its selectors insist on."""
    asked = {}
    for engine in deployment.spec.template.spec.engines:
        asked[engine.name] = 0.0
        for member in engine.members:
            nodes = member.worker.nodes if member.worker else 1
            for device in member.node_selector.devices:
                least = re.findall(
                    r'memory\.compareTo\(quantity\("(\d+)Gi"\)\) >= 0', " ".join(map(str, device.selectors))
                )
                asked[engine.name] += nodes * device.count * sum(map(int, least))
    return asked


@pytest.mark.parametrize("file", FILES, ids=IDS)
def test_it_is_valid_and_warns_of_nothing_but_what_the_environment_lacks(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HUB_KUBECONFIG", "a kubeconfig")
    monkeypatch.setenv("HF_TOKEN", "a token")
    assert documents(file).warnings == ()


@pytest.mark.parametrize("file", FILES, ids=IDS)
def test_its_weights_fit_into_the_memory_it_asks_for(file: Path) -> None:
    weights = float(header(file, "Weights").partition(" GiB")[0])
    (deployment,) = documents(file).deployments.values()
    for engine, asked in memory_asked(deployment).items():
        assert asked >= ROOM * weights, f"{engine} asks for {asked} GiB and loads {weights} GiB"


@pytest.mark.parametrize("file", FILES, ids=IDS)
def test_its_cache_has_room_for_its_weights(file: Path) -> None:
    weights = float(header(file, "Weights").partition(" GiB")[0])
    for cache in documents(file).caches.values():
        assert cache.spec.hugging_face
        assert cache.spec.hugging_face.size_gib >= ROOM * weights


@pytest.mark.parametrize("file", FILES, ids=IDS)
def test_the_command_it_shows_places_it(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = re.search(r"^#   modelplane (plan .+)$", file.read_text(), re.MULTILINE)
    assert shown
    arguments = shlex.split(shown[1])
    assert arguments[-1] == str(file.relative_to(ROOT))
    monkeypatch.chdir(ROOT)
    assert cli.main(arguments) == 0
    told = capsys.readouterr().out
    assert re.search(r"^ml-team/\S+ +1 +1 +Placed$", told, re.MULTILINE), told


def test_the_table_lists_each_recipe() -> None:
    listed = re.findall(r"^\| \[(.+?)\]\((.+?)\) \|", (RECIPES / "README.md").read_text(), re.MULTILINE)
    assert sorted(listed) == [(file.name, file.name) for file in FILES]


def test_all_of_them_are_one_fleet() -> None:
    found = load(RECIPES)
    assert len(found.deployments) == len(FILES)
