"""SASL: how a client proves who it is, one module for each mechanism."""
