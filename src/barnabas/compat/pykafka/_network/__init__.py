"""How pykafka's objects reach brokers: the core's connections and clients in place of sockets and threads."""
