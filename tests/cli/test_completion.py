"""`overcast completion`, by shells that load the script and complete with it.

bash is on every machine that builds the package. zsh and fish are tried where they are.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from experiment_support import command
from overcast.cli import main

#: what is typed before Tab, and what the shell must offer
CASES = [
    (["rep"], {"reproduce"}, set()),
    ([""], {"demo", "reproduce", "calibrate", "data", "doctor", "completion"}, {"synthetic"}),
    (["reproduce", "--tr"], {"--trials"}, {"--steps"}),
    (["reproduce", "sy"], {"synthetic"}, {"crops"}),
    (["reproduce", "crops", "--belief", "c"], {"centred", "climatology"}, {"forecast"}),
    (["completion", ""], {"bash", "zsh", "fish"}, {"demo"}),
    (["doctor", "--j"], {"--json"}, set()),
    (["calibrate", "mi"], {"mine.csv", "mill"}, {"other.csv"}),
    (["reproduce", "crops", "--data", "mi"], {"mill"}, {"mine.csv"}),
]

BASH = """
source "$1"; shift; cd files
COMP_WORDS=(overcast "$@"); COMP_CWORD=$#
"$(complete -p overcast | sed 's/.*-F \\([^ ]*\\).*/\\1/')"
printf '%s\\n' "${COMPREPLY[@]}"
"""

# zsh completes in an interactive shell alone, so a line is typed into one, with Tab behind it. It writes the only offer
# into the line, which is then run.
ZSH = """
zmodload zsh/zpty
mkdir functions && mv "$1" functions/_overcast; shift
zpty typed zsh -fi
zpty -w typed "PROMPT=; fpath+=$PWD/functions; autoload -Uz compinit; compinit -u -D; cd files; stty cols 200"
zpty -w typed 'overcast() { print -r -- RAN$# $* DONE$#; }; print READ$#'
zpty -r typed seen '*READ0*'
zpty -w typed "overcast $*"$'\\t'
zpty -r typed seen '*DONE[0-9]*'
print -r -- "$seen"
"""

FISH = """
source $argv[1]; cd files
complete -C "overcast $argv[2..]"
"""


@cache
def script(shell: str) -> str:
    code, text, error = command("completion", shell)
    assert (code, error) == (0, "")
    return text


def typing(shell: str, program: str, typed: list[str], folder: Path) -> str:
    """Return what a program of a shell prints, which completes the last word of what is typed."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    path = folder / "script"
    path.write_text(script(shell))
    (folder / "files" / "mill").mkdir(parents=True)
    for name in ("mine.csv", "other.csv"):
        (folder / "files" / name).touch()
    before = ["--"] if shell == "fish" else [shell]
    ended = subprocess.run(
        [shell, "-c", program, *before, str(path), *typed],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
        env={**os.environ, "HOME": str(folder)},
    )
    assert ended.stderr == ""
    return ended.stdout


@pytest.mark.parametrize(("typed", "wanted", "unwanted"), CASES, ids=[" ".join(typed) for typed, *_ in CASES])
@pytest.mark.parametrize(("shell", "program"), [("bash", BASH), ("fish", FISH)], ids=["bash", "fish"])
def test_the_shell_offers_what_comes_next(
    shell: str, program: str, typed: list[str], wanted: set[str], unwanted: set[str], tmp_path: Path
) -> None:
    lines = typing(shell, program, typed, tmp_path).splitlines()
    words = {line.partition("\t")[0].rstrip("/") for line in lines}  # fish describes a word behind a tab
    assert wanted <= words
    assert not unwanted & words


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        (["rep"], "reproduce"),
        (["reproduce", "--tr"], "reproduce --trials"),
        (["reproduce", "sy"], "reproduce synthetic"),
        (["reproduce", "crops", "--belief", "cl"], "reproduce crops --belief climatology"),
        (["doctor", "--j"], "doctor --json"),
        (["calibrate", "min"], "calibrate mine.csv"),
        (["reproduce", "crops", "--data", "mi"], "reproduce crops --data mill"),
    ],
    ids=lambda case: case if isinstance(case, str) else "",
)
def test_zsh_writes_the_only_offer(typed: list[str], completed: str, tmp_path: Path) -> None:
    seen = typing("zsh", ZSH, typed, tmp_path)
    assert re.findall(r"^RAN\d (.*) DONE\d", seen, re.MULTILINE) == [completed]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_has_every_command_and_the_values_of_options(shell: str) -> None:
    for word in ("demo", "reproduce", "calibrate", "doctor", "movielens", "climatology", "accept-licence"):
        assert word in script(shell)


def test_the_help_says_where_the_script_goes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["completion", "--help"])
    text = capsys.readouterr().out
    for where in ("bash > ~/.local/share/bash-completion", "zsh > ~/.zfunc/_overcast", "fish > ~/.config/fish"):
        assert f"overcast completion {where}" in text
