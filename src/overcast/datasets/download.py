"""Download data that may not be redistributed from its publisher."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import platformdirs
import pooch  # type: ignore[import-untyped]
import requests

ARCHIVE = "https://files.grouplens.org/datasets/movielens/ml-1m.zip"
CHECKSUM = "md5:c4d9eecfca2ab87c1945afe126590906"

LICENCE = """\
MovieLens-1M is published by GroupLens, University of Minnesota, under terms of its own (the README in the archive):
research use only; no commercial use without permission; no redistribution, so do not pass the files on; no claim of
endorsement; publications cite F. M. Harper and J. A. Konstan, The MovieLens Datasets: History and Context,
ACM Transactions on Interactive Intelligent Systems 5(4), 2015."""


def default_folder() -> Path:
    """Return the user's data folder for this package."""
    return platformdirs.user_data_path("overcast")


def download_movielens(folder: Path, url: str = ARCHIVE, checksum: str = CHECKSUM) -> Path:
    """Download the archive, verify its checksum, and unpack it; return the folder with the data.

    An archive in the folder with the right checksum is not downloaded again.
    """
    pooch.get_logger().setLevel("WARNING")  # otherwise it reports each download, even in a pipe
    try:
        archive = pooch.retrieve(
            url, known_hash=checksum, fname="ml-1m.zip", path=folder, progressbar=sys.stderr.isatty()
        )
    except requests.RequestException as error:
        if error.response is not None:
            error.response.close()
        raise OSError(
            f"cannot reach {url} ({type(error).__name__}); with a network try again, or unpack ml-1m.zip by hand and "
            f"pass its folder as --data"
        ) from None
    try:
        with zipfile.ZipFile(archive) as content:
            content.extractall(folder)
    except zipfile.BadZipFile as error:
        raise ValueError(f"{archive}: expected a zip file: {error}") from None
    return folder / "ml-1m"
