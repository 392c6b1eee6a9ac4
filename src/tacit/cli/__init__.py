"""The command line. `app` holds the list of commands; each command is a module of its own name."""
