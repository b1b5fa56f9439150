# SPDX-License-Identifier: Apache-2.0
"""``slipring completion``: completion of verbs, options, buses, topics, cursors and lakes in a shell."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import BashComplete, add_completion_class, get_completion_class, split_arg_string

from slipring.cli.terminal import output, process_exit

SHELLS = ("bash", "zsh", "fish")


class Bash(BashComplete):
    """Join the pieces of an address, which bash splits at ':' and '='."""

    def get_completion_args(self) -> tuple[list[str], str]:
        number = int(os.environ["COMP_CWORD"])
        typed = split_arg_string(os.environ["COMP_WORDS"])[: number + 1]
        typed += [""] * (number + 1 - len(typed))
        *args, incomplete = _whole(typed)
        return args[1:], incomplete


def _whole(pieces: list[str]) -> list[str]:
    words, is_open = [""], True
    for piece in pieces:
        is_break = bool(piece) and not piece.strip(":=")
        if is_open or is_break:
            words[-1] += piece
        else:
            words.append(piece)
        is_open = is_break
    return words


def prepare() -> None:
    """Register the completion of bash; call this before click answers the shell."""
    add_completion_class(Bash)


@click.command()
@click.argument("shell", type=click.Choice(SHELLS), required=False)
@click.option(
    "--install", is_flag=True, help="Write the script to the shell's directory instead of to stdout."
)
@click.pass_context
def command(ctx: click.Context, shell: str | None, install: bool) -> None:
    """Print the completion script for SHELL, by default $SHELL, or install it for this user."""
    shell = shell or Path(os.environ.get("SHELL", "")).name
    found = get_completion_class(shell) if shell in SHELLS else None
    if found is None:
        raise click.UsageError(f"SHELL must be one of {', '.join(SHELLS)}; $SHELL is {shell or 'not set'!r}")
    script = found(ctx.find_root().command, {}, "slipring", "_SLIPRING_COMPLETE").source()
    if not install:
        output.put(script.encode())
        return
    file = place(shell)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(script)
    except OSError as error:
        raise click.ClickException(f"cannot write {file}: {error.strerror}") from None
    process_exit.complain(f"completion written to {file}: {_next_step(shell, file)}")


def place(shell: str) -> Path:
    """Return the path where ``shell`` looks for a user's completions."""
    home = Path.home()
    data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local/share")
    if shell == "bash":
        own = os.environ.get("BASH_COMPLETION_USER_DIR")
        return Path(own or data / "bash-completion") / "completions" / "slipring"
    if shell == "zsh":
        return data / "zsh" / "site-functions" / "_slipring"
    return Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "fish/completions/slipring.fish"


def _next_step(shell: str, file: Path) -> str:
    if shell == "bash":
        return (
            f"new shells use it if the package bash-completion is installed; else add to ~/.bashrc: . {file}"
        )
    if shell == "zsh":
        return f"add to ~/.zshrc, before compinit: fpath+=({file.parent})"
    return "new shells use it"
