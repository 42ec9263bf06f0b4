"""`mesh tx`: transactions, and the outboxes of databases."""

import click

from mesh.features.transactions.cli.database import init_db, ls_db, retry, send


@click.group("tx")
def command() -> None:
    """Send the messages that programs wrote into databases."""


for each in (init_db, send, ls_db, retry):
    command.add_command(each)
