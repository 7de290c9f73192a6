"""Where clients come in, and how they prove who they are. Must not know any API but those of SASL."""
