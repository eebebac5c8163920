"""Print every minimum version of pyproject.toml as an exact constraint."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
wanted = list(project["dependencies"])
for extra in project["optional-dependencies"].values():
    wanted += extra
for requirement in sorted(set(wanted)):
    floor = re.fullmatch(r"([\w.-]+)(?:\[.*\])?>=([\d.]+)", requirement)
    if floor:
        print(f"{floor[1]}=={floor[2]}")
print("pyparsing==3.1.4")  # the version that this matplotlib was built with
