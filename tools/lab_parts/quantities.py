"""Times, chances and hosts on the command line: 50ms, 2s; 5%, 0.05; 1,2."""

import re

import click

UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "": 1.0}


def seconds(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(us|ms|s|)", text)
    if found is None:
        raise click.BadParameter(f"{text!r} is not a time: write 50ms, or 0.2s")
    return float(found[1]) * UNITS[found[2]]


def chance(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(%?)", text)
    value = float(found[1]) / (100 if found[2] else 1) if found else 2.0
    if value > 1:
        raise click.BadParameter(f"{text!r} is not a probability: write 5%, or 0.05")
    return value


def hosts(text: str) -> list[int]:
    if not re.fullmatch(r"\d+(,\d+)*", text):
        raise click.BadParameter(f"{text!r} are not hosts: write 1,2")
    return [int(host) for host in text.split(",")]
