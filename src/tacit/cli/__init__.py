"""The command line. `app` lists the commands, and says which of them is in which module."""
