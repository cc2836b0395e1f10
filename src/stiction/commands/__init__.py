"""The commands of the command line, a file each. Heavy modules are imported when a command runs: help is quick."""
