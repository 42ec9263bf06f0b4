"""`mesh erase`: removes a topic."""

import click

from mesh import sync
from mesh.cli import options
from mesh.cli.completing import complete_topics
from mesh.cli.options import count, print_data, print_message
from mesh.printable import typed


@click.command("erase")
@click.argument("key", shell_complete=complete_topics)
@click.option(
    "--domain",
    metavar="NAME",
    help="Erase the topic only in the domain NAME. Default: in every domain where the node knows the topic.",
)
@click.option("--silent", is_flag=True, help="Notify no subscriber.")
@click.option(
    "--history-only",
    is_flag=True,
    help="Delete only the retained values. The topic remains for its subscribers.",
)
@options.timeout
@options.url
def command(
    key: str, domain: str | None, silent: bool, history_only: bool, timeout: float | None, url: str | None
) -> int:
    """Erase the topic KEY with its retained value, and notify its subscribers.

    The key is printed. Exit code 1: the topic does not exist.
    """
    if silent and history_only:
        raise click.UsageError("Give either --silent or --history-only, not both.")
    if domain == "":
        print_message('mesh: --domain "" is deprecated: it erases the topic in every domain, as without it.')
    with sync.connect(url, **options.limits(timeout)) as m:
        erased = m.erase(key, domain=domain or None, silent=silent, history_only=history_only)
    if erased:
        print_data(erased)
    if not erased:
        unknown = "in any domain that this node knows. For another domain, give --domain"
        where = "in that domain" if domain else unknown
        print_message(f"mesh: topic {key!r} does not exist {where}.")
        print_message(f"      To see its master:  mesh route {options.in_domain(domain)}{typed(key)}")
    else:
        print_message(f"erased {count(len(erased), 'topic')}")
    return 0 if erased else 1
