"""Whether a schema may follow others, and why not. Pure: knows no registry, and no HTTP."""
