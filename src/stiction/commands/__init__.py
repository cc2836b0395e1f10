"""The commands of the command line. Heavy modules are imported when a command runs, so that help is quick."""
