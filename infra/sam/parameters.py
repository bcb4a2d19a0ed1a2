"""Reads each imported samconfig.toml as sam does, and wants every parameter to arrive as a pair."""

import sys

import tomlkit
from samcli.cli.types import CfnParameterOverridesType

for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        pairs = tomlkit.parse(file.read()).unwrap()["default"]["deploy"]["parameters"]["parameter_overrides"]
    read = CfnParameterOverridesType().convert(tuple(pairs), None, None)
    wanted = dict(pair.split("=", 1) for pair in pairs)
    for name, value in wanted.items():
        if value.startswith('"'):
            value = value[1:-1].replace('\\"', '"')
        if read.get(name) != value:
            sys.exit(f"{path}: {name} is {value!r}, sam reads {read.get(name)!r}")
    print(f"{path}: {len(read)} parameters")
