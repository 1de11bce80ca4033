"""Downloads from a local server that simulates faults of servers and connections."""

import errno
import fcntl
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest

from dmte.errors import ConfigError, DownloadError, StorageError
from dmte.network.datasets import DATASETS, DataFile, Dataset, Origin, blob_id
from dmte.network.download import Arrival, download, url_of

TEXTS = b"".join(b"the text of vertex %d\n" % vertex for vertex in range(9000))
GRAPH = b"0\t1\n1\t2\n"
CONTENTS = {"/tiny/data.txt": TEXTS, "/tiny/graph.txt": GRAPH}


class Answer(NamedTuple):
    """How a response announces its length."""

    announces_length: bool = True
    chunked: bool = False


ANSWERS = [Answer(), Answer(announces_length=False), Answer(announces_length=False, chunked=True)]


@dataclass
class Behavior:
    """Settings of the server, changed by tests, and a log of its requests."""

    contents: dict[str, bytes] = field(default_factory=CONTENTS.copy)
    knows_ranges: bool = True
    answer: Answer = ANSWERS[0]
    cut_after: int | None = None
    status: int = 200
    stalls: bool = False
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    url: str = ""


class Handler(BaseHTTPRequestHandler):
    """Responds according to the behavior of its server, and closes the connection."""

    behavior: Behavior

    def do_GET(self) -> None:
        behavior, wanted = self.behavior, self.headers.get("Range")
        behavior.asked.append((self.path, wanted))
        content = behavior.contents.get(self.path)
        if behavior.status >= 400 or content is None:
            self.send_error(404 if content is None else behavior.status)
            return
        start = 0
        if wanted and behavior.knows_ranges:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
        if start and start >= len(content):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.send_body(content[start:])

    def send_body(self, body: bytes) -> None:
        behavior = self.behavior
        if behavior.answer.chunked:
            self.send_header("Transfer-Encoding", "chunked")
            body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        elif behavior.answer.announces_length:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with suppress(OSError):  # the client may refuse the rest
            self.wfile.write(body[: behavior.cut_after])
        if behavior.stalls:
            behavior.over.wait(5)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Behavior]:
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.delenv("DMTE_MIRROR", raising=False)
    behavior = Behavior()
    handler = type("ThisHandler", (Handler,), {"behavior": behavior})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as report_to:
        behavior.url = f"http://127.0.0.1:{report_to.server_port}"
        thread = threading.Thread(target=report_to.serve_forever, args=(0.01,))
        thread.start()
        yield behavior
        behavior.over.set()
        report_to.shutdown()
        thread.join()


def published(tmp_path: Path, *, sizes_known: bool = True) -> Dataset:
    """Data set that the server sends."""
    files = []
    for path, content in CONTENTS.items():
        copy = tmp_path / "copy"
        copy.write_bytes(content)
        size = len(content) if sizes_known else None
        files.append(DataFile(Path(path).name, blob_id(copy), size))
        copy.unlink()
    return Dataset("tiny", "numbered texts", 9000, 2, tuple(files), Origin("some/where", "in/it"))


@pytest.fixture
def tiny(tmp_path: Path) -> Dataset:
    return published(tmp_path)


@pytest.fixture(params=["sizes known", "sizes unknown"])
def either(tmp_path: Path, request: pytest.FixtureRequest) -> Dataset:
    return published(tmp_path, sizes_known=request.param == "sizes known")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A data folder that does not exist yet."""
    return tmp_path / "new" / "root"


def begin(root: Path, content: bytes) -> Path:
    """Write a partial file, as after a lost connection."""
    (root / "tiny").mkdir(parents=True)
    part = root / "tiny" / "data.txt.part"
    part.write_bytes(content)
    return part


def names(root: Path) -> list[str]:
    return sorted(path.name for path in (root / "tiny").iterdir())


def is_whole(root: Path) -> bool:
    kept = {f"/tiny/{name}": (root / "tiny" / name).read_bytes() for name in names(root)}
    return kept == CONTENTS


def refusal(dataset: Dataset, root: Path, server: Behavior) -> str:
    with pytest.raises((DownloadError, StorageError)) as error:
        download(dataset, root, base_url=server.url)
    assert "\n" not in str(error.value)
    if isinstance(error.value, DownloadError):
        assert error.value.is_system_failure
    return str(error.value)


def test_a_data_set_arrives_whole_and_is_reported(
    tiny: Dataset, root: Path, server: Behavior
) -> None:
    reports: list[Arrival] = []
    assert download(tiny, root, base_url=f"{server.url}/", report=reports.append) == root / "tiny"
    assert is_whole(root)
    texts = [report for report in reports if report.file == "data.txt"]
    assert [texts[0].num_bytes, texts[-1].num_bytes] == [0, len(TEXTS)]
    assert sorted(texts, key=lambda report: report.num_bytes) == texts
    assert {report.total_bytes for report in texts} == {len(TEXTS)}
    assert len(texts) > 3


@pytest.mark.parametrize("answer", ANSWERS)
def test_it_arrives_however_its_length_is_known(
    answer: Answer, either: Dataset, root: Path, server: Behavior
) -> None:
    server.answer = answer
    download(either, root, base_url=server.url)
    assert is_whole(root)


def test_existing_correct_files_are_not_downloaded(
    tiny: Dataset, root: Path, server: Behavior
) -> None:
    download(tiny, root, base_url=server.url)
    (root / "tiny" / "graph.txt").unlink()
    before = (root / "tiny" / "data.txt").stat()
    server.asked.clear()
    download(tiny, root, base_url=server.url)
    assert server.asked == [("/tiny/graph.txt", None)]
    assert (root / "tiny" / "data.txt").stat() == before
    server.asked.clear()
    download(tiny, root, base_url=server.url)
    assert server.asked == []


def test_an_existing_file_is_never_overwritten(tiny: Dataset, root: Path, server: Behavior) -> None:
    (root / "tiny").mkdir(parents=True)
    (root / "tiny" / "graph.txt").write_text("mine")
    message = refusal(tiny, root, server)
    assert message.startswith(f"{root / 'tiny' / 'graph.txt'} exists already, but is not the pub")
    assert (root / "tiny" / "graph.txt").read_text() == "mine"
    assert names(root) == ["graph.txt"]
    assert server.asked == []


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_cut_connection_is_resumed_by_the_next_download(
    answer: Answer, tiny: Dataset, root: Path, server: Behavior
) -> None:
    server.cut_after, server.answer = 100_000, answer
    message = refusal(tiny, root, server)
    assert names(root) == ["data.txt.part"]
    arrived = (root / "tiny" / "data.txt.part").stat().st_size
    assert 0 < arrived <= 100_000
    assert f"was lost after {arrived:,} of {len(TEXTS):,} bytes" in message
    assert message.endswith("run the same command again to resume")
    server.cut_after = None
    reports: list[Arrival] = []
    download(tiny, root, base_url=server.url, report=reports.append)
    assert is_whole(root)
    assert server.asked[1] == ("/tiny/data.txt", f"bytes={arrived}-")
    assert reports[0] == Arrival("data.txt", arrived, len(TEXTS))


def test_a_connection_cut_before_the_first_byte_leaves_nothing(
    tiny: Dataset, root: Path, server: Behavior
) -> None:
    server.cut_after = 0
    assert "was lost after 0 of" in refusal(tiny, root, server)
    assert not root.parent.exists()


def test_a_server_that_ignores_ranges_sends_all_of_it(
    tiny: Dataset, root: Path, server: Behavior
) -> None:
    begin(root, TEXTS[:70_000])
    server.knows_ranges = False
    download(tiny, root, base_url=server.url)
    assert is_whole(root)
    assert [path for path, _ in server.asked] == ["/tiny/data.txt", "/tiny/graph.txt"]


@pytest.mark.parametrize("length", [10, len(TEXTS), len(TEXTS) + 10])
def test_a_part_of_another_file_is_downloaded_again_once(
    length: int, either: Dataset, root: Path, server: Behavior
) -> None:
    begin(root, b"x" * length)
    download(either, root, base_url=server.url)
    assert is_whole(root)
    assert server.asked[-2:] == [("/tiny/data.txt", None), ("/tiny/graph.txt", None)]


def test_a_part_that_is_the_whole_only_gets_its_name(
    either: Dataset, root: Path, server: Behavior
) -> None:
    begin(root, TEXTS)
    download(either, root, base_url=server.url)
    assert is_whole(root)
    assert ("/tiny/data.txt", None) not in server.asked


@pytest.mark.parametrize("begun", [b"", TEXTS[:1000]])
@pytest.mark.parametrize("wrong", [b"X" + TEXTS[1:], TEXTS[:-1], b""])
def test_a_wrong_content_raises_and_leaves_nothing(
    begun: bytes, wrong: bytes, tiny: Dataset, root: Path, server: Behavior
) -> None:
    if begun:
        begin(root, begun)
        wrong = wrong.replace(b"vertex 8", b"vertex X")
    server.contents["/tiny/data.txt"] = wrong
    message = refusal(tiny, root, server)
    assert f"is not the published file: its git blob id is not {tiny.files[0].blob}; " in message
    assert names(root) == [] if begun else not root.parent.exists()
    assert len(server.asked) == (2 if begun else 1)


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("begun", [b"", TEXTS[:1000]])
def test_a_body_that_is_too_large_raises_and_leaves_nothing(
    answer: Answer, begun: bytes, tiny: Dataset, root: Path, server: Behavior
) -> None:
    if begun:
        begin(root, begun)
    server.contents["/tiny/data.txt"] = TEXTS + b"x" * 3_000_000
    server.answer = answer
    message = refusal(tiny, root, server)
    assert f"sends more than {len(TEXTS):,} bytes, the limit for data.txt; the partial" in message
    assert names(root) == [] if begun else not root.parent.exists()


def test_an_announced_length_that_is_too_large_raises_before_anything_is_written(
    tiny: Dataset, root: Path, server: Behavior
) -> None:
    server.contents["/tiny/data.txt"] = TEXTS + b"x"
    reports: list[Arrival] = []
    with pytest.raises(DownloadError, match="sends more than"):
        download(tiny, root, base_url=server.url, report=reports.append)
    assert reports == []


def test_an_unknown_size_has_a_limit_as_well(
    root: Path, server: Behavior, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("dmte.network.datasets"), "UNKNOWN_SIZE_LIMIT", 1000)
    server.answer = Answer(announces_length=False)
    message = refusal(published(tmp_path, sizes_known=False), root, server)
    assert "sends more than 1,000 bytes" in message
    assert not root.parent.exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_raises_and_leaves_nothing(tiny: Dataset, root: Path, server: Behavior) -> None:
    (root / "tiny").mkdir(parents=True)
    (root / "tiny" / "data.txt.part").symlink_to("/dev/full")
    message = refusal(tiny, root, server)
    assert message.startswith(f"cannot write to {root / 'tiny'}: No space left on device; check")
    assert names(root) == []


def test_a_disk_that_is_full_at_the_last_moment_leaves_nothing(
    tiny: Dataset, root: Path, server: Behavior, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    assert "No space left on device" in refusal(tiny, root, server)
    assert not root.parent.exists()


@pytest.mark.parametrize("status", [403, 404, 416, 500])
def test_an_error_status_is_reported_and_leaves_nothing(
    status: int, tiny: Dataset, root: Path, server: Behavior
) -> None:
    server.status = status
    message = refusal(tiny, root, server)
    assert (
        f"{server.url}/tiny/data.txt cannot be fetched: 127.0.0.1 answered HTTP {status}" in message
    )
    assert "DMTE_MIRROR" in message
    assert not root.parent.exists()


def test_an_error_status_keeps_the_partial_file(
    tiny: Dataset, root: Path, server: Behavior
) -> None:
    part = begin(root, TEXTS[:1000])
    server.status = 503
    assert "answered HTTP 503" in refusal(tiny, root, server)
    assert part.read_bytes() == TEXTS[:1000]


@pytest.mark.parametrize("arrived", [0, 500])
def test_a_silent_server_times_out(
    arrived: int, tiny: Dataset, root: Path, server: Behavior, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("dmte.network.download"), "TIMEOUT_SECONDS", 0.2)
    server.stalls, server.cut_after = True, arrived
    message = refusal(tiny, root, server)
    assert f"was lost after {arrived} of" in message
    assert "(no data for 0.2 seconds)" in message
    assert root.parent.exists() == bool(arrived)


def test_a_server_that_is_not_there_is_reported(
    tiny: Dataset, root: Path, server: Behavior
) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        server.url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        message = refusal(tiny, root, server)
    assert "cannot be fetched: Connection refused; check the connection" in message
    assert not root.parent.exists()


@pytest.mark.parametrize("url", ["ftp://x", "mirror", "http:/x", "", "http://", "http://a b"])
def test_a_mirror_that_is_none_raises(
    url: str, tiny: Dataset, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("DMTE_MIRROR", url or "gopher://x")
    with pytest.raises((ConfigError, DownloadError)):
        download(tiny, root)
    assert not root.parent.exists()


def test_a_place_that_cannot_be_written_is_reported(
    tiny: Dataset, tmp_path: Path, server: Behavior
) -> None:
    (tmp_path / "file").write_text("mine")
    message = refusal(tiny, tmp_path / "file", server)
    assert message.startswith(f"cannot write to {tmp_path / 'file' / 'tiny'}: ")
    assert "DMTE_DATA" in message
    assert server.asked == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_is_reported(
    tiny: Dataset, tmp_path: Path, server: Behavior
) -> None:
    (tmp_path / "tiny").mkdir(mode=0o500)
    assert "Permission denied" in refusal(tiny, tmp_path, server)


def test_a_second_download_into_the_same_folder_raises(
    tiny: Dataset, root: Path, server: Behavior
) -> None:
    part = begin(root, TEXTS[:1000])
    other = os.open(root / "tiny", os.O_RDONLY)
    try:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert "another process is downloading into" in refusal(tiny, root, server)
    finally:
        os.close(other)
    assert part.read_bytes() == TEXTS[:1000]
    assert server.asked == []


def test_an_interrupt_keeps_the_partial_file(tiny: Dataset, root: Path, server: Behavior) -> None:
    def interrupt(arrival: Arrival) -> None:
        if arrival.num_bytes:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        download(tiny, root, base_url=server.url, report=interrupt)
    assert names(root) == ["data.txt.part"]
    download(tiny, root, base_url=server.url)
    assert is_whole(root)
    assert server.asked[1][1] is not None


def test_a_folder_of_data_sets_is_a_mirror(
    tiny: Dataset, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path, content in CONTENTS.items():
        copy = tmp_path / f"mirror{path}"
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(content)
    monkeypatch.setenv("DMTE_MIRROR", (tmp_path / "mirror").as_uri())
    begin(root, TEXTS[:1000])
    download(tiny, root)
    assert is_whole(root)


def test_a_mirror_without_the_file_is_reported(tiny: Dataset, root: Path, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=r"tiny/data.txt cannot be fetched: No such file"):
        download(tiny, root, base_url=tmp_path.as_uri())
    assert not root.parent.exists()


def test_the_real_data_sets_come_from_a_mirror(data_folder: Path, root: Path) -> None:
    for name in ("cora", "hepth"):
        folder = download(DATASETS[name], root, base_url=data_folder.as_uri())
        for file in DATASETS[name].files:
            copy = (folder / file.name).read_bytes()
            assert copy == (data_folder / name / file.name).read_bytes()


def test_without_a_mirror_the_origin_is_used() -> None:
    hepth = DATASETS["hepth"]
    address = "https://raw.githubusercontent.com/thunlp/CANE/HEAD/datasets/HepTh/data.txt"
    assert url_of(hepth, hepth.files[0]) == address


def test_a_bundled_data_set_has_no_origin(tiny: Dataset) -> None:
    with pytest.raises(ConfigError, match="concepts is included in this package"):
        url_of(DATASETS["concepts"], tiny.files[0])
