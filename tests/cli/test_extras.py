"""What the metadata of the installed package says about its extras."""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from overcast.cli.extras import PURPOSES, Library, lacking, libraries

#: extras that only developers of the package use
INTERNAL = {"dev", "docs"}


def installed(versions: dict[str, str]) -> Callable[[str], str]:
    """Stand in for `metadata.version` where these are installed and nothing else is."""

    def version(name: str) -> str:
        if name not in versions:
            raise metadata.PackageNotFoundError(name)
        return versions[name]

    return version


def test_requirements_are_read_as_packaging_reads_them() -> None:
    known = libraries()
    extras = metadata.metadata("overcast").get_all("Provides-Extra") or []
    assert set(known) == {"", *extras}
    for extra, found in known.items():
        expected: dict[str, str] = {}
        for requirement in map(Requirement, metadata.requires("overcast") or []):
            marker = requirement.marker
            belongs = marker is None if not extra else marker is not None and marker.evaluate({"extra": extra})
            if belongs:
                expected[requirement.name] = str(requirement.specifier).removeprefix(">=") or "0"
        assert {library.name: library.at_least for library in found} == expected


def test_every_extra_for_users_says_what_it_is_for() -> None:
    assert set(PURPOSES) == set(libraries()) - {""} - INTERNAL


@pytest.mark.parametrize("version", ["2.2", "2.10.0rc1", "2.2.1.post3", "1.26", "2.1.9", "3", "0.30.188.0"])
def test_a_version_is_old_if_packaging_says_so(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", installed({"numpy": version}))
    library = Library("numpy", "2.2")
    assert library.old == (Version(version) < Version("2.2"))
    assert library.serves != library.old


def test_what_is_missing_or_too_old_is_lacking(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lacking("experiments,movielens") == []
    monkeypatch.setattr(metadata, "version", installed({"matplotlib": "3.1", "scoringrules": "99"}))
    assert lacking("plot,scores") == ["matplotlib"]
    assert lacking("scores") == []
    assert Library("tqdm", "4").version is None
    assert not Library("tqdm", "4").serves


def test_a_package_that_is_not_installed_has_no_requirements(monkeypatch: pytest.MonkeyPatch) -> None:
    def requires(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", requires)
    assert libraries() == {}
    assert lacking("plot") == []


def test_a_requirement_of_another_form_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "requires", lambda name: ["numpy<3"])
    with pytest.raises(ValueError, match="cannot read the requirement 'numpy<3'"):
        libraries()
