"""The command line: one module a command. It may read every other package; none imports it."""
