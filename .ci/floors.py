"""Every floor of pyproject.toml as an exact version: the constraints of the oldest set."""

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
print("pyparsing==3.1.4")  # what matplotlib of that day was made with
