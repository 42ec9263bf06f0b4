"""The commands of `tools/lab`.

Exit code: 0 success; 1 a message was lost, doubled or out of order, or a step failed; 2 a wrong argument; 130
Ctrl-C. `run` ends with the exit code of its command.
"""

import subprocess
import sys

import click

from tools.lab_parts import standing
from tools.lab_parts.jobs.command import jobs
from tools.lab_parts.netlab import Refused
from tools.lab_parts.quantities import chance, hosts, seconds
from tools.lab_parts.soak_commands import FAILED, queues, services, sites, soak, visits, week
from tools.running.processes import Failed, Interrupted

INTERRUPTED = 130
HOST = click.IntRange(min=1)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def lab() -> None:
    """Simulate machines on a faulty switch, on this machine.

    The commands need root, except `week` and most of `soak`, `queues` and `services`.
    """


@lab.command()
@click.argument("count", type=click.IntRange(1, 50))
def up(count: int) -> None:
    """Build a lab of COUNT hosts from 10.99.0.1, each with a node: n1, n2, … The lab stays until `down`."""
    standing.build(count)
    click.echo(f"{count} hosts stand, and their nodes run. Try:  tools/lab run 1 mesh ls")


@lab.command()
def down() -> None:
    """Remove the lab with everything that it started."""
    standing.take_down()


@lab.command(context_settings={"ignore_unknown_options": True})
@click.argument("host", type=HOST)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def run(host: int, command: tuple[str, ...]) -> None:
    """Run COMMAND on HOST, a number from 1 on. As COMMAND, `mesh` uses the node of the host."""
    net = standing.attached()
    _check(net.hosts, host)
    sys.exit(subprocess.run(net.command(host, command), env=standing.environment(host)).returncode)


@lab.command()
@click.argument("one", type=HOST)
@click.argument("other", type=HOST)
@click.option("--delay", type=seconds, default="0", metavar="TIME", help="Delay each packet, such as 50ms.")
@click.option(
    "--jitter", type=seconds, default="0", metavar="TIME", help="Vary the delay by at most this time."
)
@click.option("--loss", type=chance, default="0", metavar="CHANCE", help="Lose packets, such as 5%.")
@click.option("--duplicate", type=chance, default="0", metavar="CHANCE", help="Duplicate packets.")
@click.option("--reorder", type=chance, default="0", metavar="CHANCE", help="Reorder packets.")
@click.option("--oneway", is_flag=True, help="Apply only to packets from ONE to OTHER.")
def shape(
    one: int,
    other: int,
    delay: float,
    jitter: float,
    loss: float,
    duplicate: float,
    reorder: float,
    oneway: bool,
) -> None:
    """Set the faults of the wire between the hosts ONE and OTHER; without options, remove all faults."""
    net = standing.attached()
    _check(net.hosts, one, other)
    net.shape(
        one, other, delay=delay, jitter=jitter, loss=loss, duplicate=duplicate, reorder=reorder, oneway=oneway
    )


@lab.command()
@click.argument("host", type=HOST)
def cut(host: int) -> None:
    """Unplug HOST from the switch."""
    net = standing.attached()
    _check(net.hosts, host)
    net.cut(host)


@lab.command()
@click.argument("host", type=HOST)
def heal(host: int) -> None:
    """Plug HOST in again after `cut`."""
    net = standing.attached()
    _check(net.hosts, host)
    net.heal(host)


@lab.command()
@click.argument("groups", type=hosts, nargs=-1, required=True)
def split(groups: tuple[list[int], ...]) -> None:
    """Divide the hosts into GROUPS that cannot reach each other, such as `split 1 2,3`."""
    net = standing.attached()
    _check(net.hosts, *(host for group in groups for host in group))
    net.split(*groups)


@lab.command()
def join() -> None:
    """Undo `split` and `shape`; a host that is cut stays unplugged."""
    standing.attached().join()


def _check(there: range, *given: int) -> None:
    if strangers := [host for host in given if host not in there]:
        raise click.BadParameter(f"host {strangers[0]} does not exist, only 1 to {len(there)}")


for command in (soak, queues, services, sites, visits, week, jobs):
    lab.add_command(command)


def main() -> int:
    try:
        lab(prog_name="tools/lab", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (Failed, Refused) as error:
        click.echo(f"tools/lab: {error}", err=True)
        return FAILED
    except (Interrupted, click.Abort):
        return INTERRUPTED
    return 0


if __name__ == "__main__":
    sys.exit(main())
