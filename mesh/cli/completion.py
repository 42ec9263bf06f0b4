"""`mesh completion`: prints the completion script of a shell."""

import click
from click.shell_completion import get_completion_class

from mesh.cli.completing import VARIABLE

SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print the completion script for bash, zsh or fish.

    The script completes verbs, options, and names of nodes, topics, queues and contexts.

    \b
    bash   eval "$(mesh completion bash)"   in ~/.bashrc
    zsh    eval "$(mesh completion zsh)"    in ~/.zshrc, below compinit
    fish   mesh completion fish > ~/.config/fish/completions/mesh.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(context.find_root().command, {}, "mesh", VARIABLE).source())
