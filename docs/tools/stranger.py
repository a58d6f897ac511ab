"""Go the way of docs/first.md as a stranger would, in an empty environment, and time each step: `make stranger`.

`python docs/tools/stranger.py FOLDER RESULT` works in FOLDER, which must not exist, and writes RESULT.
"""

from __future__ import annotations

import json
import platform
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "first.md"

#: words that a reader takes in a minute
WORDS_A_MINUTE = 200


def steps(text: str) -> list[tuple[str, str, str]]:
    """Return the blocks of a page in order: the heading that they stand under, their language, and their lines."""
    found = []
    title = ""
    for heading, language, tags, body in re.findall(
        r"^## ([^\n]+)$|^```(?:\{code-cell\}|(sh))\n((?::tags:[^\n]*\n)?)(.*?)^```$", text, re.MULTILINE | re.DOTALL
    ):
        title = heading or title
        if body and "remove" not in tags:
            found.append((title, language or "python", body))
    return found


def main(folder: Path, result: Path) -> None:
    folder.mkdir(parents=True)
    text = PAGE.read_text(encoding="utf-8")
    seconds: dict[str, float] = {}
    printed: dict[str, str] = {}
    code = ""
    for title, language, body in steps(text):
        start = time.perf_counter()
        if language == "sh":
            lines = body.replace("pip install .", f"pip install --quiet --disable-pip-version-check {ROOT}")
            ended = _run(["bash", "-e", "-c", lines], folder)
        else:
            code += body  # what was pasted before is still there
            (folder / "pasted.py").write_text(code, encoding="utf-8")
            ended = _run(["env/bin/python", "pasted.py"], folder)
        seconds[title] = round(seconds.get(title, 0.0) + time.perf_counter() - start, 1)
        printed[title] = ended.strip().splitlines()[-1] if ended.strip() else ""
    words = len(re.sub(r"^---.*?^---", "", text, flags=re.MULTILINE | re.DOTALL).split())
    found = {
        "python": platform.python_version(),
        "steps": [{"step": title, "seconds": seconds[title], "printed": printed[title]} for title in seconds],
        "words": words,
        "minutes_to_read": round(words / WORDS_A_MINUTE, 1),
    }
    result.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _run(command: list[str], folder: Path) -> str:
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if ended.returncode:
        sys.exit(f"{command}: {ended.stderr}")
    return ended.stdout


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
