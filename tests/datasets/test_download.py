from __future__ import annotations

import hashlib
import io
import shutil
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import requests

from overcast.datasets.download import ARCHIVE, CHECKSUM, LICENCE, default_folder, download_movielens
from overcast.datasets.movielens import read_movielens

FILES = {
    "ml-1m/users.dat": "1::F::35::3::8001\n2::M::18::7::8001\n",
    "ml-1m/movies.dat": "1::One (1995)::Drama\n2::Two (1996)::Comedy\n",
    "ml-1m/ratings.dat": "1::1::5::11\n2::2::3::12\n",
    "ml-1m/README": "Invented.\n",
}


def archive() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as content:
        content.mkdir("ml-1m")
        for name, text in FILES.items():
            content.writestr(name, text)
    return file.getvalue()


def md5(content: bytes) -> str:
    return "md5:" + hashlib.md5(content).hexdigest()


class Publisher:
    """A web server on this machine that gives one answer to every request, and counts them."""

    def __init__(self) -> None:
        self.content, self.status, self.requests = archive(), 200, 0
        publisher = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                publisher.requests += 1
                self.send_response(publisher.status)
                self.send_header("Content-Length", str(len(publisher.content)))
                self.end_headers()
                self.wfile.write(publisher.content)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/ml-1m.zip"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def publisher(monkeypatch: pytest.MonkeyPatch) -> Iterator[Publisher]:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1")
    publisher = Publisher()
    yield publisher
    publisher.stop()


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def assert_one_line(message: str, *words: str) -> None:
    assert "\n" not in message
    for word in words:
        assert word in message


def test_the_archive_is_unpacked_and_its_folder_returned(publisher: Publisher, tmp_path: Path) -> None:
    folder = download_movielens(tmp_path / "new" / "folder", publisher.url, md5(publisher.content))
    assert folder == tmp_path / "new" / "folder" / "ml-1m"
    assert {f"ml-1m/{path.name}": path.read_text() for path in folder.iterdir()} == FILES
    assert read_movielens(folder).titles == ("One (1995)", "Two (1996)")


def test_other_files_of_the_folder_are_left_as_they_are(publisher: Publisher, tmp_path: Path) -> None:
    (tmp_path / "another").mkdir()
    (tmp_path / "another" / "file").write_text("mine")
    assert download_movielens(tmp_path, publisher.url, md5(publisher.content)) == tmp_path / "ml-1m"
    assert (tmp_path / "another" / "file").read_text() == "mine"


def test_what_is_there_is_not_downloaded_again(publisher: Publisher, tmp_path: Path) -> None:
    checksum = md5(publisher.content)
    first = download_movielens(tmp_path, publisher.url, checksum)
    assert publisher.requests == 1
    assert download_movielens(tmp_path, publisher.url, checksum) == first
    assert publisher.requests == 1


def test_files_that_were_removed_are_unpacked_again(publisher: Publisher, tmp_path: Path) -> None:
    checksum = md5(publisher.content)
    folder = download_movielens(tmp_path, publisher.url, checksum)
    (folder / "users.dat").unlink()
    download_movielens(tmp_path, publisher.url, checksum)
    assert (folder / "users.dat").read_text() == FILES["ml-1m/users.dat"]
    shutil.rmtree(folder)
    assert read_movielens(download_movielens(tmp_path, publisher.url, checksum)).stars.tolist() == [5.0, 3.0]
    assert publisher.requests == 1


def test_a_file_that_was_cut_short_while_unpacking_is_unpacked_again(publisher: Publisher, tmp_path: Path) -> None:
    checksum = md5(publisher.content)
    folder = download_movielens(tmp_path, publisher.url, checksum)
    (folder / "ratings.dat").write_text(FILES["ml-1m/ratings.dat"][:19])
    download_movielens(tmp_path, publisher.url, checksum)
    assert (folder / "ratings.dat").read_text() == FILES["ml-1m/ratings.dat"]


def test_an_archive_that_was_damaged_is_downloaded_again(publisher: Publisher, tmp_path: Path) -> None:
    checksum = md5(publisher.content)
    download_movielens(tmp_path, publisher.url, checksum)
    (tmp_path / "ml-1m.zip").write_bytes(publisher.content[:-10])
    folder = download_movielens(tmp_path, publisher.url, checksum)
    assert publisher.requests == 2
    assert read_movielens(folder).stars.tolist() == [5.0, 3.0]


def test_another_archive_than_the_one_expected_leaves_nothing(publisher: Publisher, tmp_path: Path) -> None:
    expected = md5(publisher.content)
    publisher.content += b"something else"
    with pytest.raises(ValueError, match="hash") as caught:
        download_movielens(tmp_path, publisher.url, expected)
    got = md5(publisher.content).removeprefix("md5:")
    assert_one_line(str(caught.value), "ml-1m.zip", "does not match", expected, got)
    assert names(tmp_path) == []


def test_a_publisher_that_does_not_answer_is_named_with_what_to_do(publisher: Publisher, tmp_path: Path) -> None:
    publisher.stop()
    with pytest.raises(OSError, match="cannot reach") as caught:
        download_movielens(tmp_path, publisher.url, CHECKSUM)
    assert_one_line(
        str(caught.value), publisher.url, "ConnectionError", "try again", "unpack ml-1m.zip by hand", "--data"
    )
    assert names(tmp_path) == []


@pytest.mark.parametrize("status", [404, 503])
def test_a_publisher_that_refuses_is_named_with_what_to_do(publisher: Publisher, tmp_path: Path, status: int) -> None:
    publisher.status = status
    with pytest.raises(OSError, match="cannot reach") as caught:
        download_movielens(tmp_path, publisher.url, CHECKSUM)
    assert_one_line(str(caught.value), publisher.url, "HTTPError", "unpack ml-1m.zip by hand")
    assert names(tmp_path) == []
    cause = caught.value.__context__
    assert isinstance(cause, requests.HTTPError)
    assert cause.response is not None
    closed = cause.response.raw.closed
    cause.response.close()  # otherwise the open connection would raise a warning in a later test
    assert closed


def test_what_is_no_archive_is_refused(publisher: Publisher, tmp_path: Path) -> None:
    publisher.content = b"<html>Moved</html>"
    with pytest.raises((ValueError, OSError)) as caught:
        download_movielens(tmp_path, publisher.url, md5(publisher.content))
    assert_one_line(str(caught.value), "ml-1m.zip", "zip file")


def test_the_usual_archive_is_that_of_its_publisher() -> None:
    assert ARCHIVE == "https://files.grouplens.org/datasets/movielens/ml-1m.zip"
    assert CHECKSUM == "md5:c4d9eecfca2ab87c1945afe126590906"
    for word in ("GroupLens", "research use", "no commercial use", "redistribution", "Harper", "Konstan", "2015"):
        assert word in LICENCE


def test_the_usual_folder_is_one_of_the_user() -> None:
    folder = default_folder()
    assert folder.is_absolute()
    assert folder.name == "overcast"
