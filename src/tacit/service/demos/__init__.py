"""Generated data to serve: one file for each noun, each with `make_demo(folder)`."""
