"""Faults between documents: one problem each, no cascade; and what a loaded fleet tells."""

from pathlib import Path
from textwrap import dedent

import pytest
from unit.api.texts import CLASS, CLUSTER, DEPLOYMENT, FLEET, SECRET, places, problems, write

from api.codes import Code
from api.errors import Severity
from api.loader import load

OF_A_CONFIG_MAP = (
    DEPLOYMENT.replace("device.driver ==", '"true"')
    + """\
                      env:
                        - name: FLAGS
                          valueFrom:
                            configMapKeyRef: {name: flags, key: text}
"""
)
CONFIG_MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: flags, namespace: ml-team}
data: {other: --fast}
"""
OF_MAIN = "spec.template.spec.engines[0].members[0].template.spec"

BETWEEN: dict[str, tuple[dict[str, str | bytes], list[tuple[str, str, int, str]]]] = {
    "a missing class": (
        {"a.yaml": CLUSTER, "b.yaml": CLASS.replace("h100x8", "h100")},
        [(Code.MISSING_CLASS, "a.yaml", 13, "spec.nodePools[0].className")],
    ),
    "no class at all": ({"a.yaml": CLUSTER}, [(Code.MISSING_CLASS, "a.yaml", 13, "spec.nodePools[0].className")]),
    "a class with a fault of its own": (
        {"a.yaml": CLUSTER, "b.yaml": CLASS.replace("count: 8", "count: 0")},
        [(Code.OUT_OF_RANGE, "b.yaml", 10, "spec.devices[0].count")],
    ),
    "a class in a file that is not YAML": (
        {"a.yaml": CLUSTER, "b.yaml": CLASS + "a: b: c\n"},
        [(Code.NOT_YAML, "b.yaml", 11, "")],
    ),
    "a class in a file that is binary": ({"a.yaml": CLUSTER, "b.yaml": b"\xff"}, [(Code.NOT_TEXT, "b.yaml", 1, "")]),
    "a class whose kind is misspelt": (
        {"a.yaml": CLUSTER, "b.yaml": CLASS.replace("kind", "Kind")},
        [(Code.UNKNOWN_FIELD, "b.yaml", 2, "Kind")],
    ),
    "a class of another cloud": (
        {
            "a.yaml": CLUSTER.replace("Existing", "Vultr").replace(
                "existing:\n      secretRef:\n        name", "vultr:\n        region"
            ),
            "b.yaml": CLASS,
        },
        [(Code.UNFIT_CLASS, "a.yaml", 12, "spec.nodePools[0].className")],
    ),
    "the same document twice": (
        {"a/a.yaml": CLASS, "b/b.yaml": "# a copy\n" + CLASS},
        [(Code.DUPLICATE_DOCUMENT, "b/b.yaml", 5, "metadata.name")],
    ),
    "the same document twice in one file": (
        {"a.yaml": f"{CLASS}---\n{CLASS}"},
        [(Code.DUPLICATE_DOCUMENT, "a.yaml", 15, "metadata.name")],
    ),
    "the default namespace, named and not": (
        {
            "a.yaml": SECRET.replace("modelplane-system", "default"),
            "b.yaml": SECRET.replace(", namespace: modelplane-system", ""),
        },
        [(Code.DUPLICATE_DOCUMENT, "b.yaml", 3, "metadata.name")],
    ),
    "two fleets": (
        {"a.yaml": FLEET, "b.yaml": FLEET.replace("prod", "test")},
        [(Code.DUPLICATE_DOCUMENT, "b.yaml", 3, "metadata.name")],
    ),
    "bad CEL": (
        {"a.yaml": DEPLOYMENT},
        [
            (
                Code.BAD_CEL,
                "a.yaml",
                17,
                "spec.template.spec.engines[0].members[0].nodeSelector.devices[0].selectors[0].cel",
            )
        ],
    ),
    "more replicas than the fleet allows": (
        {"a.yaml": DEPLOYMENT.replace("replicas: 1", "replicas: 11").replace("device.driver ==", '"true"')},
        [(Code.OUT_OF_RANGE, "a.yaml", 7, "spec.replicas")],
    ),
    "a limit in a Fleet with a fault": (
        {
            "a.yaml": DEPLOYMENT.replace("replicas: 1", "replicas: 11").replace("device.driver ==", '"true"'),
            "f.yaml": FLEET + "spec:\n  limits: {replicas: 20}\n  tag: {}\n",
        },
        [(Code.UNKNOWN_FIELD, "f.yaml", 6, "spec.tag")],
    ),
    "a hub that serves": (
        {
            "a.yaml": f"{CLASS}---\n{CLUSTER}",
            "f.yaml": FLEET + "spec:\n  gateway:\n    kubeconfigSecretRef: {name: us-kubeconfig}\n",
        },
        [(Code.BROKEN_RULE, "f.yaml", 6, "spec.gateway.kubeconfigSecretRef")],
    ),
    "an endpoint with a label of ours": (
        {
            "a.yaml": dedent("""\
                apiVersion: modelplane.ai/v1alpha1
                kind: ModelEndpoint
                metadata:
                  name: outside
                  labels:
                    modelplane.ai/deployment: qwen
                spec: {url: "https://api.example.com"}
                """)
        },
        [(Code.BROKEN_RULE, "a.yaml", 6, "metadata.labels[modelplane.ai/deployment]")],
    ),
    "several faults in several files": (
        {
            "b.yaml": CLUSTER.replace("className", "classname"),
            "a.yaml": CLASS.replace("name: gpu", "nam: gpu").replace("8\n", "eight\n"),
        },
        [
            (Code.UNKNOWN_FIELD, "a.yaml", 7, "spec.devices[0].nam"),
            (Code.WRONG_TYPE, "a.yaml", 10, "spec.devices[0].count"),
            (Code.UNKNOWN_FIELD, "b.yaml", 13, "spec.nodePools[0].classname"),
        ],
    ),
    "names as Python spells them": (
        {"a.yaml": CLASS.replace("deviceClassName", "device_class_name")},
        [(Code.UNKNOWN_FIELD, "a.yaml", 9, "spec.devices[0].device_class_name")],
    ),
}


@pytest.mark.parametrize(("files", "expected"), BETWEEN.values(), ids=BETWEEN)
def test_a_fault_between_documents_is_no_cascade(
    files: dict[str, str | bytes], expected: list[tuple[str, str, int, str]], tmp_path: Path
) -> None:
    write(tmp_path, files)
    assert places(tmp_path, Severity.ERROR) == expected
    assert all(problem.hint for problem in problems(tmp_path))


WARNINGS: dict[str, tuple[dict[str, str | bytes], list[tuple[str, str, int, str]]]] = {
    "a comment only": ({"a.yaml": "# later\n", "b.yaml": CLASS}, [(Code.EMPTY_DOCUMENT, "a.yaml", 1, "")]),
    "a separator at the end": ({"a.yaml": f"---\n{CLASS}---\n# end\n"}, [(Code.EMPTY_DOCUMENT, "a.yaml", 14, "")]),
    "a namespace": (
        {"a.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: ml-team}\n"},
        [(Code.IGNORED_DOCUMENT, "a.yaml", 2, "kind")],
    ),
    "a kubeconfig that nothing names": (
        {"a.yaml": "apiVersion: v1\nkind: Config\n"},
        [(Code.IGNORED_DOCUMENT, "a.yaml", 2, "kind")],
    ),
    "a cluster whose Secret nothing brings": (
        {"a.yaml": CLUSTER, "b.yaml": CLASS},
        [(Code.MISSING_KEY, "a.yaml", 9, "spec.cluster.existing.secretRef")],
    ),
    "a Secret without the key": (
        {"a.yaml": CLUSTER, "b.yaml": CLASS, "c.yaml": SECRET.replace("kubeconfig: text", "config: text")},
        [(Code.MISSING_KEY, "a.yaml", 9, "spec.cluster.existing.secretRef")],
    ),
    "a ConfigMap that nothing brings": (
        {"a.yaml": OF_A_CONFIG_MAP},
        [(Code.MISSING_KEY, "a.yaml", 26, f"{OF_MAIN}.containers[0].env[0].valueFrom.configMapKeyRef")],
    ),
    "a ConfigMap without the key": (
        {"a.yaml": OF_A_CONFIG_MAP, "b.yaml": CONFIG_MAP},
        [(Code.MISSING_KEY, "a.yaml", 26, f"{OF_MAIN}.containers[0].env[0].valueFrom.configMapKeyRef")],
    ),
    "a ConfigMap that is there": (
        {"a.yaml": OF_A_CONFIG_MAP, "b.yaml": CONFIG_MAP.replace("other:", "text:")},
        [],
    ),
    "a cache that is not there": (
        {
            "a.yaml": DEPLOYMENT.replace("device.driver ==", '"true"').replace(
                "engines:", "modelCacheRef: {name: x}\n      engines:"
            )
        },
        [(Code.MISSING_CACHE, "a.yaml", 10, "spec.template.spec.modelCacheRef.name")],
    ),
    "settings of no cluster": (
        {"a.yaml": FLEET + "spec:\n  clusters:\n    us: {}\n"},
        [(Code.UNUSED_SETTING, "a.yaml", 6, "spec.clusters.us")],
    ),
    "a namespace of what has none": (
        {"a.yaml": FLEET.replace("prod", "prod, namespace: x")},
        [(Code.UNUSED_SETTING, "a.yaml", 3, "metadata.namespace")],
    ),
    "memory that no driver reports": (
        {"a.yaml": CLASS + "      capacity: {memory: {value: 80Gi}}\n"},
        [(Code.CAUTION, "a.yaml", 11, "spec.devices[0].capacity.memory.value")],
    ),
}


@pytest.mark.parametrize(("files", "expected"), WARNINGS.values(), ids=WARNINGS)
def test_a_warning_lets_the_fleet_load(
    files: dict[str, str | bytes], expected: list[tuple[str, str, int, str]], tmp_path: Path
) -> None:
    write(tmp_path, files)
    assert places(tmp_path, Severity.ERROR) == []
    assert places(tmp_path, Severity.WARNING) == expected
    assert all(problem.hint for problem in problems(tmp_path))


HINTS = {
    "did you mean InferenceClass?": CLASS.replace("Class\n", "Clas\n"),
    "did you mean modelplane.ai/v1alpha1?": CLASS.replace("v1alpha1", "v1"),
    "did you mean deviceClassName?": CLASS.replace("deviceClassName", "deviceclassname"),
    "did you mean devices?": CLASS.replace("devices:", "device:"),
    "did you mean name?": CLASS.replace("- name", "- title"),
    "did you mean apiVersion?": CLASS.replace("apiVersion", "apiversion"),
    "did you mean DRA?": CLASS + "      claim: dra\n",
    "put it in quotes": CLASS + "      attributes: {a: {version: 9.0}}\n",
    "did you mean h100x8?": CLASS + "---\n" + CLUSTER.replace("h100x8", "h100-x8"),
}


@pytest.mark.parametrize(("hint", "text"), HINTS.items(), ids=HINTS)
def test_a_hint_says_what_was_probably_meant(hint: str, text: str, tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": text})
    errors = [problem for problem in problems(tmp_path) if problem.severity is Severity.ERROR]
    assert [problem.hint for problem in errors] == [hint]


NAMELESS = {
    "a control character": ('"a\\n\\eb"', "ModelDeployment ml-team/a\\n\\x1bb", "write lower-case letters"),
    "thousands of letters": ("a" * 9000, f"ModelDeployment ml-team/{'a' * 376}…", "shorten it"),
    "a mapping": ("{}", "ModelDeployment", "write a text"),
    "a list": ("[]", "ModelDeployment", "write a text"),
}


@pytest.mark.parametrize(("name", "subject", "hint"), NAMELESS.values(), ids=NAMELESS)
def test_a_name_that_cannot_be_one_is_shown_on_one_line(name: str, subject: str, hint: str, tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": DEPLOYMENT.replace("name: qwen", f"name: {name}", 1)})
    (problem,) = [each for each in problems(tmp_path) if each.path == "metadata.name"]
    assert problem.subject == subject
    assert problem.hint.startswith(hint)


def test_both_places_of_a_duplicate_are_named(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": CLASS, "b.yaml": CLASS})
    text = str(problems(tmp_path)[0])
    assert f"{tmp_path}/a.yaml:4" in text
    assert f"{tmp_path}/b.yaml:4" in text


def test_texts_of_yaml_1_2_stay_texts(tmp_path: Path) -> None:
    text = SECRET.replace("kubeconfig: text", "a: yes, b: 2026-07-01, c: =, d: '5', e: \"\\u00e9\"")
    write(tmp_path, {"a.yaml": text})
    values = load(tmp_path).secrets["modelplane-system", "us-kubeconfig"].values()
    assert values == {"a": b"yes", "b": b"2026-07-01", "c": b"=", "d": b"5", "e": "é".encode()}


def test_a_null_is_absent(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": CLASS.replace("count: 8", "count:").replace("spec:", "spec:\n  description: null")})
    assert load(tmp_path).classes["h100x8"].spec.devices[0].count == 1


def test_the_digest_follows_content_and_nothing_else(tmp_path: Path) -> None:
    write(tmp_path, {"1/a.yaml": CLASS, "1/b.yaml": CLUSTER, "1/s.yaml": SECRET})
    write(tmp_path, {"2/all.yaml": f"# moved\n\n{SECRET}---\n{CLUSTER}---\n{CLASS}"})
    write(tmp_path, {"3/all.yaml": f"{SECRET.replace('text', 'other')}---\n{CLUSTER}---\n{CLASS}"})
    first, moved, rotated = (load(tmp_path / name).digest() for name in "123")
    assert first == moved
    assert first != rotated


def test_a_provider_configuration_is_read_for_its_project(tmp_path: Path) -> None:
    text = "apiVersion: {}.m.upbound.io/v1beta1\nkind: ClusterProviderConfig\nmetadata: {{name: default}}\nspec: {}\n"
    write(tmp_path, {"a.yaml": text.format("gcp", "{projectID: my-project, credentials: {source: Secret}}")})
    write(tmp_path, {"b.yaml": text.format("aws", "{credentials: {source: Secret}}")})
    configs = load(tmp_path).provider_configs
    assert {key: config.project for key, config in configs.items()} == {
        ("gcp", "default"): "my-project",
        ("aws", "default"): None,
    }
