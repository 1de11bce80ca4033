"""Exit codes, streams, --quiet, --debug, color and completion of every verb."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dmte.cli.app import VERBS, main

Run = Callable[..., subprocess.CompletedProcess[str]]
pytestmark = pytest.mark.usefixtures("concepts_model")


def test_the_exit_code_is_0_or_2_for_a_mistake(dmte: Run) -> None:
    good = dmte("datasets", "path", "concepts")
    assert (good.returncode, good.stderr) == (0, "")
    mistake = dmte("datasets", "path", "conceps")
    assert (mistake.returncode, mistake.stdout) == (2, "")
    assert mistake.stderr.startswith("dmte: ")
    assert mistake.stderr.count("\n") == 1
    unknown = dmte("similar", "model", "--vertx", "b-tree")
    assert (unknown.returncode, unknown.stdout) == (2, "")
    assert "No such option: --vertx" in unknown.stderr


def test_a_system_failure_has_exit_code_1(inside: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("dmte.model.stored_model.StoredModel.read", fail)
    done = inside("similar", "model", "--vertex", "b-tree")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "dmte: No space left on device\n"


@pytest.mark.slow
def test_ctrl_c_has_exit_code_130_and_one_line(cli_folder: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "dmte", "info", "-"],  # It waits for the end of what is piped.
        cwd=cli_folder,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    process.stdin.write("x" * (1 << 20))  # More than a pipe holds, so this ends once it reads.
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=300)
    assert (process.returncode, error) == (130, "dmte: interrupted\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--debug", "info", "nowhere"],
        ["info", "nowhere", "--debug"],
        ["info", "--debug", "nowhere"],
        ["evaluate", "links", "nowhere", "--debug"],
        ["--debug", "x"],
    ],
)
def test_debug_shows_the_traceback_of_a_mistake(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    printed = capsys.readouterr().err
    assert stopped.value.code == 2
    assert printed.startswith("Traceback")
    assert "Error: " in printed.splitlines()[-1]


@pytest.mark.parametrize("flag", ["--debug", "--quiet"])
def test_a_value_may_look_like_a_flag(inside: Run, flag: str) -> None:
    done = inside("similar", "model", "--text", flag)
    assert done.returncode == 2
    assert done.stderr.startswith(f"dmte: no word of {flag!r} occurs")


def test_quiet_hides_everything_except_errors(inside: Run) -> None:
    asked = ("similar", "model", "--vertex", "b-tree", "-k", "1000")
    loud, quiet = inside(*asked), inside(*asked, "--quiet")
    assert loud.stderr.startswith("dmte: warning: there are only 431")
    assert (quiet.returncode, quiet.stderr, quiet.stdout) == (0, "", loud.stdout)
    assert inside("similar", "model", "--vertex", "b-tre", "-q").stderr.startswith("dmte: there is")


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_the_flags(verb: str, inside: Run) -> None:
    lines = {"evaluate": [["links"], ["classes"]], "datasets": [["list"], ["download"], ["path"]]}
    for rest in lines.get(verb, [[]]):
        said = inside(verb, *rest, "--help").stdout
        assert "--quiet" in said
        assert "--debug" in said


@pytest.mark.medium
def test_color_is_used_on_terminals_without_no_color(cli_folder: Path) -> None:
    def written(*arguments: str, **environment: str) -> str:
        """Output on a terminal of 80 columns."""
        line = " ".join([sys.executable, "-m", "dmte", *arguments])
        script = ["script", "-qec", f"stty cols 80; {line}", "/dev/null"]
        known = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
        shown = subprocess.run(
            script,
            cwd=cli_folder,
            capture_output=True,
            text=True,
            check=True,
            stdin=subprocess.DEVNULL,
            env=known | {"TERM": "xterm-256color"} | environment,
        )
        return shown.stdout

    asked = ("datasets", "list")
    assert "\x1b[1mconcepts" in written(*asked)
    plain = written(*asked, NO_COLOR="1")
    assert "concepts" in plain
    assert "\x1b[" not in plain
    assert max(map(len, plain.splitlines())) <= 80


def test_a_shell_completes_verbs(dmte: Run) -> None:
    done = dmte(_DMTE_COMPLETE="complete_bash", COMP_WORDS="dmte ", COMP_CWORD="1")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == list(VERBS)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("dmte su", ["suggest"]),
        ("dmte nosuchverb x", []),
        ("dmte train co", ["concepts", "cora"]),
        ("dmte evaluate links cora --methods tfidf,fast", ["tfidf,fastrp"]),
        ("dmte export model --format w", ["word2vec"]),
    ],
)
def test_a_shell_completes_values(
    line: str,
    expected: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("_DMTE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
    with pytest.raises(SystemExit) as stopped:
        main([])
    printed = capsys.readouterr()
    assert (stopped.value.code, printed.err) == (0, "")
    assert printed.out.split() == expected


def test_the_completion_of_bash_is_shown(dmte: Run) -> None:
    done = dmte(_DMTE_COMPLETE="source_bash")  # --show-completion asks which shell started it.
    assert done.returncode == 0, done.stderr
    script = done.stdout
    assert "complete -o default -F _dmte_completion dmte" in script
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)
