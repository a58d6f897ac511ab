"""What the metadata of the installed package says about its extras."""

from __future__ import annotations

import re
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


REQUIREMENTS = [
    "numpy>=2.2",
    "pandas-stubs; extra == 'dev'",
    'psycopg[binary]>=3.2; extra == "postgres"',
    "httpx<1,>=0.27.2 ; extra == 'client'",
    "scipy (>=1.15)",
]


def test_requirements_are_read_as_packaging_reads_them(monkeypatch: pytest.MonkeyPatch) -> None:
    real = metadata.requires("overcast") or []
    for texts in (real, REQUIREMENTS):
        monkeypatch.setattr(metadata, "requires", lambda name, texts=texts: texts)
        expected: dict[str, dict[str, str]] = {}
        for one in map(Requirement, texts):
            bounds = [bound.version for bound in one.specifier if bound.operator == ">="]
            extra = re.sub(r"extra == \"(.*)\"", r"\1", str(one.marker or ""))
            if " " not in extra:  # a library that only some platforms need
                expected.setdefault(extra, {})[one.name] = bounds[0] if bounds else "0"
        found = {extra: {library.name: library.at_least for library in ones} for extra, ones in libraries().items()}
        assert found == expected
        assert len(found) >= 4


def test_what_only_some_platforms_need_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    only = "colorama>=0.4; sys_platform == 'win32' and extra == 'plot'"
    monkeypatch.setattr(metadata, "requires", lambda name: ["numpy>=2.2", only])
    assert libraries() == {"": [Library("numpy", "2.2")]}


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
