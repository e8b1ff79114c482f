"""``python -m workbench`` and the command ``workbench``."""

import sys


def main() -> None:
    """Run the command line; Ctrl+C while it loads is an interruption like any later one."""
    try:
        from workbench.cli import main as run

        run()
    except KeyboardInterrupt:
        from workbench.core.words import Message

        print(Message("cli/error", why=Message("cli/interrupted")), file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
