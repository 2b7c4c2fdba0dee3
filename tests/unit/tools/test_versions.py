import pytest

from tools.versions import Version, find_version, is_recent_enough, parse

ANSWERS = {
    "pulumi": ("v3.274.1\n", Version(3, 274, 1)),
    "kube-apiserver": ("Kubernetes v1.36.3\n", Version(1, 36, 3)),
    "etcd": ("etcd Version: 3.7.3\nGit SHA: Not provided\nGo Version: go1.26.8\n", Version(3, 7, 3)),
    "kwok": ("kwok version v0.8.0 go1.26.8 (linux/amd64)\n", Version(0, 8, 0)),
    "traefik": ("Version:      3.7.15\nCodename:     langres\nGo version:   go1.26.9\n", Version(3, 7, 15)),
    "kubectl of a distributor": ("Client Version: v1.32.4-dispatcher\nKustomize Version: v5.5.0\n", Version(1, 32, 4)),
    "uv": ("uv 0.13.9 (x86_64-unknown-linux-gnu)\n", Version(0, 13, 9)),
    "a pre-release": ("v3.272.0-alpha.1756\n", Version(3, 272, 0, released=False)),
    "a release candidate": ("v1.36.0-rc1", Version(1, 36, 0, released=False)),
    "build data": ("v1.36.3+k3s1", Version(1, 36, 3)),
    "two numbers": ("go 1.26", Version(1, 26, 0)),
    "no version": ("command not found", None),
    "a word with digits": ("go1.26.8", None),
}


@pytest.mark.parametrize(("text", "version"), ANSWERS.values(), ids=ANSWERS)
def test_a_version_is_read_out_of_what_programs_print(text: str, version: Version | None) -> None:
    assert find_version(text) == version


ENOUGH = {
    "the same": ("1.36.0", "1.36.0", True),
    "a newer patch": ("1.36.10", "1.36.9", True),
    "a newer minor": ("3.300.0", "3.272.0", True),
    "numbers, not text": ("3.99.0", "3.272.0", False),
    "an older patch": ("1.36.2", "1.36.3", False),
    "a pre-release of what is asked for": ("v1.36.0-beta.1", "1.36.0", False),
    "a pre-release of a later one": ("v1.37.0-alpha.1", "1.36.0", True),
    "the next major version": ("4.0.0", "3.272.0", False),
}


@pytest.mark.parametrize(("found", "minimum", "enough"), ENOUGH.values(), ids=ENOUGH)
def test_recent_enough_is_same_major_and_not_older(found: str, minimum: str, enough: bool) -> None:
    assert is_recent_enough(parse(found), parse(minimum)) is enough


def test_what_is_no_version_is_refused() -> None:
    with pytest.raises(ValueError, match="not a version: 'latest'"):
        parse("latest")
