"""What programs see of brokers, connections and the protocol's versions."""
