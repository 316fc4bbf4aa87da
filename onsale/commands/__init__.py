"""The subcommands, one module each; the command line imports a module when its command runs."""
