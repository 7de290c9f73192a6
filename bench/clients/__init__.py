"""One module for each client that is measured."""
