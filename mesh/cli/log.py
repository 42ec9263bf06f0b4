"""`mesh log`: shows and sets log levels of a running node."""

import click

from mesh import sync
from mesh.cli import options
from mesh.cli.completing import completing
from mesh.cli.options import print_message, tell_json
from mesh.cli.table import tell_table
from mesh.loglevels import LEVELS, LOGGERS

complete_loggers = completing(lambda *_: (*LOGGERS, *LEVELS))  # a level alone applies to all loggers
complete_levels = completing(lambda *_: LEVELS)


@click.group("log")
def command() -> None:
    """Show and set the log levels of a node, which logs to stderr, or as a service to the journal."""


@command.command("level")
@click.argument("logger", required=False, metavar="[LOGGER]", shell_complete=complete_loggers)
@click.argument("level", required=False, metavar="[LEVEL]", shell_complete=complete_levels)
@options.as_json
@options.url
def level(logger: str | None, level: str | None, as_json: bool, url: str | None) -> None:
    """Show the level of each logger, or set one.

    LEVEL is debug, info, warning or error. The level applies until the node ends; to keep it, set `log.level`
    or `log.levels` in the configuration of the node.

    \b
      mesh log level                      show the levels
      mesh log level debug                set all loggers
      mesh log level mesh.routes debug    log the route of each message, and why
    """
    logger, level = _meant(logger, level)
    with sync.connect(url) as m:
        if level:
            m.call("log", logger=logger, level=level)
        found = m.call("info").get("log", {})
    if as_json:
        tell_json(found)
    elif level:
        print_message(f"{logger or 'all loggers'}: {level} and above are logged from now on")
    else:
        tell_table(
            ("LOGGER", "LEVEL", "WHAT"), [(name, its, LOGGERS.get(name, "")) for name, its in found.items()]
        )


def _meant(logger: str | None, level: str | None) -> tuple[str, str]:
    """Return the logger, "" for all, and its new level or "". Raises: click.UsageError."""
    if level is None and logger in LEVELS:
        logger, level = "", logger
    elif level is None and logger is not None and logger not in LOGGERS:
        raise click.UsageError(
            f"{logger!r} is neither a level ({', '.join(LEVELS)}) nor a logger ({', '.join(LOGGERS)})."
        )
    elif logger is not None and logger not in LOGGERS:
        raise click.UsageError(f"Unknown logger {logger!r}; use one of {', '.join(LOGGERS)}.")
    if level is None and logger:
        raise click.UsageError(f"Give a level for {logger}: one of {', '.join(LEVELS)}.")
    if level is not None and level not in LEVELS:
        raise click.UsageError(f"Unknown level {level!r}; use one of {', '.join(LEVELS)}.")
    return logger or "", level or ""
