"""Whether everything is at hand: each failure names what is missing and what to do, and shows no value."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from builders import a_cluster, a_fleet, a_pool
from states import documents_of

from api.errors import ModelplaneError, UnreadableStack
from api.fleets import Secret
from api.loader import load
from api.names import StackName
from programs.probe import Answer
from stacks import doctor, reach
from stacks.environment import Environment
from stacks.starter import Source, starter
from tools.doctor import Check
from tools.locate import ToolMissing

KUBECONFIG = "kubeconfig in clear"
HUB = {"gateway": {"kubeconfigSecretRef": {"name": "hub", "key": "kubeconfig"}}}
EXISTING = {"source": "Existing", "existing": {"secretRef": {"name": "us", "key": "kubeconfig"}}}


def a_secret(name: str) -> Secret:
    return Secret.parse(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "namespace": "modelplane-system"},
            "stringData": {"kubeconfig": f"{KUBECONFIG} of {name}"},
        }
    )


def documents(*more: Any, **spec: Any) -> Any:
    return documents_of(a_fleet(**{**HUB, **spec}), *more)


class AnEngine:
    """A backend with these stacks, some of which cannot be read."""

    def __init__(self, outputs: Mapping[str, Any], entries: int = 3) -> None:
        self.environment = Environment(
            directory=Path("fleet"), variables={"PULUMI_BACKEND_URL": "file:///s?metadata=skip"}
        )
        self._outputs = outputs
        self.known = {StackName(*name.split(".")): entries for name in outputs}

    def outputs(self, stack: StackName) -> Any:
        found = self._outputs[str(stack)]
        if isinstance(found, ModelplaneError):
            raise found
        return found


def by_subject(checks: Any) -> dict[str, Check]:
    return {check.subject: check for check in checks}


def test_programs_are_told_with_versions_and_what_is_missing_with_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def look_up(name: str) -> Any:
        raise ToolMissing(name, f"{name} is not there", "run `make tools`")

    monkeypatch.setattr(doctor, "look_up", look_up)
    found = list(doctor.check_programs())
    assert [check.subject for check in found] == list(doctor.PROGRAMS)
    assert {check.fix for check in found} == {"run `make tools`"}


def test_variables_of_credentials_are_asked_for_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OURS", "a value")
    monkeypatch.delenv("THEIRS", raising=False)
    credentials = {
        "default": {"aws": {"profile": "x"}, "vultr": {"env": {"VULTR_API_KEY": "THEIRS"}}},
        "second": {"vultr": {"env": {"VULTR_API_KEY": "OURS"}}},
    }
    found = by_subject(doctor.check_values(documents(credentials=credentials)))
    assert found["Credentials default (vultr)"].fix == "export THEIRS"
    assert found["Credentials second (vultr)"].passed
    assert "a value" not in str(found)
    assert "Credentials default (aws)" not in found


def test_a_value_that_cannot_be_had_says_which_file_or_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HUB_KUBECONFIG", raising=False)
    for name, text in starter("prod", Source.EKS).items():
        (tmp_path / name).write_text(text)
    (check,) = doctor.check_values(load(tmp_path))
    assert (check.subject, check.fix) == ("Secrets", "export HUB_KUBECONFIG")
    monkeypatch.setenv("HUB_KUBECONFIG", KUBECONFIG)
    (check,) = doctor.check_values(load(tmp_path))
    assert (check.subject, check.found, check.fix) == ("Secrets", "1 can be had", "")


BACKENDS: dict[str, tuple[Any, bool]] = {
    "a backend without stacks": (AnEngine({}), True),
    "stacks of another fleet": (AnEngine({"other.gateway": UnreadableStack("no")}), True),
    "stacks that hold nothing": (AnEngine({"prod.gateway": UnreadableStack("no")}, entries=0), True),
    "secrets that can be decrypted": (AnEngine({"prod.gateway": {}}), True),
    "another passphrase": (AnEngine({"prod.gateway": UnreadableStack("incorrect passphrase")}), False),
}


@pytest.mark.parametrize("what", BACKENDS)
def test_a_passphrase_that_does_not_fit_is_found(what: str) -> None:
    engine, passes = BACKENDS[what]
    found = list(doctor.check_backend(engine, "prod", engine.known))
    assert found[0].found.startswith("file:///s: ")
    assert all(check.passed for check in found) is passes
    assert passes or "PULUMI_CONFIG_PASSPHRASE" in found[-1].fix


ANSWERS = {
    "answers": (Answer(reachable=True), ""),
    "refuses": (Answer(reachable=False, reason="BadCredentials: expired"), "renew its token"),
    "forbids": (Answer(reachable=False, reason="RightsMissing: nodes"), "modelplane rbac"),
    "is silent": (Answer(reachable=False, reason="Unreachable: ConnectTimeout"), "check its address"),
}


@pytest.mark.parametrize("what", ANSWERS)
def test_each_api_server_is_asked_and_what_keeps_it_from_answering_has_its_fix(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer, fix = ANSWERS[what]
    asked: list[str] = []

    def probe(kubeconfig: str, **_: Any) -> Answer:
        asked.append(kubeconfig)
        return answer if "hub" not in kubeconfig else Answer(reachable=True)

    monkeypatch.setattr(reach, "probe", probe)
    cluster = a_cluster("us", cluster=EXISTING)
    found = by_subject(doctor.check_clusters(documents(cluster, a_secret("hub"), a_secret("us")), {}))
    assert found["Hub"].passed
    assert found["Cluster us"].passed is (fix == "")
    assert fix in found["Cluster us"].fix
    assert sorted(asked) == [f"{KUBECONFIG} of hub", f"{KUBECONFIG} of us"]
    assert KUBECONFIG not in str(found)


def test_a_cluster_that_is_to_be_made_has_no_kubeconfig_yet_and_one_that_is_there_needs_one() -> None:
    made = a_cluster(
        "eks", cluster={"source": "EKS", "eks": {"region": "us-west-2"}}, nodePools=[a_pool(zones=["us-west-2a"])]
    )
    found = by_subject(doctor.check_clusters(documents(made, a_cluster("us", cluster=EXISTING)), {}))
    assert found["Cluster eks"].passed
    assert not found["Cluster us"].passed
    assert not found["Hub"].passed


def test_kubeconfigs_are_those_that_stacks_export_and_unreadable_stacks_have_none() -> None:
    engine: Any = AnEngine(
        {
            "prod.gateway": {"kubeconfig": "of the hub"},
            "prod.cluster.us": {"kubeconfig": "of us"},
            "prod.cluster.eu": UnreadableStack("no"),
            "prod.cluster.new": None,
            "prod.placement": {"kubeconfig": "none of these"},
            "other.cluster.us": {"kubeconfig": "of another fleet"},
        }
    )
    assert reach.kubeconfigs_of(engine, "prod", engine.known) == {"hub": "of the hub", "us": "of us"}


def test_without_a_fleet_there_is_a_way_to_one() -> None:
    found = list(doctor.examine(documents_of(), Environment(directory=Path("x"), variables={})))
    assert [(check.subject, check.fix) for check in found] == [("Fleet", "`modelplane init` writes one")]


@pytest.mark.parametrize("source", Source)
def test_a_starter_names_the_fleet_and_has_no_gaps(source: Source) -> None:
    files = starter("mine", source)
    assert list(files) == ["fleet.yaml", "gateway.yaml", "clusters.yaml", "models.yaml"]
    assert "name: mine\n" in files["fleet.yaml"]
    assert not any("{{" in text or " \n" in text for text in files.values())
