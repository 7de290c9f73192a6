"""What commands run in the foreground: a broker, a registry, a page, a proxy."""
