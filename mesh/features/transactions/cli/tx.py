"""`mesh tx`: prepared transactions, and the outboxes of databases."""

import click

from mesh.features.transactions.cli.database import init_db, ls_db, retry, send
from mesh.features.transactions.cli.prepared import commit, ls, rollback, show


@click.group("tx")
def command() -> None:
    """List and decide prepared transactions, and send the messages that programs wrote into databases."""


for each in (ls, show, commit, rollback, init_db, send, ls_db, retry):
    command.add_command(each)
