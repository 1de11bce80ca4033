"""Print the lowest version of every dependency of the library, as constraints for pip.

The tools of the tests, benchmarks and documentation are left out, and torch, whose version is in
constraints.txt.
"""

import re
import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]
extras = project["optional-dependencies"]
tools = {"test", "dev", "docs", "benchmarks"}
requirements = [
    *project["dependencies"],
    *(line for name, lines in extras.items() if name not in tools for line in lines),
]
for line in requirements:
    bound = re.fullmatch(r"([\w-]+)>=([\d.]+)", line)
    if bound is not None and bound[1] != "torch":
        print(f"{bound[1]}=={bound[2]}")
